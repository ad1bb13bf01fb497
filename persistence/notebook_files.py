"""The notebook of one owner as files, in a folder where people write as well."""

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from filelock import FileLock

from domain.errors import NotAPlainFileError, StaleVersionError, StorageUnavailableError, VersionNotFoundError
from domain.notebook import DAILY, Insertion, KeptVersion, NotebookFile, notebook_file, version_of
from domain.ports import Clock, NotebookStore
from persistence import notebook_folder as folders
from persistence.notebook_versions import NotebookVersions

LOCAL_OWNER: Final = "local"
NOTEBOOK: Final = ("prompts", "memory")
OWNERS: Final = "owners"
LOCK: Final = ".lock"

LOCK_TIMEOUT_SECONDS: Final = 30.0
LOCK_POLL_SECONDS: Final = 0.002
# Nobody saves a file by hand so often while we write one line.
MAX_ATTEMPTS: Final = 50

_OWNER: Final = re.compile(r"[a-z0-9_-]{1,64}")

T = TypeVar("T")


def notebook_root(data_dir: Path, owner: str) -> Path:
    home = data_dir if owner == LOCAL_OWNER else data_dir / OWNERS / owner
    return home.joinpath(*NOTEBOOK)


async def notebook_owners(data_dir: Path) -> set[str]:
    return set(await asyncio.to_thread(owners_in, data_dir))


def owners_in(data_dir: Path) -> tuple[str, ...]:
    """Everyone who may have a notebook there."""
    with suppress(FileNotFoundError, NotADirectoryError):
        found = (folder.name for folder in (data_dir / OWNERS).iterdir())
        return (LOCAL_OWNER, *(name for name in found if _OWNER.fullmatch(name) and name != LOCAL_OWNER))
    return (LOCAL_OWNER,)


def make_notebook(root: Path) -> None:
    """Its folders, where they are missing."""
    with suppress(NotAPlainFileError), folders.opened(root, [DAILY], create=True):
        pass


@dataclass
class NotebookFiles(NotebookStore):
    """Writers of all processes take turns by a lock; an editor does not, so what it saves is looked out for."""

    root: Path
    clock: Clock
    # Whoever waits here needs no thread for it.
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def paths(self) -> tuple[str, ...]:
        return await _in_thread("", lambda: tuple(folders.notebook_files(self.root)))

    async def read(self, path: str) -> NotebookFile | None:
        return await _in_thread(path, lambda: _as_file(path, self._content(path)))

    async def insert(self, path: str, place: Callable[[bytes], Insertion]) -> NotebookFile:
        return await self._write(path, partial(self._insert, path, place))

    async def replace(self, path: str, content: str, expected: str | None) -> NotebookFile:
        return await self._write(path, partial(self._replace, path, content.encode("utf-8", "replace"), expected))

    async def restore(self, path: str, version: str, expected: str | None) -> NotebookFile:
        def work() -> NotebookFile:
            content = self._version(path, version)
            if content is None:
                raise VersionNotFoundError(("version",), path, version)
            return self._replace(path, content, expected)

        return await self._write(path, work)

    async def versions(self, path: str) -> tuple[KeptVersion, ...]:
        return await _in_thread(path, partial(self._versions.all, path))

    async def version(self, path: str, version: str) -> NotebookFile | None:
        return await _in_thread(path, lambda: _as_file(path, self._version(path, version)))

    @property
    def _versions(self) -> NotebookVersions:
        return NotebookVersions(self.root, self.clock)

    async def _write(self, path: str, work: Callable[[], T]) -> T:
        async with self._writing:
            return await _in_thread(path, partial(self._locked, work))

    def _locked(self, work: Callable[[], T]) -> T:
        make_notebook(self.root)
        lock = FileLock(self.root / LOCK, LOCK_TIMEOUT_SECONDS, poll_interval=LOCK_POLL_SECONDS)
        with folders.plain_only(LOCK):
            lock.acquire()
        try:
            return work()
        finally:
            lock.release()

    def _insert(self, path: str, place: Callable[[bytes], Insertion]) -> NotebookFile:
        with self._folder_of(path, create=True) as (folder, name):
            for _ in range(MAX_ATTEMPTS):
                before = folders.read(folder, name)
                inserted = place(before or b"")
                after = inserted.into(before or b"")
                if inserted.offset == len(before or b""):
                    is_done = folders.append(folder, name, before, inserted.text)
                else:
                    is_done = folders.replace(folder, name, before, after)
                if is_done:
                    return notebook_file(path, after)
        raise _always_changing(path)

    def _replace(self, path: str, content: bytes, expected: str | None) -> NotebookFile:
        with self._folder_of(path, create=True) as (folder, name):
            for _ in range(MAX_ATTEMPTS):
                before = folders.read(folder, name)
                if expected is not None and version_of(before or b"") != expected:
                    raise StaleVersionError(("expected_version",), expected, notebook_file(path, before or b""))
                if before == content or self._replaced(path, (folder, name), before, content):
                    return notebook_file(path, content)
        raise _always_changing(path)

    def _replaced(self, path: str, place: tuple[int, str], before: bytes | None, content: bytes) -> bool:
        """What is to be replaced is kept first, and forgotten again unless it really is."""
        kept = None if before is None else self._versions.keep(path, before, folders.mode_of(*place))
        is_done = False
        try:
            is_done = folders.replace(*place, before, content)
        finally:
            if kept is not None and not is_done:
                self._versions.drop(kept)
        return is_done

    def _content(self, path: str) -> bytes | None:
        with suppress(FileNotFoundError), self._folder_of(path) as (folder, name):
            return folders.read(folder, name)
        return None

    def _version(self, path: str, version: str) -> bytes | None:
        current = self._content(path)
        is_current = current is not None and version_of(current) == version
        return current if is_current else self._versions.read(path, version)

    @contextmanager
    def _folder_of(self, path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
        *parts, name = path.split("/")
        with folders.opened(self.root, parts, create=create) as folder:
            yield folder, name


async def _in_thread(path: str, work: Callable[[], T]) -> T:
    def guarded() -> T:
        try:
            return work()
        except OSError as error:
            raise StorageUnavailableError((), f"{path}: {error.strerror or error}".removeprefix(": ")) from error

    return await asyncio.to_thread(guarded)


def _as_file(path: str, content: bytes | None) -> NotebookFile | None:
    return None if content is None else notebook_file(path, content)


def _always_changing(path: str) -> StorageUnavailableError:
    return StorageUnavailableError((), f"{path}: something else changes it again and again")
