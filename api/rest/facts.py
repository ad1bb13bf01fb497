"""Facts and working memory in the words of the chat memory specification: `/memory/long-term`, `/memory/working`."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.bodies import RefusedError
from api.responses import json_response
from api.rest.parameters import check_known, whole_number
from api.rest.serving import rest_endpoint
from domain import limits
from domain.errors import FactNotFoundError
from domain.facts import Fact, FactCategory
from domain.sessions import WorkingMemory
from domain.usecases import UseCases
from schema.problems import ProblemCode
from schema.scalars import serialize_time

DEFAULT_LIMIT: Final = 20
MAX_OFFSET: Final = 2**53


def fact_routes() -> list[Route]:
    return [
        Route("/memory/long-term", rest_endpoint(_facts), methods=["GET", "DELETE"]),
        Route("/memory/long-term/{id:path}", rest_endpoint(_fact), methods=["GET", "DELETE"]),
        Route("/memory/working/{session_id:path}", rest_endpoint(_working_memory), methods=["GET"]),
    ]


async def _facts(request: Request, use_cases: UseCases) -> Response:
    facts, given = use_cases.facts, request.query_params
    if request.method == "DELETE":
        check_known(given, ())
        return json_response({"deleted_count": await facts.clear()})
    check_known(given, ("limit", "offset", "category"))
    limit, offset = whole_number(given, "limit", DEFAULT_LIMIT), whole_number(given, "offset", 0)
    limits.check_page_size(limit, ("limit",))
    limits.check_range(offset, (0, MAX_OFFSET), ("offset",))
    category = _category(given.get("category"))
    items = [_spoken(fact) for fact in await facts.list_from(category, offset, limit)]
    total = await facts.count(category)
    return json_response({"items": items, "total": total, "limit": limit, "offset": offset})


async def _fact(request: Request, use_cases: UseCases) -> Response:
    fact_id = request.path_params["id"]
    if request.method == "DELETE":
        await use_cases.facts.delete(fact_id)
        return json_response({"deleted_id": fact_id})
    fact = await use_cases.facts.read(fact_id)
    if fact is None:
        raise FactNotFoundError(("id",), fact_id)
    return json_response(_spoken(fact))


async def _working_memory(request: Request, use_cases: UseCases) -> Response:
    memory = await use_cases.sessions.working_memory(request.path_params["session_id"])
    if memory is None:
        raise RefusedError(404, "There is no such session, or it has ended.", ProblemCode.NOT_FOUND)
    return json_response(_working_memory_as_json(memory))


def _category(text: str | None) -> FactCategory | None:
    try:
        return None if text is None else FactCategory(text.lower())
    except ValueError as error:
        raise RefusedError(422, f"category must be one of {', '.join(FactCategory)}.") from error


def _spoken(fact: Fact) -> dict[str, object]:
    return {
        "id": fact.id,
        "session_id": fact.session_id,
        "category": fact.category.value,
        "key": fact.key,
        "value": fact.value,
        "confidence": fact.confidence,
        "source": fact.source.value,
        "created_at": serialize_time(fact.created_at),
        "last_accessed": serialize_time(fact.last_accessed_at),
        "access_count": fact.access_count,
    }


def fact_as_json(fact: Fact) -> dict[str, object]:
    """In the words of `/api`."""
    return {
        "id": fact.id,
        "sessionId": fact.session_id,
        "category": fact.category.name,
        "key": fact.key,
        "value": fact.value,
        "confidence": fact.confidence,
        "source": fact.source.name,
        "createdAt": serialize_time(fact.created_at),
        "lastAccessedAt": serialize_time(fact.last_accessed_at),
        "accessCount": fact.access_count,
    }


def _working_memory_as_json(memory: WorkingMemory) -> dict[str, object]:
    return {
        "session_id": memory.session_id,
        "current_topic": memory.current_topic,
        "context_variables": dict(memory.context_variables),
        "turn_count": memory.turn_count,
        "last_emotion": memory.last_emotion,
        "created_at": serialize_time(memory.created_at),
        "updated_at": serialize_time(memory.updated_at),
    }
