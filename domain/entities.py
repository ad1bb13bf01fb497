"""Books and what they own: the entities that memories hang on."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Self

DEFAULT_CONTEXT_LIMIT = 10


class EntityType(StrEnum):
    BOOK = "book"
    CHARACTER = "character"
    TERM = "term"
    CHAPTER = "chapter"


@dataclass(frozen=True, slots=True)
class EntityRef:
    type: EntityType
    id: str

    @classmethod
    def book(cls, book_id: str) -> Self:
        return cls(EntityType.BOOK, book_id)


@dataclass(frozen=True, slots=True)
class Alias:
    name: str
    translation: str | None = None
    revealed_in_chapter: int | None = None


@dataclass(frozen=True, slots=True)
class Book:
    type: ClassVar = EntityType.BOOK

    id: str
    name: str
    context_limit: int = DEFAULT_CONTEXT_LIMIT

    @property
    def book_id(self) -> str:
        return self.id

    @property
    def ref(self) -> EntityRef:
        return EntityRef(self.type, self.id)


@dataclass(frozen=True, slots=True)
class Character:
    type: ClassVar = EntityType.CHARACTER

    id: str
    book_id: str
    name: str
    aliases: tuple[Alias, ...] = ()
    translation: str | None = None
    description: str | None = None
    gender: str | None = None
    speaking_style: str | None = None
    notes: str | None = None

    @property
    def ref(self) -> EntityRef:
        return EntityRef(self.type, self.id)


@dataclass(frozen=True, slots=True)
class Term:
    type: ClassVar = EntityType.TERM

    id: str
    book_id: str
    name: str
    aliases: tuple[Alias, ...] = ()
    translation: str | None = None
    description: str | None = None
    notes: str | None = None

    @property
    def ref(self) -> EntityRef:
        return EntityRef(self.type, self.id)


@dataclass(frozen=True, slots=True)
class Chapter:
    type: ClassVar = EntityType.CHAPTER

    id: str
    book_id: str
    name: str
    number: int

    @property
    def ref(self) -> EntityRef:
        return EntityRef(self.type, self.id)


Entity = Book | Character | Term | Chapter


def names_of(entity: Entity) -> Sequence[str]:
    """What a text may call the entity; chapters and books are not found by name."""
    if isinstance(entity, Character | Term):
        return (entity.name, *(alias.name for alias in entity.aliases))
    return ()
