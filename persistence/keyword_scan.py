"""Keyword matching by reading every memory of the book; the search index will take its place."""

from collections.abc import Iterator, Mapping, Sequence

from domain.entities import EntityRef
from domain.memories import Memory
from domain.names import contains_any_name
from domain.ports import KeywordIndex
from domain.text import NUL, fold
from persistence.engine import Engine
from persistence.graph_queries import MEMORY_TEXTS
from persistence.mapping import memory_from_row


class KeywordScan(KeywordIndex):
    def __init__(self, engine: Engine, owner: str) -> None:
        self._engine = engine
        self._owner = owner

    async def naming(
        self, book_id: str, names_of: Mapping[EntityRef, Sequence[str]], limit: int
    ) -> Mapping[EntityRef, tuple[Memory, ...]]:
        folded = {ref: tuple(map(fold, names)) for ref, names in names_of.items()}
        found: dict[EntityRef, list[Memory]] = {ref: [] for ref in folded}
        for memory, text in await self._folded_texts(book_id):
            for ref, names in folded.items():
                if len(found[ref]) < limit and contains_any_name(text, names):
                    found[ref].append(memory)
        return {ref: tuple(memories) for ref, memories in found.items() if memories}

    async def matching(self, book_id: str, query: str, limit: int) -> tuple[str, ...]:
        needle = fold(query)
        matches = [memory.id for memory, text in await self._folded_texts(book_id) if needle in text]
        return tuple(matches[:limit])

    async def _folded_texts(self, book_id: str) -> Iterator[tuple[Memory, str]]:
        rows = await self._engine.fetch(MEMORY_TEXTS, {"owner": self._owner, "book_id": book_id})
        return ((memory, fold(f"{memory.summary}{NUL}{memory.content}")) for memory in map(memory_from_row, rows))
