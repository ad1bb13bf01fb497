"""What a search asks and answers, and the state of the index it runs on."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from domain.entities import EntityRef


class SearchEngine(StrEnum):
    """What a search ran on: words and meaning, words alone, or a plain look through all texts."""

    HYBRID = "hybrid"
    KEYWORD = "keyword"
    LIKE = "like"


class SearchSource(StrEnum):
    MEMORY = "memory"
    FACT = "fact"
    NOTEBOOK = "notebook"


class RebuildState(StrEnum):
    IDLE = "idle"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Filters:
    """Empty asks for everything. Days are of the calendar, both included; the moments are where they begin and end."""

    sources: frozenset[SearchSource] = frozenset()
    book_id: str | None = None
    entity: EntityRef | None = None
    since: date | None = None
    until: date | None = None
    since_at: datetime | None = None
    until_at: datetime | None = None

    @property
    def has_dates(self) -> bool:
        return self.since is not None or self.until is not None


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """`done` of `total` documents are in the index that is being built; `degraded` says what is missing and why."""

    state: RebuildState
    engine: SearchEngine
    documents: int
    done: int
    total: int
    started_at: datetime | None = None
    finished_at: datetime | None = None
    error: str | None = None
    embedder: str = ""
    unembedded: int = 0
    degraded: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A candidate. `keyword` is larger where the words fit better, None where none stands; `cosine` is in -1..1.

    A passage brings its text; that of a row is read from the row.
    """

    source: SearchSource
    id: str
    keyword: float | None = None
    cosine: float | None = None
    text: str | None = None
    path: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """Unordered; how the candidates are ranked depends on what they were found by."""

    engine: SearchEngine
    documents: tuple[FoundDocument, ...] = ()
