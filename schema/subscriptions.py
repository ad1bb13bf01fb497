"""What can be followed: past events, beginning with the present state.

An event carries its own data and touches no loader: these answer once and for one moment.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing

import strawberry

from schema.context import Info
from schema.types.search import IndexStatus


@strawberry.type(description="What can be followed, over graphql-transport-ws or server-sent events.")
class Subscription:
    @strawberry.subscription(description="The present status of the search index at once, then every change.")
    async def index_status_changed(self, info: Info) -> AsyncGenerator[IndexStatus, None]:
        async with aclosing(info.context.use_cases.index.status_changes()) as statuses:
            async for status in statuses:
                yield IndexStatus.from_domain(status)
