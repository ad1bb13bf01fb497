"""A whole book with all it owns, brought in at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from domain import limits
from domain.entities import Book, Entity
from domain.errors import at
from domain.memories import MemoryDraft
from domain.ports import Clock, GraphStore, GraphWriter
from domain.usecases.entities import add_entity
from domain.usecases.memories import add_memories, check_drafts


@dataclass(frozen=True, slots=True)
class BookImport:
    graph: GraphStore
    clock: Clock
    limits: limits.Limits

    async def run(self, book: Book, entities: Sequence[Entity], drafts: Sequence[MemoryDraft]) -> None:
        """All of it or nothing."""
        paths = [at(("memories",), position) for position in range(len(drafts))]
        for entity in (book, *entities):
            limits.check_entity(entity, self.limits)
        check_drafts(drafts, paths, self.limits)
        now = self.clock()

        async def work(graph: GraphWriter) -> None:
            for entity in (book, *entities):
                await add_entity(graph, entity)
            await add_memories(graph, drafts, paths, now)

        await self.graph.write(work)
