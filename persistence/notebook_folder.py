"""Files of a folder that people write to as well: whole or not at all, and never through a link."""

import errno
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from domain.errors import NotAPlainFileError
from domain.notebook import DAILY, MEMORY, day_of

_FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK a pipe put in a file's place would hold us until somebody writes to it.
_FILE_FLAGS: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MODE: Final = 0o666
# What the system says of a link, or of a folder or device where a file should be, and the other way round.
_NOT_PLAIN: Final = (errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO)


def make_folders(path: Path) -> None:
    """Durable, with all that is missing above it."""
    missing = [each for each in (path, *path.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(exist_ok=True)
        folder = os.open(each.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def opened(root: Path, parts: Sequence[str] = (), *, create: bool = False) -> Iterator[int]:
    """A descriptor of the folder below the root; where the root itself leads is its owner's business."""
    if create:
        make_folders(root)
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for position, part in enumerate(parts):
            with plain_only("/".join(parts[: position + 1])):
                inner = _opened_within(folder, part, create=create)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def read(folder: int, name: str) -> bytes | None:
    """None without such a file."""
    try:
        file = _open_file(folder, name, os.O_RDONLY)
    except FileNotFoundError:
        return None
    with os.fdopen(file, "rb") as reading:
        return reading.read()


def append(folder: int, name: str, before: bytes | None, text: bytes) -> bool:
    """False when the file is not, or no longer, the one that held `before`; None stands for no file at all."""
    try:
        file = _open_file(folder, name, os.O_RDWR | os.O_APPEND | (os.O_CREAT if before is None else 0))
    except FileNotFoundError:
        return False
    try:
        if _content(file) != (before or b""):
            return False
        try:
            _write_at_once(file, text)
        except OSError:
            _take_back(file, len(before or b""), len(text))
            if before is None and _is_still(folder, name, file):
                os.unlink(name, dir_fd=folder)
            raise
        if before is None:
            os.fsync(folder)
        # An editor that replaced the file meanwhile has left us with one that nobody will see again.
        return _is_still(folder, name, file)
    finally:
        os.close(file)


def replace(folder: int, name: str, before: bytes | None, content: bytes, mode: int | None = None) -> bool:
    """False, with nothing changed, when the file is not the one that held `before`. It keeps its mode if it has one."""
    draft = f".{name}.tmp"
    # One that was left behind by a crash: whoever holds the lock is the only writer.
    with suppress(FileNotFoundError):
        os.unlink(draft, dir_fd=folder)
    try:
        _write_new(folder, draft, content, mode_of(folder, name) or mode)
        # As late as can be: a person may just have saved it.
        if read(folder, name) != before:
            return False
        os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        os.fsync(folder)
        return True
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=folder)


def mode_of(folder: int, name: str) -> int | None:
    """Who may read and write the file; None without such a file."""
    try:
        return stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return None


def notebook_files(root: Path) -> Mapping[str, os.stat_result]:
    """The files of a notebook by path: MEMORY.md first, then the daily logs, the newest day first."""
    found: dict[str, os.stat_result] = {}
    with suppress(FileNotFoundError, NotAPlainFileError), opened(root) as folder:
        found |= {name: status for name, status in plain_files(folder) if name == MEMORY}
        with opened(root, [DAILY]) as daily:
            logs = {f"{DAILY}/{name}": status for name, status in plain_files(daily)}
            found |= {path: logs[path] for path in sorted(filter(day_of, logs), reverse=True)}
    return found


def plain_files(folder: int) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                if entry.is_file(follow_symlinks=False):
                    yield entry.name, entry.stat(follow_symlinks=False)


@contextmanager
def plain_only(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _NOT_PLAIN:
            raise NotAPlainFileError((), name) from error
        raise


def _opened_within(folder: int, name: str, *, create: bool) -> int:
    if create:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)
            os.fsync(folder)
    return os.open(name, _FOLDER_FLAGS, dir_fd=folder)


def _open_file(folder: int, name: str, flags: int) -> int:
    with plain_only(name):
        file = os.open(name, flags | _FILE_FLAGS, _MODE, dir_fd=folder)
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    raise NotAPlainFileError((), name)


def _content(file: int) -> bytes:
    parts = []
    while part := os.read(file, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _write_at_once(file: int, text: bytes) -> None:
    """In one call, so that a crash finds all of it written or nothing."""
    written = os.write(file, text)
    if written < len(text):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(file)


def _take_back(file: int, size: int, added: int) -> None:
    """Only our own bytes, from a disk that had no room for all of them."""
    with suppress(OSError):
        if os.fstat(file).st_size <= size + added:
            os.ftruncate(file, size)
            os.fsync(file)


def _is_still(folder: int, name: str, file: int) -> bool:
    try:
        return os.path.samestat(os.stat(name, dir_fd=folder, follow_symlinks=False), os.fstat(file))
    except FileNotFoundError:
        return False


def _write_new(folder: int, name: str, content: bytes, mode: int | None) -> None:
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, _MODE, dir_fd=folder)
    with os.fdopen(file, "wb") as writing:
        if mode is not None:
            os.fchmod(file, mode)
        writing.write(content)
        writing.flush()
        os.fsync(file)
