"""Search and the index it runs on, as clients see them."""

from datetime import datetime

import strawberry

from domain import search
from domain.usecases import search as searching
from schema.enums import RebuildState, SearchEngine, SearchSource
from schema.types.chat import Fact
from schema.types.chunks import Span
from schema.types.memories import Memory


@strawberry.type(description="How the search index is, and how far the building of a new one has come.")
class IndexStatus:
    state: RebuildState = strawberry.field(description="Whether it is being built anew, or how that ended.")
    engine: SearchEngine = strawberry.field(description="What a search runs on now.")
    documents: int = strawberry.field(description="How many memories, facts and passages can be found.")
    done: int = strawberry.field(description="How many documents are in the index that is being built.")
    total: int = strawberry.field(description="How many it will hold.")
    started_at: datetime | None = strawberry.field(description="When the last building began; null before the first.")
    finished_at: datetime | None = strawberry.field(description="When it ended; null while it runs.")
    error: str | None = strawberry.field(description="Why it failed; null unless it did.")
    embedder: str = strawberry.field(description="What turns texts into vectors; `none` for nothing.")
    unembedded: int = strawberry.field(description="How many documents are found by their words only, as yet.")
    degraded: list[str] = strawberry.field(description="What is missing and why; empty when all is well.")

    @classmethod
    def from_domain(cls, status: search.IndexStatus) -> "IndexStatus":
        return cls(
            state=status.state,
            engine=status.engine,
            documents=status.documents,
            done=status.done,
            total=status.total,
            started_at=status.started_at,
            finished_at=status.finished_at,
            error=status.error,
            embedder=status.embedder,
            unembedded=status.unembedded,
            degraded=list(status.degraded),
        )


@strawberry.type(description="Something that was found, and why.")
class SearchHit:
    source: SearchSource = strawberry.field(description="What it is.")
    id: strawberry.ID = strawberry.field(
        description="The memory's or fact's id; of a passage, its file and what stands there."
    )
    text: str = strawberry.field(description="All of its text.")
    snippet: str = strawberry.field(description="The part where most of the query stands, matches between **.")
    highlights: list[Span] = strawberry.field(description="Where in `text` words of the query stand, in code points.")
    score: float = strawberry.field(
        description="From 0 to 1: 0.7 · vectorScore + 0.3 · keywordScore, or what was searched by."
    )
    vector_score: float | None = strawberry.field(
        description="How near it is in meaning, from 0 to 1; null where only words were searched."
    )
    keyword_score: float | None = strawberry.field(
        description="How well the words fit: BM25 as a part of the best hit's, or the part of the keywords found."
    )
    memory: Memory | None = strawberry.field(description="The memory that was found.")
    fact: Fact | None = strawberry.field(description="The fact that was found.")
    path: str | None = strawberry.field(description="The notebook file of a passage.")
    line: int | None = strawberry.field(description="Its first line there, counted from 1.")

    @classmethod
    def from_domain(cls, hit: searching.SearchHit) -> "SearchHit":
        return cls(
            source=hit.source,
            id=strawberry.ID(hit.id),
            text=hit.text,
            snippet=hit.snippet,
            highlights=[Span(start=each.start, end=each.end, text=each.text) for each in hit.highlights],
            score=hit.score,
            vector_score=hit.vector_score,
            keyword_score=hit.keyword_score,
            memory=None if hit.memory is None else Memory.from_domain(hit.memory),
            fact=None if hit.fact is None else Fact.from_domain(hit.fact),
            path=hit.path,
            line=hit.line,
        )


@strawberry.type(description="What a search found, best first.")
class SearchResult:
    engine: SearchEngine = strawberry.field(description="What it ran on.")
    hits: list[SearchHit] = strawberry.field(description="Best first.")

    @classmethod
    def from_domain(cls, result: searching.SearchResult) -> "SearchResult":
        return cls(engine=result.engine, hits=[SearchHit.from_domain(hit) for hit in result.hits])
