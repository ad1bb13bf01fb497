"""Looking up and listing the graph."""

from typing import Annotated, cast

import strawberry

from domain.entities import EntityRef
from schema.context import Info
from schema.enums import EntityType
from schema.inputs import EntityRefInput
from schema.paging import DEFAULT_PAGE_SIZE, After, Connection, First, ask_page, connect
from schema.types.entities import MEMORY_LIST, Book, Chapter, Character, Entity, Term, load_entities
from schema.types.memories import Memory

Id = Annotated[strawberry.ID, strawberry.argument(description="The id it was created with.")]


@strawberry.type
class GraphQueries:
    @strawberry.field(description="One book, or null.")
    async def book(self, info: Info, id: Id) -> Book | None:
        return cast("Book | None", await _lookup(info, EntityType.BOOK, id))

    @strawberry.field(description="All books, in the order they were created.")
    async def books(self, info: Info, first: First = DEFAULT_PAGE_SIZE, after: After = None) -> Connection[Book]:
        asked = ask_page(first, after, EntityType.BOOK)
        use_cases = info.context.use_cases.entities
        return connect(await use_cases.books(asked.page), Book.from_domain, asked, use_cases.count_books)

    @strawberry.field(description="One character, or null.")
    async def character(self, info: Info, id: Id) -> Character | None:
        return cast("Character | None", await _lookup(info, EntityType.CHARACTER, id))

    @strawberry.field(description="One term, or null.")
    async def term(self, info: Info, id: Id) -> Term | None:
        return cast("Term | None", await _lookup(info, EntityType.TERM, id))

    @strawberry.field(description="One chapter, or null.")
    async def chapter(self, info: Info, id: Id) -> Chapter | None:
        return cast("Chapter | None", await _lookup(info, EntityType.CHAPTER, id))

    @strawberry.field(description="One memory, or null. Reading it moves its `lastAccessedAt` and `accessCount`.")
    async def memory(self, info: Info, id: Id) -> Memory | None:
        memory = await info.context.use_cases.memories.read(str(id))
        return Memory.from_domain(memory) if memory is not None else None

    @strawberry.field(description="Memories attached to any of the entities, each once, most recently accessed first.")
    async def memories(
        self,
        info: Info,
        book_id: Annotated[strawberry.ID, strawberry.argument(description="The book they belong to.")],
        attached_to: Annotated[
            list[EntityRefInput], strawberry.argument(description="Entities; an unknown one has no memories.")
        ],
        first: First = DEFAULT_PAGE_SIZE,
        after: After = None,
    ) -> Connection[Memory]:
        asked = ask_page(first, after, MEMORY_LIST)
        refs = list(dict.fromkeys(each.to_domain() for each in attached_to))
        use_cases = info.context.use_cases.attachments
        page = await use_cases.memories_of_any(str(book_id), refs, asked.page)
        return connect(page, Memory.from_domain, asked, lambda: use_cases.count_of_any(str(book_id), refs))


async def _lookup(info: Info, entity_type: EntityType, id_: strawberry.ID) -> Entity | None:
    found = await load_entities(info, [EntityRef(entity_type, str(id_))])
    return found[0] if found else None
