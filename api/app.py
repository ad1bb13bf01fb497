"""The ASGI application: routes, middleware, start and stop."""

import asyncio
import gc
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib import metadata, resources
from pathlib import Path
from typing import Final, TypedDict, cast

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket

from api.access import AccessMiddleware, Tokens
from api.composition import Service, open_service
from api.documents import Documents, UsePrepared
from api.graphql import GraphQLOverHTTP
from api.operations import Operations
from api.responses import Refusal, json_response
from api.rest.chunks import chunk_context_endpoint
from api.rest.facts import fact_routes
from api.rest.notebook import notebook_routes
from api.rest.search import search
from api.rest.serving import rest_endpoint
from api.rest.sessions import session_routes
from api.rest.tools import tool_routes
from api.sample import load_sample
from api.settings import Settings
from api.websocket import GraphQLOverWebSocket
from domain.ports import Clock
from schema import build_schema
from schema.problems import ProblemCode

VERSION: Final = metadata.version("loregraph")
STATIC: Final = Path(str(resources.files("api"))) / "static"

# A request makes thousands of short-lived values; collecting every 700 of them costs more than it frees.
GC_THRESHOLDS: Final = (20_000, 20, 50)

NOT_FOUND: Final = 404

_log: Final = structlog.get_logger(__name__)


class State(TypedDict):
    service: Service


def build_app(settings: Settings, sample: Path | None, stopping: asyncio.Event, clock: Clock) -> Starlette:
    """Answers that would go on for ever end when `stopping` is set."""
    operations = _operations()
    tokens = Tokens(settings.tokens)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[State]:
        async with open_service(settings, clock) as service:
            # With tokens there is no owner whom everyone could ask for it.
            if sample is not None and not settings.tokens:
                await load_sample(service, sample)
            # What lives until the end need not be walked by the collector again and again.
            gc.collect()
            gc.freeze()
            gc.set_threshold(*GC_THRESHOLDS)
            _log.info("started", version=VERSION, data_dir=str(settings.data_dir), owners=len(settings.tokens) or 1)
            yield {"service": service}
        _log.info("stopped")

    return Starlette(
        routes=[
            Route("/", _to_graphiql),
            Route("/health", _health),
            Route(
                "/graphql",
                GraphQLOverHTTP(
                    operations,
                    settings.max_body_bytes,
                    STATIC / "graphiql.html",
                    stopping,
                    settings.keep_alive_seconds,
                ),
            ),
            WebSocketRoute("/graphql", GraphQLOverWebSocket(operations, tokens, settings.connection_init_seconds)),
            WebSocketRoute("/{path:path}", _no_websocket),
            Route(
                "/api/books/{id:path}/chunk-context", chunk_context_endpoint(settings.max_body_bytes), methods=["POST"]
            ),
            Route("/api/memory/search", rest_endpoint(search), methods=["GET"]),
            *notebook_routes(settings.max_body_bytes),
            *session_routes(settings.max_body_bytes),
            *tool_routes(settings.max_body_bytes),
            *fact_routes(),
            Mount("/static", StaticFiles(directory=STATIC, check_dir=False)),
        ],
        middleware=[
            *_cors(settings.cors_origins),
            Middleware(AccessMiddleware, tokens=tokens, origins=settings.cors_origins),
        ],
        exception_handlers={HTTPException: _not_here},
        lifespan=lifespan,
    )


def _cors(origins: Sequence[str]) -> list[Middleware]:
    if not origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=["authorization", "content-type", "if-match", "if-none-match"],
            expose_headers=["etag"],
        )
    ]


def _operations() -> Operations:
    documents = Documents()
    return Operations(build_schema([lambda: UsePrepared(documents)]))


async def _to_graphiql(_: Request) -> Response:
    return RedirectResponse("/graphql")


async def _not_here(request: Request, error: Exception) -> Response:
    """No such path, or no such method there."""
    given = cast("HTTPException", error)
    code = ProblemCode.NOT_FOUND if given.status_code == NOT_FOUND else ProblemCode.BAD_INPUT
    message = f"{request.method} {request.url.path}: {given.detail}."
    return Refusal(given.status_code, code, message, given.headers).response(request.url.path)


async def _no_websocket(websocket: WebSocket) -> None:
    await websocket.close()


async def _health(request: Request) -> Response:
    service: Service = request.state.service
    degraded = await service.degraded()
    return json_response({"status": "ok", "version": VERSION, "degraded": degraded})
