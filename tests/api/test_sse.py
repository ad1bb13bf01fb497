"""GraphQL over server-sent events: one operation, one stream."""

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.settings import Settings
from tests.api.building import a_book, everything
from tests.serving import Client, Server, running
from tests.talking import PATIENCE_SECONDS, REBUILD, STATUS, has_ended, live, wait_until

STREAM = {"accept": "text/event-stream"}
NAME = "query Name($id: ID!) { book(id: $id) { name } }"
COUNT = "{ books { totalCount } }"
DELETE = 'mutation { deleteBook(id: "book_1") { deletedId } }'
TOKENS = {"t-alice": "alice", "t-bob": "bob"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Whatever is asked of it, its one book stays as it is."""
    with running(Settings(data_dir=tmp_path_factory.mktemp("data"))) as server, server.client() as client:
        a_book(client, "book_1", name="砂の道")
        yield server


@dataclass(frozen=True)
class Stream:
    response: httpx.Response
    lines: Iterator[str]

    def next_line(self) -> str:
        return next(self.lines)

    def next_event(self) -> tuple[str, str]:
        """Its name and its data; comments are passed over."""
        fields: dict[str, str] = {}
        deadline = time.monotonic() + PATIENCE_SECONDS
        for line in self.lines:
            # Signs of life come for ever.
            assert time.monotonic() < deadline, "nothing has happened"
            if not line and fields:
                return fields["event"], fields["data"]
            name, _, value = line.partition(":")
            if name:
                fields[name] = value.removeprefix(" ")
        raise AssertionError("the stream has ended")

    def next_status(self) -> Any:
        event, data = self.next_event()
        assert event == "next"
        assert set(json.loads(data)) == {"data"}
        return json.loads(data)["data"]["indexStatusChanged"]

    def status_of(self, started_at: str) -> Any:
        """The status with which the rebuilding that began then has ended."""
        while not has_ended(status := self.next_status(), started_at):
            pass
        return status


@contextlib.contextmanager
def streaming(client: Client, query: str, method: str = "POST", accept: str = "text/event-stream") -> Iterator[Stream]:
    asked: dict[str, Any] = {"params": {"query": query}} if method == "GET" else {"json": {"query": query}}
    with client.http.stream(method, "/graphql", headers={"accept": accept}, **asked) as response:
        yield Stream(response, response.iter_lines())


def rebuild(client: Client) -> str:
    """Begins to build the index anew, and answers when that was."""
    started_at: str = client.ask(REBUILD)["rebuildIndex"]["indexStatus"]["startedAt"]
    return started_at


def whole(answer: object) -> str:
    """The stream of an operation that answers once."""
    return f"event: next\ndata: {json.dumps(answer, ensure_ascii=False, separators=(',', ':'))}\n\n{COMPLETE}"


COMPLETE = "event: complete\ndata:\n\n"


# Operations that answer once


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_query_answers_once_and_is_complete(client: Client, method: str) -> None:
    asked = {"query": NAME, "operationName": "Name"}
    response = (
        client.http.get("/graphql", params=asked | {"variables": '{"id": "book_1"}'}, headers=STREAM)
        if method == "GET"
        else client.http.post("/graphql", json=asked | {"variables": {"id": "book_1"}}, headers=STREAM)
    )

    assert response.status_code == 200
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert response.headers["cache-control"] == "no-cache"
    assert response.content.decode() == whole({"data": {"book": {"name": "砂の道"}}})


def test_mutation_is_run_with_post(client: Client) -> None:
    created = client.http.post(
        "/graphql",
        json={"query": 'mutation { createBook(input: {id: "book_2", name: "海"}) { book { name } } }'},
        headers=STREAM,
    )
    found = client.ask('{ book(id: "book_2") { name } }')
    client.delete("deleteBook", "book_2")

    assert created.text == whole({"data": {"createBook": {"book": {"name": "海"}}}})
    assert found == {"book": {"name": "海"}}


def test_mutation_is_refused_with_get(client: Client) -> None:
    before = everything(client)

    response = client.http.get("/graphql", params={"query": DELETE}, headers=STREAM)

    error = {"message": "Send a mutation with POST.", "extensions": {"code": "BAD_INPUT"}}
    assert response.text == whole({"errors": [error]})
    assert everything(client) == before


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("{", "BAD_INPUT"),
        ("{ unknown }", "BAD_INPUT"),
        (NAME, "BAD_INPUT"),
        ("query A { books { totalCount } } query B { books { totalCount } }", "BAD_INPUT"),
        ("{ " + " ".join(f"a{n}: books {{ totalCount }}" for n in range(51)) + " }", "TOO_COSTLY"),
    ],
    ids=range(5),
)
def test_operation_that_cannot_be_run_says_why_in_the_stream(client: Client, query: str, code: str) -> None:
    response = client.http.post("/graphql", json={"query": query}, headers=STREAM)

    assert response.status_code == 200
    errors = client.errors(query)
    assert response.text == whole({"errors": errors})
    assert {error["extensions"]["code"] for error in errors} == {code}


def test_subscription_that_cannot_be_run_says_why_in_the_stream(client: Client) -> None:
    with streaming(client, "subscription { unknown }") as stream:
        event, data = stream.next_event()

        assert (event, stream.next_event()) == ("next", ("complete", ""))
    assert json.loads(data)["errors"][0]["message"] == "Cannot query field 'unknown' on type 'Subscription'."


def test_error_while_running_comes_with_what_could_be_answered(client: Client) -> None:
    query = '{ good: book(id: "book_1") { name } bad: book(id: "book_1") { terms(first: 0) { totalCount } } }'

    with streaming(client, query) as stream:
        event, data = stream.next_event()
        after = stream.next_event()

    assert (event, json.loads(data)) == ("next", client.post(query).json())
    assert after == ("complete", "")


# Subscriptions


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_subscription_begins_with_the_present_status_and_goes_on(client: Client, method: str) -> None:
    with streaming(client, STATUS, method) as stream:
        assert stream.response.status_code == 200
        assert stream.next_status() == client.ask("{ indexStatus { state startedAt finishedAt } }")["indexStatus"]

        for _ in range(3):
            status = stream.status_of(rebuild(client))

            assert status["finishedAt"] >= status["startedAt"]


def test_all_subscribers_are_told(client: Client) -> None:
    with streaming(client, STATUS) as one, streaming(client, STATUS, "GET") as other:
        started_at = rebuild(client)

        assert one.status_of(started_at) == other.status_of(started_at)


def test_subscriber_who_leaves_is_forgotten_and_the_others_go_on(client: Client) -> None:
    with streaming(client, STATUS) as staying:
        staying.next_status()
        held = len(live())
        for _ in range(10):
            with streaming(client, STATUS) as leaving:
                leaving.next_status()
        wait_until(lambda: len(live()) == held)

        assert staying.status_of(rebuild(client))["state"] == "COMPLETED"

    wait_until(lambda: live() == [])


def test_subscriber_who_leaves_before_the_first_answer_is_forgotten(server: Server) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    body = json.dumps({"query": STATUS})
    request = (
        f"POST /graphql HTTP/1.1\r\nhost: {host}\r\naccept: text/event-stream\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n{body}"
    )
    for _ in range(20):
        with socket.create_connection((host, int(port))) as network:
            network.sendall(request.encode())

    wait_until(lambda: live() == [])


def test_signs_of_life_are_sent_while_nothing_changes(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", keep_alive_seconds=0.02)
    with running(settings) as server, server.client() as client, streaming(client, STATUS) as stream:
        stream.next_status()
        for _ in range(3):
            assert (stream.next_line(), stream.next_line()) == (":", "")

        assert stream.status_of(rebuild(client))["state"] == "COMPLETED"


def test_open_stream_ends_without_complete_when_the_server_stops(tmp_path: Path) -> None:
    with contextlib.ExitStack() as client_side:
        with running(Settings(data_dir=tmp_path / "data")) as server:
            client = client_side.enter_context(server.client())
            stream = client_side.enter_context(streaming(client, STATUS))
            stream.next_status()

        assert [line for line in stream.lines if line] == []

    assert live() == []


# What is accepted


@pytest.mark.parametrize(
    "accept",
    [
        "application/json, text/event-stream",
        "application/graphql-response+json, application/json, text/event-stream, multipart/mixed",
        "application/json, text/event-stream;q=0.1",
        "TEXT/Event-Stream; charset=utf-8",
    ],
)
def test_subscription_is_streamed_to_whoever_accepts_a_stream(client: Client, accept: str) -> None:
    with streaming(client, STATUS, accept=accept) as stream:
        assert stream.response.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert stream.next_status()["state"]


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("application/json, text/event-stream", "application/json"),
        ("application/graphql-response+json, text/event-stream", "application/graphql-response+json"),
        ("text/event-stream;q=0.5, application/json", "application/json"),
        ("text/event-stream, application/json", "text/event-stream"),
        ("application/json;q=0.5, text/event-stream", "text/event-stream"),
        ("text/event-stream;q=0, application/json", "application/json"),
    ],
)
def test_query_is_answered_in_the_way_that_is_wanted_most(client: Client, accept: str, media_type: str) -> None:
    response = client.http.post("/graphql", json={"query": COUNT}, headers={"accept": accept})

    assert response.headers["content-type"] == f"{media_type}; charset=utf-8"
    assert '{"data":{"books":{"totalCount":1}}}' in response.text


@pytest.mark.parametrize("method", ["POST", "GET"])
@pytest.mark.parametrize(
    "accept", ["application/json", "*/*", "application/graphql-response+json", "text/event-stream;q=0, */*"]
)
def test_subscription_without_a_stream_says_what_to_use(client: Client, accept: str, method: str) -> None:
    with streaming(client, STATUS, method, accept) as stream:
        stream.response.read()

    (error,) = stream.response.json()["errors"]
    assert stream.response.status_code == 406
    assert error["extensions"] == {"code": "BAD_INPUT"}
    assert "text/event-stream" in error["message"]
    assert "graphql-transport-ws" in error["message"]
    assert live() == []


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_single_connection_mode_is_not_spoken(client: Client, method: str) -> None:
    response = client.http.request(method, "/graphql", headers=STREAM | {"x-graphql-event-stream-token": "x"})

    assert (response.status_code, response.headers["allow"]) == (405, "GET, POST")


@pytest.mark.parametrize(
    "body", ["", "null", "[]", "[null]", "5", "{}", '{"query": null}', '{"query": 5}', "[" * 100_000, '{"query":"{"']
)
def test_body_that_is_no_request_is_refused_before_a_stream_begins(client: Client, body: str) -> None:
    headers = STREAM | {"content-type": "application/json"}

    response = client.http.post("/graphql", content=body, headers=headers)

    assert response.status_code == 400
    assert response.headers["content-type"] == "application/json"
    assert [error["extensions"]["code"] for error in response.json()["errors"]] == ["BAD_INPUT"]


def test_body_of_another_type_is_refused(client: Client) -> None:
    """A page of another site may send it without asking first."""
    headers = STREAM | {"content-type": "text/plain"}
    before = everything(client)

    response = client.http.post("/graphql", content=json.dumps({"query": DELETE}), headers=headers)

    assert response.status_code == 415
    assert everything(client) == before


# Who is asking


def test_owners_meet_only_their_own(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", tokens=TOKENS)
    with running(settings) as server, server.client("t-alice") as alice, server.client("t-bob") as bob:
        a_book(alice, "book_1", name="Book of alice")
        a_book(bob, "book_1", name="Book of bob")

        query = '{ book(id: "book_1") { name } }'
        shown = [client.http.post("/graphql", json={"query": query}, headers=STREAM).text for client in (alice, bob)]

    assert shown == [whole({"data": {"book": {"name": f"Book of {owner}"}}}) for owner in ("alice", "bob")]


@pytest.mark.parametrize("token", [None, "wrong"])
@pytest.mark.parametrize("method", ["POST", "GET"])
def test_stream_without_a_token_is_refused(tmp_path: Path, method: str, token: str | None) -> None:
    settings = Settings(data_dir=tmp_path / "data", tokens=TOKENS)
    with running(settings) as server, server.client(token) as stranger, streaming(stranger, STATUS, method) as stream:
        stream.response.read()

    assert stream.response.status_code == 401
    assert [error["extensions"]["code"] for error in stream.response.json()["errors"]] == ["UNAUTHENTICATED"]


def test_without_tokens_a_host_of_another_name_is_refused(client: Client) -> None:
    response = client.http.post("/graphql", json={"query": STATUS}, headers=STREAM | {"host": "lore.example"})

    assert response.status_code == 403


def test_page_of_another_site_is_not_granted_the_stream(client: Client) -> None:
    with client.http.stream(
        "GET", "/graphql", params={"query": STATUS}, headers=STREAM | {"origin": "https://evil.example"}
    ) as response:
        assert "access-control-allow-origin" not in response.headers


def test_page_of_an_allowed_origin_is_granted_the_stream(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", cors_origins=("https://app.example",))
    with (
        running(settings) as server,
        server.client() as client,
        client.http.stream(
            "GET", "/graphql", params={"query": STATUS}, headers=STREAM | {"origin": "https://app.example"}
        ) as response,
    ):
        assert response.headers["access-control-allow-origin"] == "https://app.example"
