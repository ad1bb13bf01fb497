"""Relay connections over the domain's pages."""

import base64
import binascii
from asyncio import Future
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final, Generic, TypeVar, cast

import orjson
import strawberry

from domain import errors, limits
from domain.paging import Cursor, Page, PageRequest

T = TypeVar("T")
U = TypeVar("U")

First = Annotated[int, strawberry.argument(description="How many to answer, from 1 to 100.")]
After = Annotated[
    str | None, strawberry.argument(description="Go on behind this cursor, the `endCursor` of the page before.")
]

DEFAULT_PAGE_SIZE: Final = 20
_INT64: Final = 2**63


@strawberry.type(description="Where a page stands in its list.")
class PageInfo:
    has_next_page: bool = strawberry.field(description="Are there items behind this page?")
    has_previous_page: bool = strawberry.field(description="Was this page asked for with `after`?")
    start_cursor: str | None = strawberry.field(description="The cursor of the first item.")
    end_cursor: str | None = strawberry.field(description="The cursor of the last item: pass it as `after`.")


@strawberry.type(description="One item of a page with its cursor.")
class Edge(Generic[T]):
    cursor: str = strawberry.field(description="Opaque; pass it as `after` to go on behind this item.")
    node: T = strawberry.field(description="The item.")


@dataclass(frozen=True, slots=True)
class Asked:
    """A page request with the name of the list it is for, so that a cursor of another list is refused."""

    page: PageRequest
    list_name: str


@strawberry.type(description="One page of a growing list.")
class Connection(Generic[T]):
    nodes: list[T] = strawberry.field(description="The items of this page.")
    page: strawberry.Private[Page[Any]]
    asked: strawberry.Private[Asked]
    count: strawberry.Private[Callable[[], Awaitable[int]]]

    @strawberry.field(description="The items of this page, each with its cursor.")
    def edges(self) -> list[Edge[T]]:
        return [Edge(cursor=self.cursor(index), node=node) for index, node in enumerate(self.nodes)]

    @strawberry.field(description="Where this page stands in the list.")
    def page_info(self) -> PageInfo:
        is_empty = not self.nodes
        return PageInfo(
            has_next_page=self.page.has_next,
            has_previous_page=self.asked.page.after is not None,
            start_cursor=None if is_empty else self.cursor(0),
            end_cursor=None if is_empty else self.cursor(-1),
        )

    def cursor(self, index: int) -> str:
        return encode_cursor(self.asked.list_name, Cursor(self.page.positions[index], self.page.items[index].id))

    @strawberry.field(description="How many items the whole list has; counted only when asked for.")
    async def total_count(self) -> int:
        return await self.count()


def connect(page: Page[U], wrap: Callable[[U], T], asked: Asked, count: Callable[[], Awaitable[int]]) -> Connection[T]:
    return Connection(nodes=[wrap(item) for item in page.items], page=page, asked=asked, count=count)


def connect_when_loaded(
    loading: Awaitable[Page[U]], wrap: Callable[[U], T], asked: Asked, count: Callable[[], Awaitable[int]]
) -> Connection[T]:
    """At once when the page was fetched ahead; otherwise, as GraphQL allows, something to wait for."""
    if isinstance(loading, Future) and loading.done():
        return connect(loading.result(), wrap, asked, count)

    async def wait() -> Connection[T]:
        return connect(await loading, wrap, asked, count)

    return cast("Connection[T]", wait())


def ask_page(first: int, after: str | None, list_name: str) -> Asked:
    limits.check_page_size(first)
    return Asked(PageRequest(first, decode_cursor(list_name, after) if after is not None else None), list_name)


def encode_cursor(list_name: str, cursor: Cursor) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([list_name, cursor.position, cursor.id])).decode()


def decode_cursor(list_name: str, text: str) -> Cursor:
    try:
        match orjson.loads(base64.b64decode(text, altchars=b"-_", validate=True)):
            case [str(name), int(position), str(id_)] if name == list_name and type(position) is int:
                if -_INT64 <= position < _INT64:
                    return Cursor(position, id_)
    except (binascii.Error, ValueError):
        pass
    raise errors.InvalidCursorError(("after",), text)
