"""What mutations answer: the object, or why it was refused."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import strawberry
from strawberry.extensions import FieldExtension

from domain.errors import DomainError, StaleVersionError
from schema.context import Info
from schema.enums import SessionAction
from schema.problems import Problem, problem_of
from schema.types.chat import FactWrite, MemorySettings, WorkingMemory
from schema.types.entities import Book, Chapter, Character, Term
from schema.types.memories import Memory
from schema.types.notebook import NotebookFile
from schema.types.search import IndexStatus

T = TypeVar("T")

Given = Annotated[T, strawberry.argument(description="What to do, and with what.")]


def _problems() -> Any:
    return strawberry.field(default_factory=list, description="Why it was refused; empty when it worked.")


@strawberry.type(description="What a mutation of one book answers.")
class BookPayload:
    book: Book | None = strawberry.field(default=None, description="As it is now; null when refused.")
    problems: list[Problem] = _problems()


@strawberry.type(description="What a mutation of one character answers.")
class CharacterPayload:
    character: Character | None = strawberry.field(default=None, description="As it is now; null when refused.")
    problems: list[Problem] = _problems()


@strawberry.type(description="What a mutation of one term answers.")
class TermPayload:
    term: Term | None = strawberry.field(default=None, description="As it is now; null when refused.")
    problems: list[Problem] = _problems()


@strawberry.type(description="What a mutation of one chapter answers.")
class ChapterPayload:
    chapter: Chapter | None = strawberry.field(default=None, description="As it is now; null when refused.")
    problems: list[Problem] = _problems()


@strawberry.type(description="What a mutation of one memory answers.")
class MemoryPayload:
    memory: Memory | None = strawberry.field(default=None, description="As it is now; null when refused.")
    problems: list[Problem] = _problems()


@strawberry.type(description="What a mutation of many memories answers.")
class MemoriesPayload:
    memories: list[Memory] | None = strawberry.field(
        default=None, description="All that were touched, as they are now; null when refused."
    )
    problems: list[Problem] = _problems()


@strawberry.type(description="What a deletion answers.")
class DeletePayload:
    deleted_id: strawberry.ID | None = strawberry.field(default=None, description="What is gone; null when refused.")
    problems: list[Problem] = _problems()


@strawberry.type(description="What a mutation of the search index answers.")
class IndexStatusPayload:
    index_status: IndexStatus | None = strawberry.field(default=None, description="As it is now; null when refused.")
    problems: list[Problem] = _problems()


@strawberry.type(description="What a mutation of the notebook answers.")
class NotebookPayload:
    file: NotebookFile | None = strawberry.field(default=None, description="As it is now; null when refused.")
    current: NotebookFile | None = strawberry.field(
        default=None, description="What stands there now, when that is not the expected version; null otherwise."
    )
    problems: list[Problem] = _problems()


@strawberry.type(description="What a recorded turn answers.")
class TurnPayload:
    working_memory: WorkingMemory | None = strawberry.field(
        default=None, description="As it is after the turn; null when refused."
    )
    fact_writes: list[FactWrite] = strawberry.field(
        default_factory=list, description="What became of the fact that the turn's analysis wants stored."
    )
    problems: list[Problem] = strawberry.field(
        default_factory=list,
        description="Why it was refused, or why its fact was not kept though the turn was; empty when all of it was.",
    )


@strawberry.type(description="What a reported event answers.")
class SessionEventPayload:
    action: SessionAction = strawberry.field(
        default=SessionAction.NONE, description="What it set in motion; the work goes on in the background."
    )
    reason: str | None = strawberry.field(default=None, description="Why nothing began; null when something did.")
    problems: list[Problem] = _problems()


@strawberry.type(description="What a change of the settings answers.")
class MemorySettingsPayload:
    memory_settings: MemorySettings | None = strawberry.field(
        default=None, description="As they are now; null when refused."
    )
    problems: list[Problem] = _problems()


@strawberry.type(description="What clearing answers.")
class ClearPayload:
    deleted_count: int = strawberry.field(default=0, description="How many there were, their history included.")
    problems: list[Problem] = _problems()


class Refusals(FieldExtension):
    """Turns a refusal by the domain into the mutation's own payload."""

    def __init__(self, payload: Callable[..., object]) -> None:
        self.payload = payload

    async def resolve_async(self, next_: Callable[..., Any], source: Any, info: Info, **arguments: Any) -> Any:
        try:
            return await next_(source, info, **arguments)
        except DomainError as error:
            current = (
                {"current": NotebookFile.from_domain(error.current)} if isinstance(error, StaleVersionError) else {}
            )
            return self.payload(problems=[problem_of(error)], **current)
        finally:
            # What a later mutation of the same request answers must be what is true after it.
            info.context.loaders.forget()


def mutation(payload: Callable[..., object], description: str) -> Any:
    return strawberry.mutation(description=description, extensions=[Refusals(payload)])
