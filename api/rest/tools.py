"""The tools for models: `GET /api/tools` in the shape a provider takes, `POST /api/tools/{name}` to call one."""

from collections.abc import Callable, Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.bodies import RefusedError, read_json
from api.responses import json_response
from api.rest.serving import STATUSES, rest_endpoint
from api.tools.registry import TOOLS, call_tool
from api.tools.tool import CallRefusedError, Tool
from domain.usecases import UseCases

FORMAT: Final = "format"
DEFAULT_FORMAT: Final = "openai"


def tool_routes(max_body_bytes: int) -> list[Route]:
    async def call(request: Request, use_cases: UseCases) -> Response:
        arguments = await read_json(request, max_body_bytes) if _has_body(request) else {}
        try:
            result = await call_tool(request.path_params["name"], use_cases, arguments)
        except CallRefusedError as error:
            problem = error.problem
            refusal = {"code": problem.code.value, "message": problem.message, "path": problem.path}
            return json_response(refusal, STATUSES[problem.code])
        return json_response({"result": result})

    return [
        Route("/api/tools", rest_endpoint(_offer), methods=["GET"]),
        Route("/api/tools/{name:path}", rest_endpoint(call), methods=["POST"]),
    ]


async def _offer(request: Request, _: UseCases) -> Response:
    for name in request.query_params:
        if name != FORMAT:
            raise RefusedError(422, f"'{name}' is not known; send {FORMAT}, or nothing.")
    chosen = request.query_params.get(FORMAT, DEFAULT_FORMAT)
    if chosen not in _FORMATS:
        raise RefusedError(422, f"{FORMAT} must be {' or '.join(_FORMATS)}.")
    return json_response({"tools": [_FORMATS[chosen](tool) for tool in TOOLS.values()]})


def _for_openai(tool: Tool) -> dict[str, object]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _for_anthropic(tool: Tool) -> dict[str, object]:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}


_FORMATS: Final[Mapping[str, Callable[[Tool], dict[str, object]]]] = {
    "openai": _for_openai,
    "anthropic": _for_anthropic,
}


def _has_body(request: Request) -> bool:
    """A call without arguments needs neither a body nor its content type."""
    return request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers
