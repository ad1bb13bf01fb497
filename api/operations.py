"""GraphQL operations, whatever way they come in: what a request holds, running it, and what its errors say."""

from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final

import structlog
from graphql import GraphQLError
from strawberry import Schema
from strawberry.schema.exceptions import InvalidOperationTypeError
from strawberry.types import ExecutionResult
from strawberry.types.graphql import OperationType

from api.bodies import RefusedError
from api.composition import make_id
from domain.errors import DomainError
from domain.usecases import UseCases
from schema.context import RequestContext
from schema.loaders import Loaders
from schema.problems import ProblemCode, problem_of

ALL: Final = frozenset(OperationType)
# A link that is merely followed must not change anything.
READING: Final = ALL - {OperationType.MUTATION}

_log: Final = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class GraphQLRequest:
    query: str
    variables: dict[str, Any]
    operation_name: str | None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a client reads; an operation that was not run has errors and no data."""

    body: dict[str, Any]
    was_run: bool


def read_request(body: object) -> GraphQLRequest:
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


class Operations:
    """Each gets loaders of its own."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    async def answer(self, asked: GraphQLRequest, use_cases: UseCases, allowed: Collection[OperationType]) -> Answer:
        """Of an operation that answers once; raises InvalidOperationTypeError for one that is not allowed."""
        result = await self._schema.execute(
            asked.query,
            variable_values=asked.variables,
            operation_name=asked.operation_name,
            context_value=_context(use_cases),
            allowed_operation_types=allowed,
        )
        return _answer(result)

    async def follow(
        self, asked: GraphQLRequest, use_cases: UseCases, allowed: Collection[OperationType] = ALL
    ) -> AsyncGenerator[Answer, None]:
        """Of any operation: a subscription answers with every event, the others once."""
        try:
            results = await self._schema.stream(
                asked.query,
                variable_values=asked.variables,
                operation_name=asked.operation_name,
                context_value=_context(use_cases),
                allowed_operation_types=allowed,
            )
            async with aclosing(results):
                async for result in results:
                    yield _answer(result)
        # Strawberry hands on what an extension raises here, though it does not when it executes.
        except Exception as error:
            failure = error if isinstance(error, GraphQLError) else GraphQLError(str(error), original_error=error)
            yield _answer(ExecutionResult(None, [failure]))


def _context(use_cases: UseCases) -> RequestContext:
    return RequestContext(use_cases, Loaders(use_cases), make_id)


def _answer(result: Any) -> Answer:
    body: dict[str, Any] = {}
    if result.errors:
        body["errors"] = [describe_error(error) for error in result.errors]
    # Errors that kept it from being run have no path into the answer, and then there is no answer.
    was_run = result.data is not None or any(error.path is not None for error in result.errors or ())
    if was_run:
        body["data"] = result.data
    return Answer(body, was_run)


def describe_error(error: GraphQLError) -> dict[str, object]:
    formatted: dict[str, object] = dict(error.formatted)
    cause: Exception | None = error
    while isinstance(cause, GraphQLError):
        cause = cause.original_error
    if isinstance(cause, DomainError):
        problem = problem_of(cause)
        formatted["message"] = problem.message
        formatted["extensions"] = {"code": problem.code.value, "path": problem.path}
    elif isinstance(cause, InvalidOperationTypeError):
        formatted["message"] = f"Send a {cause.operation_type.value} with POST."
        formatted["extensions"] = {"code": ProblemCode.BAD_INPUT.value}
    elif cause is not None:
        _log.error("unexpected_error", path=error.path, exc_info=cause)
        formatted["message"] = "Unexpected error"
        formatted["extensions"] = {"code": ProblemCode.INTERNAL.value}
    else:
        formatted["extensions"] = {"code": ProblemCode.BAD_INPUT.value} | (error.extensions or {})
    return formatted
