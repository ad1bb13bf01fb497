"""One search over memories, facts and the notebook."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from domain import errors, limits
from domain.chat_ports import ChatReader
from domain.documents import memory_text
from domain.entities import EntityRef
from domain.facts import Fact, fact_text
from domain.hybrid import ScoredDocument, rank
from domain.memories import Memory
from domain.mentions import Span
from domain.ports import GraphReader, SearchIndex
from domain.search import Filters, Found, SearchEngine, SearchSource
from domain.segmentation import query_terms
from domain.snippets import snippet
from domain.usecases.entities import require_book

LIMITS = (1, 100)
YEARS_OF_ZONES = range(1902, 3000)


@dataclass(frozen=True, slots=True)
class SearchHit:
    """Whatever it is, found in `text`: a memory, a fact, or a passage with its place."""

    source: SearchSource
    id: str
    text: str
    snippet: str
    highlights: tuple[Span, ...]
    score: float
    vector_score: float | None
    keyword_score: float | None
    memory: Memory | None = None
    fact: Fact | None = None
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
    chat: ChatReader
    zone: tzinfo | None
    limits: limits.Limits

    async def run(self, query: str, limit: int, filters: Filters) -> SearchResult:
        if len(query) > self.limits.query:
            raise errors.TextTooLongError(("query",), len(query), self.limits.query)
        limits.check_range(limit, LIMITS, ("limit",))
        await self._check(filters)
        found = await self.index.find(query, _with_moments(filters, self.zone))
        # One deleted since it was indexed gives its place to the next.
        memories = await self.graph.memories(_ids(found, SearchSource.MEMORY))
        facts = await self.chat.facts(_ids(found, SearchSource.FACT))
        rows: dict[tuple[SearchSource, str], Memory | Fact] = {
            **{(SearchSource.MEMORY, id_): memory for id_, memory in memories.items()},
            **{(SearchSource.FACT, id_): fact for id_, fact in facts.items() if fact.superseded_at is None},
        }
        present = tuple(each for each in found.documents if each.text is not None or (each.source, each.id) in rows)
        ranked = rank(replace(found, documents=present), limit)
        return SearchResult(found.engine, _hits(query, ranked, rows))

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


def _ids(found: Found, source: SearchSource) -> list[str]:
    return [each.id for each in found.documents if each.source is source]


def _hits(
    query: str, ranked: Sequence[ScoredDocument], rows: Mapping[tuple[SearchSource, str], Memory | Fact]
) -> tuple[SearchHit, ...]:
    terms = query_terms(query)
    hits = []
    for scored in ranked:
        document = scored.document
        row = rows.get((document.source, document.id))
        text = _text(row) if row is not None else document.text or ""
        shown = snippet(text, terms)
        hits.append(
            SearchHit(
                document.source,
                document.id,
                text,
                shown.text,
                shown.highlights,
                scored.score,
                scored.vector_score,
                scored.keyword_score,
                row if isinstance(row, Memory) else None,
                row if isinstance(row, Fact) else None,
                document.path,
                document.line,
            )
        )
    return tuple(hits)


def _text(row: Memory | Fact) -> str:
    return memory_text(row) if isinstance(row, Memory) else fact_text(row)
