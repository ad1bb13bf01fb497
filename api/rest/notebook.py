"""The notebook for services that do not speak GraphQL: `/api/memory/main` and `/api/memory/daily`."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.bodies import RefusedError, read_json
from api.responses import json_response
from api.rest.parameters import check_known, whole_number
from api.rest.preconditions import if_match, if_none_match, quoted
from api.rest.serving import STATUSES, rest_endpoint
from domain import limits
from domain.errors import InvalidDayError, StaleVersionError
from domain.notebook import EMPTY_VERSION, NotebookFile, day_of, parse_day
from domain.usecases import UseCases
from schema.problems import ProblemCode, problem_of

DEFAULT_LIMIT: Final = 20
MAX_OFFSET: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class _Resource:
    """A file as it is now, None when there is none, and how it is replaced if it is the expected version."""

    current: NotebookFile | None
    write: Callable[[str, str | None], Awaitable[NotebookFile]]


def notebook_routes(max_body_bytes: int) -> list[Route]:
    async def main(request: Request, use_cases: UseCases) -> Response:
        notebook = use_cases.notebook
        return await _answer(request, _Resource(await notebook.read(), notebook.write), max_body_bytes)

    async def daily_log(request: Request, use_cases: UseCases) -> Response:
        notebook = use_cases.notebook
        day = _day(request.path_params["date"])
        resource = _Resource(await notebook.daily_log(day), partial(notebook.write_daily_log, day))
        return await _answer(request, resource, max_body_bytes)

    return [
        Route("/api/memory/main", rest_endpoint(main), methods=["GET", "PUT"]),
        Route("/api/memory/daily", rest_endpoint(_daily_logs), methods=["GET"]),
        Route("/api/memory/daily/{date:path}", rest_endpoint(daily_log), methods=["GET", "PUT"]),
    ]


async def _daily_logs(request: Request, use_cases: UseCases) -> Response:
    given = request.query_params
    check_known(given, ("limit", "offset"))
    limit, offset = whole_number(given, "limit", DEFAULT_LIMIT), whole_number(given, "offset", 0)
    limits.check_page_size(limit, ("limit",))
    limits.check_range(offset, (0, MAX_OFFSET), ("offset",))
    files = await use_cases.notebook.daily_logs_from(offset, limit)
    items = [{"date": _day_text(file), "path": file.path, "version": file.version} for file in files]
    total = await use_cases.notebook.count_daily_logs()
    return json_response({"items": items, "total": total, "limit": limit, "offset": offset})


async def _answer(request: Request, resource: _Resource, max_body_bytes: int) -> Response:
    if request.method == "PUT":
        return await _put(request, resource, max_body_bytes)
    if resource.current is None:
        raise RefusedError(404, "There is no log of this day yet.", ProblemCode.NOT_FOUND)
    known = if_none_match(request.headers)
    if known is not None and known.names(resource.current.version):
        return Response(status_code=304, headers=_etag(resource.current))
    return json_response(_as_json(resource.current), headers=_etag(resource.current))


async def _put(request: Request, resource: _Resource, max_body_bytes: int) -> Response:
    content = _content(await read_json(request, max_body_bytes))
    try:
        written = await resource.write(content, _expected(request, resource.current))
    except StaleVersionError as error:
        problem = problem_of(StaleVersionError(("If-Match",), error.expected, error.current))
        refusal = {"code": problem.code.value, "message": problem.message, "path": problem.path}
        return json_response(refusal | {"current": _as_json(error.current)}, STATUSES[problem.code])
    return json_response(_as_json(written), 201 if resource.current is None else 200, headers=_etag(written))


def _expected(request: Request, current: NotebookFile | None) -> str | None:
    """The version that the conditions allow to replace, None for any."""
    wanted, unwanted = if_match(request.headers), if_none_match(request.headers)
    version = EMPTY_VERSION if current is None else current.version
    there = current or NotebookFile(request.url.path, "", EMPTY_VERSION)
    if wanted is not None and (current is None or not wanted.names_exactly(version)):
        raise StaleVersionError((), request.headers["if-match"], there)
    if unwanted is not None and version != EMPTY_VERSION and unwanted.names(version):
        raise StaleVersionError((), request.headers["if-none-match"], there)
    is_any = wanted is None or wanted.is_any
    return None if is_any and unwanted is None else version


def _content(body: object) -> str:
    if not isinstance(body, dict) or not isinstance(body.get("content"), str):
        raise RefusedError(422, "Send an object with `content`, the whole text of the file.")
    for name in body.keys() - {"content"}:
        raise RefusedError(422, f"'{name}' is not known; send content alone, and its version as If-Match.")
    content: str = body["content"]
    return content


def _day(text: str) -> date:
    day = parse_day(text)
    if day is None:
        raise InvalidDayError(("date",), text)
    return day


def _day_text(file: NotebookFile) -> str | None:
    day = day_of(file.path)
    return None if day is None else day.isoformat()


def _as_json(file: NotebookFile) -> dict[str, str]:
    return {"content": file.content, "version": file.version}


def _etag(file: NotebookFile) -> dict[str, str]:
    return {"etag": quoted(file.version)}
