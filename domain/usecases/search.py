"""One search over memories, facts and the notebook."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from domain import errors, limits
from domain.documents import memory_text
from domain.entities import EntityRef
from domain.hybrid import ScoredDocument, rank
from domain.memories import Memory
from domain.mentions import Span
from domain.ports import GraphReader, SearchIndex
from domain.search import Filters, SearchEngine, SearchSource
from domain.segmentation import query_terms
from domain.snippets import snippet
from domain.usecases.entities import require_book

LIMITS = (1, 100)
YEARS_OF_ZONES = range(1902, 3000)


@dataclass(frozen=True, slots=True)
class SearchHit:
    """Whatever it is, found in `text`; a memory or a passage with its place."""

    source: SearchSource
    id: str
    text: str
    snippet: str
    highlights: tuple[Span, ...]
    score: float
    vector_score: float | None
    keyword_score: float | None
    memory: Memory | None = None
    path: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class SearchResult:
    engine: SearchEngine
    hits: tuple[SearchHit, ...]


@dataclass(frozen=True, slots=True)
class Search:
    index: SearchIndex
    graph: GraphReader
    zone: tzinfo | None
    limits: limits.Limits

    async def run(self, query: str, limit: int, filters: Filters) -> SearchResult:
        if len(query) > self.limits.query:
            raise errors.TextTooLongError(("query",), len(query), self.limits.query)
        limits.check_range(limit, LIMITS, ("limit",))
        await self._check(filters)
        found = await self.index.find(query, _with_moments(filters, self.zone))
        # One deleted since it was indexed gives its place to the next.
        memories = await self.graph.memories(
            [each.id for each in found.documents if each.source is SearchSource.MEMORY]
        )
        present = tuple(each for each in found.documents if each.text is not None or each.id in memories)
        ranked = rank(replace(found, documents=present), limit)
        return SearchResult(found.engine, _hits(query, ranked, memories))

    async def _check(self, filters: Filters) -> None:
        if filters.book_id is not None:
            await require_book(self.graph, filters.book_id)
        if filters.entity is not None:
            await self._check_entity(filters.entity, filters.book_id)
        if filters.since is not None and filters.until is not None and filters.until < filters.since:
            raise errors.EndsBeforeStartError(("until",), filters.since.isoformat(), filters.until.isoformat())

    async def _check_entity(self, ref: EntityRef, book_id: str | None) -> None:
        entity = (await self.graph.entities([ref])).get(ref)
        if entity is None or (book_id is not None and entity.book_id != book_id):
            raise errors.EntityNotFoundError(("entity",), ref)


def _with_moments(filters: Filters, zone: tzinfo | None) -> Filters:
    """From the first moment of the first day to the first after the last, where the owner lives."""
    since = None if filters.since is None else _midnight(filters.since, zone)
    # Nothing was written after the last day there is.
    has_next = filters.until is not None and filters.until < date.max
    until = _midnight(filters.until + timedelta(days=1), zone) if filters.until is not None and has_next else None
    return replace(filters, since_at=since, until_at=until)


def _midnight(day: date, zone: tzinfo | None) -> datetime:
    """None is the zone of this machine, as far back and ahead as machines know their zones."""
    if zone is None and day.year not in YEARS_OF_ZONES:
        zone = UTC
    return datetime.combine(day, time.min, zone).astimezone(zone)


def _hits(query: str, ranked: Sequence[ScoredDocument], memories: Mapping[str, Memory]) -> tuple[SearchHit, ...]:
    terms = query_terms(query)
    hits = []
    for scored in ranked:
        document = scored.document
        memory = memories.get(document.id) if document.source is SearchSource.MEMORY else None
        text = document.text if memory is None else memory_text(memory)
        shown = snippet(text or "", terms)
        hits.append(
            SearchHit(
                document.source,
                document.id,
                text or "",
                shown.text,
                shown.highlights,
                scored.score,
                scored.vector_score,
                scored.keyword_score,
                memory,
                document.path,
                document.line,
            )
        )
    return tuple(hits)
