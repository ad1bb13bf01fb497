"""Tools that look up a book and what it owns, each with the memories that matter to it."""

from typing import Final

from api.tools.answers import entity_as_json, entry_as_json, memory_as_json
from api.tools.looking_up import chapter_with_number, entity_named
from api.tools.tool import Arguments, JsonSchema, Tool, text_schema
from domain.entities import Entity, EntityRef, EntityType
from domain.errors import EntityNotFoundError
from domain.limits import CHAPTER_NUMBERS, MAX_ID_LENGTH
from domain.memories import Retrieval
from domain.paging import PageRequest, empty_page
from domain.ports import Listing
from domain.usecases import UseCases

MAX_MEMORIES: Final = 10
MAX_LISTED: Final = 50

_LISTS: Final = {"characters": EntityType.CHARACTER, "terms": EntityType.TERM, "chapters": EntityType.CHAPTER}


async def get_character(use_cases: UseCases, given: Arguments) -> object:
    return await _described(use_cases, await _by_id_or_name(use_cases, EntityType.CHARACTER, given))


async def get_term(use_cases: UseCases, given: Arguments) -> object:
    return await _described(use_cases, await _by_id_or_name(use_cases, EntityType.TERM, given))


async def get_chapter(use_cases: UseCases, given: Arguments) -> object:
    if "id" in given:
        return await _described(use_cases, await _by_id(use_cases, EntityType.CHAPTER, given))
    return await _described(use_cases, await chapter_with_number(use_cases, given["book_id"], given["number"]))


async def get_book(use_cases: UseCases, given: Arguments) -> object:
    book = await _by_id(use_cases, EntityType.BOOK, given)
    return await _described(use_cases, book) | await _contents(use_cases, book.id)


async def _by_id_or_name(use_cases: UseCases, kind: EntityType, given: Arguments) -> Entity:
    if "id" in given:
        return await _by_id(use_cases, kind, given)
    return await entity_named(use_cases, kind, given["book_id"], given["name"])


async def _by_id(use_cases: UseCases, kind: EntityType, given: Arguments) -> Entity:
    """The id alone decides; a book that is named as well must be the one it belongs to."""
    ref = EntityRef(kind, given["id"])
    entity = (await use_cases.entities.get([ref])).get(ref)
    if entity is None or given.get("book_id", entity.book_id) != entity.book_id:
        raise EntityNotFoundError(("id",), ref)
    return entity


async def _described(use_cases: UseCases, entity: Entity) -> dict[str, object]:
    """The entity with its memories, whose whole text is shown: each of them counts as read."""
    found = (await use_cases.memories.relevant_to([entity.ref], MAX_MEMORIES, Retrieval.MERGE))[entity.ref]
    attachments = await use_cases.attachments.of([each.memory.id for each in found])
    for each in found:
        await use_cases.memories.read(each.memory.id)
    memories = [{"match": each.match.value, **memory_as_json(each.memory, attachments)} for each in found]
    return {**entity_as_json(entity), "memories": memories}


async def _contents(use_cases: UseCases, book_id: str) -> dict[str, object]:
    """What the book owns, for a model to find ids in; the counts tell whether a list is whole."""
    contents: dict[str, object] = {}
    for name, kind in _LISTS.items():
        pages = await use_cases.entities.of_books([book_id], Listing(kind), PageRequest(MAX_LISTED))
        counts = await use_cases.entities.count_of_books([book_id], Listing(kind))
        contents[name] = [entry_as_json(entity) for entity in pages.get(book_id, empty_page()).items]
        contents[f"{kind.value}_count"] = counts.get(book_id, 0)
    return contents


_MEMORIES: Final = (
    " The answer has `memories`: up to 10 that matter, pinned ones first, each with its id, summary, whole content and"
    " what it is attached to"
)
_HYBRID: Final = (
    f"{_MEMORIES}; `match` is 'attached' where it is attached, and 'keyword' where a name only stands in the text: if"
    " such a one is really about it, attach it with update_memory."
)
_BOOK_ID: Final = "The book it belongs to; needed unless you give its id."


def _id(description: str) -> JsonSchema:
    return text_schema(description, maxLength=MAX_ID_LENGTH)


BOOK_TOOLS: Final = (
    Tool(
        name="get_character",
        description=(
            "Look up a character of a book: names, translation, gender, way of speaking, notes. Use it before you"
            " translate or write about someone, and before create_memory, to get the id and to see what is kept."
            f" Give id, or book_id and name.{_HYBRID}"
        ),
        run=get_character,
        example={"book_id": "book_1", "name": "田中太郎"},
        properties={
            "id": _id("The character's id, where you know it."),
            "book_id": _id(_BOOK_ID),
            "name": text_schema("A whole name or alias as the book writes it; case and width do not matter."),
        },
        alternatives=(("id",), ("book_id", "name")),
    ),
    Tool(
        name="get_term",
        description=(
            "Look up a term of a book (a place, a thing, an order, a technique): names, translation, what it is, notes."
            " Use it before you translate or explain a word of the book's world, and before create_memory, to get the"
            f" id and to see what is kept. Give id, or book_id and name.{_HYBRID}"
        ),
        run=get_term,
        example={"book_id": "book_1", "name": "魔石"},
        properties={
            "id": _id("The term's id, where you know it."),
            "book_id": _id(_BOOK_ID),
            "name": text_schema("The whole term or an alias as the book writes it; case and width do not matter."),
        },
        alternatives=(("id",), ("book_id", "name")),
    ),
    Tool(
        name="get_chapter",
        description=(
            "Look up a chapter of a book: its title, number and what is kept about it. Use it before you work on a"
            " chapter, and before create_memory about what happens there, to get the id. Give id, or book_id and"
            f" number.{_MEMORIES}."
        ),
        run=get_chapter,
        example={"book_id": "book_1", "number": 3},
        properties={
            "id": _id("The chapter's id, where you know it."),
            "book_id": _id(_BOOK_ID),
            "number": {
                "type": "integer",
                "minimum": CHAPTER_NUMBERS[0],
                "maximum": CHAPTER_NUMBERS[1],
                "description": "Its number in the book.",
            },
        },
        alternatives=(("id",), ("book_id", "number")),
    ),
    Tool(
        name="get_book",
        description=(
            "Look up a book: its title, the ids and names of its characters, terms and chapters (the first 50 of each,"
            " with how many there are), and what is kept about the book as a whole. Use it to find your way in a book;"
            f" for one character, term or chapter use get_character, get_term or get_chapter.{_MEMORIES}."
        ),
        run=get_book,
        example={"id": "book_1"},
        properties={"id": _id("The book's id.")},
        required=("id",),
    ),
)
