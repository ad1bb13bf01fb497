"""What may come in: lengths, ranges and characters, checked once at the door of the use cases."""

import re
import unicodedata
from collections.abc import Sequence, Sized
from dataclasses import dataclass

from domain import errors
from domain.entities import Alias, Book, Chapter, Character, Entity, Term
from domain.errors import Path, at
from domain.memories import Memory, MemoryDraft
from domain.paging import MAX_PAGE_SIZE
from domain.text import NUL

BULK_LIMIT = 1_000
MAX_ID_LENGTH = 128
MAX_ALIASES = 200
MAX_ATTACHMENTS = 100
CHAPTER_NUMBERS = (0, 1_000_000)
CONTEXT_LIMITS = (1, 100)
MAX_ACCESS_COUNT = 2**31 - 1

ID = re.compile(rf"[^\s\x00-\x1f\x7f-\x9f]{{1,{MAX_ID_LENGTH}}}")


@dataclass(frozen=True, slots=True)
class Limits:
    """The most characters of each kind of text."""

    name: int = 200
    summary: int = 500
    content: int = 20_000
    note: int = 5_000
    text: int = 100_000
    query: int = 10_000
    notebook: int = 1_000_000


def check_entity(entity: Entity, limits: Limits) -> None:
    check_id(entity.id, ("id",))
    _check_name(entity.name, limits.name, ("name",))
    match entity:
        case Book():
            check_range(entity.context_limit, CONTEXT_LIMITS, ("context_limit",))
        case Chapter():
            check_range(entity.number, CHAPTER_NUMBERS, ("number",))
        case Character():
            _check_optional(entity.gender, limits.name, ("gender",))
            _check_optional(entity.speaking_style, limits.note, ("speaking_style",))
            _check_described(entity, limits)
        case Term():
            _check_described(entity, limits)


def check_draft(draft: MemoryDraft, limits: Limits, path: Path = ()) -> None:
    check_id(draft.id, at(path, "id"))
    check_count(draft.attached_to, MAX_ATTACHMENTS, at(path, "attached_to"))
    check_range(draft.access_count, (0, MAX_ACCESS_COUNT), at(path, "access_count"))
    check_memory(draft, limits, path)


def check_memory(memory: Memory | MemoryDraft, limits: Limits, path: Path = ()) -> None:
    check_text(memory.content, limits.content, at(path, "content"))
    check_text(memory.summary, limits.summary, at(path, "summary"))
    start, end = memory.valid_from_chapter, memory.valid_until_chapter
    if start is not None:
        check_range(start, CHAPTER_NUMBERS, at(path, "valid_from_chapter"))
    if end is not None:
        check_range(end, CHAPTER_NUMBERS, at(path, "valid_until_chapter"))
    if start is not None and end is not None and end < start:
        raise errors.EndsBeforeStartError(at(path, "valid_until_chapter"), start, end)


def check_id(value: str, path: Path) -> None:
    if not ID.fullmatch(value):
        raise errors.InvalidIdError(path, value)


def check_page_size(first: int, path: Path = ("first",)) -> None:
    check_range(first, (1, MAX_PAGE_SIZE), path)


def check_range(value: int | None, bounds: tuple[int, int], path: Path) -> None:
    if value is None:
        raise errors.RequiredError(path)
    low, high = bounds
    if not low <= value <= high:
        raise errors.OutOfRangeError(path, value, low, high)


def check_count(items: Sized, limit: int, path: Path) -> None:
    if len(items) > limit:
        raise errors.TooManyItemsError(path, len(items), limit)


def check_fact(fact: str, category: str | None, limits: Limits) -> None:
    """A category that is blank is none."""
    check_text(fact, limits.note, ("fact",))
    if category is not None and category.strip():
        _check_name(category, limits.name, ("category",))


def _check_described(entity: Character | Term, limits: Limits) -> None:
    _check_optional(entity.translation, limits.name, ("translation",))
    _check_optional(entity.description, limits.note, ("description",))
    _check_optional(entity.notes, limits.note, ("notes",))
    _check_aliases(entity.aliases, limits)


def _check_aliases(aliases: Sequence[Alias], limits: Limits) -> None:
    check_count(aliases, MAX_ALIASES, ("aliases",))
    for position, alias in enumerate(aliases):
        path = at(("aliases",), position)
        _check_name(alias.name, limits.name, at(path, "name"))
        _check_optional(alias.translation, limits.name, at(path, "translation"))
        if alias.revealed_in_chapter is not None:
            check_range(alias.revealed_in_chapter, CHAPTER_NUMBERS, at(path, "revealed_in_chapter"))


def _check_name(name: str, limit: int, path: Path) -> None:
    check_text(name, limit, path)
    for position, character in enumerate(name):
        if unicodedata.category(character) == "Cc":
            raise errors.ForbiddenCharacterError(path, character, position)


def _check_optional(text: str | None, limit: int, path: Path) -> None:
    if text is not None:
        check_length(text, limit, path)


def check_text(text: str | None, limit: int, path: Path) -> None:
    if text is None or not text.strip():
        raise errors.RequiredError(path)
    check_length(text, limit, path)


def check_length(text: str, limit: int, path: Path) -> None:
    if len(text) > limit:
        raise errors.TextTooLongError(path, len(text), limit)
    if NUL in text:
        raise errors.ForbiddenCharacterError(path, NUL, text.index(NUL))
