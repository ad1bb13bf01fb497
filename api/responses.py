"""Answers as JSON, and refusals in the shape of the surface that was asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import orjson
from starlette.responses import Response

from schema.problems import ProblemCode

REST_PATHS: Final = ("/api/", "/memory/")


def json_response(
    body: object, status: int = 200, media_type: str = "application/json", headers: Mapping[str, str] | None = None
) -> Response:
    return Response(orjson.dumps(body), status, headers, media_type)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that is not let in, or that nothing here answers."""

    status: int
    code: ProblemCode
    message: str
    headers: Mapping[str, str] | None = None

    def response(self, path: str) -> Response:
        """As GraphQL tells errors, or as REST does under its paths."""
        if path.startswith(REST_PATHS):
            body: object = {"code": self.code.value, "message": self.message, "path": []}
        else:
            body = {"errors": [{"message": self.message, "extensions": {"code": self.code.value}}]}
        return json_response(body, self.status, headers=self.headers)
