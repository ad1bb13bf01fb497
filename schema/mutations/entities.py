"""Creating, changing and deleting books, characters, terms and chapters."""

from collections.abc import Mapping
from typing import Annotated, Any

import strawberry

from domain.entities import EntityRef
from schema.context import Info
from schema.enums import EntityType
from schema.inputs import (
    CreateBookInput,
    CreateChapterInput,
    CreateCharacterInput,
    CreateTermInput,
    UpdateBookInput,
    UpdateChapterInput,
    UpdateCharacterInput,
    UpdateTermInput,
)
from schema.payloads import BookPayload, ChapterPayload, CharacterPayload, DeletePayload, Given, TermPayload, mutation
from schema.types.entities import Book, Chapter, Character, Term

Id = Annotated[strawberry.ID, strawberry.argument(description="Which one.")]


@strawberry.type
class EntityMutations:
    @mutation(BookPayload, "Create a book.")
    async def create_book(self, info: Info, input: Given[CreateBookInput]) -> BookPayload:
        book = await info.context.use_cases.entities.create(input.to_domain(info.context.new_id))
        return BookPayload(book=Book.from_domain(book))

    @mutation(CharacterPayload, "Create a character of a book.")
    async def create_character(self, info: Info, input: Given[CreateCharacterInput]) -> CharacterPayload:
        character = await info.context.use_cases.entities.create(input.to_domain(info.context.new_id))
        return CharacterPayload(character=Character.from_domain(character))

    @mutation(TermPayload, "Create a term of a book.")
    async def create_term(self, info: Info, input: Given[CreateTermInput]) -> TermPayload:
        term = await info.context.use_cases.entities.create(input.to_domain(info.context.new_id))
        return TermPayload(term=Term.from_domain(term))

    @mutation(ChapterPayload, "Create a chapter of a book.")
    async def create_chapter(self, info: Info, input: Given[CreateChapterInput]) -> ChapterPayload:
        chapter = await info.context.use_cases.entities.create(input.to_domain(info.context.new_id))
        return ChapterPayload(chapter=Chapter.from_domain(chapter))

    @mutation(BookPayload, "Change a book: absent leaves, null clears.")
    async def update_book(self, info: Info, input: Given[UpdateBookInput]) -> BookPayload:
        return BookPayload(book=Book.from_domain(await _update(info, EntityType.BOOK, input.id, input.changes())))

    @mutation(CharacterPayload, "Change a character: absent leaves, null clears.")
    async def update_character(self, info: Info, input: Given[UpdateCharacterInput]) -> CharacterPayload:
        character = await _update(info, EntityType.CHARACTER, input.id, input.changes())
        return CharacterPayload(character=Character.from_domain(character))

    @mutation(TermPayload, "Change a term: absent leaves, null clears.")
    async def update_term(self, info: Info, input: Given[UpdateTermInput]) -> TermPayload:
        return TermPayload(term=Term.from_domain(await _update(info, EntityType.TERM, input.id, input.changes())))

    @mutation(ChapterPayload, "Change a chapter: absent leaves.")
    async def update_chapter(self, info: Info, input: Given[UpdateChapterInput]) -> ChapterPayload:
        chapter = await _update(info, EntityType.CHAPTER, input.id, input.changes())
        return ChapterPayload(chapter=Chapter.from_domain(chapter))

    @mutation(DeletePayload, "Delete a book with all its characters, terms, chapters and memories.")
    async def delete_book(self, info: Info, id: Id) -> DeletePayload:
        return await _delete(info, EntityType.BOOK, id)

    @mutation(DeletePayload, "Delete a character; memories attached to nothing else stay on the book.")
    async def delete_character(self, info: Info, id: Id) -> DeletePayload:
        return await _delete(info, EntityType.CHARACTER, id)

    @mutation(DeletePayload, "Delete a term; memories attached to nothing else stay on the book.")
    async def delete_term(self, info: Info, id: Id) -> DeletePayload:
        return await _delete(info, EntityType.TERM, id)

    @mutation(DeletePayload, "Delete a chapter; memories attached to nothing else stay on the book.")
    async def delete_chapter(self, info: Info, id: Id) -> DeletePayload:
        return await _delete(info, EntityType.CHAPTER, id)


async def _update(info: Info, entity_type: EntityType, id_: strawberry.ID, changes: Mapping[str, object]) -> Any:
    return await info.context.use_cases.entities.update(EntityRef(entity_type, str(id_)), changes)


async def _delete(info: Info, entity_type: EntityType, id_: strawberry.ID) -> DeletePayload:
    await info.context.use_cases.entities.delete(EntityRef(entity_type, str(id_)))
    return DeletePayload(deleted_id=id_)
