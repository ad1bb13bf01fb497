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

# By entity: the memories that name it, each with the chapter from which one of those names is known.
Named = Mapping[EntityRef, Mapping[str, int]]


@dataclass
class KeywordScan(KeywordIndex):
    """Which memories name whom is worked out anew when a name or a text of the book has changed."""

    engine: Engine
    owner: str
    graph: GraphReader
    matchers: Matchers
    _known: dict[str, tuple[tuple[str, str], Named]] = field(default_factory=dict)

    async def naming(
        self, book_id: str, refs: Collection[EntityRef], chapter_number: int | None = None
    ) -> Mapping[EntityRef, tuple[Memory, ...]]:
        named = await self._named(book_id)
        ids_of = {
            ref: [
                memory_id
                for memory_id, revealed_in in named.get(ref, {}).items()
                if chapter_number is None or revealed_in <= chapter_number
            ]
            for ref in refs
        }
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

    async def _named(self, book_id: str) -> Named:
        frame = await self.graph.chunk_frame(book_id, None)
        if frame is None:
            return {}
        versions = frame.names_version, frame.texts_version
        known = self._known.get(book_id)
        if known is None or known[0] != versions:
            matcher = await self.matchers.of_book(book_id, frame.names_version)
            known = versions, await asyncio.to_thread(_who_is_named, matcher, await self._texts(book_id))
            self._known[book_id] = known
        return known[1]

    async def _texts(self, book_id: str) -> Texts:
        return cast("Texts", await self.engine.fetch(_TEXTS, {"owner": self.owner, "book_id": book_id}))


def _who_is_named(matcher: Matcher, texts: Texts) -> Named:
    """All texts in one pass; no name reaches across the NUL that parts them."""
    starts, joined = [], []
    length = 0
    for _, summary, content in texts:
        starts.append(length)
        joined.append(f"{summary}{NUL}{content}{NUL}")
        length += len(joined[-1])
    named: dict[EntityRef, dict[str, int]] = defaultdict(dict)
    for mention in matcher.mentions("".join(joined)):
        for span, name in zip(mention.spans, mention.names, strict=True):
            memory_id = texts[bisect_right(starts, span.start) - 1][0]
            revealed_in = matcher.revealed_in(mention.ref, name) or 0
            named[mention.ref][memory_id] = min(revealed_in, named[mention.ref].get(memory_id, revealed_in))
    return named
