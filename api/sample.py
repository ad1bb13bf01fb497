"""The sample book, for a first look at something worth seeing."""

import asyncio
from pathlib import Path
from typing import Any, Final

import orjson
import structlog

from api.composition import Service
from api.settings import LOCAL_OWNER
from domain.entities import Alias, Book, Chapter, Character, Entity, EntityRef, EntityType, Term
from domain.memories import MemoryDraft
from schema.problems import camel_case

_log: Final = structlog.get_logger(__name__)


async def load_sample(service: Service, file: Path) -> None:
    """Into a store that never held a book: one that was deleted does not come back."""
    if not await service.is_new():
        return
    book, entities, drafts = read_book(orjson.loads(await asyncio.to_thread(file.read_bytes)))
    await service.use_cases(LOCAL_OWNER).book_import.run(book, entities, drafts)
    _log.info("sample_loaded", book=book.name, entities=len(entities), memories=len(drafts))


def read_book(document: dict[str, Any]) -> tuple[Book, list[Entity], list[MemoryDraft]]:
    """The format is described in data/sample/README.md."""
    book = Book(**_snake_case(document["book"]))
    owned: dict[str, Any] = {"book_id": book.id}
    entities: list[Entity] = [
        *(Character(**_described(each), **owned) for each in document["characters"]),
        *(Term(**_described(each), **owned) for each in document["terms"]),
        *(Chapter(**_snake_case(each), **owned) for each in document["chapters"]),
    ]
    drafts = [MemoryDraft(**_memory(each), **owned) for each in document["memories"]]
    return book, entities, drafts


def _described(each: dict[str, Any]) -> dict[str, Any]:
    aliases = tuple(Alias(**_snake_case(alias)) for alias in each.get("aliases", ()))
    return _snake_case(each) | {"aliases": aliases}


def _memory(each: dict[str, Any]) -> dict[str, Any]:
    refs = tuple(EntityRef(EntityType[ref["type"]], ref["id"]) for ref in each.get("attachedTo", ()))
    return _snake_case(each) | {"attached_to": refs}


_NAMES: Final = {
    camel_case(name): name
    for value in (Book, Character, Term, Chapter, Alias, MemoryDraft)
    for name in value.__dataclass_fields__
}


def _snake_case(each: dict[str, Any]) -> dict[str, Any]:
    return {_NAMES[name]: value for name, value in each.items()}
