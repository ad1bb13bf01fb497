"""The npm clients graphql-ws and graphql-sse, as web pages and services use them, against a real server."""

import contextlib
import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from api.settings import Settings
from tests.api.building import a_book
from tests.api.test_serve_command import serving
from tests.serving import Client, Server, running
from tests.talking import PATIENCE_SECONDS, REBUILD, STATUS, has_ended, live, wait_until
from tests.waiting import killed_if_silent

FOLLOW = Path(__file__).parent.parent / "clients" / "follow.mjs"
NAME = "query Name($id: ID!) { book(id: $id) { name } }"
TOKENS = {"t-alice": "alice", "t-bob": "bob"}

transports = pytest.mark.parametrize("transport", ["ws", "sse"])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(Settings(data_dir=tmp_path_factory.mktemp("data"))) as server, server.client() as client:
        a_book(client, "book_1", name="砂の道")
        yield server


@pytest.fixture(scope="module")
def owned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with tokens, where each owner has a book."""
    with running(Settings(data_dir=tmp_path_factory.mktemp("owned"), tokens=TOKENS)) as server:
        for token, owner in TOKENS.items():
            with server.client(token) as client:
                a_book(client, "book_1", name=f"Book of {owner}")
        yield server


@dataclass(frozen=True)
class Follower:
    """A Node process with one operation."""

    process: "subprocess.Popen[str]"

    def receive(self) -> Any:
        assert self.process.stdout is not None
        with killed_if_silent(self.process):
            line = self.process.stdout.readline()
        assert line, "the client has ended"
        return json.loads(line)

    def next_status(self) -> Any:
        return self.receive()["next"]["data"]["indexStatusChanged"]

    def status_of(self, started_at: str) -> Any:
        """The status with which the rebuilding that began then has ended."""
        while not has_ended(status := self.next_status(), started_at):
            pass
        return status

    def unsubscribe(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def ended(self) -> int:
        return self.process.wait(PATIENCE_SECONDS)


@contextlib.contextmanager
def following(
    transport: str, url: str, query: str, *token: str, retries: int = 0, **operation: Any
) -> Iterator[Follower]:
    asked = json.dumps({"query": query} | operation)
    command: list[str | Path] = ["node", FOLLOW, transport, f"{url}/graphql", asked, f"{retries}", *token]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Follower(process)
        finally:
            process.kill()


def said(transport: str, url: str, query: str, *token: str, **operation: Any) -> list[Any]:
    """All that an operation answers which ends by itself."""
    with following(transport, url, query, *token, **operation) as follower:
        assert follower.process.stdout is not None
        with killed_if_silent(follower.process):
            lines = [json.loads(line) for line in follower.process.stdout]
        assert follower.ended() == 0
        return lines


def rebuild(client: Client) -> str:
    """Begins to build the index anew, and answers when that was."""
    started_at: str = client.ask(REBUILD)["rebuildIndex"]["indexStatus"]["startedAt"]
    return started_at


@transports
def test_query_is_answered(server: Server, transport: str) -> None:
    answers = said(transport, server.url, NAME, variables={"id": "book_1"}, operationName="Name")

    assert answers == [{"next": {"data": {"book": {"name": "砂の道"}}}}, {"complete": True}]


@transports
def test_mutation_is_answered(server: Server, transport: str) -> None:
    answers = said(transport, server.url, 'mutation { deleteBook(id: "none") { problems { code } } }')

    assert answers == [{"next": {"data": {"deleteBook": {"problems": [{"code": "NOT_FOUND"}]}}}}, {"complete": True}]


@transports
def test_subscription_is_followed_until_it_is_cancelled(server: Server, client: Client, transport: str) -> None:
    with following(transport, server.url, STATUS) as follower:
        first = follower.next_status()
        ends = [follower.status_of(rebuild(client)) for _ in range(2)]
        follower.unsubscribe()
        last = follower.receive()

        assert follower.ended() == 0
    assert first["state"]
    assert [end["state"] for end in ends] == ["COMPLETED", "COMPLETED"]
    assert last == {"complete": True}
    wait_until(lambda: live() == [])


def test_clients_of_both_kinds_are_told_the_same(server: Server, client: Client) -> None:
    with following("ws", server.url, STATUS) as one, following("sse", server.url, STATUS) as other:
        for each in (one, other):
            each.next_status()

        started_at = rebuild(client)

        assert one.status_of(started_at) == other.status_of(started_at)


@transports
def test_killed_client_is_forgotten(server: Server, transport: str) -> None:
    with following(transport, server.url, STATUS) as follower:
        follower.next_status()
        follower.process.kill()

        wait_until(lambda: live() == [])


@transports
def test_operation_that_cannot_be_run_says_why(server: Server, transport: str) -> None:
    answers = said(transport, server.url, "subscription { unknown }")

    error = {
        "message": "Cannot query field 'unknown' on type 'Subscription'.",
        "locations": [{"line": 1, "column": 16}],
        "extensions": {"code": "BAD_INPUT"},
    }
    over_websocket: list[Any] = [{"error": {"errors": [error]}}]
    over_stream: list[Any] = [{"next": {"errors": [error]}}, {"complete": True}]
    assert answers == (over_websocket if transport == "ws" else over_stream)


@transports
@pytest.mark.parametrize(("token", "owner"), TOKENS.items())
def test_owners_meet_only_their_own(owned: Server, transport: str, token: str, owner: str) -> None:
    answers = said(transport, owned.url, NAME, token, variables={"id": "book_1"})

    assert answers == [{"next": {"data": {"book": {"name": f"Book of {owner}"}}}}, {"complete": True}]


@pytest.mark.parametrize("token", [[], ["wrong"]])
def test_without_a_token_of_this_server_no_client_gets_in(owned: Server, token: list[str]) -> None:
    over_websocket, over_stream = (said(transport, owned.url, STATUS, *token) for transport in ("ws", "sse"))

    assert over_websocket == [{"error": {"code": 4401, "reason": "Unauthorized"}}]
    assert over_stream == [{"error": {"status": 401}}]


@transports
def test_client_comes_back_by_itself_after_a_restart(tmp_path: Path, transport: str) -> None:
    data_dir = tmp_path / "data"
    with contextlib.ExitStack() as stack:
        with serving(data_dir) as command:
            follower = stack.enter_context(following(transport, command.url, STATUS, retries=10_000))
            follower.next_status()
            command.stop()

        with serving(data_dir, "--port", command.url.rpartition(":")[2]) as command, command.client() as client:
            assert follower.status_of(rebuild(client))["state"] == "COMPLETED"
