"""Finding an entity by what its book calls it; where there is none, what there is instead is told."""

from collections.abc import Iterable, Sequence
from typing import Final, cast

from api.tools.tool import CallRefusedError, refusal
from domain import limits
from domain.entities import Chapter, Entity, EntityRef, EntityType
from domain.errors import EntityNotFoundError
from domain.paging import Cursor, PageRequest, empty_page
from domain.ports import Listing
from domain.usecases import UseCases
from schema.problems import ProblemCode

MAX_SUGGESTED: Final = 5
# A chapter is looked for together with those around it, which are told when it is not there.
CHAPTERS_BEFORE: Final = 2


async def entity_named(use_cases: UseCases, kind: EntityType, book_id: str, name: str) -> Entity:
    """The one that a text would mention which is this name and nothing else."""
    name = name.strip()
    limits.check_length(name, use_cases.entities.limits.name, ("name",))
    mentioned = await use_cases.chunks.mentions(book_id, name, None)
    whole = [mention.ref for mention in mentioned.mentions if mention.spans[0].text == name]
    found = [mentioned.entities[ref] for ref in whole if ref.type is kind]
    if len(found) == 1:
        return found[0]
    if found:
        message = f"'{name}' is the name of {len(found)} {kind.value}s: {listed(found)}. Give the id of one of them."
        raise refusal(ProblemCode.BAD_INPUT, message, "name")
    longer = await _listing(use_cases, book_id, Listing(kind, name), PageRequest(MAX_SUGGESTED))
    shorter = [entity for ref, entity in mentioned.entities.items() if ref.type is kind]
    raise _no_such(f"{kind.value} named '{name}'", book_id, "name", [*longer, *shorter])


async def chapter_with_number(use_cases: UseCases, book_id: str, number: int) -> Entity:
    book = EntityRef.book(book_id)
    if book not in await use_cases.entities.get([book]):
        raise EntityNotFoundError(("book_id",), book)
    # Chapters are listed by number.
    page = PageRequest(MAX_SUGGESTED, after=Cursor(number - CHAPTERS_BEFORE, ""))
    near = await _listing(use_cases, book_id, Listing(EntityType.CHAPTER), page)
    for chapter in near:
        if cast("Chapter", chapter).number == number:
            return chapter
    raise _no_such(f"chapter {number}", book_id, "number", near)


def listed(entities: Iterable[Entity]) -> str:
    return ", ".join(_named(entity) for entity in entities)


async def _listing(use_cases: UseCases, book_id: str, listing: Listing, page: PageRequest) -> Sequence[Entity]:
    return (await use_cases.entities.of_books([book_id], listing, page)).get(book_id, empty_page()).items


def _no_such(what: str, book_id: str, argument: str, near: Iterable[Entity]) -> CallRefusedError:
    known = listed({entity.ref: entity for entity in near}.values())
    hint = f" There are, most like it: {known}." if known else ""
    message = f"There is no {what} in the book '{book_id}'.{hint} get_book with its id shows what the book has."
    return refusal(ProblemCode.NOT_FOUND, message, argument)


def _named(entity: Entity) -> str:
    number = f"{entity.number}. " if isinstance(entity, Chapter) else ""
    return f"{number}{entity.name} (id {entity.id})"
