"""Memories: create, import, read, list, change, delete, and what is relevant to an entity."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from domain import errors, limits
from domain.entities import EntityRef
from domain.errors import Path, at
from domain.memories import (
    Memory,
    MemoryDraft,
    RelevantMemory,
    Retrieval,
    attach_or_default,
    merge_relevant,
    new_memory,
    refs_to_match,
)
from domain.paging import Page, PageRequest
from domain.ports import AccessLog, Clock, GraphReader, GraphStore, GraphWriter, KeywordIndex
from domain.usecases.entities import require_book, require_in_book

ID = ("id",)
ATTACHED_TO = ("attached_to",)


@dataclass(frozen=True, slots=True)
class Memories:
    graph: GraphStore
    keywords: KeywordIndex
    accesses: AccessLog
    clock: Clock
    limits: limits.Limits

    async def create(self, draft: MemoryDraft) -> Memory:
        (memory,) = await self._add([draft], paths=[()])
        return memory

    async def import_all(self, drafts: Sequence[MemoryDraft]) -> tuple[Memory, ...]:
        """All of them or none."""
        limits.check_count(drafts, limits.BULK_LIMIT, ("memories",))
        return await self._add(drafts, [at(("memories",), position) for position in range(len(drafts))])

    async def update(
        self, memory_id: str, changes: Mapping[str, object], attached_to: Sequence[EntityRef] | None
    ) -> Memory:
        """Only what is named in `changes` changes; `attached_to` replaces the whole list unless None."""
        if attached_to is not None:
            limits.check_count(attached_to, limits.MAX_ATTACHMENTS, ATTACHED_TO)

        async def work(graph: GraphWriter) -> Memory:
            memory = await _require_memory(graph, memory_id)
            changed = replace(memory, **changes, updated_at=self.clock())  # type: ignore[arg-type]
            limits.check_memory(changed, self.limits)
            await graph.replace_memory(changed)
            if attached_to is not None:
                await require_in_book(graph, memory.book_id, _named(attached_to, ATTACHED_TO))
                await graph.reattach(memory_id, attach_or_default(attached_to, memory.book_id))
            return changed

        return await self.graph.write(work)

    async def delete(self, memory_id: str) -> None:
        async def work(graph: GraphWriter) -> None:
            await _require_memory(graph, memory_id)
            await graph.delete_memory(memory_id)

        await self.graph.write(work)

    async def read(self, memory_id: str) -> Memory | None:
        """Looking a memory up by its id counts as an access; nothing else does."""
        memory = (await self.graph.memories([memory_id])).get(memory_id)
        if memory is not None:
            self.accesses.record(memory_id, self.clock())
        return memory

    async def of_books(self, book_ids: Collection[str], page: PageRequest) -> Mapping[str, Page[Memory]]:
        return await self.graph.memories_of(book_ids, page)

    async def count_of_books(self, book_ids: Collection[str]) -> Mapping[str, int]:
        return await self.graph.count_memories_of(book_ids)

    async def relevant_to(
        self, refs: Collection[EntityRef], limit: int, retrieval: Retrieval
    ) -> Mapping[EntityRef, tuple[RelevantMemory, ...]]:
        attached = (await self.graph.foremost_attached(refs, limit)).memories
        matching = await self._named(refs_to_match(refs, attached, retrieval), limit)
        return {ref: merge_relevant(attached.get(ref, ()), matching.get(ref, ()), ref, limit) for ref in refs}

    async def _named(self, refs: Collection[EntityRef], limit: int) -> Mapping[EntityRef, tuple[Memory, ...]]:
        refs_in: dict[str, list[EntityRef]] = defaultdict(list)
        for ref, entity in (await self.graph.entities(refs)).items() if refs else ():
            refs_in[entity.book_id].append(ref)
        found: dict[EntityRef, tuple[Memory, ...]] = {}
        for book_id, wanted in refs_in.items():
            found.update(await self.keywords.foremost_named(book_id, wanted, limit))
        return found

    async def _add(self, drafts: Sequence[MemoryDraft], paths: Sequence[Path]) -> tuple[Memory, ...]:
        check_drafts(drafts, paths, self.limits)
        now = self.clock()

        async def work(graph: GraphWriter) -> tuple[Memory, ...]:
            return await add_memories(graph, drafts, paths, now)

        return await self.graph.write(work)


def check_drafts(drafts: Sequence[MemoryDraft], paths: Sequence[Path], most: limits.Limits) -> None:
    seen: set[str] = set()
    for draft, path in zip(drafts, paths, strict=True):
        limits.check_draft(draft, most, path)
        if draft.id in seen:
            raise errors.IdTakenError(at(path, "id"), draft.id)
        seen.add(draft.id)


async def add_memories(
    graph: GraphWriter, drafts: Sequence[MemoryDraft], paths: Sequence[Path], now: datetime
) -> tuple[Memory, ...]:
    """Checked drafts become memories, attached as they ask; `paths` say where each stood in the input."""
    for book_id in dict.fromkeys(draft.book_id for draft in drafts):
        await require_book(graph, book_id)
        named = [
            reference
            for draft, path in zip(drafts, paths, strict=True)
            if draft.book_id == book_id
            for reference in _named(draft.attached_to, at(path, "attached_to"))
        ]
        await require_in_book(graph, book_id, named)
    await _refuse_taken_ids(graph, drafts, paths)
    added = tuple(new_memory(draft, now) for draft in drafts)
    await graph.add_memories(added)
    await graph.attach({draft.id: attach_or_default(draft.attached_to, draft.book_id) for draft in drafts})
    return added


def _named(refs: Sequence[EntityRef], path: Path) -> list[tuple[Path, EntityRef]]:
    return [(at(path, position), ref) for position, ref in enumerate(refs)]


async def _require_memory(graph: GraphReader, memory_id: str) -> Memory:
    memory = (await graph.memories([memory_id])).get(memory_id)
    if memory is None:
        raise errors.MemoryNotFoundError(ID, memory_id)
    return memory


async def _refuse_taken_ids(graph: GraphReader, drafts: Sequence[MemoryDraft], paths: Sequence[Path]) -> None:
    taken = await graph.memories([draft.id for draft in drafts])
    for draft, path in zip(drafts, paths, strict=True):
        if draft.id in taken:
            raise errors.IdTakenError(at(path, "id"), draft.id)
