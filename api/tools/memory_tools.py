"""Tools that write memories of a book, attached to what they are about."""

from collections.abc import Sequence
from typing import Final

from api.composition import make_id
from api.tools.answers import memory_as_json
from api.tools.tool import Arguments, Tool, object_schema, text_schema
from domain.entities import EntityRef, EntityType
from domain.limits import MAX_ATTACHMENTS, MAX_ID_LENGTH
from domain.memories import Memory, MemoryDraft
from domain.usecases import UseCases

_CHANGEABLE: Final = ("content", "summary", "is_pinned")


async def create_memory(use_cases: UseCases, given: Arguments) -> object:
    draft = MemoryDraft(
        id=make_id("memory"),
        book_id=given["book_id"],
        content=given["content"],
        summary=given["summary"],
        attached_to=_refs(given.get("attached_to", ())),
        is_pinned=given.get("is_pinned", False),
    )
    return await _as_json(use_cases, await use_cases.memories.create(draft))


async def update_memory(use_cases: UseCases, given: Arguments) -> object:
    changes = {name: given[name] for name in _CHANGEABLE if name in given}
    attached_to = _refs(given["attached_to"]) if "attached_to" in given else None
    return await _as_json(use_cases, await use_cases.memories.update(given["id"], changes, attached_to))


def _refs(given: Sequence[Arguments]) -> tuple[EntityRef, ...]:
    return tuple(EntityRef(EntityType(each["type"]), each["id"]) for each in given)


async def _as_json(use_cases: UseCases, memory: Memory) -> dict[str, object]:
    return memory_as_json(memory, await use_cases.attachments.of([memory.id]))


_CONTENT: Final = (
    "The whole note, up to 20,000 characters, so that it can be understood without this conversation: with names, the"
    " source wording where it matters, and the reason for a decision."
)
_SUMMARY: Final = (
    "The note in one line of at most 500 characters. It is what translators see, so it must say the thing itself"
    " ('Tanaka calls his teacher 先生, never by name'), not what it is about ('notes on Tanaka')."
)
_IS_PINNED: Final = "True only for what must be seen every time, before all other memories. Left out, it is not pinned."
_ATTACHED_ITEM: Final = object_schema(
    {
        "type": {
            "type": "string",
            "enum": ["character", "term", "chapter", "book"],
            "description": "What kind of entity it is.",
        },
        "id": text_schema("Its id, as the get_ tools show it.", maxLength=MAX_ID_LENGTH),
    },
    ("type", "id"),
)


def _attached_to(description: str) -> dict[str, object]:
    return {"type": "array", "items": _ATTACHED_ITEM, "maxItems": MAX_ATTACHMENTS, "description": description}


MEMORY_TOOLS: Final = (
    Tool(
        name="create_memory",
        description=(
            "Keep one thing about a book that its translator will need again: who someone is, how they talk, how a term"
            " is to be translated and why, what happened. One fact per call."
            " Search first, with search_memory or with get_character, get_term and get_chapter, which show what is kept"
            " about them; where a memory says nearly the same, change it with update_memory instead."
            " Attach it to every character and every term it is about, and to the chapter as well if it is about what"
            " happens there: attached memories come up by themselves wherever these are mentioned. Prefer them to the"
            " book, which is for what concerns all of it, such as its tone. Get their ids from get_character and"
            " get_term (book_id and name), get_chapter (book_id and number) or get_book; do not invent any."
            " Do not store passwords, keys or other secrets, one-off remarks, or what any reader sees in the text."
            " About the user rather than the book, use append_memory."
        ),
        run=create_memory,
        example={
            "book_id": "book_1",
            "content": "In chapter 3 Tanaka still calls his teacher 先生; he never uses the name.",
            "summary": "Tanaka calls his teacher 先生, never by name",
            "attached_to": [{"type": "character", "id": "char_1"}, {"type": "chapter", "id": "chap_3"}],
        },
        properties={
            "book_id": text_schema("The book it is about.", maxLength=MAX_ID_LENGTH),
            "content": text_schema(_CONTENT),
            "summary": text_schema(_SUMMARY),
            "attached_to": _attached_to(
                "Every character, term and chapter of the book that it is about. Left out or [], it is attached to the"
                " book alone, and comes up only there."
            ),
            "is_pinned": {"type": "boolean", "description": _IS_PINNED},
        },
        required=("book_id", "content", "summary"),
    ),
    Tool(
        name="update_memory",
        description=(
            "Correct or complete a memory of a book, or attach it to other entities. Only what you send changes; send"
            " at least one of content, summary, attached_to and is_pinned. Read it first with get_character, get_term,"
            " get_chapter or get_book, which show its whole text and what it is attached to. When the content changes,"
            " see that the summary still fits. attached_to replaces the whole list: to add or remove one entity, send"
            " all that shall remain as well. Prefer characters, terms and chapters to the book."
            " A memory about something else is a new one: create_memory."
        ),
        run=update_memory,
        example={
            "id": "mem_1",
            "summary": "Tanaka calls his teacher 先生 until chapter 9, then by name",
            "attached_to": [{"type": "character", "id": "char_1"}, {"type": "chapter", "id": "chap_9"}],
        },
        properties={
            "id": text_schema("The memory, as search_memory and the get_ tools show its id.", maxLength=MAX_ID_LENGTH),
            "content": text_schema(f"{_CONTENT} Replaces what stood there."),
            "summary": text_schema(f"{_SUMMARY} Replaces what stood there."),
            "attached_to": _attached_to(
                "All characters, terms and chapters of the book that it is about, in place of those it is attached to"
                " now; [] attaches it to the book alone. Left out, nothing about this changes."
            ),
            "is_pinned": {
                "type": "boolean",
                "description": "True pins it, so that it comes before all others; false unpins it.",
            },
        },
        required=("id",),
        alternatives=(("content",), ("summary",), ("attached_to",), ("is_pinned",)),
    ),
)
