"""Pages of growing lists: a cursor is the sort key of the last item seen."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
U = TypeVar("U")

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
    items: tuple[T, ...]
    cursors: tuple[Cursor, ...]
    has_next: bool

    def map(self, change: Callable[[T], U]) -> "Page[U]":
        return Page(tuple(change(item) for item in self.items), self.cursors, self.has_next)


def empty_page() -> "Page[T]":
    return Page((), (), has_next=False)
