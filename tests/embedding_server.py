"""A real OpenAI-compatible embedding server for tests, which can be told to misbehave in every way that we know of."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.fakes import hashed_numbers
from tests.serving import start
from tests.waiting import join

DIMENSIONS = 48
MODEL = "hash-48"

Json = dict[str, Any]
Behaviour = Callable[[Request, Json], Awaitable[Response]]


def entries_for(texts: list[str], dimensions: int = DIMENSIONS) -> list[Json]:
    return [
        {"object": "embedding", "index": index, "embedding": hashed_numbers(text, dimensions)}
        for index, text in enumerate(texts)
    ]


def as_json(entries: object, status: int = 200, **headers: str) -> Response:
    body = orjson.dumps({"object": "list", "data": entries, "model": MODEL})
    return Response(body, status, {key.replace("_", "-"): value for key, value in headers.items()}, "application/json")


def an_error(status: int, message: str, **headers: str) -> Response:
    body = orjson.dumps({"error": {"message": message, "type": "test"}})
    return Response(body, status, {key.replace("_", "-"): value for key, value in headers.items()}, "application/json")


async def well(_: Request, asked: Json) -> Response:
    return as_json(entries_for(asked["input"]))


async def shuffled(_: Request, asked: Json) -> Response:
    return as_json(entries_for(asked["input"])[::-1])


async def hanging(request: Request, _: Json) -> Response:
    """Until the caller hangs up."""
    await request.receive()
    return Response()


async def trickling(request: Request, asked: Json) -> Response:
    """A byte now and then: no pause is long, but the whole never ends."""

    async def drops() -> AsyncIterator[bytes]:
        while not await request.is_disconnected():
            yield b" "
            await asyncio.sleep(0.005)

    return StreamingResponse(drops(), media_type="application/json")


async def huge(request: Request, _: Json) -> Response:
    async def parts() -> AsyncIterator[bytes]:
        yield b'{"data": ['
        for _ in range(100):
            yield b"0.123456789," * (1024 * 1024 // 12)

    return StreamingResponse(parts(), media_type="application/json")


def refusing(status: int, message: str = "try later", **headers: str) -> Behaviour:
    async def behaviour(_: Request, __: Json) -> Response:
        return an_error(status, message, **headers)

    return behaviour


def quoting_the_key(status: int) -> Behaviour:
    async def behaviour(request: Request, _: Json) -> Response:
        return an_error(status, f"no good: {request.headers['authorization']}")

    return behaviour


def saying(body: str, media_type: str = "application/json", status: int = 200) -> Behaviour:
    async def behaviour(_: Request, __: Json) -> Response:
        return PlainTextResponse(body, status, media_type=media_type)

    return behaviour


def with_dimensions(dimensions: int) -> Behaviour:
    async def behaviour(_: Request, asked: Json) -> Response:
        return as_json(entries_for(asked["input"], dimensions))

    return behaviour


def with_first_embedding(embedding: object) -> Behaviour:
    async def behaviour(_: Request, asked: Json) -> Response:
        first, *others = entries_for(asked["input"])
        return as_json([first | {"embedding": embedding}, *others])

    return behaviour


async def one_too_few(_: Request, asked: Json) -> Response:
    return as_json(entries_for(asked["input"])[:-1])


async def all_with_index_0(_: Request, asked: Json) -> Response:
    return as_json([entry | {"index": 0} for entry in entries_for(asked["input"])])


async def redirecting(_: Request, __: Json) -> Response:
    return RedirectResponse("/elsewhere/embeddings", 307)


def reading_at_most(characters: int) -> Behaviour:
    """As a model with a small window: it refuses what is longer."""

    async def behaviour(_: Request, asked: Json) -> Response:
        if any(len(text) > characters for text in asked["input"]):
            return an_error(400, "the input length exceeds the context length")
        return as_json(entries_for(asked["input"]))

    return behaviour


@dataclass(eq=False)
class EmbeddingServer:
    """Answers by `behaviours` in turn, and by the last of them from then on."""

    port: int = 0
    behaviours: list[Behaviour] = field(default_factory=lambda: [well])
    asked: list[Json] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    _server: uvicorn.Server | None = None
    _thread: threading.Thread | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def behave(self, *behaviours: Behaviour) -> None:
        self.behaviours = list(behaviours)

    def start(self) -> None:
        """On the port it had before, if any."""
        sock = socket.create_server(("127.0.0.1", self.port))
        self.port = sock.getsockname()[1]
        routes = [Route("/{where}/embeddings", self._answer, methods=["POST"])]
        config = uvicorn.Config(Starlette(routes=routes), log_config=None, access_log=False, lifespan="off")
        self._server = uvicorn.Server(config)
        self._thread = start(self._server, sock)

    def stop(self) -> None:
        """From now on connections are refused."""
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._server.force_exit = True
            join(self._thread)
        self._server = self._thread = None

    async def _answer(self, request: Request) -> Response:
        asked = orjson.loads(await request.body())
        self.asked.append(asked)
        self.keys.append(request.headers.get("authorization"))
        self.paths.append(request.url.path)
        behaviour = self.behaviours.pop(0) if len(self.behaviours) > 1 else self.behaviours[0]
        return await behaviour(request, asked)


@contextlib.contextmanager
def embedding_server() -> Iterator[EmbeddingServer]:
    server = EmbeddingServer()
    server.start()
    try:
        yield server
    finally:
        server.stop()
