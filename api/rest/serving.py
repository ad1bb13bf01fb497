"""What every REST route does: find the caller's use cases, answer JSON, and say what went wrong."""

from collections.abc import Awaitable, Callable
from typing import Final

import structlog
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from api.access import owner_of
from api.bodies import RefusedError
from api.composition import Service
from api.responses import json_response
from domain.errors import DomainError
from domain.usecases import UseCases
from schema.problems import Problem, ProblemCode, problem_of

STATUSES: Final = {
    ProblemCode.BAD_INPUT: 422,
    ProblemCode.FORBIDDEN: 403,
    ProblemCode.NOT_FOUND: 404,
    ProblemCode.CONFLICT: 409,
    ProblemCode.STALE_VERSION: 412,
    ProblemCode.UNAVAILABLE: 503,
}

# Nobody reads it; the name is nginx's.
CLIENT_CLOSED_REQUEST = 499

Route = Callable[[Request, UseCases], Awaitable[Response]]

_log: Final = structlog.get_logger(__name__)


def rest_endpoint(route: Route) -> Callable[[Request], Awaitable[Response]]:
    """Answers errors as {code, message, path}."""

    async def endpoint(request: Request) -> Response:
        service: Service = request.state.service
        try:
            return await route(request, service.use_cases(owner_of(request)))
        except DomainError as error:
            problem = problem_of(error)
            return _refusal(STATUSES[problem.code], problem)
        except RefusedError as error:
            return _refusal(error.status, Problem(code=error.code, message=error.message, path=[]))
        except ClientDisconnect:
            return Response(status_code=CLIENT_CLOSED_REQUEST)
        except Exception:
            _log.exception("unexpected_error", path=request.url.path)
            return _refusal(500, Problem(code=ProblemCode.INTERNAL, message="Unexpected error", path=[]))

    return endpoint


def _refusal(status: int, problem: Problem) -> Response:
    return json_response({"code": problem.code.value, "message": problem.message, "path": problem.path}, status)
