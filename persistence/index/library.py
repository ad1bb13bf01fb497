"""The index of all owners while the process lives: opened, kept up to date, replaced, and what it lacks told."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

import structlog

from domain import segmentation
from domain.broadcast import Broadcast
from domain.errors import StorageUnavailableError
from domain.ports import Clock
from domain.search import RebuildState, SearchEngine
from persistence import sqlite
from persistence.embedding.guarded import GuardedEmbedder
from persistence.index.builder import Builder, BuildFailedError
from persistence.index.embedding_queue import EmbeddingQueue
from persistence.index.embedding_worker import EmbeddingWorker
from persistence.index.file_follower import FileFollower
from persistence.index.generations import Generations, Progress
from persistence.index.index_file import DamagedIndexError, IndexFile, open_index
from persistence.index.index_schema import FORMAT
from persistence.index.indexer import Holdings, Indexer
from persistence.index.tasks import Tasks
from persistence.index.truth import Truth
from persistence.migrations import UnreadableDatabaseError

# How often another process's work on the index is looked for.
LOOK_SECONDS: Final = 0.25
# What is small is ready when the service is; what is not is searched without an index meanwhile.
START_SECONDS: Final = 1.0
# So long a search waits for the newest changes to be in the index, then it answers with what is.
CATCH_UP_SECONDS: Final = 2.0
# Between two attempts at an index that could not be built, or that another process left half-built.
RETRY_SECONDS: Final = 10.0

_log: Final = structlog.get_logger(__name__)


class IndexUnavailableError(Exception):
    """There is no index to be asked; the texts themselves can be."""


class ForeignIndexError(Exception):
    """It was made for something else than what it is to serve now."""


@dataclass(frozen=True, slots=True)
class State:
    """What every owner is told of the index; `revision` grows with every change of what is in it."""

    engine: SearchEngine
    progress: Progress
    degraded: tuple[str, ...]
    revision: int


@dataclass
class Library:
    generations: Generations
    truth: Truth
    holdings_of: Callable[[str], Holdings]
    owners: Callable[[], Awaitable[set[str]]]
    embedder: GuardedEmbedder | None
    clock: Clock
    indexer: Indexer = field(init=False)
    queue: EmbeddingQueue | None = None
    states: Broadcast[State] = field(init=False)
    _files: FileFollower = field(init=False)
    _worker: EmbeddingWorker | None = None
    _file: IndexFile | None = None
    _trouble: str | None = "there is none yet"
    _vector_trouble: str | None = None
    _progress: Progress = field(default_factory=Progress)
    _revision: int = 0
    _identity: dict[str, str] = field(default_factory=dict)
    _tasks: Tasks = field(default_factory=Tasks)
    # Apart, because a task that is cancelled before its turn has come does nothing at all.
    _closing: Tasks = field(default_factory=Tasks)
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)
    _building: asyncio.Task[None] | None = None
    _beginning: asyncio.Task[None] | None = None

    def __post_init__(self) -> None:
        self.indexer = Indexer(self.truth, self.holdings_of)
        self._files = FileFollower(self.indexer, self.owners)
        if self.embedder is not None and sqlite.why_no_vectors() is None:
            self.queue = EmbeddingQueue(self.truth, self.embedder)
            self._worker = EmbeddingWorker(
                self.queue, self.embedder, self._file_to_embed, self._has_changed, self.vectors_failed
            )
            self.embedder.on_change = self._embedder_changed
        self.states = Broadcast(self._state())

    async def open(self) -> None:
        """From now on the index is kept up to date."""
        await self._identify()
        if self.embedder is not None and (reason := sqlite.why_no_vectors()):
            _log.warning("search_without_vectors", reason=reason)
        self._progress = self.generations.progress()
        await self._open_newest()
        if self._file is None or not self._is_of_embedder(self._file) or self.generations.building.exists():
            self._start_building()
        self._tasks.run(self._look_after(), "index-look-after")
        if self._worker is not None:
            self._tasks.run(self._worker.run(), "index-embedding")
        if beginning := {each for each in (self._beginning, self._building) if each is not None}:
            await asyncio.wait(beginning, timeout=START_SECONDS)

    async def build_once(self, tell: Callable[[Progress], None]) -> None:
        """Without being open, beside a server that sees it; follows a build that is already under way."""
        await self._identify()
        await self._open_newest()
        if await self._builder(tell, self.clock()).build(self._file_to_embed(), embeds_first=True) is None:
            while (progress := self.generations.progress()).state is RebuildState.RUNNING:
                tell(progress)
                await asyncio.sleep(LOOK_SECONDS)
            tell(progress)

    async def close(self) -> None:
        await self._tasks.end()
        await self._closing.finish()
        self.states.close()
        if self._file is not None:
            await self._file.close()
        if self.embedder is not None:
            await self.embedder.close()

    @asynccontextmanager
    async def in_use(self) -> AsyncIterator[IndexFile]:
        """The index as it is; raises IndexUnavailableError when there is none to ask."""
        file = self._file
        if file is None or self._trouble is not None:
            raise IndexUnavailableError
        async with file.in_use():
            with self._noticing_trouble():
                yield file

    @asynccontextmanager
    async def at_present(self) -> AsyncIterator[IndexFile]:
        """The index with all that was written before."""
        async with self.in_use() as file:
            await self._catch_up(file)
            yield file

    def file_written(self, owner: str, path: str) -> None:
        """By ourselves: searched right away, and found unchanged when the watch reports it."""
        self._files.note(owner, path)
        self._tasks.run(self._follow_files(), "index-follow-own-write")

    async def files_settled(self, files: frozenset[tuple[str, str]]) -> None:
        """By whoever edits, once they have come to rest."""
        for owner, path in files:
            self._files.note(owner, path)
        await self._follow_files()

    async def forget(self) -> None:
        """What was deleted is in no file of the index afterwards; without an index there is nothing to do."""
        with suppress(IndexUnavailableError):
            async with self.in_use() as file:
                await self._bring_up(file)
                if file.has_to_forget:
                    await file.forget()

    def rebuild(self) -> None:
        self._start_building()

    @property
    def engine(self) -> SearchEngine:
        if self._file is None or self._trouble is not None:
            return SearchEngine.LIKE
        return SearchEngine.HYBRID if self.has_meaning(self._file) else SearchEngine.KEYWORD

    def has_meaning(self, file: IndexFile) -> bool:
        """Vectors of two embedders are never compared."""
        is_up = self.queue is not None and self.embedder is not None and self.embedder.reason is None
        return is_up and self._vector_trouble is None and self._is_of_embedder(file)

    def vectors_failed(self, error: Exception) -> None:
        """The words are still there; vectors come back with the next build."""
        _log.warning("index_vectors_failed", reason=str(error))
        self._vector_trouble = str(error)
        self._start_building()
        self._publish()

    async def _identify(self) -> None:
        """What an index must be made with and for to be ours."""
        self._identity = {
            "format": f"{FORMAT}; {segmentation.IDENTITY}",
            "embedder": self.embedder.identity if self.embedder else "none",
            "database": await self.truth.database_id(),
        }

    async def _open_newest(self) -> None:
        # Opened twice at once, a file would not know of the vectors that are put into its other self.
        async with self._opening:
            await self._open_if_newer()

    async def _open_if_newer(self) -> None:
        path = self.generations.newest()
        is_open = self._file is not None and self._file.engine.path == path and self._trouble is None
        if path is None or is_open:
            return
        try:
            file = await self._open_ours(path)
        except (sqlite.Error, UnreadableDatabaseError, DamagedIndexError, ForeignIndexError) as error:
            self._now_in_trouble(str(error))
            return
        before, self._file = self._file, file
        self._trouble = self._vector_trouble = None
        if self.embedder is not None and self._is_of_embedder(file):
            self.embedder.expected_dimensions = file.meta.get("dimensions")
        if before is not None:
            self._closing.run(before.close(), "index-close")
        self._beginning = self._tasks.run(self._follow_all_files(file), "index-follow-files")
        self._has_changed()
        _log.info("index_opened", file=path.name, engine=self.engine.value)
        await asyncio.to_thread(self.generations.remove_older, path)

    async def _open_ours(self, path: Path) -> IndexFile:
        """Raises ForeignIndexError, and what `open_index` does."""
        file = await open_index(path)
        try:
            await self._check_that_it_is_ours(file)
        except BaseException:
            await file.close()
            raise
        return file

    async def _check_that_it_is_ours(self, file: IndexFile) -> None:
        for name in ("format", "database"):
            if file.meta.get(name) != self._identity[name]:
                raise ForeignIndexError(f"it was made for another {name}")
        if file.applied > await self.truth.newest_change():
            raise ForeignIndexError("it knows of changes that the database does not")

    def _is_of_embedder(self, file: IndexFile) -> bool:
        return bool(file.meta.get("embedder") == self._identity["embedder"])

    def _file_to_embed(self) -> IndexFile | None:
        file = self._file
        return file if file is not None and self._trouble is None and self._is_of_embedder(file) else None

    async def _catch_up(self, file: IndexFile) -> None:
        is_following = self._beginning is not None and not self._beginning.done()
        is_current = file.applied >= await self.truth.newest_change()
        if is_current and not is_following and not self._files.is_behind:
            return
        work = self._tasks.run(self._bring_up(file), "index-catch-up")
        # Goes on when the search that began it waits no longer, for others that do.
        if not (await asyncio.wait({work}, timeout=CATCH_UP_SECONDS))[0]:
            _log.warning("index_behind", applied=file.applied)
        if self._trouble is not None:
            raise IndexUnavailableError

    async def _bring_up(self, file: IndexFile) -> None:
        async with file.in_use():
            if self._beginning is not None:
                await asyncio.wait({self._beginning})
            with suppress(IndexUnavailableError), self._noticing_trouble():
                has_changed = await self._files.follow(file)
                if await self.indexer.catch_up(file) or has_changed:
                    self._has_changed()

    async def _follow_files(self) -> None:
        # Without an index nothing is to be done: the one that is being built reads all files.
        with suppress(IndexUnavailableError):
            async with self.in_use() as file:
                if await self._files.follow(file):
                    self._has_changed()

    async def _follow_all_files(self, file: IndexFile) -> None:
        async with file.in_use():
            with suppress(IndexUnavailableError), self._noticing_trouble():
                if await self._files.follow_all(file):
                    self._has_changed()

    def _start_building(self) -> None:
        if self._building is None or self._building.done():
            started_at = self.clock()
            self._tell(Progress(RebuildState.RUNNING, started_at=started_at))
            self._building = self._tasks.run(self._build(started_at), "index-build")

    async def _build(self, started_at: datetime) -> None:
        # Without an index to answer meanwhile, words come first and vectors later.
        has_index = self._file is not None and self._trouble is None
        ended = self._progress

        def tell(progress: Progress) -> None:
            nonlocal ended
            ended = progress
            if progress.state is RebuildState.RUNNING:
                self._tell(progress)

        try:
            await self._builder(tell, started_at).build(self._file_to_embed(), embeds_first=has_index)
        except BuildFailedError as error:
            _log.error("index_build_failed", reason=error.reason)
            if not has_index:
                self._now_in_trouble(error.reason)
        await self._open_newest()
        # It has ended only once it is what searches run on.
        self._tell(ended)

    def _builder(self, tell: Callable[[Progress], None], started_at: datetime) -> Builder:
        return Builder(
            self.generations,
            self.truth,
            # With an indexer of its own, so that the present index is kept up to date meanwhile.
            Indexer(self.truth, self.holdings_of),
            self.queue,
            self._identity,
            self.owners,
            self.clock,
            tell,
            started_at,
        )

    async def _look_after(self) -> None:
        """Sees what was written or built, whoever did it, and goes on with what was left unfinished."""
        waited = 0.0
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            newest = self.generations.newest()
            if newest is not None and (self._file is None or newest > self._file.engine.path):
                await self._open_newest()
            if self._file is not None and self._file.applied < await self.truth.newest_change():
                self._tasks.run(self._bring_up(self._file), "index-catch-up")
            if self._building is not None and not self._building.done():
                continue
            self._tell(self.generations.progress())
            needs_building = self._trouble is not None or self._vector_trouble is not None or self._is_left_unfinished()
            waited = waited + LOOK_SECONDS if needs_building else 0.0
            if waited >= RETRY_SECONDS:
                waited = 0.0
                self._start_building()

    def _is_left_unfinished(self) -> bool:
        return self._progress.state is RebuildState.RUNNING and self.generations.building.exists()

    @contextmanager
    def _noticing_trouble(self) -> Iterator[None]:
        try:
            yield
        except (sqlite.Error, StorageUnavailableError) as error:
            self._now_in_trouble(str(error))
            self._start_building()
            raise IndexUnavailableError from error

    def _now_in_trouble(self, reason: str) -> None:
        if reason != self._trouble:
            _log.warning("index_unusable", reason=reason)
        self._trouble = reason
        self._publish()

    def _embedder_changed(self) -> None:
        """It went down or came back."""
        self._publish()
        if self._worker is not None:
            self._worker.wake()

    def _has_changed(self) -> None:
        self._revision += 1
        self._publish()
        if self._worker is not None:
            self._worker.wake()

    def _tell(self, progress: Progress) -> None:
        self._progress = progress
        self._publish()

    def _publish(self) -> None:
        self.states.publish(self._state())

    def _state(self) -> State:
        return State(self.engine, self._progress, tuple(self._lacking()), self._revision)

    def _lacking(self) -> Iterator[str]:
        if self._file is None or self._trouble is not None:
            yield f"Search looks through all texts until the index is built: {self._trouble}"
            return
        if self.embedder is None:
            return
        if reason := sqlite.why_no_vectors():
            yield f"Search is by keywords alone: {reason}"
        elif self._vector_trouble is not None:
            yield f"Search is by keywords alone until the index is built: {self._vector_trouble}"
        elif self.embedder.reason is not None:
            yield f"Search is by keywords alone, the embedder is down: {self.embedder.reason}"
        elif not self._is_of_embedder(self._file):
            yield "Search is by keywords alone until the vectors of the new embedder are made"
