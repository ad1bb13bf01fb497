"""A real OpenAI-compatible chat server for tests, which can be told to misbehave in every way that we know of."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from domain.extraction import Learned
from domain.sessions import Message, MessageRole
from tests.embedding_server import Behaviour, EmbeddingServer, Json, an_error

MODEL = "tiny-chat"
CATEGORY = "Said"

Model = Callable[[Sequence[Message]], Sequence[Learned]]


def conversation_in(asked: Json) -> list[Message]:
    """As a model reads it, which is told that it is given one message a line."""
    lines = map(orjson.loads, asked["messages"][1]["content"].splitlines())
    return [Message(MessageRole(line["role"]), line["content"]) for line in lines]


def verbatim(messages: Sequence[Message]) -> list[Learned]:
    """A model that takes every message of the user for a fact."""
    return [Learned(message.content, CATEGORY) for message in messages if message.role == MessageRole.USER]


def completion(content: object, finish_reason: str | None = "stop") -> bytes:
    message = {"role": "assistant", "content": content, "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return orjson.dumps({"object": "chat.completion", "model": MODEL, "choices": [choice]})


def answering(content: object, finish_reason: str | None = "stop") -> Behaviour:
    async def behaviour(_: Request, __: Json) -> Response:
        return Response(completion(content, finish_reason), media_type="application/json")

    return behaviour


def by(model: Model) -> Behaviour:
    async def behaviour(request: Request, asked: Json) -> Response:
        learned = model(conversation_in(asked))
        facts = [{"fact": each.fact, "category": each.category} for each in learned]
        return await answering(orjson.dumps({"facts": facts}).decode())(request, asked)

    return behaviour


well = by(verbatim)


def finding(*facts: object) -> Behaviour:
    return answering(orjson.dumps({"facts": facts}).decode())


def knowing_forms(*forms: str | None, status: int = 400, words: str = "unknown response_format") -> Behaviour:
    """As a server that refuses every other type of `response_format`; None is a question without one."""

    async def behaviour(request: Request, asked: Json) -> Response:
        if form_of(asked) not in forms:
            return an_error(status, words)
        return await well(request, asked)

    return behaviour


def form_of(asked: Json) -> str | None:
    form: str | None = asked.get("response_format", {}).get("type")
    return form


def reading_at_most(characters: int) -> Behaviour:
    """As a model with a small window: it refuses what is longer."""

    async def behaviour(request: Request, asked: Json) -> Response:
        if len(asked["messages"][1]["content"]) > characters:
            return an_error(400, "maximum context length exceeded")
        return await well(request, asked)

    return behaviour


async def redirecting(_: Request, __: Json) -> Response:
    return RedirectResponse("/elsewhere/chat/completions", 307)


@dataclass(eq=False)
class ChatServer(EmbeddingServer):
    """The same server with another endpoint."""

    behaviours: list[Behaviour] = field(default_factory=lambda: [well])

    @property
    def connections(self) -> int:
        return len(self._server.server_state.connections) if self._server else 0

    def start(self) -> None:
        sock = socket.create_server(("127.0.0.1", self.port))
        self.port = sock.getsockname()[1]
        routes = [Route("/{where}/chat/completions", self._answer, methods=["POST"])]
        config = uvicorn.Config(Starlette(routes=routes), log_config=None, access_log=False, lifespan="off")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [sock]})
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.005)


@contextlib.contextmanager
def chat_server() -> Iterator[ChatServer]:
    server = ChatServer()
    server.start()
    try:
        yield server
    finally:
        server.stop()
