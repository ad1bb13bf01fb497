"""The notebook: read it, add to it, replace it, and go back to what was replaced."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo

from domain import errors, limits
from domain.extraction.gate import says_the_same
from domain.notebook import (
    EMPTY_VERSION,
    MEMORY,
    Comparison,
    Insertion,
    KeptVersion,
    NotebookFile,
    calendar_day,
    daily_path,
    day_of,
    is_notebook_path,
    passages,
    place_entry,
    place_fact,
)
from domain.paging import Page, PageRequest
from domain.ports import Clock, NotebookStore
from domain.text_diff import unified_diff

PATH = ("path",)
DATE = ("date",)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Notebook:
    """`changed` is called with the path of every file that was written."""

    store: NotebookStore
    clock: Clock
    zone: tzinfo | None
    limits: limits.Limits
    changed: Callable[[str], None]

    async def read(self) -> NotebookFile:
        """MEMORY.md; empty when there is none yet."""
        return await self.store.read(MEMORY) or NotebookFile(MEMORY, "", EMPTY_VERSION)

    async def daily_log(self, day: date) -> NotebookFile | None:
        return await self.store.read(_path_of(day))

    async def daily_logs(self, page: PageRequest) -> Page[NotebookFile]:
        """The newest day first."""
        days = await self._days()
        if page.after is not None:
            days = [day for day in days if day.toordinal() < page.after.position]
        files = await self._logs(days[: page.first])
        return Page(files, tuple(_position(file) for file in files), has_next=len(days) > page.first)

    async def daily_logs_from(self, offset: int, limit: int) -> tuple[NotebookFile, ...]:
        """The same list by places in it."""
        return await self._logs((await self._days())[offset : offset + limit])

    async def count_daily_logs(self) -> int:
        return len(await self._days())

    async def append_memory(self, fact: str, category: str | None) -> NotebookFile:
        limits.check_fact(fact, category, self.limits)
        return await self._insert(MEMORY, lambda content: place_fact(content, fact, category), ("fact",))

    async def append_unless_said(self, fact: str, category: str) -> bool:
        """False when MEMORY.md says it already, also when somebody writes it there at this moment."""
        is_said = False

        def place(content: bytes) -> Insertion:
            nonlocal is_said
            known = passages(content.decode("utf-8", "replace"))
            is_said = any(says_the_same(fact, passage.text) for passage in known)
            return Insertion(len(content), b"") if is_said else place_fact(content, fact, category)

        await self._insert(MEMORY, place, ("fact",))
        return not is_said

    async def append_daily_log(self, entry: str, day: date | None) -> NotebookFile:
        """Without a day, today's log in the time zone of this server."""
        limits.check_text(entry, self.limits.content, ("entry",))
        path = _path_of(calendar_day(self.clock(), self.zone) if day is None else day)
        return await self._insert(path, lambda content: place_entry(content, entry), ("entry",))

    async def write(self, content: str, expected_version: str | None) -> NotebookFile:
        """Refused when MEMORY.md is not the expected version; with None, whatever stands there is replaced."""
        return await self._replace(MEMORY, content, expected_version)

    async def write_daily_log(self, day: date, content: str, expected_version: str | None) -> NotebookFile:
        return await self._replace(_path_of(day), content, expected_version)

    async def versions(self, path: str, page: PageRequest) -> Page[KeptVersion]:
        """What was replaced, the last first."""
        _check_path(path)
        kept = await self.store.versions(path)
        if page.after is not None:
            kept = tuple(each for each in kept if _microseconds(each.replaced_at) < page.after.position)
        shown = kept[: page.first]
        positions = tuple(_microseconds(each.replaced_at) for each in shown)
        return Page(shown, positions, has_next=len(kept) > page.first)

    async def count_versions(self, path: str) -> int:
        _check_path(path)
        return len(await self.store.versions(path))

    async def version(self, path: str, version: str) -> NotebookFile | None:
        """As it was kept, or as it is now."""
        _check_path(path)
        return await self.store.version(path, version)

    async def compare(self, path: str, from_version: str, to_version: str | None) -> Comparison:
        """To what stands there now, unless another version is named."""
        _check_path(path)
        old = await self._require_version(path, from_version, ("from_version",))
        if to_version is None:
            new = await self.store.read(path) or NotebookFile(path, "", EMPTY_VERSION)
        else:
            new = await self._require_version(path, to_version, ("to_version",))
        names = f"{path}@{old.version}", f"{path}@{new.version}"
        diff = await asyncio.to_thread(unified_diff, old.content, new.content, *names)
        return Comparison(path, old.version, new.version, diff)

    async def restore(self, path: str, version: str, expected_version: str | None) -> NotebookFile:
        """What it replaces is kept in turn."""
        _check_path(path)
        file = await self.store.restore(path, version, expected_version)
        self.changed(path)
        return file

    async def _days(self) -> Sequence[date]:
        return [day for path in await self.store.paths() if (day := day_of(path)) is not None]

    async def _logs(self, days: Sequence[date]) -> tuple[NotebookFile, ...]:
        """One that is deleted meanwhile is left out."""
        files = [await self.store.read(daily_path(day)) for day in days]
        return tuple(file for file in files if file is not None)

    async def _insert(self, path: str, place: Callable[[bytes], Insertion], argument: errors.Path) -> NotebookFile:
        def place_if_there_is_room(content: bytes) -> Insertion:
            inserted = place(content)
            most = self.limits.notebook
            # A text has no more characters than bytes.
            if len(content) + len(inserted.text) > most:
                length = len(inserted.into(content).decode("utf-8", "replace"))
                if length > most:
                    raise errors.NotebookFullError(argument, path, length, most)
            return inserted

        file = await self.store.insert(path, place_if_there_is_room)
        self.changed(path)
        return file

    async def _replace(self, path: str, content: str, expected_version: str | None) -> NotebookFile:
        limits.check_length(content, self.limits.notebook, ("content",))
        file = await self.store.replace(path, content, expected_version)
        self.changed(path)
        return file

    async def _require_version(self, path: str, version: str, argument: errors.Path) -> NotebookFile:
        file = await self.store.version(path, version)
        if file is None:
            raise errors.VersionNotFoundError(argument, path, version)
        return file


def _path_of(day: date) -> str:
    path = daily_path(day)
    if day_of(path) is None:
        raise errors.InvalidDayError(DATE, day.isoformat())
    return path


def _check_path(path: str) -> None:
    if not is_notebook_path(path):
        raise errors.NotebookPathError(PATH, path)


def _position(file: NotebookFile) -> int:
    day = day_of(file.path)
    return 0 if day is None else day.toordinal()


def _microseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)
