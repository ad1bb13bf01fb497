"""GraphQL over WebSocket: the rules of graphql-transport-ws, and what becomes of those who break them."""

import contextlib
import gc
import json
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from graphql.execution.collect_fields import FieldDetails
from websockets.client import ClientProtocol
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.protocol import State
from websockets.sync.client import connect
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

from api.settings import Settings
from persistence import sqlite
from tests.api.building import a_book, everything
from tests.api.test_serve_command import serving
from tests.serving import Client, Server, running
from tests.talking import (
    PATIENCE_SECONDS,
    PROTOCOL,
    REBUILD,
    STATUS,
    Socket,
    connected,
    has_ended,
    live,
    opened,
    wait_until,
)

NAME = "query Name($id: ID!) { book(id: $id) { name } }"
COUNT = "{ books { totalCount } }"
TOKENS = {"t-alice": "alice", "t-bob": "bob"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Whatever is said to it, its one book stays as it is."""
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


@pytest.fixture
def talk(server: Server) -> Iterator[Socket]:
    with connected(server.url) as socket:
        yield socket


def rebuild(client: Client) -> str:
    """Begins to build the index anew, and answers when that was."""
    started_at: str = client.ask(REBUILD)["rebuildIndex"]["indexStatus"]["startedAt"]
    return started_at


# Operations


@pytest.mark.parametrize("init", [{}, {"payload": None}, {"payload": {}}, {"payload": {"client": "砂"}, "more": 1}])
def test_connection_is_acknowledged(server: Server, init: dict[str, Any]) -> None:
    with opened(server.url) as talk:
        talk.send("connection_init", **init)

        assert talk.receive() == {"type": "connection_ack"}
        assert talk.connection.subprotocol == PROTOCOL


def test_query_answers_once_and_is_complete(talk: Socket) -> None:
    answer = talk.answer("1", NAME, variables={"id": "book_1"}, operationName="Name", extensions={})

    assert answer == {"data": {"book": {"name": "砂の道"}}}


def test_mutation_is_run(talk: Socket) -> None:
    answer = talk.answer("1", 'mutation { deleteBook(id: "none") { deletedId problems { code } } }')

    assert answer == {"data": {"deleteBook": {"deletedId": None, "problems": [{"code": "NOT_FOUND"}]}}}


def test_operations_run_side_by_side(talk: Socket) -> None:
    for number in range(20):
        talk.subscribe(f"{number}", COUNT)

    said = [talk.receive() for _ in range(40)]

    answers = {each["id"]: each["payload"] for each in said if each["type"] == "next"}
    assert answers == {f"{number}": {"data": {"books": {"totalCount": 1}}} for number in range(20)}
    assert {each["id"] for each in said if each["type"] == "complete"} == set(answers)


def test_every_operation_sees_what_is_true_when_it_is_asked(client: Client, talk: Socket) -> None:
    before = talk.answer("1", '{ book(id: "book_2") { name } }')
    a_book(client, "book_2", name="海")
    after = talk.answer("1", '{ book(id: "book_2") { name } }')
    client.delete("deleteBook", "book_2")

    assert (before, after) == ({"data": {"book": None}}, {"data": {"book": {"name": "海"}}})


def test_messages_are_text_with_every_script_as_it_is(talk: Socket) -> None:
    talk.subscribe("一", NAME, variables={"id": "book_1"})

    assert (
        talk.connection.recv(PATIENCE_SECONDS)
        == '{"id":"一","type":"next","payload":{"data":{"book":{"name":"砂の道"}}}}'
    )


def test_subscription_begins_with_the_present_status(client: Client, talk: Socket) -> None:
    fields = "state engine documents done total startedAt finishedAt error embedder unembedded degraded"

    talk.subscribe("1", f"subscription {{ indexStatusChanged {{ {fields} }} }}")

    assert talk.next_status("1") == client.ask(f"{{ indexStatus {{ {fields} }} }}")["indexStatus"]


def test_subscription_is_told_of_every_rebuilding(client: Client, talk: Socket) -> None:
    talk.subscribe("1", STATUS)
    talk.next_status("1")

    for _ in range(3):
        status = talk.status_of("1", rebuild(client))

        assert status["finishedAt"] >= status["startedAt"]


def test_rebuilding_may_be_asked_for_beside_its_subscription(talk: Socket) -> None:
    talk.subscribe("follow", STATUS)
    talk.next_status("follow")

    talk.subscribe("rebuild", REBUILD)
    said: list[Any] = []
    while not (said and has_ended_since_asked(said)):
        said.append(talk.receive())

    assert {each["type"] for each in said if each["id"] == "follow"} == {"next"}


def has_ended_since_asked(said: list[Any]) -> bool:
    answers = [each["payload"]["data"] for each in said if each["type"] == "next"]
    started = [each["rebuildIndex"]["indexStatus"]["startedAt"] for each in answers if "rebuildIndex" in each]
    statuses = [each["indexStatusChanged"] for each in answers if "indexStatusChanged" in each]
    is_complete = {"id": "rebuild", "type": "complete"} in said
    return is_complete and any(has_ended(status, started[0]) for status in statuses)


def test_all_subscribers_are_told(server: Server, client: Client, talk: Socket) -> None:
    with connected(server.url) as other:
        for each, id_ in ((talk, "a"), (other, "b")):
            each.subscribe(id_, STATUS)
            each.next_status(id_)

        started_at = rebuild(client)

        assert talk.status_of("a", started_at) == other.status_of("b", started_at)


def test_subscription_over_fragments_and_aliases_is_answered(talk: Socket) -> None:
    document = """subscription Follow($more: Boolean!) { now: indexStatusChanged { ...Fields } }
        fragment Fields on IndexStatus { __typename it: state error @include(if: $more) }"""

    talk.subscribe("1", document, variables={"more": False})

    answered = talk.receive()["payload"]["data"]["now"]
    assert set(answered) == {"__typename", "it"}
    assert answered["__typename"] == "IndexStatus"


# Errors


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("{", "BAD_INPUT"),
        ("{ unknown }", "BAD_INPUT"),
        (NAME, "BAD_INPUT"),
        ("query A { books { totalCount } } query B { books { totalCount } }", "BAD_INPUT"),
        ("subscription { unknown }", "BAD_INPUT"),
        ("subscription { a: indexStatusChanged { state } b: indexStatusChanged { state } }", "BAD_INPUT"),
        ("subscription { indexStatusChanged { state " + "{ a " * 30 + "}" * 30 + " } }", "TOO_COSTLY"),
        ("{ " + " ".join(f"a{n}: books {{ totalCount }}" for n in range(51)) + " }", "TOO_COSTLY"),
        ("{ books { totalCount } } #" + "x" * 200_001, "TOO_COSTLY"),
    ],
    ids=range(9),
)
def test_operation_that_cannot_be_run_says_why(talk: Socket, query: str, code: str) -> None:
    errors = talk.errors("1", query)

    assert {error["extensions"]["code"] for error in errors} == {code}
    assert talk.answer("1", COUNT) == {"data": {"books": {"totalCount": 1}}}


def test_errors_are_those_of_http(client: Client, talk: Socket) -> None:
    for query in ("{", "{ books { unknown } }", NAME):
        assert talk.errors("1", query) == client.errors(query)


def test_error_while_running_comes_with_what_could_be_answered(client: Client, talk: Socket) -> None:
    query = '{ good: book(id: "book_1") { name } bad: book(id: "book_1") { terms(first: 0) { totalCount } } }'

    assert talk.answer("1", query) == client.post(query).json()


def test_failure_of_the_server_is_told_and_logged_on_every_way(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with serving(data_dir) as command, command.client() as client:
        database = sqlite.open_connection(data_dir / "loregraph.db", read_only=False)
        database.execute("ALTER TABLE book RENAME TO gone")
        database.close()

        asked = {"query": "{ books { nodes { id } } }"}
        over_http = client.http.post("/graphql", json=asked).json()
        as_events = client.http.post("/graphql", json=asked, headers={"accept": "text/event-stream"}).text
        with connected(command.url) as talk:
            over_websocket = talk.answer("1", asked["query"])
        logged = command.errors.read_text(encoding="utf-8")

    (error,) = over_http["errors"]
    assert (error["message"], error["extensions"]) == ("Unexpected error", {"code": "INTERNAL"})
    assert over_websocket == over_http
    assert json.loads(as_events.split("\n")[1].removeprefix("data: ")) == over_http
    assert logged.count("unexpected_error") == 3


# Cancelling


def test_completed_subscription_is_freed_and_silent(client: Client, talk: Socket) -> None:
    talk.subscribe("1", STATUS)
    talk.next_status("1")

    talk.send("complete", id="1")
    wait_until(lambda: live() == [])
    talk.subscribe("2", STATUS)
    talk.next_status("2")
    talk.status_of("2", rebuild(client))

    assert talk.answer("1", COUNT) == {"data": {"books": {"totalCount": 1}}}


def test_id_may_be_used_again_as_soon_as_its_operation_is_completed(talk: Socket) -> None:
    for _ in range(50):
        talk.subscribe("1", STATUS)
        talk.next_status("1")
        talk.send("complete", id="1")


def test_subscription_completed_before_its_first_answer_is_freed(talk: Socket) -> None:
    for _ in range(50):
        talk.subscribe("1", STATUS)
        talk.send("complete", id="1")

    talk.send("ping")
    while talk.receive()["type"] != "pong":
        pass
    wait_until(lambda: live() == [])


def test_completing_one_subscription_leaves_the_other(client: Client, talk: Socket) -> None:
    for id_ in ("1", "2"):
        talk.subscribe(id_, STATUS)
        talk.next_status(id_)

    talk.send("complete", id="1")
    talk.send("ping")
    assert talk.receive() == {"type": "pong"}

    assert talk.status_of("2", rebuild(client))["state"] == "COMPLETED"


@pytest.mark.parametrize("id_", ["never used", "", "x" * 1_000])
def test_completing_what_is_not_there_does_nothing(talk: Socket, id_: str) -> None:
    talk.send("complete", id=id_)

    assert talk.answer("1", COUNT) == {"data": {"books": {"totalCount": 1}}}


def test_operation_that_answered_may_be_completed_too(talk: Socket) -> None:
    talk.answer("1", COUNT)
    talk.send("complete", id="1")

    assert talk.answer("1", COUNT) == {"data": {"books": {"totalCount": 1}}}


def test_closing_the_connection_frees_everything(server: Server) -> None:
    with connected(server.url) as talk:
        for number in range(100):
            talk.subscribe(f"{number}", STATUS)
        for _ in range(100):
            talk.receive()
        assert live() != []

    wait_until(lambda: live() == [])


@pytest.mark.parametrize("how", ["without a word", "reset"])
def test_vanishing_frees_everything(server: Server, how: str) -> None:
    with connected(server.url) as talk:
        for number in range(100):
            talk.subscribe(f"{number}", STATUS)
        for _ in range(100):
            talk.receive()
        if how == "reset":
            talk.connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        talk.connection.socket.shutdown(socket.SHUT_RDWR)
        talk.connection.socket.close()

        wait_until(lambda: live() == [])


def test_following_for_long_keeps_nothing_of_past_events(client: Client, talk: Socket) -> None:
    talk.subscribe("1", STATUS)
    talk.next_status("1")
    talk.status_of("1", rebuild(client))
    before = collected_fields()

    for _ in range(5):
        talk.status_of("1", rebuild(client))

    assert collected_fields() <= before


def collected_fields() -> int:
    gc.collect()
    return sum(isinstance(each, FieldDetails) for each in gc.get_objects())


# Limits


def test_at_most_a_hundred_operations_run_on_one_connection(talk: Socket) -> None:
    for number in range(100):
        talk.subscribe(f"{number}", STATUS)
        talk.next_status(f"{number}")

    (error,) = talk.errors("one more", COUNT)
    talk.send("complete", id="57")

    assert error["extensions"] == {"code": "TOO_COSTLY"}
    assert "100 operations" in error["message"]
    assert talk.answer("one more", COUNT) == {"data": {"books": {"totalCount": 1}}}


def test_message_over_the_limit_closes_the_connection(tmp_path: Path) -> None:
    def message(size: int) -> str:
        head = '{"type": "ping", "payload": {"x": "'
        return head + "x" * (size - len(head) - 3) + '"}}'

    with running(Settings(data_dir=tmp_path / "data", max_body_bytes=10_000)) as server:
        with connected(server.url) as talk:
            talk.connection.send(message(10_000))
            assert talk.receive()["type"] == "pong"

            talk.connection.send(message(10_001))

            assert talk.closed()[0] == 1009
        with connected(server.url) as talk:
            # The server may have closed before all of it is sent.
            with contextlib.suppress(ConnectionClosed):
                talk.connection.send(iter([message(10_001)[:6_000], message(10_001)[6_000:]]))

            # What was still on its way is answered by a reset, which may overtake the reason.
            assert talk.closed()[0] in (1009, 1006)


def test_who_does_not_read_is_not_read_from(server: Server) -> None:
    """What is on its way to a slow reader is bounded, and others do not notice."""
    most = 300
    address = parse_uri(f"{server.url.replace('http', 'ws', 1)}/graphql")
    wire = ClientProtocol(address, subprotocols=[Subprotocol(PROTOCOL)])
    wire.send_request(wire.connect())
    with socket.create_connection((wire.uri.host, wire.uri.port), PATIENCE_SECONDS) as network:
        network.sendall(b"".join(wire.data_to_send()))
        while wire.state is State.CONNECTING:
            wire.receive_data(network.recv(65_536))

        # Long enough without a byte being taken: then nothing will be, however long we wait.
        network.settimeout(1)
        sent = 0
        with contextlib.suppress(TimeoutError):
            while sent < most:
                wire.send_text(json.dumps({"type": "ping", "payload": {"x": "x" * 1_000_000}}).encode())
                network.sendall(b"".join(wire.data_to_send()))
                sent += 1
        with connected(server.url) as other:
            assert other.answer("1", COUNT) == {"data": {"books": {"totalCount": 1}}}

    assert 0 < sent < most
    wait_until(lambda: live() == [])


# Beginning


def test_connection_that_says_nothing_is_closed(tmp_path: Path) -> None:
    with running(Settings(data_dir=tmp_path / "data", connection_init_seconds=1)) as server:
        with opened(server.url) as talk:
            assert talk.closed() == (4408, "Connection initialisation timeout")
        with opened(server.url) as talk:
            talk.send("ping")
            talk.send("pong")
            assert talk.receive() == {"type": "pong"}

            assert talk.closed() == (4408, "Connection initialisation timeout")
        with connected(server.url) as talk:
            talk.subscribe("1", STATUS)
            talk.next_status("1")
            with opened(server.url) as later:
                assert later.closed() == (4408, "Connection initialisation timeout")

            assert talk.answer("2", COUNT) == {"data": {"books": {"totalCount": 0}}}


def test_second_initialisation_closes_the_connection(talk: Socket) -> None:
    talk.send("connection_init")

    assert talk.closed() == (4429, "Too many initialisation requests")


def test_operation_before_initialisation_closes_the_connection_and_changes_nothing(
    server: Server, client: Client
) -> None:
    before = everything(client)

    with opened(server.url) as talk:
        talk.subscribe("1", 'mutation { deleteBook(id: "book_1") { deletedId } }')

        assert talk.closed() == (4401, "Unauthorized")
    assert everything(client) == before


@pytest.mark.parametrize("id_", ["1", "一", "字" * 128])
def test_id_in_use_closes_the_connection(talk: Socket, id_: str) -> None:
    talk.subscribe(id_, STATUS)
    talk.next_status(id_)

    talk.subscribe(id_, COUNT)

    code, reason = talk.closed()
    assert code == 4409
    assert reason == f"Subscriber for {id_} already exists".encode()[:123].decode(errors="ignore")
    wait_until(lambda: live() == [])


@pytest.mark.parametrize("payload", [None, {}, {"x": [1, "砂", None]}])
def test_ping_is_answered_with_what_it_carried(server: Server, payload: dict[str, Any] | None) -> None:
    with opened(server.url) as talk:
        talk.send("ping", payload=payload)

        assert talk.receive() == ({"type": "pong", "payload": payload} if payload else {"type": "pong"})


@pytest.mark.parametrize("protocols", [[], ["graphql-ws"], ["chat", "graphql-transport"]])
def test_other_subprotocol_is_not_spoken(server: Server, protocols: list[str]) -> None:
    with opened(server.url, protocols) as talk:
        assert talk.closed() == (4406, f"Speak {PROTOCOL}")


def test_subprotocol_is_chosen_among_several(server: Server) -> None:
    with opened(server.url, ["graphql-ws", PROTOCOL]) as talk:
        assert talk.connection.subprotocol == PROTOCOL


@pytest.mark.parametrize("path", ["/", "/health", "/static/graphiql.html", "/graphql/", "/nowhere"])
def test_websockets_are_taken_nowhere_else(server: Server, path: str) -> None:
    address = server.url.replace("http", "ws", 1) + path

    with pytest.raises(InvalidStatus) as refused:
        connect(address, subprotocols=[Subprotocol(PROTOCOL)], proxy=None)

    assert 400 <= refused.value.response.status_code < 500


# Messages that are none

DELETE = {"query": 'mutation { deleteBook(id: "book_1") { deletedId } }'}
MESSAGES: dict[str, Any] = {
    "null": None,
    "number": 5,
    "text": "connection_init",
    "list": [],
    "list of messages": [{"type": "ping"}],
    "nothing": {},
    "type null": {"type": None},
    "type a number": {"type": 5},
    "type a list": {"type": ["ping"]},
    "type unknown": {"type": "start", "id": "1", "payload": DELETE},
    "type in capitals": {"type": "PING"},
    "what only servers say": {"type": "next", "id": "1", "payload": {}},
    "subscribe without id": {"type": "subscribe", "payload": DELETE},
    "id null": {"type": "subscribe", "id": None, "payload": DELETE},
    "id a number": {"type": "subscribe", "id": 1, "payload": DELETE},
    "id a list": {"type": "subscribe", "id": ["1"], "payload": DELETE},
    "id empty": {"type": "subscribe", "id": "", "payload": DELETE},
    "id too long": {"type": "subscribe", "id": "x" * 129, "payload": DELETE},
    "subscribe without payload": {"type": "subscribe", "id": "1"},
    "payload null": {"type": "subscribe", "id": "1", "payload": None},
    "payload a text": {"type": "subscribe", "id": "1", "payload": DELETE["query"]},
    "payload a list": {"type": "subscribe", "id": "1", "payload": [DELETE]},
    "no query": {"type": "subscribe", "id": "1", "payload": {"variables": {}}},
    "query null": {"type": "subscribe", "id": "1", "payload": {"query": None}},
    "query a number": {"type": "subscribe", "id": "1", "payload": {"query": 5}},
    "query empty": {"type": "subscribe", "id": "1", "payload": {"query": " "}},
    "variables a list": {"type": "subscribe", "id": "1", "payload": DELETE | {"variables": []}},
    "operationName a number": {"type": "subscribe", "id": "1", "payload": DELETE | {"operationName": 5}},
    "extensions a text": {"type": "subscribe", "id": "1", "payload": DELETE | {"extensions": "x"}},
    "complete without id": {"type": "complete"},
    "complete with a number": {"type": "complete", "id": 1},
    "ping with a text": {"type": "ping", "payload": "x"},
    "pong with a list": {"type": "pong", "payload": []},
    "init with a list": {"type": "connection_init", "payload": []},
    "init with a number": {"type": "connection_init", "payload": 5},
}
TEXTS = {
    "empty": "",
    "blank": "  ",
    "no JSON": "connection_init",
    "cut off": '{"type": "ping"',
    "two": '{"type": "ping"}{"type": "ping"}',
    "NaN": '{"type": "ping", "payload": {"x": NaN}}',
    "lone surrogate": '{"type": "ping", "payload": {"x": "\\ud800"}}',
    "NUL": "\x00",
    "deep list": "[" * 100_000 + "]" * 100_000,
    "deep object": '{"type":' * 100_000,
    "deep payload": '{"type": "ping", "payload": {"x": ' + "[" * 5_000 + "]" * 5_000 + "}}",
    "very long and no JSON": "x" * 5_000_000,
}
RAW: dict[str, str | bytes] = {
    **{name: json.dumps(message) for name, message in MESSAGES.items()},
    **TEXTS,
    "binary": b"\x00\xff",
    "binary JSON": b'{"type": "ping"}',
    "binary and empty": b"",
}


@pytest.mark.parametrize("begin", [opened, connected])
@pytest.mark.parametrize("raw", RAW.values(), ids=RAW.keys())
def test_what_is_no_message_closes_the_connection_and_changes_nothing(
    server: Server, client: Client, raw: str | bytes, begin: Callable[[str], AbstractContextManager[Socket]]
) -> None:
    before = everything(client)

    with begin(server.url) as talk:
        talk.connection.send(raw)
        code, reason = talk.closed()

    assert code == 4400
    assert reason
    assert everything(client) == before


def test_breaking_the_protocol_ends_what_was_running(talk: Socket) -> None:
    for number in range(5):
        talk.subscribe(f"{number}", STATUS)
        talk.next_status(f"{number}")

    talk.send("nonsense")

    assert talk.closed() == (4400, "Invalid message")
    wait_until(lambda: live() == [])


def test_text_that_is_not_utf_8_closes_the_connection(talk: Socket) -> None:
    talk.connection.send(b"\xff\xfe", text=True)

    assert talk.closed()[0] == 1007


def test_server_serves_on_after_all_that(server: Server, client: Client) -> None:
    for raw in RAW.values():
        with opened(server.url) as talk:
            talk.connection.send(raw)

    assert client.http.get("/health").json()["status"] == "ok"
    with connected(server.url) as talk:
        assert talk.answer("1", COUNT) == {"data": {"books": {"totalCount": 1}}}
    wait_until(lambda: live() == [])


# Who is asking


@pytest.mark.parametrize(
    "init",
    [{"authorization": "Bearer t-alice"}, {"Authorization": "bearer   t-alice"}, {"AUTHORIZATION": "Bearer t-alice"}],
)
def test_token_comes_with_the_initialisation(owned: Server, init: dict[str, str]) -> None:
    with connected(owned.url, **init) as talk:
        assert talk.answer("1", NAME, variables={"id": "book_1"}) == {"data": {"book": {"name": "Book of alice"}}}


def test_token_may_come_with_the_request(owned: Server) -> None:
    with opened(owned.url, additional_headers={"authorization": "Bearer t-bob"}) as talk:
        talk.send("connection_init")

        assert talk.receive() == {"type": "connection_ack"}
        assert talk.answer("1", NAME, variables={"id": "book_1"}) == {"data": {"book": {"name": "Book of bob"}}}


@pytest.mark.parametrize("header", ["Bearer wrong", "Basic t-bob", "Bearer t-bob"])
def test_token_of_the_initialisation_counts(owned: Server, header: str) -> None:
    with opened(owned.url, additional_headers={"authorization": header}) as talk:
        talk.send("connection_init", payload={"authorization": "Bearer t-alice"})

        assert talk.receive() == {"type": "connection_ack"}
        assert talk.answer("1", NAME, variables={"id": "book_1"}) == {"data": {"book": {"name": "Book of alice"}}}


@pytest.mark.parametrize("header", [None, "Bearer t-alice"])
@pytest.mark.parametrize(
    "authorization", ["", "Bearer", "Bearer wrong", "Basic t-alice", "t-alice", None, 5, True, ["Bearer t-alice"], {}]
)
def test_wrong_token_closes_the_connection(owned: Server, authorization: object, header: str | None) -> None:
    headers = {} if header is None else {"authorization": header}
    with opened(owned.url, additional_headers=headers) as talk:
        talk.send("connection_init", payload={"authorization": authorization})

        assert talk.closed() == (4401, "Unauthorized")


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer wrong"}, {"authorization": "Basic t-alice"}])
@pytest.mark.parametrize("payload", [None, {}, {"token": "t-alice"}, {"headers": {"authorization": "Bearer t-alice"}}])
def test_no_token_closes_the_connection(owned: Server, headers: dict[str, str], payload: dict[str, Any] | None) -> None:
    with opened(owned.url, additional_headers=headers) as talk:
        talk.send("connection_init", payload=payload)

        assert talk.closed() == (4401, "Unauthorized")


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer t-alice"}])
def test_operation_before_initialisation_is_refused_even_with_a_token(owned: Server, headers: dict[str, str]) -> None:
    with opened(owned.url, additional_headers=headers) as talk:
        talk.subscribe("1", COUNT)

        assert talk.closed() == (4401, "Unauthorized")


def test_owners_meet_only_their_own(owned: Server) -> None:
    alices, bobs = {"authorization": "Bearer t-alice"}, {"authorization": "Bearer t-bob"}
    with connected(owned.url, **alices) as alice, connected(owned.url, **bobs) as bob:
        renamed = bob.answer("1", 'mutation { updateBook(input: {id: "book_1", name: "海"}) { book { name } } }')
        alices_book = alice.answer("1", NAME, variables={"id": "book_1"})
        bob.answer("1", 'mutation { updateBook(input: {id: "book_1", name: "Book of bob"}) { book { name } } }')

    assert renamed == {"data": {"updateBook": {"book": {"name": "海"}}}}
    assert alices_book == {"data": {"book": {"name": "Book of alice"}}}


def test_with_tokens_pages_of_any_site_may_connect(owned: Server) -> None:
    with opened(owned.url, origin="https://app.example") as talk:
        talk.send("connection_init", payload={"authorization": "Bearer t-alice"})

        assert talk.receive() == {"type": "connection_ack"}


def test_without_tokens_a_token_does_no_harm(server: Server) -> None:
    with connected(server.url, authorization="Bearer of something else") as talk:
        assert talk.answer("1", COUNT) == {"data": {"books": {"totalCount": 1}}}


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "http://127.0.0.1",
        "http://127.0.0.1:8000",
        "http://localhost:3000",
        "https://localhost",
        "http://[::1]:5173",
        "http://127.0.0.2",
    ],
)
def test_pages_of_this_machine_may_connect(server: Server, origin: str | None) -> None:
    with opened(server.url, origin=origin) as talk:
        talk.send("connection_init")

        assert talk.receive() == {"type": "connection_ack"}


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://127.0.0.1.evil.example",
        "http://localhost.evil.example",
        "http://evil.example:8000",
        "http://127.0.0.1@evil.example",
        "http://192.168.0.1",
        "http://0.0.0.0",
        "http://[",
        "null",
        "localhost",
        "127.0.0.1",
        "",
    ],
)
def test_without_tokens_pages_of_other_sites_are_refused(server: Server, origin: str) -> None:
    with pytest.raises(InvalidStatus) as refused, opened(server.url, origin=origin):
        pass

    assert refused.value.response.status_code == 403
    (error,) = json.loads(refused.value.response.body)["errors"]
    assert error["extensions"] == {"code": "FORBIDDEN"}


@pytest.mark.parametrize("allowed", ["https://app.example", "*"])
def test_pages_of_allowed_origins_may_connect(tmp_path: Path, allowed: str) -> None:
    with running(Settings(data_dir=tmp_path / "data", cors_origins=(allowed,))) as server:
        with opened(server.url, origin="https://app.example") as talk:
            talk.send("connection_init")
            assert talk.receive() == {"type": "connection_ack"}
        if allowed != "*":
            with pytest.raises(InvalidStatus), opened(server.url, origin="https://app.example:444"):
                pass


def test_without_tokens_a_host_of_another_name_is_refused(server: Server) -> None:
    """A name of another site may lead to this machine."""
    address = server.url.removeprefix("http://").split(":")
    with (
        socket.create_connection((address[0], int(address[1]))) as network,
        pytest.raises(InvalidStatus) as refused,
        opened("http://lore.example", sock=network),
    ):
        pass

    assert refused.value.response.status_code == 403
