"""Every tool there is, and the one way to call it."""

from collections.abc import Mapping
from typing import Final

from api.tools.arguments import read_arguments
from api.tools.book_tools import BOOK_TOOLS
from api.tools.looking_up import listed
from api.tools.memory_tools import MEMORY_TOOLS
from api.tools.notebook_tools import NOTEBOOK_TOOLS
from api.tools.tool import CallRefusedError, Tool, refusal
from domain.entities import Book, EntityType
from domain.errors import DomainError, EntityNotFoundError, MemoryNotFoundError
from domain.paging import Page, PageRequest
from domain.usecases import UseCases
from schema.problems import Problem, ProblemCode, camel_case, problem_of

TOOLS: Final[Mapping[str, Tool]] = {tool.name: tool for tool in (*NOTEBOOK_TOOLS, *MEMORY_TOOLS, *BOOK_TOOLS)}
SHOWN_NAME: Final = 80
SHOWN_BOOKS: Final = 10

_OF_THE_BOOK: Final = "It must be one of the same book"
_HOW_TO_FIND: Final = {
    EntityType.CHARACTER: f"{_OF_THE_BOOK}: get_character with book_id and name finds it, get_book lists them.",
    EntityType.TERM: f"{_OF_THE_BOOK}: get_term with book_id and name finds it, get_book lists them.",
    EntityType.CHAPTER: f"{_OF_THE_BOOK}: get_chapter with book_id and number finds it, get_book lists them.",
}
_HOW_TO_FIND_A_MEMORY: Final = (
    "search_memory finds it by its words, and get_character, get_term, get_chapter and get_book show those of each."
)


async def call_tool(name: str, use_cases: UseCases, arguments: object) -> object:
    """What the tool answers, as JSON; raises CallRefusedError and nothing else that a caller could mend."""
    tool = TOOLS.get(name)
    if tool is None:
        message = f"There is no tool '{name[:SHOWN_NAME]}'; there are {', '.join(TOOLS)}."
        raise refusal(ProblemCode.NOT_FOUND, message, "name")
    try:
        return await tool.run(use_cases, read_arguments(tool, arguments))
    except DomainError as error:
        raise CallRefusedError(_problem(tool, error, await _advice(error, use_cases))) from error


def _problem(tool: Tool, error: DomainError, advice: str) -> Problem:
    """Elsewhere problems name fields as GraphQL has them; a model knows the arguments it has sent."""
    problem = problem_of(error)
    message = problem.message
    for name in error.path[:1]:
        message = message.replace(camel_case(name), name, 1)
    return Problem(code=problem.code, message=f"{tool.name}: {message} {advice}".rstrip(), path=list(error.path))


async def _advice(error: DomainError, use_cases: UseCases) -> str:
    """What to call to find what was not there."""
    match error:
        case EntityNotFoundError() if error.ref.type is EntityType.BOOK:
            return _books(await use_cases.entities.books(PageRequest(SHOWN_BOOKS)))
        case EntityNotFoundError():
            return _HOW_TO_FIND[error.ref.type]
        case MemoryNotFoundError():
            return _HOW_TO_FIND_A_MEMORY
    return ""


def _books(page: Page[Book]) -> str:
    if not page.items:
        return "There are no books yet."
    return f"The books there are: {listed(page.items)}{' and others' if page.has_next else ''}."
