"""What may come in, and what an error says about that which may not."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from domain import errors, limits
from domain.entities import Alias, Book, Chapter, Character, Entity, EntityRef, Term
from domain.errors import DomainError
from domain.limits import Limits
from domain.memories import MemoryDraft

LIMITS = Limits(name=10, summary=20, content=40, note=30)

BOOK = Book("book_1", "砂の道")
CHAPTER = Chapter("chap_1", "book_1", "海へ", 1)
CHARACTER = Character("char_1", "book_1", "田中太郎")
TERM = Term("term_1", "book_1", "魔石")
DRAFT = MemoryDraft("mem_1", "book_1", "全文", "要点")


def refused(check: Callable[[], None]) -> dict[str, Any]:
    """The facts of the error that the check raises, with its type as `error`."""
    with pytest.raises(DomainError) as caught:
        check()
    return {"error": type(caught.value), **vars(caught.value)}


def refused_entity(entity: Entity) -> dict[str, Any]:
    return refused(lambda: limits.check_entity(entity, LIMITS))


def refused_draft(**changes: Any) -> dict[str, Any]:
    return refused(lambda: limits.check_draft(replace(DRAFT, **changes), LIMITS, ("memories", "3")))


def required(*path: str) -> dict[str, Any]:
    return {"error": errors.RequiredError, "path": path}


def too_long(length: int, limit: int, *path: str) -> dict[str, Any]:
    return {"error": errors.TextTooLongError, "path": path, "length": length, "limit": limit}


def forbidden(character: str, position: int, *path: str) -> dict[str, Any]:
    return {"error": errors.ForbiddenCharacterError, "path": path, "character": character, "position": position}


def out_of_range(value: int, low: int, high: int, *path: str) -> dict[str, Any]:
    return {"error": errors.OutOfRangeError, "path": path, "value": value, "low": low, "high": high}


def too_many(count: int, limit: int, *path: str) -> dict[str, Any]:
    return {"error": errors.TooManyItemsError, "path": path, "count": count, "limit": limit}


def test_texts_have_these_limits_unless_set_otherwise() -> None:
    assert Limits() == Limits(name=200, summary=500, content=20_000, note=5_000)


@pytest.mark.parametrize(
    "entity",
    [
        Book("b", "あ" * 10, 1),
        Book("b" * 128, "あ", 100),
        Chapter("c", "b", "海へ", 0),
        Chapter("c", "b", "海へ", 1_000_000),
        Character("c", "b", "田", (Alias("あ" * 10, "", 0),) * 200, "x" * 10, "x" * 30, "x" * 10, "x" * 30, "x" * 30),
        Term("t", "b", "石", (Alias("石", "x" * 10, 1_000_000),), "x" * 10, "x" * 30, "x\n" * 15),
    ],
)
def test_what_just_fits_is_let_in(entity: Entity) -> None:
    limits.check_entity(entity, LIMITS)


@pytest.mark.parametrize("id", ["char_001", "田中", "a:b/c?d#e", "x" * 128, "-", "🐙"])
def test_any_text_without_spaces_can_be_an_id(id: str) -> None:
    limits.check_id(id, ("id",))


@pytest.mark.parametrize(
    "id",
    ["", " ", "a b", "a\u3000b", "a\n", "\ta", "a\x00b", "a\x1fb", "a\x7fb", "a\x80b", "a\x9fb", "a\u2028b", "x" * 129],
)
def test_an_id_with_spaces_or_control_characters_or_too_long_is_refused(id: str) -> None:
    assert refused(lambda: limits.check_id(id, ("id",))) == {
        "error": errors.InvalidIdError,
        "path": ("id",),
        "id": id,
    }


@pytest.mark.parametrize("entity", [BOOK, CHAPTER, CHARACTER, TERM])
def test_every_entity_has_its_id_and_name_checked(entity: Entity) -> None:
    assert refused_entity(replace(entity, id="a b"))["path"] == ("id",)
    assert refused_entity(replace(entity, name="")) == required("name")
    assert refused_entity(replace(entity, name="\u3000 \n")) == required("name")
    assert refused_entity(replace(entity, name="あ" * 11)) == too_long(11, 10, "name")
    assert refused_entity(replace(entity, name="田中\n太郎")) == forbidden("\n", 2, "name")
    assert refused_entity(replace(entity, name="a\x00")) == forbidden("\x00", 1, "name")
    assert refused_entity(replace(entity, name="\x85a")) == forbidden("\x85", 0, "name")


@pytest.mark.parametrize("value", [0, 101, -1])
def test_the_context_limit_of_a_book_is_from_1_to_100(value: int) -> None:
    assert refused_entity(replace(BOOK, context_limit=value)) == out_of_range(value, 1, 100, "context_limit")


@pytest.mark.parametrize("value", [-1, 1_000_001])
def test_chapter_numbers_are_from_0_to_a_million(value: int) -> None:
    assert refused_entity(replace(CHAPTER, number=value)) == out_of_range(value, 0, 1_000_000, "number")


@pytest.mark.parametrize(
    ("field", "limit"),
    [("translation", 10), ("gender", 10), ("description", 30), ("speaking_style", 30), ("notes", 30)],
)
def test_each_text_of_a_character_has_its_limit(field: str, limit: int) -> None:
    long, with_nul = {field: "x" * (limit + 1)}, {field: "ab\x00"}

    assert refused_entity(replace(CHARACTER, **long)) == too_long(limit + 1, limit, field)  # type: ignore[arg-type]
    assert refused_entity(replace(CHARACTER, **with_nul)) == forbidden("\x00", 2, field)  # type: ignore[arg-type]


@pytest.mark.parametrize(("field", "limit"), [("translation", 10), ("description", 30), ("notes", 30)])
def test_each_text_of_a_term_has_its_limit(field: str, limit: int) -> None:
    long = {field: "x" * (limit + 1)}

    assert refused_entity(replace(TERM, **long)) == too_long(limit + 1, limit, field)  # type: ignore[arg-type]


@pytest.mark.parametrize("entity", [CHARACTER, TERM])
def test_aliases_are_checked_one_by_one(entity: Character | Term) -> None:
    def refused_second(alias: Alias) -> dict[str, Any]:
        return refused_entity(replace(entity, aliases=(Alias("タロー"), alias)))

    assert refused_second(Alias(" ")) == required("aliases", "1", "name")
    assert refused_second(Alias("x" * 11)) == too_long(11, 10, "aliases", "1", "name")
    assert refused_second(Alias("a\tb")) == forbidden("\t", 1, "aliases", "1", "name")
    assert refused_second(Alias("a", "x" * 11)) == too_long(11, 10, "aliases", "1", "translation")
    assert refused_second(Alias("a", None, -1)) == out_of_range(-1, 0, 1_000_000, "aliases", "1", "revealed_in_chapter")
    assert refused_entity(replace(entity, aliases=(Alias("a"),) * 201)) == too_many(201, 200, "aliases")


def test_a_memory_that_just_fits_is_let_in() -> None:
    book = EntityRef.book("book_1")
    just_fits = replace(
        DRAFT,
        content="x" * 40,
        summary="x" * 20,
        attached_to=(book,) * 100,
        valid_from_chapter=5,
        valid_until_chapter=5,
        access_count=2**31 - 1,
    )

    limits.check_draft(just_fits, LIMITS)


def test_every_part_of_a_memory_is_checked_and_named_where_it_stands() -> None:
    book = EntityRef.book("book_1")

    assert refused_draft(id="")["path"] == ("memories", "3", "id")
    assert refused_draft(content="\n") == required("memories", "3", "content")
    assert refused_draft(summary="") == required("memories", "3", "summary")
    assert refused_draft(content="x" * 41) == too_long(41, 40, "memories", "3", "content")
    assert refused_draft(summary="x" * 21) == too_long(21, 20, "memories", "3", "summary")
    assert refused_draft(content="a\x00b") == forbidden("\x00", 1, "memories", "3", "content")
    assert refused_draft(attached_to=(book,) * 101) == too_many(101, 100, "memories", "3", "attached_to")
    assert refused_draft(access_count=-1) == out_of_range(-1, 0, 2**31 - 1, "memories", "3", "access_count")
    assert refused_draft(access_count=2**31) == out_of_range(2**31, 0, 2**31 - 1, "memories", "3", "access_count")


def test_the_chapters_of_a_memory_are_in_range_and_in_order() -> None:
    at = ("memories", "3")

    assert refused_draft(valid_from_chapter=-1) == out_of_range(-1, 0, 1_000_000, *at, "valid_from_chapter")
    assert refused_draft(valid_until_chapter=1_000_001) == out_of_range(
        1_000_001, 0, 1_000_000, *at, "valid_until_chapter"
    )
    assert refused_draft(valid_from_chapter=5, valid_until_chapter=4) == {
        "error": errors.EndsBeforeStartError,
        "path": (*at, "valid_until_chapter"),
        "start": 5,
        "end": 4,
    }


@pytest.mark.parametrize("first", [0, -1, 101])
def test_a_page_has_from_1_to_100_items(first: int) -> None:
    assert refused(lambda: limits.check_page_size(first)) == out_of_range(first, 1, 100, "first")


@pytest.mark.parametrize("first", [1, 100])
def test_the_smallest_and_the_largest_page_are_let_in(first: int) -> None:
    limits.check_page_size(first)


def test_a_bulk_operation_takes_a_thousand() -> None:
    limits.check_count(range(1_000), limits.BULK_LIMIT, ("memory_ids",))

    assert refused(lambda: limits.check_count(range(1_001), limits.BULK_LIMIT, ("memory_ids",))) == too_many(
        1_001, 1_000, "memory_ids"
    )


def test_a_text_is_neither_blank_nor_too_long() -> None:
    limits.check_text("x" * 30, 30, ("query",))

    assert refused(lambda: limits.check_text(" ", 30, ("query",))) == required("query")
    assert refused(lambda: limits.check_text("x" * 31, 30, ("query",))) == too_long(31, 30, "query")
