"""GraphQL over HTTP: a strict front door, then the schema.

Strawberry's own view answers 500 to bodies such as `null` or `[null]` and knows no
`application/graphql-response+json`; this follows the GraphQL-over-HTTP specification instead.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from strawberry.schema.exceptions import InvalidOperationTypeError
from strawberry.types.graphql import OperationType

from api.access import owner_of, wants_page
from api.bodies import JSON, RefusedError, read_json
from api.composition import Service
from api.event_stream import EVENT_STREAM, EventStream
from api.operations import ALL, READING, GraphQLRequest, Operations, read_request
from api.responses import Refusal, json_response
from domain.usecases import UseCases
from schema.problems import ProblemCode

GRAPHQL_JSON: Final = "application/graphql-response+json"

_ANSWER_TYPES: Final = {
    JSON: JSON,
    GRAPHQL_JSON: GRAPHQL_JSON,
    EVENT_STREAM: EVENT_STREAM,
    "*/*": JSON,
    "application/*": JSON,
    "": JSON,
}


class GraphQLOverHTTP:
    def __init__(
        self,
        operations: Operations,
        max_body_bytes: int,
        graphiql: Path,
        stopping: asyncio.Event,
        keep_alive_seconds: float,
    ) -> None:
        self.operations = operations
        self.max_body_bytes = max_body_bytes
        self.graphiql = graphiql
        self.stopping = stopping
        self.keep_alive_seconds = keep_alive_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            response = self._page() if wants_page(scope) else await self._answer(request)
        except RefusedError as refused:
            refusal = Refusal(refused.status, refused.code, refused.message, refused.headers)
            response = refusal.response(scope["path"])
        except ClientDisconnect:
            return
        await response(scope, receive, send)

    def _page(self) -> Response:
        if not self.graphiql.exists():
            raise RefusedError(404, "GraphiQL is not built; `make run` builds it.", ProblemCode.NOT_FOUND)
        return FileResponse(self.graphiql)

    async def _answer(self, request: Request) -> ASGIApp:
        if request.method not in ("GET", "POST"):
            raise RefusedError(405, "GraphQL is asked with GET or POST.", allow="GET, POST")
        media_types = _answer_types(request.headers.get("accept", "*/*"))
        asked = (
            _from_parameters(request)
            if request.method == "GET"
            else read_request(await read_json(request, self.max_body_bytes))
        )
        service: Service = request.state.service
        use_cases = service.use_cases(owner_of(request))
        allowed = READING if request.method == "GET" else ALL
        if media_types[0] == EVENT_STREAM:
            return self._stream(asked, use_cases, allowed)
        try:
            return await self._answer_once(asked, use_cases, allowed, media_types[0])
        except InvalidOperationTypeError as error:
            if error.operation_type is not OperationType.SUBSCRIPTION:
                raise RefusedError(405, error.as_http_error_reason(request.method), allow="POST") from error
            if EVENT_STREAM not in media_types:
                raise RefusedError(406, _HOW_TO_SUBSCRIBE) from error
        return self._stream(asked, use_cases, allowed)

    async def _answer_once(
        self, asked: GraphQLRequest, use_cases: UseCases, allowed: frozenset[OperationType], media_type: str
    ) -> Response:
        answer = await self.operations.answer(asked, use_cases, allowed - {OperationType.SUBSCRIPTION})
        status = 200 if answer.was_run or media_type != GRAPHQL_JSON else 400
        return json_response(answer.body, status, f"{media_type}; charset=utf-8")

    def _stream(self, asked: GraphQLRequest, use_cases: UseCases, allowed: frozenset[OperationType]) -> EventStream:
        answers = self.operations.follow(asked, use_cases, allowed)
        return EventStream(answers, self.stopping, self.keep_alive_seconds)


_HOW_TO_SUBSCRIBE: Final = (
    f"A subscription answers more than once: ask with `accept: {EVENT_STREAM}`,"
    " or over a WebSocket with the subprotocol graphql-transport-ws."
)


def _from_parameters(request: Request) -> GraphQLRequest:
    given: dict[str, object] = dict(request.query_params)
    for name in ("variables", "extensions"):
        if name in given:
            try:
                given[name] = orjson.loads(str(given[name]) or "null")
            except orjson.JSONDecodeError as error:
                raise RefusedError(400, f"`{name}` is not JSON: {error}.") from error
    return read_request(given)


def _answer_types(accept: str) -> Sequence[str]:
    """What is wanted most, first; clients from before the specification get plain JSON."""
    wanted: dict[str, float] = {}
    for part in accept.split(","):
        media_type, *parameters = (each.strip().lower() for each in part.split(";"))
        wanted.setdefault(_ANSWER_TYPES.get(media_type, ""), _weight(parameters))
    acceptable = [media_type for media_type, weight in wanted.items() if media_type and weight > 0]
    if not acceptable:
        raise RefusedError(406, f"Answers are {GRAPHQL_JSON}, {JSON} or {EVENT_STREAM}.")
    return sorted(acceptable, key=wanted.__getitem__, reverse=True)


def _weight(parameters: Sequence[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0
    return 1
