"""Talking to a running server over graphql-transport-ws, message by message."""

import asyncio
import contextlib
import gc
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import AsyncGeneratorType
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

PATIENCE_SECONDS = 30

PROTOCOL = "graphql-transport-ws"
STATUS = "subscription { indexStatusChanged { state startedAt finishedAt } }"
REBUILD = "mutation { rebuildIndex { indexStatus { startedAt } problems { code } } }"


@dataclass(frozen=True)
class Socket:
    connection: ClientConnection

    def send(self, type: str, **fields: Any) -> None:
        self.connection.send(json.dumps({"type": type} | fields))

    def receive(self) -> Any:
        text = self.connection.recv(timeout=PATIENCE_SECONDS)
        assert isinstance(text, str)
        return json.loads(text)

    def subscribe(self, id: str, query: str, **payload: Any) -> None:
        self.send("subscribe", id=id, payload={"query": query} | payload)

    def answer(self, id: str, query: str, **payload: Any) -> Any:
        """What an operation answers that answers once."""
        self.subscribe(id, query, **payload)
        answered = self.receive()
        assert (answered["id"], answered["type"]) == (id, "next"), answered
        assert self.receive() == {"id": id, "type": "complete"}
        return answered["payload"]

    def errors(self, id: str, query: str, **payload: Any) -> list[dict[str, Any]]:
        """Why an operation was not run."""
        self.subscribe(id, query, **payload)
        answered = self.receive()
        assert (answered["id"], answered["type"]) == (id, "error"), answered
        errors: list[dict[str, Any]] = answered["payload"]
        return errors

    def next_status(self, id: str) -> Any:
        answered = self.receive()
        assert (answered["id"], answered["type"]) == (id, "next"), answered
        assert set(answered["payload"]) == {"data"}, answered
        return answered["payload"]["data"]["indexStatusChanged"]

    def status_of(self, id: str, started_at: str) -> Any:
        """The status with which the rebuilding that began then has ended."""
        while not has_ended(status := self.next_status(id), started_at):
            pass
        return status

    def closed(self) -> tuple[int, str]:
        """How the server closes the connection, with nothing more to say."""
        with contextlib.suppress(ConnectionClosed):
            said = self.connection.recv(timeout=PATIENCE_SECONDS)
            raise AssertionError(said)
        assert self.connection.close_code is not None
        return self.connection.close_code, self.connection.close_reason or ""


@contextlib.contextmanager
def opened(
    url: str,
    protocols: Sequence[str] = (PROTOCOL,),
    origin: str | None = None,
    **options: Any,
) -> Iterator[Socket]:
    """A WebSocket on which nothing has been said."""
    with connect(
        f"{url.replace('http', 'ws', 1)}/graphql",
        subprotocols=[Subprotocol(protocol) for protocol in protocols] or None,
        origin=None if origin is None else Origin(origin),
        proxy=None,
        max_size=None,
        **options,
    ) as connection:
        yield Socket(connection)


@contextlib.contextmanager
def connected(url: str, **init: Any) -> Iterator[Socket]:
    """A WebSocket on which operations may be asked."""
    with opened(url) as socket:
        socket.send("connection_init", payload=init)
        assert socket.receive() == {"type": "connection_ack"}
        yield socket


def has_ended(status: Any, started_at: str) -> bool:
    """Times are written so that they sort as they follow each other."""
    return bool(status["state"] == "COMPLETED" and status["startedAt"] >= started_at)


def live() -> list[str]:
    """What servers in this process still hold of operations that go on."""
    # By their type alone: to ask a weak proxy for its class would ask what is gone.
    objects = gc.get_objects()
    generators = [each.ag_code.co_name for each in objects if type(each) is AsyncGeneratorType and each.ag_frame]
    tasks = [each.get_coro() for each in objects if issubclass(type(each), asyncio.Task) and not each.done()]
    names = generators + [getattr(each, "__qualname__", "") for each in tasks]
    return [
        name for name in names if name.startswith(("follow", "index_status_changed", "_Conversation", "EventStream"))
    ]


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)
