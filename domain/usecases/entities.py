"""Books, characters, terms and chapters: create, read, list, change, delete."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from domain import errors, limits
from domain.entities import Book, Chapter, Entity, EntityRef
from domain.paging import Page, PageRequest
from domain.ports import GraphReader, GraphStore, GraphWriter, Listing

E = TypeVar("E", bound=Entity)

ID = ("id",)
BOOK_ID = ("book_id",)


@dataclass(frozen=True, slots=True)
class Entities:
    graph: GraphStore
    limits: limits.Limits

    async def create(self, entity: E) -> E:
        limits.check_entity(entity, self.limits)

        async def work(graph: GraphWriter) -> E:
            await add_entity(graph, entity)
            return entity

        return await self.graph.write(work)

    async def update(self, ref: EntityRef, changes: Mapping[str, object]) -> Entity:
        """Only the fields named in `changes` change."""

        async def work(graph: GraphWriter) -> Entity:
            entity = await require_entity(graph, ref, ID)
            changed = replace(entity, **changes)  # type: ignore[arg-type]
            limits.check_entity(changed, self.limits)
            await _refuse_number_conflict(graph, changed)
            await graph.replace_entity(changed)
            return changed

        return await self.graph.write(work)

    async def delete(self, ref: EntityRef) -> None:
        async def work(graph: GraphWriter) -> None:
            await require_entity(graph, ref, ID)
            await graph.delete_entity(ref)

        await self.graph.write(work)

    async def get(self, refs: Collection[EntityRef]) -> Mapping[EntityRef, Entity]:
        return await self.graph.entities(refs)

    async def books(self, page: PageRequest) -> Page[Book]:
        return await self.graph.books(page)

    async def count_books(self) -> int:
        return await self.graph.count_books()

    async def of_books(
        self, book_ids: Collection[str], listing: Listing, page: PageRequest
    ) -> Mapping[str, Page[Entity]]:
        return await self.graph.entities_of(book_ids, listing, page)

    async def count_of_books(self, book_ids: Collection[str], listing: Listing) -> Mapping[str, int]:
        return await self.graph.count_entities_of(book_ids, listing)


async def add_entity(graph: GraphWriter, entity: Entity) -> None:
    if not isinstance(entity, Book):
        await require_book(graph, entity.book_id)
    if entity.ref in await graph.entities([entity.ref]):
        raise errors.IdTakenError(ID, entity.id)
    await _refuse_number_conflict(graph, entity)
    await graph.add_entity(entity)


async def require_book(graph: GraphReader, book_id: str) -> Book:
    return cast("Book", await require_entity(graph, EntityRef.book(book_id), BOOK_ID))


async def require_entity(graph: GraphReader, ref: EntityRef, path: errors.Path) -> Entity:
    found = await graph.entities([ref])
    if ref not in found:
        raise errors.EntityNotFoundError(path, ref)
    return found[ref]


async def require_in_book(graph: GraphReader, book_id: str, named: Sequence[tuple[errors.Path, EntityRef]]) -> None:
    """Every ref must name an entity of this very book; the error names the first that does not."""
    found = await graph.entities({ref for _, ref in named})
    for path, ref in named:
        entity = found.get(ref)
        if entity is None or entity.book_id != book_id:
            raise errors.EntityNotFoundError(path, ref)


async def _refuse_number_conflict(graph: GraphReader, entity: Entity) -> None:
    if not isinstance(entity, Chapter):
        return
    holder = await graph.chapter_with_number(entity.book_id, entity.number)
    if holder not in (None, entity.id):
        raise errors.ChapterNumberTakenError(("number",), entity.number, str(holder))
