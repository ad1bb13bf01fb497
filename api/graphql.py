"""GraphQL over HTTP: a strict front door, then the schema.

Strawberry's own view answers 500 to bodies such as `null` or `[null]` and knows no
`application/graphql-response+json`; this follows the GraphQL-over-HTTP specification instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson
import structlog
from graphql import GraphQLError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response
from starlette.types import Receive, Scope, Send
from strawberry import Schema
from strawberry.schema.exceptions import InvalidOperationTypeError
from strawberry.types import ExecutionResult
from strawberry.types.graphql import OperationType

from api.access import owner_of, wants_page
from api.bodies import JSON, RefusedError, read_json
from api.composition import Service, make_id
from api.responses import json_response, refusal
from domain.errors import DomainError
from schema.context import RequestContext
from schema.loaders import Loaders
from schema.problems import ProblemCode, problem_of

GRAPHQL_JSON: Final = "application/graphql-response+json"

_ANSWER_TYPES: Final = {JSON: JSON, GRAPHQL_JSON: GRAPHQL_JSON, "*/*": JSON, "application/*": JSON, "": JSON}

_log: Final = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class GraphQLRequest:
    query: str
    variables: dict[str, Any]
    operation_name: str | None


class GraphQLOverHTTP:
    def __init__(self, schema: Schema, max_body_bytes: int, graphiql: Path) -> None:
        self.schema = schema
        self.max_body_bytes = max_body_bytes
        self.graphiql = graphiql

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            response = self._page() if wants_page(scope) else await self._answer(request)
        except RefusedError as refused:
            response = refusal(refused.status, refused.code, refused.message, refused.headers)
        except ClientDisconnect:
            return
        await response(scope, receive, send)

    def _page(self) -> Response:
        if not self.graphiql.exists():
            raise RefusedError(404, "GraphiQL is not built; `make run` builds it.", ProblemCode.NOT_FOUND)
        return FileResponse(self.graphiql)

    async def _answer(self, request: Request) -> Response:
        if request.method not in ("GET", "POST"):
            raise RefusedError(405, "GraphQL is asked with GET or POST.", allow="GET, POST")
        media_type = _answer_type(request.headers.get("accept", "*/*"))
        asked = (
            _from_parameters(request)
            if request.method == "GET"
            else _checked(await read_json(request, self.max_body_bytes))
        )
        result = await self._execute(request, asked)
        body: dict[str, object] = {}
        if result.errors:
            body["errors"] = [describe_error(error) for error in result.errors]
        if not _was_not_run(result):
            body["data"] = result.data
        status = 400 if _was_not_run(result) and media_type == GRAPHQL_JSON else 200
        return json_response(body, status, f"{media_type}; charset=utf-8")

    async def _execute(self, request: Request, asked: GraphQLRequest) -> ExecutionResult:
        service: Service = request.state.service
        use_cases = service.use_cases(owner_of(request))
        try:
            return await self.schema.execute(
                asked.query,
                variable_values=asked.variables,
                operation_name=asked.operation_name,
                context_value=RequestContext(use_cases, Loaders(use_cases), make_id),
                allowed_operation_types=OperationType.from_http(request.method),  # type: ignore[arg-type]
            )
        except InvalidOperationTypeError as error:
            raise RefusedError(405, error.as_http_error_reason(request.method), allow="POST") from error


def _from_parameters(request: Request) -> GraphQLRequest:
    given: dict[str, object] = dict(request.query_params)
    for name in ("variables", "extensions"):
        if name in given:
            try:
                given[name] = orjson.loads(str(given[name]) or "null")
            except orjson.JSONDecodeError as error:
                raise RefusedError(400, f"`{name}` is not JSON: {error}.") from error
    return _checked(given)


def _checked(body: object) -> GraphQLRequest:
    if not isinstance(body, dict):
        raise RefusedError(400, "Send one JSON object with `query`; batches are not supported.")
    query, variables = body.get("query"), body.get("variables")
    operation_name, extensions = body.get("operationName"), body.get("extensions")
    if not isinstance(query, str) or not query.strip():
        raise RefusedError(400, "`query` must be the text of a GraphQL document.")
    if not isinstance(variables, dict | None):
        raise RefusedError(400, "`variables` must be an object.")
    if not isinstance(operation_name, str | None):
        raise RefusedError(400, "`operationName` must be a text.")
    if not isinstance(extensions, dict | None):
        raise RefusedError(400, "`extensions` must be an object.")
    return GraphQLRequest(query, variables or {}, operation_name or None)


def _answer_type(accept: str) -> str:
    """What is wanted most; clients from before the specification get plain JSON."""
    wanted: dict[str, float] = {}
    for part in accept.split(","):
        media_type, *parameters = (each.strip().lower() for each in part.split(";"))
        wanted.setdefault(_ANSWER_TYPES.get(media_type, ""), _weight(parameters))
    acceptable = {media_type: weight for media_type, weight in wanted.items() if media_type and weight > 0}
    if not acceptable:
        raise RefusedError(406, f"Answers are {GRAPHQL_JSON} or {JSON}.")
    return max(acceptable, key=acceptable.__getitem__)


def _weight(parameters: Sequence[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0
    return 1


def _was_not_run(result: ExecutionResult) -> bool:
    """Request errors have no path into the answer, and then there is no answer."""
    return result.data is None and all(error.path is None for error in result.errors or ())


def describe_error(error: GraphQLError) -> dict[str, object]:
    formatted: dict[str, object] = dict(error.formatted)
    cause: Exception | None = error
    while isinstance(cause, GraphQLError):
        cause = cause.original_error
    if isinstance(cause, DomainError):
        problem = problem_of(cause)
        formatted["message"] = problem.message
        formatted["extensions"] = {"code": problem.code.value, "path": problem.path}
    elif cause is not None:
        _log.error("unexpected_error", path=error.path, exc_info=cause)
        formatted["message"] = "Unexpected error"
        formatted["extensions"] = {"code": ProblemCode.INTERNAL.value}
    else:
        formatted["extensions"] = {"code": ProblemCode.BAD_INPUT.value} | (error.extensions or {})
    return formatted
