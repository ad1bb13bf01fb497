"""The composition root: the one place that knows every layer."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Final

import structlog
from ulid import ULID

from api.background import Background
from api.forgetting import Forgetting
from api.settings import LOCAL_OWNER, Settings
from domain.ports import Clock, Extractor
from domain.search import RebuildState
from domain.tokens import estimate_tokens
from domain.usecases import UseCases
from domain.usecases.attachments import Attachments
from domain.usecases.book_import import BookImport
from domain.usecases.chunks import Chunks
from domain.usecases.entities import Entities
from domain.usecases.facts import Facts
from domain.usecases.learning import Learner
from domain.usecases.matchers import Matchers
from domain.usecases.memories import Memories
from domain.usecases.notebook import Notebook
from domain.usecases.prompts import Prompts
from domain.usecases.search import Search
from domain.usecases.sessions import Sessions
from domain.usecases.settings import Settings as OwnerSettings
from persistence import access_log, condition
from persistence.access_log import AccessJournal
from persistence.chat_agenda import ChatAgenda
from persistence.chat_store import SqliteChatStore
from persistence.embedding import open_embedder
from persistence.embedding.guarded import GuardedEmbedder
from persistence.engine import Engine
from persistence.extraction import open_extractor
from persistence.extraction.guarded import GuardedExtractor
from persistence.graph_store import SqliteGraphStore
from persistence.index.builder import BuildFailedError
from persistence.index.generations import Generations
from persistence.index.generations import Progress as BuildProgress
from persistence.index.indexer import Holdings
from persistence.index.library import Library
from persistence.index.like import LikeSearch
from persistence.index.named import NamedByReading
from persistence.index.owner_index import OwnerIndex
from persistence.index.truth import Truth
from persistence.keywords import Keywords
from persistence.migrations import UnreadableDatabaseError
from persistence.notebook_files import NotebookFiles, make_notebook, notebook_owners, notebook_root
from persistence.notebook_watch import NotebookWatch
from persistence.related_sets import RelatedSets

DATABASE = "loregraph.db"
INDEX = "index"
# Longer a search does not wait for the meaning of its query.
QUERY_SECONDS = 3.0

_ID_PREFIXES: Final = {
    "book": "book",
    "character": "char",
    "term": "term",
    "chapter": "chap",
    "memory": "mem",
    "fact": "fact",
}

_log: Final = structlog.get_logger(__name__)


def now() -> datetime:
    return datetime.now(UTC)


__all__ = [
    "BuildFailedError",
    "BuildProgress",
    "RebuildState",
    "Service",
    "UnreadableDatabaseError",
    "make_id",
    "open_parts",
    "open_service",
    "prepare_data",
]


@dataclass
class Service:
    """Everything that lives as long as the server."""

    settings: Settings
    engine: Engine
    accesses: AccessJournal
    clock: Clock = now
    library: Library = field(init=False)
    extractor: Extractor = field(init=False)
    background: Background = field(init=False)
    forgetting: Forgetting = field(init=False)
    _holdings: dict[str, Holdings] = field(default_factory=dict)
    _use_cases: dict[str, UseCases] = field(default_factory=dict)

    def __post_init__(self) -> None:
        embedder = _embedder(self.settings)
        self.library = Library(
            Generations(self.settings.data_dir / INDEX),
            Truth(self.engine),
            self._holdings_of,
            partial(notebook_owners, self.settings.data_dir),
            embedder,
            self.clock,
        )
        self.forgetting = Forgetting((self.engine.forget, self.library.forget))
        self.extractor = open_extractor(
            self.settings.llm_base_url,
            self.settings.llm_api_key.get_secret_value(),
            self.settings.llm_model,
            time.monotonic,
        )
        self.background = Background(ChatAgenda(self.engine), self.use_cases, self.clock, self.settings.sweep_seconds)

    def use_cases(self, owner: str) -> UseCases:
        if owner not in self._use_cases:
            self._use_cases[owner] = self._wire(owner)
        return self._use_cases[owner]

    async def is_new(self) -> bool:
        return await condition.has_never_held_a_book(self.engine)

    async def degraded(self) -> list[str]:
        return [
            *await condition.degraded(self.engine),
            *self.library.states.latest.degraded,
            *self._why_nothing_is_learned(),
        ]

    async def close(self) -> None:
        await self.background.stop()
        await self.forgetting.close()
        await self.extractor.close()
        await self.library.close()

    def _why_nothing_is_learned(self) -> Iterator[str]:
        if isinstance(self.extractor, GuardedExtractor) and self.extractor.reason is not None:
            yield f"Nothing is learned from conversations until the model is back: {self.extractor.reason}"

    def _holdings_of(self, owner: str) -> Holdings:
        if owner not in self._holdings:
            graph = SqliteGraphStore(self.engine, owner)
            notebook = NotebookFiles(notebook_root(self.settings.data_dir, owner), self.clock)
            self._holdings[owner] = Holdings(graph, Matchers(graph), notebook)
        return self._holdings[owner]

    def _wire(self, owner: str) -> UseCases:
        limits, library, holdings = self.settings.limits, self.library, self._holdings_of(owner)
        graph = SqliteGraphStore(self.engine, owner)
        index = OwnerIndex(
            library,
            owner,
            LikeSearch(self.engine, holdings.notebook),
            NamedByReading(library.truth, owner, graph, holdings.matchers),
        )
        keywords = Keywords(self.engine, owner, RelatedSets(self.engine, owner), index)
        chat = SqliteChatStore(self.engine, owner)
        clock, zone = self.clock, self.settings.zone
        search = Search(index, graph, chat, zone, limits)
        notebook = Notebook(holdings.notebook, clock, zone, limits, partial(library.file_written, owner))
        settings = OwnerSettings(chat, self.settings.memory, self.forgetting.begin)
        accesses = self.accesses.of(owner, access_log.FACT)
        facts = Facts(chat, index, accesses, settings, clock, limits, self.forgetting.finish)
        return UseCases(
            entities=Entities(graph, limits),
            memories=Memories(graph, keywords, self.accesses.of(owner), clock, limits),
            attachments=Attachments(graph, keywords, limits),
            chunks=Chunks(graph, keywords, holdings.matchers, limits, estimate_tokens),
            book_import=BookImport(graph, clock, limits),
            search=search,
            notebook=notebook,
            sessions=Sessions(
                chat, settings, clock, limits, partial(make_id, "fact"), partial(self.background.learn, owner)
            ),
            facts=facts,
            prompts=Prompts(facts, search, notebook, settings, limits, estimate_tokens),
            settings=settings,
            learner=Learner(chat, self.extractor, notebook, index, settings, clock),
            index=index,
        )


@asynccontextmanager
async def open_parts(settings: Settings, clock: Clock = now) -> AsyncIterator[Service]:
    """Everything in its place, but nothing at work yet."""
    await asyncio.to_thread(make_notebook, notebook_root(settings.data_dir, LOCAL_OWNER))
    async with AsyncExitStack() as stack:
        engine = await Engine.open(settings.data_dir / DATABASE)
        stack.push_async_callback(engine.close)
        accesses = AccessJournal(engine)
        stack.push_async_callback(accesses.close)
        service = Service(settings, engine, accesses, clock)
        stack.push_async_callback(service.close)
        yield service


@asynccontextmanager
async def open_service(settings: Settings, clock: Clock = now) -> AsyncIterator[Service]:
    async with open_parts(settings, clock) as service:
        watch = NotebookWatch(settings.data_dir)
        running = [asyncio.create_task(watch.run(service.library.files_settled), name="notebook-watch")]
        try:
            # First the watch, then the look at all files: nothing that is saved in between is missed.
            await watch.started.wait()
            await service.library.open()
            running.append(asyncio.create_task(service.background.run(), name="background"))
            # What a server that was stopped had not forgotten yet.
            service.forgetting.begin()
            yield service
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)


def _embedder(settings: Settings) -> GuardedEmbedder | None:
    embedder = open_embedder(
        settings.embedder,
        base_url=settings.embedding_base_url,
        api_key=settings.embedding_api_key.get_secret_value(),
        model=settings.embedding_model,
    )
    return None if embedder is None else GuardedEmbedder(embedder, time.monotonic, query_seconds=QUERY_SECONDS)


async def prepare_data(settings: Settings) -> None:
    """Creates or upgrades the data folder, so that a problem with it is told before anything is served."""
    async with open_parts(settings):
        pass


def make_id(kind: str) -> str:
    """Sortable by the time it was made."""
    return f"{_ID_PREFIXES[kind]}_{str(ULID()).lower()}"
