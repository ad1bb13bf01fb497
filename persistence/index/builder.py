"""Building the index anew beside the present one, from where a build that was cut off had come."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

import structlog

from domain.errors import EmbedderUnavailableError, StorageUnavailableError
from domain.ports import Clock
from domain.search import RebuildState, SearchSource
from persistence import sqlite
from persistence.index.embedding_queue import EmbeddingQueue
from persistence.index.generations import Generations, Progress, failed
from persistence.index.index_file import DamagedIndexError, IndexFile, create_index, open_index
from persistence.index.indexer import BATCH, Indexer
from persistence.index.truth import Truth
from persistence.migrations import UnreadableDatabaseError

# Often enough to be watched, seldom enough to cost nothing.
REPORT_SECONDS: Final = 0.2

_COUNTS: Final = "SELECT (SELECT COUNT(*) FROM document), (SELECT COUNT(*) FROM document WHERE is_embedded = 0)"

# How far the rows of each source have been put in, as the file itself notes it.
SCANNED: Final = {SearchSource.MEMORY: "scanned", SearchSource.FACT: "scanned_facts"}

Report = Callable[[Progress], None]

_log: Final = structlog.get_logger(__name__)


@dataclass(eq=False)
class BuildFailedError(Exception):
    """The index that was there is as it was."""

    reason: str


@dataclass
class Builder:
    """`identity` is what every file it makes is marked with; `queue` is None when nothing is embedded."""

    generations: Generations
    truth: Truth
    indexer: Indexer
    queue: EmbeddingQueue | None
    identity: dict[str, str]
    owners: Callable[[], Awaitable[set[str]]]
    clock: Clock
    report: Report
    started_at: datetime
    _reported_at: float = 0
    _progress: Progress = field(default_factory=Progress)
    _embeds: bool = False

    async def build(self, reuse: IndexFile | None, *, embeds_first: bool) -> Path | None:
        """The new file once it is the index; None when another process is at it.

        `embeds_first` holds the swap back until everything has its vector.
        """
        try:
            self.generations.prepare()
            with self.generations.building_alone() as is_alone:
                return await self._build(reuse, embeds_first=embeds_first) if is_alone else None
        except (sqlite.Error, OSError, UnreadableDatabaseError, StorageUnavailableError) as error:
            # Half an index is of no use, and may be what fills the disk.
            with suppress(OSError):
                self.generations.discard_building()
            self._fail(str(error))
            raise BuildFailedError(str(error)) from error

    def _fail(self, reason: str) -> None:
        progress = failed(self._progress, reason, self.clock())
        with suppress(OSError):  # the disk may be full of more than the index
            self._tell(progress)

    async def _build(self, reuse: IndexFile | None, *, embeds_first: bool) -> Path:
        self._embeds = embeds_first and self.queue is not None
        file = await self._open()
        try:
            self._tell(Progress(RebuildState.RUNNING, 0, await self.truth.count(), self.started_at))
            await self._put_rows(file, reuse)
            for owner in sorted(await self.owners()):
                await self.indexer.follow_files(file, owner)
            await self._embed(file, reuse)
            await self.indexer.catch_up(file)
            await self._tell_counts(file, at_once=True)
            await file.seal()
        finally:
            await file.close()
        finished = self.generations.finish()
        progress = self._progress
        self._tell(replace(progress, state=RebuildState.COMPLETED, done=progress.total, finished_at=self.clock()))
        return finished

    async def _open(self) -> IndexFile:
        """What a build that was cut off has done is kept, if it was to become the same index."""
        newest = await self.truth.newest_change()
        begin = {**self.identity, "applied": newest, **dict.fromkeys(SCANNED.values(), 0)}
        with suppress(sqlite.Error, UnreadableDatabaseError, DamagedIndexError):
            if self.generations.building.exists():
                file = await open_index(self.generations.building)
                is_ours = all(file.meta.get(name) == value for name, value in self.identity.items())
                if is_ours and file.applied <= newest:
                    _log.info(
                        "index_build_resumed", scanned=sum(int(file.meta.get(name, 0)) for name in SCANNED.values())
                    )
                    return file
                await file.close()
        self.generations.discard_building()
        return await create_index(self.generations.building, begin)

    async def _put_rows(self, file: IndexFile, reuse: IndexFile | None) -> None:
        for source, scanned in SCANNED.items():
            while changes := await self.truth.scan(source, int(file.meta.get(scanned, 0)), BATCH):
                await self.indexer.apply(file, changes, {scanned: changes[-1].number})
                await self._embed(file, reuse)
                await self._tell_counts(file)

    async def _embed(self, file: IndexFile, reuse: IndexFile | None) -> None:
        """With the embedder down, the index is finished without; what is missing is made up for later."""
        if self.queue is None or not self._embeds:
            return
        after = 0
        with suppress(EmbedderUnavailableError):
            while True:
                waiting, last = await self.queue.next_batch(file, after)
                if last == after:
                    return
                await self.queue.embed(file, waiting, reuse)
                after = last
                await self._tell_counts(file)

    async def _tell_counts(self, file: IndexFile, *, at_once: bool = False) -> None:
        if not at_once and time.monotonic() - self._reported_at < REPORT_SECONDS:
            # Gives way to others all the same.
            await asyncio.sleep(0)
            return
        ((documents, unembedded),) = cast("Any", await file.engine.fetch(_COUNTS))
        done = documents - unembedded if self._embeds else documents
        total = max(self._progress.total, documents)
        self._tell(replace(self._progress, done=done, total=total))

    def _tell(self, progress: Progress) -> None:
        self._reported_at = time.monotonic()
        self._progress = progress
        self.report(progress)
        self.generations.report(progress)
