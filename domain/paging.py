"""Pages of growing lists: a cursor is the sort key of the last item seen."""

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

MAX_PAGE_SIZE = 100


@dataclass(frozen=True, slots=True)
class Cursor:
    """Position in the list's own order; the id breaks ties."""

    position: int
    id: str


@dataclass(frozen=True, slots=True)
class PageRequest:
    first: int
    after: Cursor | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """`positions` are those of the items in the list's own order."""

    items: tuple[T, ...]
    positions: tuple[int, ...]
    has_next: bool


def empty_page() -> "Page[T]":
    return Page((), (), has_next=False)
