"""What clients send, turned into domain values."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final

import strawberry
from strawberry import UNSET

from domain import entities, memories
from domain.entities import EntityRef
from schema.enums import EntityType

MakeId = Callable[[str], str]

MEMORY: Final = "memory"


@strawberry.input(description="Names one entity.")
class EntityRefInput:
    type: EntityType = strawberry.field(description="Which kind of entity.")
    id: strawberry.ID = strawberry.field(description="Its id.")

    def to_domain(self) -> EntityRef:
        return EntityRef(self.type, str(self.id))


@strawberry.input(description="Another name of a character or term.")
class AliasInput:
    name: str = strawberry.field(description="The name as it stands in the source text.")
    translation: str | None = strawberry.field(default=None, description="How this name is translated.")
    revealed_in_chapter: int | None = strawberry.field(
        default=None, description="Before that chapter number the alias is not matched in a chunk of the book."
    )

    def to_domain(self) -> entities.Alias:
        return entities.Alias(self.name.strip(), self.translation, self.revealed_in_chapter)


@strawberry.input(description="A new book.")
class CreateBookInput:
    name: str = strawberry.field(description="Its title.")
    id: strawberry.ID | None = strawberry.field(default=None, description="Made when left out.")
    context_limit: int | None = strawberry.field(
        default=None, description="How many memories a chunk context takes at the most, 1 to 100; 10 when left out."
    )

    def to_domain(self, make_id: MakeId) -> entities.Book:
        return entities.Book(
            id=_id(self.id, make_id, EntityType.BOOK),
            name=self.name.strip(),
            context_limit=entities.DEFAULT_CONTEXT_LIMIT if self.context_limit is None else self.context_limit,
        )


@strawberry.input(description="A new character.")
class CreateCharacterInput:
    book_id: strawberry.ID = strawberry.field(description="The book it belongs to.")
    name: str = strawberry.field(description="The name as it stands in the source text.")
    id: strawberry.ID | None = strawberry.field(default=None, description="Made when left out.")
    aliases: list[AliasInput] | None = strawberry.field(default=None, description="Other names.")
    translation: str | None = strawberry.field(default=None, description="How the name is translated.")
    description: str | None = strawberry.field(default=None, description="Who this is.")
    gender: str | None = strawberry.field(default=None, description="In the translator's own words.")
    speaking_style: str | None = strawberry.field(default=None, description="How the character talks.")
    notes: str | None = strawberry.field(default=None, description="Anything else a translator keeps.")

    def to_domain(self, make_id: MakeId) -> entities.Character:
        return entities.Character(
            id=_id(self.id, make_id, EntityType.CHARACTER),
            book_id=str(self.book_id),
            name=self.name.strip(),
            aliases=_aliases(self.aliases),
            translation=self.translation,
            description=self.description,
            gender=self.gender,
            speaking_style=self.speaking_style,
            notes=self.notes,
        )


@strawberry.input(description="A new term.")
class CreateTermInput:
    book_id: strawberry.ID = strawberry.field(description="The book it belongs to.")
    name: str = strawberry.field(description="The term as it stands in the source text.")
    id: strawberry.ID | None = strawberry.field(default=None, description="Made when left out.")
    aliases: list[AliasInput] | None = strawberry.field(default=None, description="Other names.")
    translation: str | None = strawberry.field(default=None, description="How the term is translated.")
    description: str | None = strawberry.field(default=None, description="What it is.")
    notes: str | None = strawberry.field(default=None, description="Anything else a translator keeps.")

    def to_domain(self, make_id: MakeId) -> entities.Term:
        return entities.Term(
            id=_id(self.id, make_id, EntityType.TERM),
            book_id=str(self.book_id),
            name=self.name.strip(),
            aliases=_aliases(self.aliases),
            translation=self.translation,
            description=self.description,
            notes=self.notes,
        )


@strawberry.input(description="A new chapter.")
class CreateChapterInput:
    book_id: strawberry.ID = strawberry.field(description="The book it belongs to.")
    name: str = strawberry.field(description="Its title.")
    number: int = strawberry.field(description="Its place in the story; unique within the book.")
    id: strawberry.ID | None = strawberry.field(default=None, description="Made when left out.")

    def to_domain(self, make_id: MakeId) -> entities.Chapter:
        return entities.Chapter(
            id=_id(self.id, make_id, EntityType.CHAPTER),
            book_id=str(self.book_id),
            name=self.name.strip(),
            number=self.number,
        )


@strawberry.input(description="Changes to a book: absent leaves, null clears.")
class UpdateBookInput:
    id: strawberry.ID = strawberry.field(description="Which book.")
    name: str | None = strawberry.field(default=UNSET, description="A new title.")
    context_limit: int | None = strawberry.field(default=UNSET, description="1 to 100; null: back to 10.")

    def changes(self) -> Mapping[str, object]:
        return _changes(self, empty={"context_limit": entities.DEFAULT_CONTEXT_LIMIT})


@strawberry.input(description="Changes to a character: absent leaves, null clears.")
class UpdateCharacterInput:
    id: strawberry.ID = strawberry.field(description="Which character.")
    name: str | None = strawberry.field(default=UNSET, description="A new name.")
    aliases: list[AliasInput] | None = strawberry.field(default=UNSET, description="Replaces all aliases.")
    translation: str | None = strawberry.field(default=UNSET, description="How the name is translated.")
    description: str | None = strawberry.field(default=UNSET, description="Who this is.")
    gender: str | None = strawberry.field(default=UNSET, description="In the translator's own words.")
    speaking_style: str | None = strawberry.field(default=UNSET, description="How the character talks.")
    notes: str | None = strawberry.field(default=UNSET, description="Anything else a translator keeps.")

    def changes(self) -> Mapping[str, object]:
        return _changes(self, empty={"aliases": ()})


@strawberry.input(description="Changes to a term: absent leaves, null clears.")
class UpdateTermInput:
    id: strawberry.ID = strawberry.field(description="Which term.")
    name: str | None = strawberry.field(default=UNSET, description="A new name.")
    aliases: list[AliasInput] | None = strawberry.field(default=UNSET, description="Replaces all aliases.")
    translation: str | None = strawberry.field(default=UNSET, description="How the term is translated.")
    description: str | None = strawberry.field(default=UNSET, description="What it is.")
    notes: str | None = strawberry.field(default=UNSET, description="Anything else a translator keeps.")

    def changes(self) -> Mapping[str, object]:
        return _changes(self, empty={"aliases": ()})


@strawberry.input(description="Changes to a chapter: absent leaves.")
class UpdateChapterInput:
    id: strawberry.ID = strawberry.field(description="Which chapter.")
    name: str | None = strawberry.field(default=UNSET, description="A new title.")
    number: int | None = strawberry.field(default=UNSET, description="A new place in the story.")

    def changes(self) -> Mapping[str, object]:
        return _changes(self)


@strawberry.input(description="A new memory.")
class CreateMemoryInput:
    book_id: strawberry.ID = strawberry.field(description="The book it belongs to.")
    content: str = strawberry.field(description="The whole note.")
    summary: str = strawberry.field(description="The note in one line, as a prompt shows it.")
    id: strawberry.ID | None = strawberry.field(default=None, description="Made when left out.")
    attached_to: list[EntityRefInput] | None = strawberry.field(
        default=None, description="Entities of the same book; without any it is attached to the book."
    )
    is_pinned: bool | None = strawberry.field(default=None, description="Pinned memories come first.")
    valid_from_chapter: int | None = strawberry.field(
        default=None, description="Not told to chunks of chapters before this number."
    )
    valid_until_chapter: int | None = strawberry.field(
        default=None, description="Not told to chunks of chapters after this number."
    )

    def to_domain(self, make_id: MakeId) -> memories.MemoryDraft:
        return memories.MemoryDraft(
            id=_id(self.id, make_id, MEMORY),
            book_id=str(self.book_id),
            content=self.content,
            summary=self.summary,
            attached_to=_refs(self.attached_to),
            is_pinned=bool(self.is_pinned),
            valid_from_chapter=self.valid_from_chapter,
            valid_until_chapter=self.valid_until_chapter,
        )


@strawberry.input(description="Changes to a memory: absent leaves, null clears.")
class UpdateMemoryInput:
    id: strawberry.ID = strawberry.field(description="Which memory.")
    content: str | None = strawberry.field(default=UNSET, description="The whole note.")
    summary: str | None = strawberry.field(default=UNSET, description="The note in one line.")
    attached_to: list[EntityRefInput] | None = strawberry.field(
        default=UNSET, description="Replaces the whole list; [] means the book."
    )
    is_pinned: bool | None = strawberry.field(default=UNSET, description="Pinned memories come first.")
    valid_from_chapter: int | None = strawberry.field(
        default=UNSET, description="Not told to chunks of chapters before this number."
    )
    valid_until_chapter: int | None = strawberry.field(
        default=UNSET, description="Not told to chunks of chapters after this number."
    )

    def changes(self) -> Mapping[str, object]:
        return _changes(self, empty={"is_pinned": False}, apart=("attached_to",))

    def new_attachments(self) -> tuple[EntityRef, ...] | None:
        return None if self.attached_to is UNSET else _refs(self.attached_to)


@strawberry.input(description="Many memories and many entities of one book.")
class AttachMemoriesInput:
    book_id: strawberry.ID = strawberry.field(description="The book they all belong to.")
    memory_ids: list[strawberry.ID] = strawberry.field(description="Up to 1,000 memories.")
    entities: list[EntityRefInput] = strawberry.field(description="Up to 100 entities.")


@strawberry.input(description="All memories that match a text, and the entities to attach them to.")
class AttachMatchingInput:
    book_id: strawberry.ID = strawberry.field(description="The book they all belong to.")
    query: str = strawberry.field(
        description="Text that stands in the summary or content; case and width do not matter."
    )
    entities: list[EntityRefInput] = strawberry.field(description="Up to 100 entities.")


@strawberry.input(description="A memory of an older store: no attachment means the book; its times are kept.")
class ImportMemoryInput:
    content: str = strawberry.field(description="The whole note.")
    summary: str = strawberry.field(description="The note in one line, as a prompt shows it.")
    id: strawberry.ID | None = strawberry.field(default=None, description="Made when left out.")
    attached_to: list[EntityRefInput] | None = strawberry.field(
        default=None, description="Entities of the same book; without any it is attached to the book."
    )
    created_at: datetime | None = strawberry.field(default=None, description="Now when left out.")
    last_accessed_at: datetime | None = strawberry.field(default=None, description="`createdAt` when left out.")
    access_count: int | None = strawberry.field(default=None, description="0 when left out.")

    def to_domain(self, book_id: str, make_id: MakeId) -> memories.MemoryDraft:
        return memories.MemoryDraft(
            id=_id(self.id, make_id, MEMORY),
            book_id=book_id,
            content=self.content,
            summary=self.summary,
            attached_to=_refs(self.attached_to),
            created_at=self.created_at,
            last_accessed_at=self.last_accessed_at,
            access_count=self.access_count or 0,
        )


@strawberry.input(description="Memories of an older store, for one book.")
class ImportMemoriesInput:
    book_id: strawberry.ID = strawberry.field(description="The book they are brought into.")
    memories: list[ImportMemoryInput] = strawberry.field(description="Up to 1,000; all are imported or none.")


def _id(given: strawberry.ID | None, make_id: MakeId, kind: str) -> str:
    return make_id(kind) if given is None else str(given)


def _refs(given: Iterable[EntityRefInput] | None) -> tuple[EntityRef, ...]:
    return tuple(ref.to_domain() for ref in given or ())


def _aliases(given: Iterable[AliasInput] | None) -> tuple[entities.Alias, ...]:
    return tuple(alias.to_domain() for alias in given or ())


def _changes(update: Any, empty: Mapping[str, object] | None = None, apart: Iterable[str] = ()) -> Mapping[str, object]:
    """The fields that were sent, in domain values; null means what `empty` says, or None."""
    sent = {name: value for name, value in vars(update).items() if value is not UNSET and name not in ("id", *apart)}
    if sent.get("aliases") is not None:
        sent["aliases"] = _aliases(sent["aliases"])
    if sent.get("name") is not None:
        sent["name"] = sent["name"].strip()
    return {name: (empty or {}).get(name) if value is None else value for name, value in sent.items()}
