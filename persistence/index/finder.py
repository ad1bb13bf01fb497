"""Finding documents in an index file: by words, by meaning, and within which bounds."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from domain.ports import Vector
from domain.search import Filters, SearchSource
from domain.segmentation import QueryTerms
from persistence.index.index_file import IndexFile
from persistence.index.scopes import book_token, entity_token, owner_token, source_token
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
        SELECT rowid AS number, bm25(keyword, {WEIGHTS}) AS score FROM keyword WHERE keyword MATCH :match)
    SELECT number, score FROM (SELECT number, score FROM scored ORDER BY score, number LIMIT :arm)
    UNION
    SELECT number, score FROM scored WHERE number IN (SELECT value FROM json_each(:others))"""

_WORDS_DATED: Final = f"""
    WITH scored AS MATERIALIZED (
        SELECT document.number, bm25(keyword, {WEIGHTS}) AS score FROM keyword
        CROSS JOIN document ON document.number = keyword.rowid
        WHERE keyword MATCH :match AND {_DATED})
    SELECT number, score FROM (SELECT number, score FROM scored ORDER BY score, number LIMIT :arm)
    UNION
    SELECT number, score FROM scored WHERE number IN (SELECT value FROM json_each(:others))"""

_NEAREST: Final = "SELECT rowid, distance FROM vector WHERE embedding MATCH :vector AND k = :arm AND owner = :owner"
_WITHIN_SCOPE: Final = " AND scope = :scope"
_WITHIN_WORDS: Final = " AND rowid IN (SELECT rowid FROM keyword WHERE keyword MATCH :bounds)"
_WITHIN_DATES: Final = f" AND rowid IN (SELECT number FROM document WHERE owner = :owner AND {_DATED})"

_DISTANCES: Final = """
    SELECT rowid, vec_distance_l2(embedding, :vector) FROM vector
    WHERE rowid IN (SELECT value FROM json_each(:numbers))"""

_DOCUMENTS: Final = """
    SELECT number, source, id, path, line, text, digest, is_embedded FROM document
    WHERE owner = :owner AND number IN (SELECT value FROM json_each(:numbers))"""


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
    def match(self) -> str:
        """As a condition of FTS5."""
        filters = self.filters
        tokens = []
        if filters.entity is not None:
            tokens.append(f'"{entity_token(self.owner, filters.entity)}"')
        if filters.book_id is not None:
            tokens.append(f'"{book_token(self.owner, filters.book_id)}"')
        if not tokens:
            sources = sorted(filters.sources)
            tokens.append(
                "(" + " OR ".join(f'"{source_token(self.owner, source)}"' for source in sources) + ")"
                if sources
                else f'"{owner_token(self.owner)}"'
            )
        return f"scope : ({' AND '.join(tokens)})"

    @property
    def scope(self) -> str | None:
        """The one partition that holds all of it, if there is one."""
        if self.filters.book_id is not None:
            return f"book:{self.filters.book_id}"
        sources = self.filters.sources
        (only,) = sources if len(sources) == 1 else (None,)
        return only.value if only is not None and only is not SearchSource.MEMORY else None

    @property
    def needs_words(self) -> bool:
        """The partition alone does not say it."""
        return self.filters.entity is not None or (bool(self.filters.sources) and self.scope is None)

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


def words_match(terms: QueryTerms) -> str:
    """Any of the terms; each is quoted, so that no text of a user is read as syntax."""
    wanted = [*(f'"{term}"' for term in terms.terms), *(f'"{prefix}" *' for prefix in terms.prefixes)]
    return f"{{characters pairs words context}} : ({' OR '.join(wanted)})"


async def by_words(
    file: IndexFile, terms: QueryTerms, bounds: Bounds, others: Collection[int] = ()
) -> dict[int, float]:
    """bm25 of the best and of the others that match; the smaller, the better."""
    if not terms or bounds.is_empty:
        return {}
    rows = await file.engine.fetch(
        _WORDS_DATED if bounds.filters.has_dates else _WORDS,
        {
            **bounds.parameters,
            "match": f"({words_match(terms)}) AND {bounds.match}",
            "arm": ARM,
            "others": json_of(others),
        },
    )
    return dict(cast("Any", rows))


async def by_meaning(file: IndexFile, vector: Vector, bounds: Bounds) -> dict[int, float]:
    """Cosines of the nearest."""
    if bounds.is_empty or not file.has_vectors:
        return {}
    sql = _NEAREST
    if bounds.scope is not None:
        sql += _WITHIN_SCOPE
    if bounds.needs_words:
        sql += _WITHIN_WORDS
    if bounds.filters.has_dates:
        sql += _WITHIN_DATES
    rows = await file.engine.fetch(
        sql, {**bounds.parameters, "vector": vector, "arm": ARM, "scope": bounds.scope, "bounds": bounds.match}
    )
    return _cosines(rows)


async def cosines_of(file: IndexFile, vector: Vector, numbers: Collection[int]) -> dict[int, float]:
    if not numbers or not file.has_vectors:
        return {}
    return _cosines(await file.engine.fetch(_DISTANCES, {"vector": vector, "numbers": json_of(numbers)}))


async def documents_of(file: IndexFile, owner: str, numbers: Collection[int]) -> dict[int, Indexed]:
    rows = await file.engine.fetch(_DOCUMENTS, {"owner": owner, "numbers": json_of(numbers)})
    return {
        number: Indexed(number, SearchSource(source), id_, path, line, text, digest, bool(is_embedded))
        for number, source, id_, path, line, text, digest, is_embedded in cast("Any", rows)
    }


def _cosines(rows: Sequence[Sequence[object]]) -> dict[int, float]:
    """Of unit vectors: the distance tells the angle."""
    return {number: 1 - distance * distance / 2 for number, distance in cast("Any", rows)}
