"""Searching, and asking for the index that is searched."""

from datetime import date
from typing import Annotated

import strawberry

from domain.search import Filters
from schema.context import Info
from schema.enums import SearchSource
from schema.inputs import EntityRefInput
from schema.types.search import IndexStatus, SearchResult

Query = Annotated[
    str,
    strawberry.argument(
        description="Words or a question, up to 10,000 characters. Read as plain text, but for a trailing *: `Pyth*`."
    ),
]
Limit = Annotated[int, strawberry.argument(description="How many hits at the most, 1 to 100.")]
Sources = Annotated[
    list[SearchSource] | None, strawberry.argument(description="What to search; everything when left out.")
]
BookId = Annotated[strawberry.ID | None, strawberry.argument(description="Only memories of this book.")]
EntityArgument = Annotated[
    EntityRefInput | None, strawberry.argument(description="Only memories attached to this entity.")
]
Since = Annotated[
    date | None,
    strawberry.argument(name="from", description="Only what was created, or is dated, on this day or later."),
]
Until = Annotated[date | None, strawberry.argument(description="Only what was created, or is dated, up to this day.")]


@strawberry.type
class SearchQueries:
    @strawberry.field(description="Memories, facts and passages of the notebook, by words and by meaning, best first.")
    async def search(
        self,
        info: Info,
        query: Query,
        limit: Limit = 10,
        sources: Sources = None,
        book_id: BookId = None,
        entity: EntityArgument = None,
        since: Since = None,
        until: Until = None,
    ) -> SearchResult:
        filters = Filters(
            frozenset(sources or ()),
            None if book_id is None else str(book_id),
            None if entity is None else entity.to_domain(),
            since,
            until,
        )
        return SearchResult.from_domain(await info.context.use_cases.search.run(query, limit, filters))

    @strawberry.field(description="How the search index is now; `indexStatusChanged` follows it.")
    async def index_status(self, info: Info) -> IndexStatus:
        return IndexStatus.from_domain(await info.context.use_cases.index.status())
