"""Search without an index: every text is looked through, and scored by how many of the keywords stand in it."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, cast

from domain.documents import Document, passage_documents
from domain.notebook import day_of, passages
from domain.ports import NotebookStore
from domain.search import Filters, Found, FoundDocument, SearchEngine, SearchSource
from domain.text import fold
from persistence.engine import Engine
from persistence.index.finder import ARM, Bounds

MAX_KEYWORDS: Final = 32

_MEMORY_TEXT: Final = "memory.summary || char(10) || memory.content"
_FACT_TEXT: Final = 'fact."key" || char(10) || fact.value'
_CONTAINS: Final = r"(({text}) LIKE :keyword{number} ESCAPE '\')"

_MEMORIES: Final = """
    SELECT id, {score} AS score FROM memory
    WHERE owner = :owner AND (:book_id IS NULL OR book_id = :book_id)
      AND (:entity_id IS NULL OR EXISTS (
          SELECT 1 FROM attachment WHERE attachment.owner = memory.owner AND memory_id = memory.id
             AND entity_type = :entity_type AND entity_id = :entity_id))
      AND (:since_at IS NULL OR created_at >= :since_at) AND (:until_at IS NULL OR created_at < :until_at)
      AND score > 0
    ORDER BY score DESC, id LIMIT :arm"""

_FACTS: Final = """
    SELECT id, {score} AS score FROM fact
    WHERE owner = :owner AND superseded_at IS NULL AND score > 0
      AND (:since_at IS NULL OR created_at >= :since_at) AND (:until_at IS NULL OR created_at < :until_at)
    ORDER BY score DESC, id LIMIT :arm"""


@dataclass(frozen=True, slots=True)
class LikeSearch:
    engine: Engine
    notebook: NotebookStore

    async def find(self, keywords: Sequence[str], bounds: Bounds) -> Found:
        wanted = bounds.filters.sources or frozenset(SearchSource)
        keywords = keywords[:MAX_KEYWORDS]
        found: list[FoundDocument] = []
        if keywords and not bounds.is_empty:
            of_memories = bounds.filters.book_id is not None or bounds.filters.entity is not None
            if SearchSource.MEMORY in wanted:
                found += await self._memories(keywords, bounds)
            if SearchSource.FACT in wanted and not of_memories:
                found += await self._facts(keywords, bounds)
            if SearchSource.NOTEBOOK in wanted and not of_memories:
                found += await self._passages(keywords, bounds)
        return Found(SearchEngine.LIKE, tuple(found))

    async def _memories(self, keywords: Sequence[str], bounds: Bounds) -> list[FoundDocument]:
        entity = bounds.filters.entity
        parameters = {
            "book_id": bounds.filters.book_id,
            "entity_type": entity and entity.type.value,
            "entity_id": entity and entity.id,
        }
        rows = await self._scored(_MEMORIES, _MEMORY_TEXT, keywords, {**bounds.parameters, **parameters})
        return [FoundDocument(SearchSource.MEMORY, id_, keyword=score) for id_, score in rows]

    async def _facts(self, keywords: Sequence[str], bounds: Bounds) -> list[FoundDocument]:
        rows = await self._scored(_FACTS, _FACT_TEXT, keywords, bounds.parameters)
        return [FoundDocument(SearchSource.FACT, id_, keyword=score) for id_, score in rows]

    async def _scored(
        self, sql: str, text: str, keywords: Sequence[str], parameters: Mapping[str, object]
    ) -> list[tuple[str, float]]:
        """Ids, with the part of the keywords that stand in the text."""
        score = " + ".join(_CONTAINS.format(text=text, number=number) for number in range(len(keywords)))
        patterns = {f"keyword{number}": f"%{_escaped(keyword)}%" for number, keyword in enumerate(keywords)}
        rows = await self.engine.fetch(sql.format(score=score), {**parameters, **patterns, "arm": ARM})
        return [(id_, found / len(keywords)) for id_, found in cast("Any", rows)]

    async def _passages(self, keywords: Sequence[str], bounds: Bounds) -> list[FoundDocument]:
        folded = [fold(keyword) for keyword in keywords]
        found = []
        for path in await self.notebook.paths():
            file = await self.notebook.read(path)
            day = day_of(path)
            if file is None or not _is_within(bounds.filters, day):
                continue
            for document in passage_documents(path, day, await asyncio.to_thread(passages, file.content)):
                score = _count(document, folded)
                if score:
                    found.append(
                        FoundDocument(
                            document.source,
                            document.id,
                            keyword=score / len(keywords),
                            text=document.text,
                            path=path,
                            line=document.line,
                        )
                    )
        return found


def _count(document: Document, folded_keywords: Sequence[str]) -> int:
    text = fold(document.text)
    return sum(keyword in text for keyword in folded_keywords)


def _is_within(filters: Filters, day: date | None) -> bool:
    if not filters.has_dates:
        return True
    since, until = filters.since or date.min, filters.until or date.max
    return day is not None and since <= day <= until


def _escaped(keyword: str) -> str:
    return keyword.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
