"""Reading the graph of one owner from SQLite."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar, cast

import orjson

from domain.entities import Book, Entity, EntityRef, EntityType
from domain.memories import Memory
from domain.mentions import Name
from domain.paging import Cursor, Page, PageRequest
from domain.ports import ChunkFrame, ForemostAttached, GraphReader, Listing
from domain.text import fold
from persistence import graph_queries as queries
from persistence.mapping import SHAPES, json_of, json_of_refs, memory_from_row
from persistence.sqlite import Row

T = TypeVar("T")

Fetch = Callable[[str, Mapping[str, object]], Awaitable[Sequence[Row]]]

_BEFORE_ALL: Final = Cursor(-(2**63), "")
_AFTER_ALL: Final = Cursor(2**63 - 1, "\U0010ffff")


class SqliteGraphReader(GraphReader):
    """`read` is for statements that read no more than they answer, `fetch` for those that may read much."""

    def __init__(self, read: Fetch, fetch: Fetch, owner: str) -> None:
        self._read_rows = read
        self._fetch_rows = fetch
        self._owner = owner

    async def entities(self, refs: Collection[EntityRef]) -> Mapping[EntityRef, Entity]:
        ids_of: dict[EntityType, list[str]] = defaultdict(list)
        for ref in refs:
            ids_of[ref.type].append(ref.id)
        found: dict[EntityRef, Entity] = {}
        for entity_type, ids in ids_of.items():
            rows = await self._read(queries.ENTITIES[entity_type], ids=json_of(ids))
            for entity in map(SHAPES[entity_type].from_row, rows):
                found[entity.ref] = entity
        return found

    async def books(self, page: PageRequest) -> Page[Book]:
        rows = await self._read(queries.BOOKS, **_window(page, _BEFORE_ALL))
        books = [(row[0], cast("Book", SHAPES[EntityType.BOOK].from_row(row[1:]))) for row in rows]
        return _page(books, page)

    async def count_books(self) -> int:
        return await self._count(queries.COUNT_BOOKS)

    async def entities_of(
        self, book_ids: Collection[str], listing: Listing, page: PageRequest
    ) -> Mapping[str, Page[Entity]]:
        # To find a part of a name all names of the book are read.
        ask = self._fetch if listing.name_contains else self._read
        rows = await ask(
            queries.ENTITIES_OF[listing.type],
            book_ids=json_of(book_ids),
            needle=fold(listing.name_contains),
            **_window(page, _BEFORE_ALL),
        )
        return _pages(_unpacked(rows), SHAPES[listing.type].from_row, page)

    async def count_entities_of(self, book_ids: Collection[str], listing: Listing) -> Mapping[str, int]:
        rows = await self._fetch(
            queries.COUNT_ENTITIES_OF[listing.type], book_ids=json_of(book_ids), needle=fold(listing.name_contains)
        )
        return dict(cast("Any", rows))

    async def memories(self, memory_ids: Collection[str]) -> Mapping[str, Memory]:
        rows = await self._fetch(queries.MEMORIES, ids=json_of(memory_ids))
        return {memory.id: memory for memory in map(memory_from_row, rows)}

    async def attachments(self, memory_ids: Collection[str]) -> Mapping[str, tuple[EntityRef, ...]]:
        found: dict[str, list[EntityRef]] = defaultdict(list)
        rows = await self._read(queries.ATTACHMENTS, ids=json_of(memory_ids))
        for memory_id, entity_type, entity_id in cast("Any", rows):
            found[memory_id].append(EntityRef(EntityType(entity_type), entity_id))
        return {memory_id: tuple(refs) for memory_id, refs in found.items()}

    async def memories_of(self, book_ids: Collection[str], page: PageRequest) -> Mapping[str, Page[Memory]]:
        rows = await self._read_page(queries.MEMORIES_OF, book_ids=json_of(book_ids), **_window(page, _AFTER_ALL))
        return _pages(rows, memory_from_row, page)

    async def count_memories_of(self, book_ids: Collection[str]) -> Mapping[str, int]:
        rows = await self._fetch(queries.COUNT_MEMORIES_OF, book_ids=json_of(book_ids))
        return dict(cast("Any", rows))

    async def attached_to(self, refs: Collection[EntityRef], page: PageRequest) -> Mapping[EntityRef, Page[Memory]]:
        asked = tuple(refs)
        rows = await self._read_page(queries.ATTACHED_TO, refs=json_of_refs(asked), **_window(page, _AFTER_ALL))
        pages: Mapping[int, Page[Memory]] = _pages(rows, memory_from_row, page)
        return {asked[key]: found for key, found in pages.items()}

    async def count_attached_to(self, refs: Collection[EntityRef]) -> Mapping[EntityRef, int]:
        asked = tuple(refs)
        rows = await self._fetch(queries.COUNT_ATTACHED_TO, refs=json_of_refs(asked))
        return {asked[key]: count for key, count in cast("Any", rows)}

    async def attached_to_any(self, book_id: str, refs: Collection[EntityRef], page: PageRequest) -> Page[Memory]:
        rows = await self._read(
            queries.ATTACHED_TO_ANY, book_id=book_id, refs=json_of_refs(refs), **_window(page, _AFTER_ALL)
        )
        return _page([(row[0], memory_from_row(row[1:])) for row in rows], page)

    async def count_attached_to_any(self, book_id: str, refs: Collection[EntityRef]) -> int:
        return await self._count(queries.COUNT_ATTACHED_TO_ANY, book_id=book_id, refs=json_of_refs(refs))

    async def foremost_attached(
        self, refs: Collection[EntityRef], limit: int, chapter_number: int | None = None
    ) -> ForemostAttached:
        return await self._foremost(queries.FOREMOST_ATTACHED, refs, limit, chapter_number)

    async def foremost_hidden(self, refs: Collection[EntityRef], limit: int, chapter_number: int) -> ForemostAttached:
        return await self._foremost(queries.FOREMOST_HIDDEN, refs, limit, chapter_number)

    async def chunk_frame(self, book_id: str, chapter_id: str | None) -> ChunkFrame | None:
        rows = await self._read(queries.CHUNK_FRAME, book_id=book_id, chapter_id=chapter_id)
        if not rows:
            return None
        names_version, texts_version, links_version, chapter_number, *book = cast("Any", rows[0])
        return ChunkFrame(Book(*book), names_version, texts_version, links_version, chapter_number)

    async def names(self, book_id: str) -> tuple[Name, ...]:
        rows = _unpacked(await self._fetch(queries.NAMES, book_id=book_id))
        names = []
        for entity_type, entity_id, name, aliases in cast("Any", rows):
            ref = EntityRef(EntityType(entity_type), entity_id)
            names.append(Name(ref, name))
            names += [Name(ref, alias["name"], alias["revealed_in_chapter"]) for alias in orjson.loads(aliases)]
        return tuple(names)

    async def chapter_with_number(self, book_id: str, number: int) -> str | None:
        rows = await self._read(queries.CHAPTER_WITH_NUMBER, book_id=book_id, number=number)
        return cast("str", rows[0][0]) if rows else None

    async def _foremost(
        self, sql: str, refs: Collection[EntityRef], limit: int, chapter_number: int | None
    ) -> ForemostAttached:
        asked = tuple(refs)
        rows = await self._read_page(sql, refs=json_of_refs(asked), limit=limit, chapter=chapter_number)
        memories: dict[EntityRef, list[Memory]] = defaultdict(list)
        attachments: dict[str, tuple[EntityRef, ...]] = {}
        for key, *columns, attached_to in cast("Any", rows):
            memory = memory_from_row(columns)
            memories[asked[key]].append(memory)
            attachments[memory.id] = tuple(
                EntityRef(EntityType(entity_type), entity_id) for entity_type, entity_id in attached_to
            )
        return ForemostAttached({ref: tuple(found[:limit]) for ref, found in memories.items()}, attachments)

    async def _read(self, sql: str, **parameters: object) -> Sequence[Row]:
        return await self._read_rows(sql, {"owner": self._owner, **parameters})

    async def _read_page(self, sql: str, **parameters: object) -> Sequence[Row]:
        return _unpacked(await self._read(sql, **parameters))

    async def _fetch(self, sql: str, **parameters: object) -> Sequence[Row]:
        return await self._fetch_rows(sql, {"owner": self._owner, **parameters})

    async def _count(self, sql: str, **parameters: object) -> int:
        ((count,),) = await self._fetch(sql, **parameters)
        return cast("int", count)


def _unpacked(rows: Sequence[Row]) -> Sequence[Row]:
    """Of a statement that answers all its rows as one JSON text."""
    ((text,),) = rows
    return cast("Sequence[Row]", orjson.loads(cast("str", text)))


def _window(page: PageRequest, start: Cursor) -> Mapping[str, object]:
    """One row more than asked for tells whether another page follows."""
    after = page.after or start
    return {"position": after.position, "id": after.id, "limit": page.first + 1}


def _page(found: Sequence[tuple[Any, T]], page: PageRequest) -> Page[T]:
    kept = found[: page.first]
    return Page(
        items=tuple([item for _, item in kept]),
        positions=tuple([position for position, _ in kept]),
        has_next=len(found) > page.first,
    )


def _pages(rows: Iterable[Row], from_row: Callable[[Row], T], page: PageRequest) -> dict[Any, Page[T]]:
    """Rows are (parent, position, columns of the item …)."""
    found: dict[object, list[tuple[object, T]]] = defaultdict(list)
    for row in rows:
        found[row[0]].append((row[1], from_row(row[2:])))
    return {parent: _page(items, page) for parent, items in found.items()}
