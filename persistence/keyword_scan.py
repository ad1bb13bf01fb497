"""Keyword matching by reading every memory of the book once; the search index will take its place."""

import asyncio
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from domain.entities import EntityRef
from domain.memories import Memory, recency
from domain.mentions import Matcher
from domain.ports import GraphReader, KeywordIndex
from domain.text import NUL, fold
from domain.usecases.matchers import Matchers
from persistence.engine import Engine

_TEXTS = "SELECT id, summary, content FROM memory WHERE owner = :owner AND book_id = :book_id"

Texts = Sequence[tuple[str, str, str]]


@dataclass
class KeywordScan(KeywordIndex):
    """Which memories name whom is worked out anew when a name or a text of the book has changed."""

    engine: Engine
    owner: str
    graph: GraphReader
    matchers: Matchers
    _naming: dict[str, tuple[tuple[str, str], Mapping[EntityRef, Collection[str]]]] = field(default_factory=dict)

    async def naming(self, book_id: str, refs: Collection[EntityRef]) -> Mapping[EntityRef, tuple[Memory, ...]]:
        ids_of = await self._ids_naming(book_id)
        memories = await self.graph.memories({memory_id for ref in refs for memory_id in ids_of.get(ref, ())})
        found = {
            ref: sorted((memories[each] for each in ids_of.get(ref, ()) if each in memories), key=recency, reverse=True)
            for ref in refs
        }
        return {ref: tuple(each) for ref, each in found.items() if each}

    async def matching(self, book_id: str, query: str, limit: int) -> tuple[str, ...]:
        needle = fold(query)
        texts = await self._texts(book_id)
        matches = [each for each, summary, content in texts if needle in fold(f"{summary}{NUL}{content}")]
        return tuple(matches[:limit])

    async def _ids_naming(self, book_id: str) -> Mapping[EntityRef, Collection[str]]:
        frame = await self.graph.chunk_frame(book_id, None)
        if frame is None:
            return {}
        versions = frame.names_version, frame.texts_version
        known = self._naming.get(book_id)
        if known is None or known[0] != versions:
            matcher = await self.matchers.of_book(book_id, frame.names_version)
            known = versions, await asyncio.to_thread(_who_is_named, matcher, await self._texts(book_id))
            self._naming[book_id] = known
        return known[1]

    async def _texts(self, book_id: str) -> Texts:
        return cast("Texts", await self.engine.fetch(_TEXTS, {"owner": self.owner, "book_id": book_id}))


def _who_is_named(matcher: Matcher, texts: Texts) -> Mapping[EntityRef, Collection[str]]:
    """All texts in one pass; no name reaches across the NUL that parts them."""
    starts, joined = [], []
    length = 0
    for _, summary, content in texts:
        starts.append(length)
        joined.append(f"{summary}{NUL}{content}{NUL}")
        length += len(joined[-1])
    ids_of: dict[EntityRef, dict[str, None]] = defaultdict(dict)
    for mention in matcher.mentions("".join(joined)):
        for span in mention.spans:
            memory_id = texts[bisect_right(starts, span.start) - 1][0]
            ids_of[mention.ref][memory_id] = None
    return ids_of
