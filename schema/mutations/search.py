"""Changing the search index."""

import strawberry

from schema.context import Info
from schema.payloads import IndexStatusPayload, mutation
from schema.types.search import IndexStatus


@strawberry.type
class SearchMutations:
    @mutation(
        IndexStatusPayload,
        "Build the search index anew, in the background: searches are answered meanwhile. While one is being built,"
        " nothing more happens.",
    )
    async def rebuild_index(self, info: Info) -> IndexStatusPayload:
        return IndexStatusPayload(index_status=IndexStatus.from_domain(await info.context.use_cases.index.rebuild()))
