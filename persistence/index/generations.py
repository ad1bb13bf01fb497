"""The index as files: each build is a file of its own, and the newest finished one is the index.

A new name for every build, because a file that takes the place of another would be read with the other's WAL.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final

import orjson
from filelock import FileLock, Timeout

from domain.search import RebuildState

_FINISHED: Final = re.compile(r"search-(\d{6,})\.db")
_BUILDING: Final = "building.db"
_SIDE_FILES: Final = ("", "-wal", "-shm", "-journal")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a build has come, whichever process does it."""

    state: RebuildState = RebuildState.IDLE
    done: int = 0
    total: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Generations:
    folder: Path

    def prepare(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def newest(self) -> Path | None:
        return max(self._finished(), default=(0, None))[1]

    @property
    def building(self) -> Path:
        return self.folder / _BUILDING

    def finish(self) -> Path:
        """The swap: from now on what was built is the newest. The file must be closed, and whole without a WAL."""
        number = max(self._finished(), default=(0, None))[0] + 1
        finished = self.folder / f"search-{number:06}.db"
        _sync(self.building)
        self.building.rename(finished)
        _sync(self.folder)
        return finished

    def remove_older(self, than: Path) -> None:
        """Whoever has one still open reads on to the end."""
        for _, path in self._finished():
            if path < than:
                remove(path)

    def discard_building(self) -> None:
        remove(self.building)

    @contextmanager
    def building_alone(self) -> Iterator[bool]:
        """False when another process builds; the lock goes with the process that holds it."""
        lock = FileLock(self.folder / "build.lock", thread_local=False)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def progress(self) -> Progress:
        try:
            known = orjson.loads((self.folder / "progress.json").read_bytes())
            moments = {name: known[name] and datetime.fromisoformat(known[name]) for name in _MOMENTS}
            return Progress(**{**known, **moments, "state": RebuildState(known["state"])})
        except (OSError, ValueError, TypeError, KeyError):
            return Progress()

    def report(self, progress: Progress) -> None:
        # Replaced as a whole: whoever watches never reads half of it.
        written = self.folder / "progress.json.new"
        written.write_bytes(orjson.dumps(asdict(progress)))
        written.replace(self.folder / "progress.json")

    def _finished(self) -> Iterator[tuple[int, Path]]:
        try:
            paths = list(self.folder.iterdir())
        except OSError:
            return
        for path in paths:
            if match := _FINISHED.fullmatch(path.name):
                yield int(match[1]), path


_MOMENTS: Final = ("started_at", "finished_at")


def failed(progress: Progress, error: str, at: datetime) -> Progress:
    return replace(progress, state=RebuildState.FAILED, error=error, finished_at=at)


def remove(path: Path) -> None:
    for suffix in _SIDE_FILES:
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).unlink()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
