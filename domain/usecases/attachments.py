"""Which memories hang on which entities: looking them up, attaching, detaching."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from domain import errors, limits
from domain.entities import EntityRef
from domain.errors import at
from domain.memories import Memory
from domain.paging import Page, PageRequest
from domain.ports import GraphReader, GraphStore, GraphWriter, KeywordIndex
from domain.usecases.entities import require_book, require_in_book

MEMORY_IDS = ("memory_ids",)
ENTITIES = ("entities",)
QUERY = ("query",)


@dataclass(frozen=True, slots=True)
class Attachments:
    graph: GraphStore
    keywords: KeywordIndex
    limits: limits.Limits

    async def of(self, memory_ids: Collection[str]) -> Mapping[str, tuple[EntityRef, ...]]:
        return await self.graph.attachments(memory_ids)

    async def memories(self, refs: Collection[EntityRef], page: PageRequest) -> Mapping[EntityRef, Page[Memory]]:
        return await self.graph.attached_to(refs, page)

    async def count(self, refs: Collection[EntityRef]) -> Mapping[EntityRef, int]:
        return await self.graph.count_attached_to(refs)

    async def memories_of_any(self, book_id: str, refs: Collection[EntityRef], page: PageRequest) -> Page[Memory]:
        limits.check_count(refs, limits.BULK_LIMIT, ("attached_to",))
        await require_book(self.graph, book_id)
        return await self.graph.attached_to_any(book_id, refs, page)

    async def count_of_any(self, book_id: str, refs: Collection[EntityRef]) -> int:
        return await self.graph.count_attached_to_any(book_id, refs)

    async def attach(self, book_id: str, memory_ids: Sequence[str], refs: Sequence[EntityRef]) -> tuple[Memory, ...]:
        _check_bulk(memory_ids, refs)

        async def work(graph: GraphWriter) -> tuple[Memory, ...]:
            memories = await _require_all(graph, book_id, memory_ids, refs)
            await graph.attach(dict.fromkeys(memory_ids, tuple(dict.fromkeys(refs))))
            return memories

        return await self.graph.write(work)

    async def detach(self, book_id: str, memory_ids: Sequence[str], refs: Sequence[EntityRef]) -> tuple[Memory, ...]:
        """The entities need not exist any more, so that a stale link can always be removed."""
        _check_bulk(memory_ids, refs)

        async def work(graph: GraphWriter) -> tuple[Memory, ...]:
            memories = await _require_all(graph, book_id, memory_ids, ())
            await graph.detach(memory_ids, refs)
            return memories

        return await self.graph.write(work)

    async def attach_matching(self, book_id: str, query: str, refs: Sequence[EntityRef]) -> tuple[Memory, ...]:
        """Every memory that matches, or none when there are more than a bulk operation takes."""
        limits.check_text(query, self.limits.note, QUERY)
        await require_book(self.graph, book_id)
        found = await self.keywords.matching(book_id, query, limits.BULK_LIMIT + 1)
        limits.check_count(found, limits.BULK_LIMIT, QUERY)
        _check_bulk(found, refs)

        async def work(graph: GraphWriter) -> tuple[Memory, ...]:
            # One found a moment ago may be gone by now: it is no longer a match.
            present = await graph.memories(found)
            still_there = [memory_id for memory_id in found if memory_id in present]
            memories = await _require_all(graph, book_id, still_there, refs)
            await graph.attach(dict.fromkeys(still_there, tuple(dict.fromkeys(refs))))
            return memories

        return await self.graph.write(work)


def _check_bulk(memory_ids: Sequence[str], refs: Sequence[EntityRef]) -> None:
    limits.check_count(memory_ids, limits.BULK_LIMIT, MEMORY_IDS)
    limits.check_count(refs, limits.MAX_ATTACHMENTS, ENTITIES)
    if not refs:
        raise errors.RequiredError(ENTITIES)


async def _require_all(
    graph: GraphReader, book_id: str, memory_ids: Sequence[str], refs: Sequence[EntityRef]
) -> tuple[Memory, ...]:
    await require_book(graph, book_id)
    await require_in_book(graph, book_id, [(at(ENTITIES, position), ref) for position, ref in enumerate(refs)])
    found = await graph.memories(memory_ids)
    for position, memory_id in enumerate(memory_ids):
        if memory_id not in found or found[memory_id].book_id != book_id:
            raise errors.MemoryNotFoundError(at(MEMORY_IDS, position), memory_id)
    return tuple(found[memory_id] for memory_id in dict.fromkeys(memory_ids))
