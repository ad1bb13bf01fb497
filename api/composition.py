"""The composition root: the one place that knows every layer."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from ulid import ULID

from api.settings import Settings
from domain.limits import Limits
from domain.tokens import estimate_tokens
from domain.usecases import UseCases
from domain.usecases.attachments import Attachments
from domain.usecases.book_import import BookImport
from domain.usecases.chunks import Chunks
from domain.usecases.entities import Entities
from domain.usecases.matchers import Matchers
from domain.usecases.memories import Memories
from persistence import condition
from persistence.access_log import AccessJournal
from persistence.engine import Engine
from persistence.graph_store import SqliteGraphStore
from persistence.keyword_scan import KeywordScan
from persistence.migrations import UnreadableDatabaseError

DATABASE = "loregraph.db"

_ID_PREFIXES: Final = {"book": "book", "character": "char", "term": "term", "chapter": "chap", "memory": "mem"}

__all__ = ["Service", "UnreadableDatabaseError", "make_id", "open_service", "prepare_data"]


@dataclass
class Service:
    """Everything that lives as long as the server."""

    engine: Engine
    accesses: AccessJournal
    limits: Limits
    _use_cases: dict[str, UseCases] = field(default_factory=dict)

    def use_cases(self, owner: str) -> UseCases:
        if owner not in self._use_cases:
            self._use_cases[owner] = self._wire(owner)
        return self._use_cases[owner]

    async def is_new(self) -> bool:
        return await condition.has_never_held_a_book(self.engine)

    async def degraded(self) -> list[str]:
        return await condition.degraded(self.engine)

    def _wire(self, owner: str) -> UseCases:
        graph = SqliteGraphStore(self.engine, owner)
        matchers = Matchers(graph)
        keywords = KeywordScan(self.engine, owner, graph, matchers)
        return UseCases(
            entities=Entities(graph, self.limits),
            memories=Memories(graph, keywords, self.accesses.of(owner), now, self.limits),
            attachments=Attachments(graph, keywords, self.limits),
            chunks=Chunks(graph, keywords, matchers, self.limits, estimate_tokens),
            book_import=BookImport(graph, now, self.limits),
        )


@asynccontextmanager
async def open_service(settings: Settings) -> AsyncIterator[Service]:
    engine = await Engine.open(settings.data_dir / DATABASE)
    try:
        accesses = AccessJournal(engine)
        try:
            yield Service(engine, accesses, settings.limits)
        finally:
            await accesses.close()
    finally:
        await engine.close()


async def prepare_data(settings: Settings) -> None:
    """Creates or upgrades the data folder, so that a problem with it is told before anything is served."""
    async with open_service(settings):
        pass


def now() -> datetime:
    return datetime.now(UTC)


def make_id(kind: str) -> str:
    """Sortable by the time it was made."""
    return f"{_ID_PREFIXES[kind]}_{str(ULID()).lower()}"
