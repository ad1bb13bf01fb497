"""A real HTTP server for tests: the application under uvicorn on a free port, in a thread of its own."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from api.composition import now
from api.main import listen
from api.server import build_server
from api.settings import Settings
from domain.ports import Clock
from tests.waiting import PATIENCE_SECONDS, join

_PROBLEMS = "problems { code message path }"
INPUT_TYPES = {"detachMemories": "AttachMemoriesInput", "reportSessionEvent": "SessionEventInput"}


@dataclass(frozen=True)
class Client:
    """One caller of a running server."""

    http: httpx.Client

    def post(self, query: str, **variables: Any) -> httpx.Response:
        return self.http.post("/graphql", json={"query": query, "variables": variables})

    def ask(self, query: str, **variables: Any) -> Any:
        """The data of an answer without errors."""
        body = self.post(query, **variables).json()
        assert "errors" not in body, body["errors"]
        return body["data"]

    def errors(self, query: str, **variables: Any) -> list[dict[str, Any]]:
        response = self.post(query, **variables)
        assert response.status_code < 500, response.text
        errors: list[dict[str, Any]] = response.json()["errors"]
        return errors

    def mutate(self, mutation: str, selection: str, /, **input_fields: Any) -> Any:
        """Runs `mutation(input: …)` and answers its payload, problems included."""
        input_type = INPUT_TYPES.get(mutation, f"{mutation[0].upper()}{mutation[1:]}Input")
        operation = f"{mutation}(input: $input) {{ {selection} {_PROBLEMS} }}"
        return self.ask(f"mutation($input: {input_type}!) {{ {operation} }}", input=input_fields)[mutation]

    def delete(self, mutation: str, id: str) -> Any:
        operation = f"{mutation}(id: $id) {{ deletedId {_PROBLEMS} }}"
        return self.ask(f"mutation($id: ID!) {{ {operation} }}", id=id)[mutation]


@dataclass(frozen=True)
class Server:
    url: str
    data_dir: Path

    @contextlib.contextmanager
    def client(self, token: str | None = None) -> Iterator[Client]:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        with httpx.Client(base_url=self.url, headers=headers, timeout=30, trust_env=False) as http:
            yield Client(http)


@contextlib.contextmanager
def running(settings: Settings, sample: Path | None = None, clock: Clock = now) -> Iterator[Server]:
    sock = listen("127.0.0.1", 0)
    server = build_server(settings, sample, clock)
    thread = start(server, sock)
    try:
        yield Server(f"http://127.0.0.1:{sock.getsockname()[1]}", settings.data_dir)
    finally:
        server.should_exit = True
        join(thread)


def start(server: uvicorn.Server, sock: socket.socket) -> threading.Thread:
    """The thread in which it serves by now; when it does not stop, the tests go on without it."""
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, name="the server", daemon=True)
    thread.start()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not server.started and thread.is_alive():
        assert time.monotonic() < deadline, "the server has not started"
        time.sleep(0.005)
    return thread
