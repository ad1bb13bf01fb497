"""Books, characters, terms and chapters, and the memories under each."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Final, cast

import strawberry

from domain import entities, limits
from domain.entities import EntityRef
from domain.errors import InvalidInputError
from domain.ports import Listing
from schema.context import Info
from schema.enums import EntityType, Retrieval
from schema.loaders import AttachedKey, BookMemoriesKey, EntitiesKey, EntityCountKey, RelevantKey
from schema.lookahead import arguments_below_items
from schema.paging import DEFAULT_PAGE_SIZE, After, Connection, First, ask_page, connect, connect_when_loaded
from schema.types.memories import Memory, RelevantMemory

DEFAULT_RELEVANT = 10
MAX_RELEVANT = 100
MEMORY_LIST: Final = "memory"

NameContains = Annotated[
    str | None,
    strawberry.argument(description="Only those whose name or alias contains this text; case and width do not matter."),
]


@strawberry.interface(description="What a memory can be attached to: a book, character, term or chapter.")
class Entity:
    id: strawberry.ID = strawberry.field(description="Unique among its owner's entities of this type.")
    type: EntityType = strawberry.field(description="Which kind of entity this is.")
    name: str = strawberry.field(description="The name as it stands in the source text.")

    @property
    def ref(self) -> EntityRef:
        return EntityRef(self.type, str(self.id))

    @strawberry.field(description="Exactly the memories attached to this entity, most recently accessed first.")
    def attached_memories(
        self, info: Info, first: First = DEFAULT_PAGE_SIZE, after: After = None
    ) -> Connection[Memory]:
        asked = ask_page(first, after, MEMORY_LIST)
        loaders, ref = info.context.loaders, self.ref
        return connect_when_loaded(
            loaders.attached_memories.load(AttachedKey(ref, asked.page)),
            Memory.from_domain,
            asked,
            lambda: loaders.attached_count.load(ref),
        )

    @strawberry.field(
        description="Attached memories first, then keyword matches on the entity's names; pinned before others;"
        " each once."
    )
    async def relevant_memories(
        self,
        info: Info,
        limit: Annotated[
            int, strawberry.argument(description="How many at the most, from 1 to 100.")
        ] = DEFAULT_RELEVANT,
        retrieval: Annotated[
            Retrieval, strawberry.argument(description="Whether keyword matches are wanted.")
        ] = Retrieval.MERGE,
    ) -> list[RelevantMemory]:
        limits.check_range(limit, (1, MAX_RELEVANT), ("limit",))
        found = await info.context.loaders.relevant_memories.load(RelevantKey(self.ref, limit, retrieval))
        return [RelevantMemory.from_domain(each) for each in found]


@strawberry.type(description="Another name of a character or term.")
class Alias:
    name: str = strawberry.field(description="The name as it stands in the source text.")
    translation: str | None = strawberry.field(description="How this name is translated.")
    revealed_in_chapter: int | None = strawberry.field(
        description="Before that chapter number the alias is not matched in a chunk of the book."
    )

    @classmethod
    def all_from_domain(cls, aliases: Sequence[entities.Alias]) -> "list[Alias]":
        return [
            cls(name=each.name, translation=each.translation, revealed_in_chapter=each.revealed_in_chapter)
            for each in aliases
        ]


@strawberry.type(description="What is being translated; owns its characters, terms, chapters and memories.")
class Book(Entity):
    context_limit: int = strawberry.field(description="How many memories a chunk context takes at the most.")

    @strawberry.field(description="The characters, in the order they were created.")
    async def characters(
        self, info: Info, name_contains: NameContains = None, first: First = DEFAULT_PAGE_SIZE, after: After = None
    ) -> Connection["Character"]:
        listing = Listing(EntityType.CHARACTER, name_contains or "")
        return await _entities_of(info, str(self.id), listing, first, after)

    @strawberry.field(description="The terms, in the order they were created.")
    async def terms(
        self, info: Info, name_contains: NameContains = None, first: First = DEFAULT_PAGE_SIZE, after: After = None
    ) -> Connection["Term"]:
        listing = Listing(EntityType.TERM, name_contains or "")
        return await _entities_of(info, str(self.id), listing, first, after)

    @strawberry.field(description="The chapters, by number.")
    async def chapters(
        self, info: Info, first: First = DEFAULT_PAGE_SIZE, after: After = None
    ) -> Connection["Chapter"]:
        return await _entities_of(info, str(self.id), Listing(EntityType.CHAPTER), first, after)

    @strawberry.field(description="All memories of the book, most recently accessed first.")
    async def memories(self, info: Info, first: First = DEFAULT_PAGE_SIZE, after: After = None) -> Connection[Memory]:
        asked = ask_page(first, after, MEMORY_LIST)
        loaders, book_id = info.context.loaders, str(self.id)
        page = await loaders.memories_of_book.load(BookMemoriesKey(book_id, asked.page))
        return connect(page, Memory.from_domain, asked, lambda: loaders.memory_count.load(book_id))

    @classmethod
    async def load(cls, info: Info, book_id: str) -> "Book":
        (book,) = await load_entities(info, [EntityRef.book(book_id)])
        return cast("Book", book)

    @classmethod
    def from_domain(cls, book: entities.Book) -> "Book":
        return cls(id=strawberry.ID(book.id), type=book.type, name=book.name, context_limit=book.context_limit)


@strawberry.type(description="Someone in the book.")
class Character(Entity):
    aliases: list[Alias] = strawberry.field(description="Other names.")
    translation: str | None = strawberry.field(description="How the name is translated.")
    description: str | None = strawberry.field(description="Who this is.")
    gender: str | None = strawberry.field(description="In the translator's own words.")
    speaking_style: str | None = strawberry.field(description="How the character talks.")
    notes: str | None = strawberry.field(description="Anything else a translator keeps.")
    book_id: strawberry.Private[str]

    @strawberry.field(description="The book it belongs to.")
    async def book(self, info: Info) -> Book:
        return await Book.load(info, self.book_id)

    @classmethod
    def from_domain(cls, character: entities.Character) -> "Character":
        return cls(
            id=strawberry.ID(character.id),
            type=character.type,
            book_id=character.book_id,
            name=character.name,
            aliases=Alias.all_from_domain(character.aliases),
            translation=character.translation,
            description=character.description,
            gender=character.gender,
            speaking_style=character.speaking_style,
            notes=character.notes,
        )


@strawberry.type(description="A word of the book's world: a place, a thing, an order, a technique.")
class Term(Entity):
    aliases: list[Alias] = strawberry.field(description="Other names.")
    translation: str | None = strawberry.field(description="How the term is translated.")
    description: str | None = strawberry.field(description="What it is.")
    notes: str | None = strawberry.field(description="Anything else a translator keeps.")
    book_id: strawberry.Private[str]

    @strawberry.field(description="The book it belongs to.")
    async def book(self, info: Info) -> Book:
        return await Book.load(info, self.book_id)

    @classmethod
    def from_domain(cls, term: entities.Term) -> "Term":
        return cls(
            id=strawberry.ID(term.id),
            type=term.type,
            book_id=term.book_id,
            name=term.name,
            aliases=Alias.all_from_domain(term.aliases),
            translation=term.translation,
            description=term.description,
            notes=term.notes,
        )


@strawberry.type(description="A chapter of the book.")
class Chapter(Entity):
    number: int = strawberry.field(description="Its place in the story; unique within the book.")
    book_id: strawberry.Private[str]

    @strawberry.field(description="The book it belongs to.")
    async def book(self, info: Info) -> Book:
        return await Book.load(info, self.book_id)

    @classmethod
    def from_domain(cls, chapter: entities.Chapter) -> "Chapter":
        return cls(
            id=strawberry.ID(chapter.id),
            type=chapter.type,
            book_id=chapter.book_id,
            name=chapter.name,
            number=chapter.number,
        )


_TYPES: Final = {
    entities.Book: Book,
    entities.Character: Character,
    entities.Term: Term,
    entities.Chapter: Chapter,
}


def from_domain(entity: entities.Entity) -> Entity:
    return cast("Entity", _TYPES[type(entity)].from_domain(entity))  # type: ignore[attr-defined]


async def load_entities(info: Info, refs: Sequence[EntityRef]) -> list[Entity]:
    """Those that exist: reading never fails on a link to something that is gone."""
    found = await info.context.loaders.entities.load_many(refs)
    return [from_domain(entity) for entity in found if entity is not None]


async def _entities_of(info: Info, book_id: str, listing: Listing, first: int, after: str | None) -> "Connection":  # type: ignore[type-arg]
    asked = ask_page(first, after, listing.type)
    loaders = info.context.loaders
    page = await loaders.entities_of_book.load(EntitiesKey(book_id, listing, asked.page))
    await _prefetch_attached(info, [entity.ref for entity in page.items])
    return connect(page, from_domain, asked, lambda: loaders.entity_count.load(EntityCountKey(book_id, listing)))


async def _prefetch_attached(info: Info, refs: Sequence[EntityRef]) -> None:
    for arguments in arguments_below_items(info, "attachedMemories"):
        # What is wrong with the arguments is said by the field itself. A literal comes as its text.
        with suppress(InvalidInputError, ValueError):
            first = int(arguments.get("first", DEFAULT_PAGE_SIZE))
            page = ask_page(first, arguments.get("after"), MEMORY_LIST).page
            await info.context.loaders.attached_memories.load_many([AttachedKey(ref, page) for ref in refs])
