"""Finding documents in an index file: by words, by meaning, and within which bounds."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from domain.ports import Vector
from domain.search import Filters, SearchSource
from domain.segmentation import QueryTerms
from persistence.index.index_file import IndexFile
from persistence.index.scopes import entity_token, scope_of_book, source_token, term_prefix
from persistence.mapping import json_of, to_microseconds

# As many of each arm are looked at more closely.
ARM: Final = 100

# How much a character, a pair, a word, one of the context and who may see it count. Half for single characters keeps
# long texts, which have most of them, from crowding out short ones (tests/bench/results.md).
WEIGHTS: Final = "0.5, 1.0, 1.0, 0.5, 0.0"

_DATED: Final = """
    (at IS NOT NULL OR day IS NOT NULL)
    AND (:since_at IS NULL OR at >= :since_at OR (at IS NULL AND day >= :since_day))
    AND (:until_at IS NULL OR at < :until_at OR (at IS NULL AND day <= :until_day))"""

# All matches are scored once; the best of them are answered, and those that the other arm asks for.
_WORDS: Final = f"""
    WITH scored AS MATERIALIZED (
        SELECT {{table}}.rowid AS number, bm25({{table}}, {WEIGHTS}) AS score FROM {{table}} {{dated}})
    SELECT number, score FROM (SELECT number, score FROM scored ORDER BY score, number DESC LIMIT :arm)
    UNION
    SELECT number, score FROM scored WHERE number IN (SELECT value FROM json_each(:others))"""
_ANY_DATE: Final = "WHERE {table} MATCH :match"
_BETWEEN_DATES: Final = f"""
    CROSS JOIN document ON document.number = {{table}}.rowid WHERE {{table}} MATCH :match AND {_DATED}"""

_NEAREST: Final = "SELECT rowid, distance FROM vector WHERE embedding MATCH :vector AND k = :arm AND owner = :owner"
_WITHIN_SCOPE: Final = " AND scope = :scope"
_WITHIN_WORDS: Final = " AND rowid IN (SELECT rowid FROM keyword WHERE keyword MATCH :narrowed)"
_WITHIN_DATES: Final = f" AND rowid IN (SELECT number FROM document WHERE owner = :owner AND {_DATED})"

_DISTANCES: Final = """
    SELECT vector.rowid, vec_distance_l2(embedding, :vector) FROM json_each(:numbers) AS wanted
    CROSS JOIN vector ON vector.rowid = wanted.value"""

_NUMBERS: Final = """
    SELECT number, document.id FROM json_each(:ids) AS wanted
    CROSS JOIN document ON document.owner = :owner AND source = :source AND document.id = wanted.value"""

_DOCUMENTS: Final = """
    SELECT number, source, id, path, line, text, digest, is_embedded FROM document
    WHERE +owner = :owner AND number IN (SELECT value FROM json_each(:numbers))"""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The filters of a search in the words of the index."""

    owner: str
    filters: Filters

    @property
    def is_empty(self) -> bool:
        """Nothing can lie within: only memories are of a book or attached."""
        filters = self.filters
        of_memories = filters.book_id is not None or filters.entity is not None
        return of_memories and bool(filters.sources) and SearchSource.MEMORY not in filters.sources

    @property
    def narrowed(self) -> str | None:
        """What neither the owner nor the scope says, as a condition of FTS5."""
        filters = self.filters
        if filters.entity is not None:
            return f'scope : "{entity_token(self.owner, filters.entity)}"'
        if self.scope is not None or not filters.sources:
            return None
        tokens = (f'"{source_token(self.owner, source)}"' for source in sorted(filters.sources))
        return f"scope : ({' OR '.join(tokens)})"

    @property
    def scope(self) -> str | None:
        """The one partition that holds all of it, if there is one."""
        if self.filters.book_id is not None:
            return scope_of_book(self.filters.book_id)
        sources = self.filters.sources
        (only,) = sources if len(sources) == 1 else (None,)
        return only.value if only is not None and only is not SearchSource.MEMORY else None

    @property
    def parameters(self) -> Mapping[str, object]:
        filters = self.filters
        return {
            "owner": self.owner,
            "since_at": filters.since_at and to_microseconds(filters.since_at),
            "until_at": filters.until_at and to_microseconds(filters.until_at),
            "since_day": filters.since and filters.since.toordinal(),
            "until_day": filters.until and filters.until.toordinal(),
        }


@dataclass(frozen=True, slots=True)
class Indexed:
    """A document as the index knows it."""

    number: int
    source: SearchSource
    id: str
    path: str | None
    line: int | None
    text: str | None
    digest: bytes
    is_embedded: bool


def words_match(terms: QueryTerms, prefix: str) -> str:
    """Any of the terms; each is quoted, so that no text of a user is read as syntax."""
    wanted = [*(f'"{prefix}{term}"' for term in terms.terms), *(f'"{prefix}{each}" *' for each in terms.prefixes)]
    return f"{{characters pairs words context}} : ({' OR '.join(wanted)})"


async def by_words(
    file: IndexFile, terms: QueryTerms, bounds: Bounds, others: Collection[int] = (), arm: int = ARM
) -> dict[int, float]:
    """bm25 of the best and of the others that match; the smaller, the better."""
    if not terms or bounds.is_empty:
        return {}
    table = "keyword" if bounds.scope is None else "scoped"
    sql = _WORDS.format(table=table, dated=_BETWEEN_DATES if bounds.filters.has_dates else _ANY_DATE)
    match = words_match(terms, term_prefix(bounds.owner, bounds.scope))
    if bounds.narrowed is not None:
        match = f"({match}) AND {bounds.narrowed}"
    rows = await file.engine.fetch(
        sql.format(table=table), {**bounds.parameters, "match": match, "arm": arm, "others": json_of(others)}
    )
    return dict(cast("Any", rows))


async def by_meaning(file: IndexFile, vector: Vector, bounds: Bounds) -> dict[int, float]:
    """Cosines of the nearest."""
    if bounds.is_empty or not file.has_vectors:
        return {}
    sql = _NEAREST
    if bounds.scope is not None:
        sql += _WITHIN_SCOPE
    if bounds.narrowed is not None:
        sql += _WITHIN_WORDS
    if bounds.filters.has_dates:
        sql += _WITHIN_DATES
    rows = await file.engine.fetch(
        sql, {**bounds.parameters, "vector": vector, "arm": ARM, "scope": bounds.scope, "narrowed": bounds.narrowed}
    )
    return _cosines(rows)


async def cosines_of(file: IndexFile, vector: Vector, numbers: Collection[int]) -> dict[int, float]:
    if not numbers or not file.has_vectors:
        return {}
    return _cosines(await file.engine.fetch(_DISTANCES, {"vector": vector, "numbers": json_of(numbers)}))


async def numbers_of(file: IndexFile, owner: str, source: SearchSource, ids: Collection[str]) -> dict[int, str]:
    """By number, those that are in the index."""
    rows = await file.engine.fetch(_NUMBERS, {"owner": owner, "source": source.value, "ids": json_of(ids)})
    return dict(cast("Any", rows))


async def documents_of(file: IndexFile, owner: str, numbers: Collection[int]) -> dict[int, Indexed]:
    rows = await file.engine.fetch(_DOCUMENTS, {"owner": owner, "numbers": json_of(numbers)})
    return {
        number: Indexed(number, SearchSource(source), id_, path, line, text, digest, bool(is_embedded))
        for number, source, id_, path, line, text, digest, is_embedded in cast("Any", rows)
    }


def _cosines(rows: Sequence[Sequence[object]]) -> dict[int, float]:
    """Of unit vectors: the distance tells the angle."""
    return {number: 1 - distance * distance / 2 for number, distance in cast("Any", rows)}
