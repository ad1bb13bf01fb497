"""GraphQL over WebSocket, by the protocol graphql-transport-ws.

https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md
"""

import asyncio
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from api.access import Tokens, owner_if_known
from api.bodies import RefusedError
from api.composition import Service
from api.operations import GraphQLRequest, Operations, read_request
from domain.usecases import UseCases
from schema.problems import ProblemCode

SUBPROTOCOL: Final = "graphql-transport-ws"
MAX_OPERATIONS: Final = 100
MAX_ID_LENGTH: Final = 128
# The frame that closes a WebSocket has no room for more.
MAX_REASON_BYTES: Final = 123

Message = dict[str, Any]


@dataclass(eq=False)
class ClosedError(Exception):
    """The client broke the protocol, and is told so as its connection is closed."""

    code: int
    reason: str


class GraphQLOverWebSocket:
    def __init__(self, operations: Operations, tokens: Tokens, init_seconds: float) -> None:
        self.operations = operations
        self.tokens = tokens
        self.init_seconds = init_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        websocket = WebSocket(scope, receive, send)
        with suppress(WebSocketDisconnect):
            if SUBPROTOCOL not in scope["subprotocols"]:
                await websocket.accept()
                await websocket.close(4406, f"Speak {SUBPROTOCOL}")
                return
            await websocket.accept(SUBPROTOCOL)
            await _Conversation(websocket, self.operations, self.tokens).hold(self.init_seconds)


@dataclass
class _Conversation:
    """With one client; when it ends, so do all its operations."""

    websocket: WebSocket
    operations: Operations
    tokens: Tokens
    use_cases: UseCases | None = None
    running: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def hold(self, init_seconds: float) -> None:
        closed: ClosedError | None = None
        async with asyncio.TaskGroup() as tasks:
            try:
                await self._begin(tasks, init_seconds)
                while True:
                    await self._take(await self._next_message(), tasks)
            except ClosedError as error:
                closed = error
            except WebSocketDisconnect:
                pass
            for task in self.running.values():
                task.cancel()
        if closed is not None:
            await self.websocket.close(closed.code, _shortened(closed.reason))

    async def _begin(self, tasks: asyncio.TaskGroup, init_seconds: float) -> None:
        try:
            async with asyncio.timeout(init_seconds):
                while self.use_cases is None:
                    await self._take(await self._next_message(), tasks)
        except TimeoutError as error:
            raise ClosedError(4408, "Connection initialisation timeout") from error

    async def _next_message(self) -> object:
        received = await self.websocket.receive()
        if received["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(received["code"])
        text = received.get("text")
        if text is None:
            raise ClosedError(4400, "Messages are text, not binary")
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise ClosedError(4400, f"The message is not JSON: {error}") from error

    async def _take(self, message: object, tasks: asyncio.TaskGroup) -> None:
        match message:
            case {"type": "connection_init", **rest}:
                await self._acknowledge(_object(rest.get("payload")))
            case {"type": "ping", **rest}:
                payload = _object(rest.get("payload"))
                await self._send({"type": "pong", "payload": payload} if payload else {"type": "pong"})
            case {"type": "pong", **rest}:
                _object(rest.get("payload"))
            case {"type": "subscribe", "id": str(id), "payload": payload} if 0 < len(id) <= MAX_ID_LENGTH:
                await self._start(id, _request(payload), tasks)
            case {"type": "complete", "id": str(id)}:
                if id in self.running:
                    self.running.pop(id).cancel()
            case _:
                raise ClosedError(4400, "Invalid message")

    async def _acknowledge(self, payload: Message) -> None:
        if self.use_cases is not None:
            raise ClosedError(4429, "Too many initialisation requests")
        owner = self._owner(payload)
        if owner is None:
            raise ClosedError(4401, "Unauthorized")
        service: Service = self.websocket.state.service
        self.use_cases = service.use_cases(owner)
        await self._send({"type": "connection_ack"})

    def _owner(self, payload: Message) -> str | None:
        """By the token given here, or else by that of the request; browsers can send none with the latter."""
        given = [value for name, value in payload.items() if name.lower() == "authorization"]
        if not given or not self.tokens:
            return owner_if_known(self.websocket)
        return self.tokens.owner_of(str(given[0]))

    async def _start(self, id: str, asked: GraphQLRequest, tasks: asyncio.TaskGroup) -> None:
        if self.use_cases is None:
            raise ClosedError(4401, "Unauthorized")
        if id in self.running:
            raise ClosedError(4409, f"Subscriber for {id} already exists")
        if len(self.running) >= MAX_OPERATIONS:
            await self._send({"id": id, "type": "error", "payload": [_TOO_MANY]})
            return
        self.running[id] = tasks.create_task(self._run(id, asked, self.use_cases))

    async def _run(self, id: str, asked: GraphQLRequest, use_cases: UseCases) -> None:
        with suppress(WebSocketDisconnect):
            async with aclosing(self.operations.follow(asked, use_cases)) as answers:
                async for answer in answers:
                    if not answer.was_run:
                        self._forget(id)
                        await self._send({"id": id, "type": "error", "payload": answer.body["errors"]})
                        return
                    await self._send({"id": id, "type": "next", "payload": answer.body})
            self._forget(id)
            await self._send({"id": id, "type": "complete"})

    def _forget(self, id: str) -> None:
        """Before the client reads that it ended: from then on the id may stand for another."""
        if self.running.get(id) is asyncio.current_task():
            del self.running[id]

    async def _send(self, message: Message) -> None:
        """Returns when the client has room for it: who reads slowly is answered slowly."""
        await self.websocket.send_text(orjson.dumps(message).decode())


_TOO_MANY: Final = {
    "message": f"At most {MAX_OPERATIONS} operations run at once on one connection; complete one, or open another.",
    "extensions": {"code": ProblemCode.TOO_COSTLY.value},
}


def _object(payload: object) -> Message:
    if not isinstance(payload, dict | None):
        raise ClosedError(4400, "`payload` must be an object")
    return payload or {}


def _request(payload: object) -> GraphQLRequest:
    try:
        return read_request(payload)
    except RefusedError as refused:
        raise ClosedError(4400, refused.message) from refused


def _shortened(reason: str) -> str:
    return reason.encode()[:MAX_REASON_BYTES].decode(errors="ignore")
