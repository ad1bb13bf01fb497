"""Memories by the words in them: who is named comes from the index, or from the texts themselves without it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

from domain.entities import EntityRef
from domain.memories import Memory
from domain.ports import ChunkFrame, KeywordIndex, KeywordMatches, Related
from domain.text import NUL, fold
from persistence.engine import Engine
from persistence.graph_queries import FOREMOST_OF_IDS, IDS_BY_ACCESS, PINNED_IDS
from persistence.mapping import json_of, memory_from_row
from persistence.related_sets import Members, RelatedSets, Source

# Fewer are looked up one by one; more are met soon when all memories of the book are walked by access.
FEW: Final = 1_000
PAGE: Final = 500

_TEXTS: Final = "SELECT id, summary, content FROM memory WHERE owner = :owner AND book_id = :book_id"
_TEXTS_OF: Final = """
    SELECT memory.id, summary, content FROM json_each(:ids) AS wanted
    CROSS JOIN memory ON memory.owner = :owner AND memory.id = wanted.value AND book_id = :book_id"""


class NamedSource(Protocol):
    async def named(self, book_id: str) -> Source:
        """The present state of who is named in the book's memories."""

    async def containing(self, book_id: str, query: str) -> Sequence[str] | None:
        """Ids among which are all memories that contain the text; None when any memory may."""


@dataclass(frozen=True, slots=True)
class Keywords(KeywordIndex):
    engine: Engine
    owner: str
    sets: RelatedSets
    index: NamedSource

    async def foremost_named(
        self, book_id: str, refs: Collection[EntityRef], limit: int, chapter_number: int | None = None
    ) -> Mapping[EntityRef, tuple[Memory, ...]]:
        return await self._foremost_named(await self.index.named(book_id), book_id, refs, limit, chapter_number)

    async def foremost_named_hidden(
        self, book_id: str, refs: Collection[EntityRef], limit: int, chapter_number: int
    ) -> Mapping[EntityRef, tuple[Memory, ...]]:
        if not refs:
            return {}
        members = await self.sets.members(await self.index.named(book_id), refs)
        hidden = {
            ref: frozenset(
                bound.memory_id
                for bound in each.bounds
                if bound.is_known_in(chapter_number) and not bound.is_valid_in(chapter_number)
            )
            for ref, each in members.items()
        }
        return await self._foremost(book_id, hidden, limit)

    async def matches(
        self, frame: ChunkFrame, groups: Sequence[Related], limit: int, attached: Collection[str]
    ) -> KeywordMatches:
        links, chapter_number = self.sets.attached(frame.links_version), frame.chapter_number
        refs = tuple(dict.fromkeys(ref for group in groups for ref in group.named))
        if not refs:
            return KeywordMatches({}, {}, await self.sets.count(groups, links, None, chapter_number))
        named = await self.index.named(frame.book.id)
        memories = await self._foremost_named(named, frame.book.id, refs, limit, chapter_number)
        met = {*attached, *(memory.id for found in memories.values() for memory in found)}
        return KeywordMatches(
            memories,
            await self.sets.holding(named, refs, met, chapter_number),
            await self.sets.count(groups, links, named, chapter_number),
        )

    async def matching(self, book_id: str, query: str, limit: int) -> tuple[str, ...]:
        needle = fold(query)
        candidates = await self.index.containing(book_id, query)
        parameters = {"owner": self.owner, "book_id": book_id, "ids": json_of(candidates or ())}
        rows = await self.engine.fetch(_TEXTS if candidates is None else _TEXTS_OF, parameters)
        matches = [each for each, summary, content in cast("Any", rows) if needle in fold(f"{summary}{NUL}{content}")]
        return tuple(matches[:limit])

    async def _foremost_named(
        self, named: Source, book_id: str, refs: Collection[EntityRef], limit: int, chapter_number: int | None
    ) -> Mapping[EntityRef, tuple[Memory, ...]]:
        members = await self.sets.members(named, refs)
        return await self._foremost(book_id, {ref: _told(each, chapter_number) for ref, each in members.items()}, limit)

    async def _foremost(
        self, book_id: str, ids_of: Mapping[EntityRef, frozenset[str]], limit: int
    ) -> Mapping[EntityRef, tuple[Memory, ...]]:
        few = {ref: ids for ref, ids in ids_of.items() if len(ids) <= FEW}
        many = {ref: ids for ref, ids in ids_of.items() if len(ids) > FEW}
        chosen = {**few, **await self._walk(book_id, many, limit)}
        asked = [ref for ref, ids in chosen.items() if ids]
        if not asked:
            return {}
        found: dict[EntityRef, list[Memory]] = {}
        rows = await self.engine.fetch(
            FOREMOST_OF_IDS,
            {"owner": self.owner, "lists": json_of([list(chosen[ref]) for ref in asked]), "limit": limit},
        )
        for key, *memory in cast("Any", rows):
            found.setdefault(asked[key], []).append(memory_from_row(tuple(memory)))
        return {ref: tuple(each) for ref, each in found.items()}

    async def _walk(
        self, book_id: str, ids_of: Mapping[EntityRef, frozenset[str]], limit: int
    ) -> Mapping[EntityRef, list[str]]:
        """Of each, the pinned and as many of the most recently accessed as are wanted."""
        if not ids_of:
            return {}
        bounds = {"owner": self.owner, "book_id": book_id}
        pinned = [str(row[0]) for row in await self.engine.fetch(PINNED_IDS, bounds)]
        chosen = {ref: [id_ for id_ in pinned if id_ in ids][:limit] for ref, ids in ids_of.items()}
        unfilled = dict.fromkeys(ids_of, limit)
        position: tuple[object, object] = (2**63 - 1, "\U0010ffff")
        while unfilled:
            rows = await self.engine.fetch(
                IDS_BY_ACCESS, {**bounds, "position": position[0], "id": position[1], "limit": PAGE}
            )
            for ref in list(unfilled):
                ids = ids_of[ref]
                met = [str(id_) for _, id_ in rows if id_ in ids][: unfilled[ref]]
                chosen[ref] += met
                unfilled[ref] -= len(met)
                if not unfilled[ref]:
                    del unfilled[ref]
            if len(rows) < PAGE:
                break
            position = rows[-1][0], rows[-1][1]
        return chosen


def _told(members: Members, chapter_number: int | None) -> frozenset[str]:
    if chapter_number is None or not members.bounds:
        return members.memory_ids
    return members.memory_ids - {
        bound.memory_id
        for bound in members.bounds
        if not (bound.is_known_in(chapter_number) and bound.is_valid_in(chapter_number))
    }
