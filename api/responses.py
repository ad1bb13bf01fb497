"""Answers as JSON, with the errors of every surface in one shape."""

from collections.abc import Mapping

import orjson
from starlette.responses import Response

from schema.problems import ProblemCode


def json_response(
    body: object, status: int = 200, media_type: str = "application/json", headers: Mapping[str, str] | None = None
) -> Response:
    return Response(orjson.dumps(body), status, headers, media_type)


def refusal(status: int, code: ProblemCode, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Readable for GraphQL clients and for any other."""
    error = {"message": message, "extensions": {"code": code.value}}
    return json_response({"errors": [error]}, status, headers=headers)
