"""Working memory on a real server: begun, counted, changed, ended after thirty minutes, and archived if so set."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.api.chat.chatting import (
    assistant,
    chat_server,
    facts,
    record_turn,
    rows,
    set_memory,
    state,
    working_memory,
)
from tests.clock import SettableClock
from tests.serving import Client, Server
from tests.talking import wait_until

S = "session_1"
START = "2026-03-01T12:00:00.000000+00:00"
NEVER_SECONDS = 3600
THREADS = 16

SESSIONS = "SELECT session_id FROM working_memory ORDER BY session_id"


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def server(tmp_path: Path, clock: SettableClock) -> Iterator[Server]:
    with chat_server(tmp_path / "data", clock) as server:
        yield server


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with server.client() as client:
        yield client


@pytest.fixture
def unswept(tmp_path: Path, clock: SettableClock) -> Iterator[Client]:
    """Of a server that looks for ended sessions once, when it starts."""
    with chat_server(tmp_path / "data", clock, sweep_seconds=NEVER_SECONDS) as server, server.client() as client:
        yield client


def get(client: Client, session_id: str) -> httpx.Response:
    return client.http.get(f"/memory/working/{quote(session_id, safe='')}")


def variables(client: Client, **given: Any) -> Any:
    """Those of the session after a turn that brings these."""
    return record_turn(client, S, "hi", contextVariables=given)["workingMemory"]["contextVariables"]


def wait_until_swept(server: Server, *left: str) -> None:
    wait_until(lambda: rows(server, SESSIONS) == [(session_id,) for session_id in left])


def told(client: Client) -> list[tuple[str, str, Any]]:
    """Category, key and value of each fact, by key."""
    return sorted((fact["category"], fact["key"], fact["value"]) for fact in facts(client))


# The scenarios of the working memory


def test_the_first_message_creates_a_working_memory(client: Client) -> None:
    payload = record_turn(client, S, "hello")

    created: dict[str, Any] = {
        "sessionId": S,
        "currentTopic": None,
        "contextVariables": {},
        "turnCount": 1,
        "lastEmotion": None,
        "createdAt": START,
        "updatedAt": START,
    }
    assert payload == {"workingMemory": created, "factWrites": [], "problems": []}
    assert working_memory(client, S) == created


def test_each_turn_is_counted_and_updates_the_working_memory(client: Client, clock: SettableClock) -> None:
    record_turn(client, S, "hello")
    for count in (2, 3, 4):
        clock.move(minutes=1)
        payload = record_turn(client, S, "go on", currentTopic=f"topic {count}", contextVariables={"n": count})

        memory = payload["workingMemory"]
        assert memory["turnCount"] == count
        assert memory["createdAt"] == START
        assert memory["updatedAt"] == f"2026-03-01T12:0{count - 1}:00.000000+00:00"
        assert (memory["currentTopic"], memory["contextVariables"]) == (f"topic {count}", {"n": count})
        assert working_memory(client, S) == memory


def test_a_session_without_activity_for_thirty_minutes_is_taken_away(
    server: Server, client: Client, clock: SettableClock
) -> None:
    record_turn(client, S, "hello")

    clock.move(minutes=30)

    wait_until_swept(server)
    assert get(client, S).status_code == 404


def test_rest_shows_the_working_memory_in_the_fields_of_the_specification(client: Client) -> None:
    record_turn(client, S, "hello", currentTopic="tea", contextVariables={"cup": {"size": 2}}, emotion="calm")

    response = get(client, S)

    assert response.status_code == 200
    assert response.json() == {
        "session_id": S,
        "current_topic": "tea",
        "context_variables": {"cup": {"size": 2}},
        "turn_count": 1,
        "last_emotion": "calm",
        "created_at": START,
        "updated_at": START,
    }


def test_a_session_that_does_not_exist_is_404_and_null(client: Client) -> None:
    response = get(client, "nobody")

    assert response.status_code == 404
    assert response.json()["code"] == "NOT_FOUND"
    assert working_memory(client, "nobody") is None


# What counts


def test_a_call_without_a_message_of_the_user_is_activity_but_no_turn(client: Client, clock: SettableClock) -> None:
    record_turn(client, S, "hello")
    clock.move(minutes=29)

    memory = record_turn(client, S, assistant("Still there?"))["workingMemory"]

    assert (memory["turnCount"], memory["updatedAt"]) == (1, "2026-03-01T12:29:00.000000+00:00")
    clock.move(minutes=29)
    assert working_memory(client, S) == memory


def test_a_call_with_several_messages_of_the_user_is_one_turn(client: Client) -> None:
    assert record_turn(client, S, "hello", "are you there?")["workingMemory"]["turnCount"] == 1


def test_analysis_alone_changes_the_session_without_a_turn(client: Client) -> None:
    record_turn(client, S, "hello")

    memory = record_turn(client, S, currentTopic="tea")["workingMemory"]

    assert (memory["turnCount"], memory["currentTopic"]) == (1, "tea")


def test_a_session_that_begins_with_the_assistant_has_no_turn_yet(client: Client) -> None:
    assert record_turn(client, S, assistant("Welcome!"))["workingMemory"]["turnCount"] == 0
    assert record_turn(client, S, "hello")["workingMemory"]["turnCount"] == 1


def test_a_call_that_says_nothing_is_refused(client: Client) -> None:
    payload = record_turn(client, S)

    (problem,) = payload["problems"]
    assert (problem["code"], problem["path"]) == ("BAD_INPUT", ["messages"])
    assert working_memory(client, S) is None


# Topic, emotion and variables


@pytest.mark.parametrize(("given", "shown"), [("currentTopic", "currentTopic"), ("emotion", "lastEmotion")])
def test_topic_and_emotion_stay_are_replaced_or_cleared(client: Client, given: str, shown: str) -> None:
    def after(**analysis: Any) -> Any:
        return record_turn(client, S, "hi", **analysis)["workingMemory"][shown]

    assert after(**{given: "calm"}) == "calm"
    assert after() == "calm"
    assert after(**{given: None}) == "calm"
    assert after(**{given: "开心"}) == "开心"
    assert after(**{given: ""}) is None
    assert after() is None


def test_variables_are_merged_key_by_key(client: Client) -> None:
    assert variables(client, city="Kyoto", count=1) == {"city": "Kyoto", "count": 1}
    assert variables(client, count=2, 语言="中文") == {"city": "Kyoto", "count": 2, "语言": "中文"}
    assert variables(client) == {"city": "Kyoto", "count": 2, "语言": "中文"}


def test_null_takes_a_variable_away(client: Client) -> None:
    variables(client, city="Kyoto", count=1)

    assert variables(client, city=None, never_there=None) == {"count": 1}


def test_a_variable_of_many_parts_is_replaced_whole(client: Client) -> None:
    variables(client, trip={"to": "Nara", "by": "train", "via": None})

    assert variables(client, other=1)["trip"] == {"to": "Nara", "by": "train", "via": None}
    assert variables(client, trip={"to": "Kobe"})["trip"] == {"to": "Kobe"}


def test_every_kind_of_json_comes_back_as_it_was_given(client: Client) -> None:
    given = {"a": [1, -2.5, True, False, "緑茶 😀\n", [], {}, [None]], "": 0, "n": 2**53, "m": -(2**53)}

    assert variables(client, **given) == given
    assert get(client, S).json()["context_variables"] == given


# The same turn told twice


def test_a_turn_told_twice_changes_nothing_and_answers_the_same(client: Client, clock: SettableClock) -> None:
    given: dict[str, Any] = {"turn_id": "t1", "contextVariables": {"n": 1}, "memoryUpdate": state("drink", "tea")}
    first = record_turn(client, S, "hello", **given)
    clock.move(minutes=1)

    assert record_turn(client, S, "hello", **given) == first
    assert working_memory(client, S)["updatedAt"] == START
    assert len(facts(client)) == 1


def test_a_turn_told_twice_keeps_its_messages_once(server: Server, client: Client) -> None:
    for _ in range(2):
        record_turn(client, S, "hello", turn_id="t1")

    assert rows(server, "SELECT content FROM message") == [("hello",)]


def test_a_turn_told_by_many_at_once_is_recorded_once(server: Server) -> None:
    together = threading.Barrier(THREADS)

    def tell(_: int) -> Any:
        with server.client() as client:
            together.wait()
            return record_turn(client, S, "hello", turn_id="t1", memoryUpdate=state("drink", "tea"))

    with ThreadPoolExecutor(THREADS) as pool:
        answers = list(pool.map(tell, range(THREADS)))

    assert answers == [answers[0]] * THREADS
    assert answers[0]["workingMemory"]["turnCount"] == 1
    assert answers[0]["factWrites"][0]["outcome"] == "ADDED"
    assert rows(server, "SELECT count(*) FROM fact") == [(1,)]


def test_turns_told_by_many_at_once_are_all_counted(server: Server, client: Client) -> None:
    def tell(number: int) -> None:
        with server.client() as teller:
            record_turn(teller, S, "hello", turn_id=f"t{number}", contextVariables={f"v{number}": number})

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(tell, range(THREADS)))

    memory = working_memory(client, S)
    assert memory["turnCount"] == THREADS
    assert memory["contextVariables"] == {f"v{number}": number for number in range(THREADS)}


def test_a_turn_told_again_after_a_restart_changes_nothing(tmp_path: Path, clock: SettableClock) -> None:
    answers = []
    for _ in range(2):
        with chat_server(tmp_path, clock) as server, server.client() as client:
            answers.append(record_turn(client, S, "hello", turn_id="t1", memoryUpdate=state("drink", "tea")))

    assert answers[0]["problems"] == []
    assert answers[1] == answers[0]


def test_a_turn_told_again_does_not_bring_back_what_was_superseded(client: Client, clock: SettableClock) -> None:
    first = record_turn(client, S, "tea", turn_id="t1", memoryUpdate=state("drink", "tea"))
    clock.move(minutes=1)
    record_turn(client, S, "no, coffee", turn_id="t2", memoryUpdate=state("drink", "coffee"))

    again = record_turn(client, S, "tea", turn_id="t1", memoryUpdate=state("drink", "tea"))

    (write,), (written,) = again["factWrites"], first["factWrites"]
    assert write["outcome"] == "ADDED"
    assert write["fact"] == written["fact"] | {"supersededAt": "2026-03-01T12:01:00.000000+00:00"}
    assert told(client) == [("FACT", "drink", "coffee")]
    assert again["workingMemory"]["turnCount"] == 2


def test_a_turn_that_superseded_a_fact_answers_the_same_again(client: Client) -> None:
    record_turn(client, S, "tea", memoryUpdate=state("drink", "tea"))
    first = record_turn(client, S, "coffee", turn_id="t2", memoryUpdate=state("drink", "coffee"))

    again = record_turn(client, S, "coffee", turn_id="t2", memoryUpdate=state("drink", "coffee"))

    assert first["factWrites"][0]["outcome"] == "SUPERSEDED"
    assert first["factWrites"][0]["supersedes"]["value"] == "tea"
    assert again == first


def test_a_turn_whose_fact_was_refused_answers_the_same_again(client: Client) -> None:
    secret = state("password", "correct-horse-7")

    first = record_turn(client, S, "hello", turn_id="t1", memoryUpdate=secret)
    again = record_turn(client, S, "hello", turn_id="t1", memoryUpdate=secret)

    assert [problem["path"] for problem in first["problems"]] == [["analysis", "memoryUpdate", "value"]]
    assert first["workingMemory"]["turnCount"] == 1
    assert again == first


def test_the_same_turn_id_in_another_session_is_another_turn(client: Client) -> None:
    for session_id in ("one", "two"):
        assert record_turn(client, session_id, "hello", turn_id="t1")["workingMemory"]["turnCount"] == 1


# Sessions and owners apart


def test_two_sessions_do_not_touch_each_other(client: Client, clock: SettableClock) -> None:
    one = record_turn(client, "one", "hello", currentTopic="tea", contextVariables={"n": 1})["workingMemory"]
    clock.move(minutes=1)

    two = record_turn(client, "two", "hello")["workingMemory"]

    assert working_memory(client, "one") == one
    assert (two["turnCount"], two["currentTopic"], two["contextVariables"]) == (1, None, {})


def test_sessions_of_two_owners_with_one_id_do_not_touch_each_other(tmp_path: Path, clock: SettableClock) -> None:
    tokens = {"token-a": "anna", "token-b": "ben"}
    with (
        chat_server(tmp_path, clock, tokens=tokens) as server,
        server.client("token-a") as anna,
        server.client("token-b") as ben,
    ):
        hers = record_turn(anna, S, "hello", turn_id="t1", contextVariables={"name": "Anna"})["workingMemory"]
        assert (working_memory(ben, S), get(ben, S).status_code) == (None, 404)

        his = record_turn(ben, S, "hello", turn_id="t1")["workingMemory"]

        assert (his["turnCount"], his["contextVariables"]) == (1, {})
        assert working_memory(anna, S) == hers


# Thirty minutes


@pytest.mark.parametrize("session", ["client", "unswept"])
def test_thirty_minutes_are_counted_to_the_second(
    session: str, clock: SettableClock, request: pytest.FixtureRequest
) -> None:
    """Whether it was swept or not."""
    client: Client = request.getfixturevalue(session)
    record_turn(client, S, "hello")

    clock.move(minutes=29, seconds=59)
    assert get(client, S).status_code == 200
    assert working_memory(client, S) is not None

    clock.move(seconds=1)
    assert get(client, S).status_code == 404
    assert working_memory(client, S) is None


def test_what_has_ended_is_swept_when_the_server_starts_again(tmp_path: Path, clock: SettableClock) -> None:
    with chat_server(tmp_path, clock) as server, server.client() as client:
        record_turn(client, "old", "hello")
        clock.move(minutes=20)
        record_turn(client, "young", "hello")
    clock.move(minutes=10)

    with chat_server(tmp_path, clock, sweep_seconds=NEVER_SECONDS) as server, server.client() as client:
        assert working_memory(client, "old") is None
        assert working_memory(client, "young")["turnCount"] == 1
        wait_until_swept(server, "young")


def test_a_turn_in_time_keeps_the_session_when_others_are_swept(
    server: Server, client: Client, clock: SettableClock
) -> None:
    record_turn(client, "kept", "hello")
    record_turn(client, "left", "hello")
    clock.move(minutes=29, seconds=59)
    record_turn(client, "kept", "still here")

    clock.move(seconds=1)

    wait_until_swept(server, "kept")
    assert working_memory(client, "kept")["turnCount"] == 2


def test_more_sessions_than_are_swept_at_once_are_all_swept(
    server: Server, client: Client, clock: SettableClock
) -> None:
    for number in range(250):
        record_turn(client, f"s{number}", "hello")

    clock.move(minutes=30)

    wait_until_swept(server)


def test_a_turn_after_the_end_begins_anew(unswept: Client, clock: SettableClock) -> None:
    record_turn(unswept, S, "hello", currentTopic="tea", contextVariables={"n": 1}, emotion="calm")
    clock.move(minutes=30)

    memory = record_turn(unswept, S, "me again")["workingMemory"]

    now = "2026-03-01T12:30:00.000000+00:00"
    assert memory == {
        "sessionId": S,
        "currentTopic": None,
        "contextVariables": {},
        "turnCount": 1,
        "lastEmotion": None,
        "createdAt": now,
        "updatedAt": now,
    }


def test_reading_a_session_does_not_keep_it_alive(client: Client, clock: SettableClock) -> None:
    record_turn(client, S, "hello")
    clock.move(minutes=29)
    get(client, S)
    working_memory(client, S)

    clock.move(minutes=1)

    assert working_memory(client, S) is None


# Clocks that jump


def test_a_clock_set_back_by_a_day_keeps_the_session_for_thirty_minutes(
    server: Server, client: Client, clock: SettableClock
) -> None:
    record_turn(client, S, "hello")

    clock.move(days=-1)

    wait_until(lambda: working_memory(client, S)["updatedAt"] == "2026-02-28T12:00:00.000000+00:00")
    clock.move(minutes=29, seconds=59)
    assert working_memory(client, S)["turnCount"] == 1
    clock.move(seconds=1)
    assert working_memory(client, S) is None
    wait_until_swept(server)


def test_a_clock_set_back_while_the_server_was_off_keeps_the_session_for_thirty_minutes(
    tmp_path: Path, clock: SettableClock
) -> None:
    with chat_server(tmp_path, clock) as server, server.client() as client:
        record_turn(client, S, "hello")
    clock.move(days=-1)

    with chat_server(tmp_path, clock) as server, server.client() as client:
        wait_until(lambda: working_memory(client, S)["updatedAt"] == "2026-02-28T12:00:00.000000+00:00")
        clock.move(minutes=30)
        assert working_memory(client, S) is None
        wait_until_swept(server)


def test_a_turn_after_the_clock_was_set_back_is_counted(client: Client, clock: SettableClock) -> None:
    record_turn(client, S, "hello")
    clock.move(days=-1)

    memory = record_turn(client, S, "what day is it?")["workingMemory"]

    assert (memory["turnCount"], memory["updatedAt"]) == (2, "2026-02-28T12:00:00.000000+00:00")


def test_a_clock_that_jumps_a_year_ahead_ends_every_session(
    server: Server, client: Client, clock: SettableClock
) -> None:
    record_turn(client, "one", "hello")
    record_turn(client, "two", "hello")

    clock.move(days=365)

    wait_until_swept(server)
    assert record_turn(client, "one", "hello")["workingMemory"]["turnCount"] == 1


# Archiving


def test_nothing_is_archived_unless_it_is_set(server: Server, client: Client, clock: SettableClock) -> None:
    record_turn(client, S, "hello", currentTopic="tea", contextVariables={"city": "Kyoto"})

    clock.move(minutes=30)

    wait_until_swept(server)
    assert facts(client) == []


def test_topic_and_variables_are_archived_as_inferred_facts(
    server: Server, client: Client, clock: SettableClock
) -> None:
    set_memory(client, archiveOnExpiry=True)
    record_turn(client, S, "hello", currentTopic="旅行", contextVariables={"city": "Kyoto", "trip": {"days": [3, 4]}})

    clock.move(minutes=30)

    wait_until_swept(server)
    assert told(client) == [
        ("FACT", "city", "Kyoto"),
        ("FACT", "trip", {"days": [3, 4]}),
        ("PATTERN", "topic: 旅行", "旅行"),
    ]
    for fact in facts(client):
        assert (fact["source"], fact["sessionId"]) == ("INFERRED", S)
        assert fact["createdAt"] == "2026-03-01T12:30:00.000000+00:00"
        assert fact["confidence"] < 0.9


def test_a_session_that_ended_is_archived_by_the_turn_that_begins_it_anew(
    unswept: Client, clock: SettableClock
) -> None:
    set_memory(unswept, archiveOnExpiry=True)
    record_turn(unswept, S, "hello", contextVariables={"city": "Kyoto"})
    clock.move(minutes=30)

    record_turn(unswept, S, "me again", contextVariables={"city": "Nara"})

    assert told(unswept) == [("FACT", "city", "Kyoto")]


def test_what_was_archived_is_not_archived_again(server: Server, client: Client, clock: SettableClock) -> None:
    set_memory(client, archiveOnExpiry=True)
    archived = []
    for _ in range(2):
        record_turn(client, S, "hello", currentTopic="Tea", contextVariables={"city": "Kyoto"})
        clock.move(minutes=30)
        wait_until_swept(server)
        archived.append(facts(client))

    assert len(archived[0]) == 2
    assert archived[1] == archived[0]
    assert rows(server, "SELECT count(*) FROM fact") == [(2,)]


def test_a_session_that_ended_while_the_server_was_off_is_archived_once(tmp_path: Path, clock: SettableClock) -> None:
    with chat_server(tmp_path, clock) as server, server.client() as client:
        set_memory(client, archiveOnExpiry=True)
        record_turn(client, S, "hello", contextVariables={"city": "Kyoto"})
    clock.move(hours=5)

    for _ in range(2):
        with chat_server(tmp_path, clock) as server, server.client() as client:
            wait_until_swept(server)
            assert told(client) == [("FACT", "city", "Kyoto")]
            assert rows(server, "SELECT count(*) FROM fact") == [(1,)]


def test_a_variable_that_was_taken_away_is_not_archived(server: Server, client: Client, clock: SettableClock) -> None:
    set_memory(client, archiveOnExpiry=True)
    variables(client, city="Kyoto", step=3)
    variables(client, step=None)

    clock.move(minutes=30)

    wait_until_swept(server)
    assert told(client) == [("FACT", "city", "Kyoto")]


def test_secrets_are_not_archived(server: Server, client: Client, clock: SettableClock) -> None:
    set_memory(client, archiveOnExpiry=True)
    given = {"city": "Kyoto", "password": "correct-horse-7", "note": "the api key is sk-abcdefghijklmnop1234567890"}
    record_turn(client, S, "hello", currentTopic="my password is correct-horse-7", contextVariables=given)

    clock.move(minutes=30)

    wait_until_swept(server)
    assert told(client) == [("FACT", "city", "Kyoto")]


# Ids


@pytest.mark.parametrize("session_id", ["a/b", "/a//b/", "会议-2026", "a?b#c%2F", "s/events", "😀", "x" * 128])
def test_odd_ids_name_a_session_on_every_face(client: Client, session_id: str) -> None:
    created = record_turn(client, session_id, "hello")["workingMemory"]

    assert created["sessionId"] == session_id
    assert working_memory(client, session_id) == created
    assert get(client, session_id).json()["session_id"] == session_id


@pytest.mark.parametrize("session_id", ["", " ", "a b", "a\tb", "\u3000", "a\x00b", "x" * 129])
def test_ids_with_spaces_or_nothing_in_them_are_refused(server: Server, client: Client, session_id: str) -> None:
    payload = record_turn(client, session_id, "hello")

    (problem,) = payload["problems"]
    assert (problem["code"], problem["path"]) == ("BAD_INPUT", ["sessionId"])
    assert rows(server, SESSIONS) == []
    assert get(client, session_id).status_code == 404


def test_an_odd_turn_id_is_refused(server: Server, client: Client) -> None:
    for turn_id in ("", "a b", "x" * 129):
        (problem,) = record_turn(client, S, "hello", turn_id=turn_id)["problems"]
        assert (problem["code"], problem["path"]) == ("BAD_INPUT", ["turnId"])

    assert rows(server, SESSIONS) == []


# Hostile input

TOO_LONG = "x" * 100_001


def nested(depth: int) -> Any:
    return [] if depth == 0 else [nested(depth - 1)]


REFUSED: dict[str, Callable[[Client], Any]] = {
    "a huge message": lambda client: record_turn(client, S, TOO_LONG),
    "1,001 messages": lambda client: record_turn(client, S, *["hi"] * 1_001),
    "NUL in a message": lambda client: record_turn(client, S, "a\x00b"),
    "one bad message of many": lambda client: record_turn(client, S, "fine", "a\x00b"),
    "NUL in a topic": lambda client: record_turn(client, S, "hi", currentTopic="a\x00b"),
    "NUL in an emotion": lambda client: record_turn(client, S, "hi", emotion="a\x00b"),
    "NUL in a variable": lambda client: record_turn(client, S, "hi", contextVariables={"a": ["\x00"]}),
    "NUL in a name": lambda client: record_turn(client, S, "hi", contextVariables={"\x00": 1}),
    "a long topic": lambda client: record_turn(client, S, "hi", currentTopic="x" * 501),
    "a long emotion": lambda client: record_turn(client, S, "hi", emotion="x" * 201),
    "a huge variable": lambda client: record_turn(client, S, "hi", contextVariables={"a": TOO_LONG}),
    "variables that are huge together": lambda client: record_turn(
        client, S, "hi", contextVariables={"b": "x" * 60_000}
    ),
    "many variables": lambda client: record_turn(client, S, "hi", contextVariables={str(n): n for n in range(10_001)}),
    "deep variables": lambda client: record_turn(client, S, "hi", contextVariables={"a": nested(16)}),
    "variables as a list": lambda client: record_turn(client, S, "hi", contextVariables=[1]),
    "variables as a text": lambda client: record_turn(client, S, "hi", contextVariables="a"),
    "variables as a number": lambda client: record_turn(client, S, "hi", contextVariables=0),
    "a number of 54 bits": lambda client: record_turn(client, S, "hi", contextVariables={"a": 2**53 + 1}),
    "a negative number of 54 bits": lambda client: record_turn(client, S, "hi", contextVariables={"a": -(2**53) - 1}),
    "a number of 65 bits": lambda client: record_turn(client, S, "hi", contextVariables={"a": [2**64]}),
    "a number of 100 digits": lambda client: record_turn(client, S, "hi", contextVariables={"a": 10**99}),
    "a fact without a key": lambda client: record_turn(client, S, "hi", memoryUpdate=state("", "tea")),
    "a fact without a value": lambda client: record_turn(client, S, "hi", memoryUpdate=state("drink", None)),
    "a fact with NUL": lambda client: record_turn(client, S, "hi", memoryUpdate=state("drink", "\x00")),
}


@pytest.fixture
def lively(client: Client) -> Client:
    """A client whose session has something that must stay as it is."""
    record_turn(client, S, "hello", turn_id="t1", contextVariables={"a": "x" * 50_000})
    return client


def everything(server: Server) -> list[Any]:
    return [
        rows(server, f"SELECT * FROM {table}") for table in ("working_memory", "message", "turn", "fact", "session")
    ]


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_kept_is_refused_and_nothing_is_written(server: Server, lively: Client, what: str) -> None:
    before = everything(server)

    payload = REFUSED[what](lively)

    (problem,) = payload["problems"]
    assert problem["code"] == "BAD_INPUT"
    assert problem["message"]
    assert problem["path"]
    assert payload["workingMemory"] is None
    assert everything(server) == before


RAW = {
    "a lone surrogate in a message": b'"messages": [{"role": "USER", "content": "\\ud800"}]',
    "bytes that are no UTF-8": b'"messages": [{"role": "USER", "content": "\xed\xa0\x80"}]',
    "a lone surrogate in a variable": b'"messages": [], "analysis": {"contextVariables": {"a": "\\udfff"}}',
    "a lone surrogate in a name": b'"messages": [], "analysis": {"contextVariables": {"\\ud800": 1}}',
    "1e999": b'"messages": [], "analysis": {"contextVariables": {"a": 1e999}}',
    "-1e999": b'"messages": [], "analysis": {"contextVariables": {"a": -1e999}}',
    "NaN": b'"messages": [], "analysis": {"contextVariables": {"a": NaN}}',
    "10,000 levels": b'"messages": [], "analysis": {"contextVariables": {"a": ' + b"[" * 10_000 + b"]" * 10_000 + b"}}",
    "an unknown role": b'"messages": [{"role": "GOD", "content": "hi"}]',
    "an unknown field": b'"messages": [{"role": "USER", "content": "hi", "mood": 1}]',
    "no messages at all": b'"turnId": "t2"',
    "null as messages": b'"messages": null',
    "null as a message": b'"messages": [null]',
}


@pytest.mark.parametrize("what", RAW)
def test_what_is_no_proper_question_is_an_error_and_nothing_is_written(
    server: Server, lively: Client, what: str
) -> None:
    before = everything(server)
    query = "mutation($input: RecordTurnInput!) { recordTurn(input: $input) { problems { code } } }"
    body = b'{"query": "%s", "variables": {"input": {"sessionId": "%s", %s}}}' % (query.encode(), S.encode(), RAW[what])

    response = lively.http.post("/graphql", content=body, headers={"content-type": "application/json"})

    (error,) = response.json()["errors"]
    assert response.status_code < 500
    assert error["extensions"]["code"] == "BAD_INPUT"
    assert error["message"]
    assert everything(server) == before


@pytest.mark.parametrize("literal", ["1e999", "9007199254740993", "1" * 5_000, r'"\ud800"', "[" * 17 + "]" * 17, "$x"])
def test_variables_written_into_the_question_are_held_to_the_same_bounds(
    server: Server, lively: Client, literal: str
) -> None:
    before = everything(server)
    given = f'{{sessionId: "{S}", messages: [], analysis: {{contextVariables: {{a: {literal}}}}}}}'

    body = lively.post(f"mutation {{ recordTurn(input: {given}) {{ problems {{ code }} }} }}").json()

    problems = body["data"]["recordTurn"]["problems"] if body.get("data") else [body["errors"][0]["extensions"]]
    assert [problem["code"] for problem in problems] == ["BAD_INPUT"]
    assert everything(server) == before


# Secrets

SECRETS = {
    "an API key": "sk-abcdefghijklmnop1234567890",
    "a token": "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "a card number": "4111 1111 1111 1111",
    "a password": "correct-horse-7",
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
def test_a_secret_reaches_no_file(server: Server, client: Client, secret: str) -> None:
    told = f"my password is: {secret}"
    payload = record_turn(
        client,
        S,
        told,
        assistant(told),
        turn_id="t1",
        currentTopic=told,
        emotion=told,
        contextVariables={
            "note": told,
            "list": [{"deep": told}],
            "password": secret,
            "nested": {"password": secret},
            told: 1,
        },
        memoryUpdate=state("password", secret),
    )

    assert payload["workingMemory"]["turnCount"] == 1
    assert rows(server, "SELECT count(*) FROM message") == [(2,)]
    assert not holding(server, secret)


def test_a_secret_that_is_a_number_reaches_no_file(server: Server, client: Client) -> None:
    variables(client, pin=94_817_263, card=4_111_111_111_111_111)

    assert not holding(server, "94817263")
    assert not holding(server, "4111111111111111")


def holding(server: Server, text: str) -> list[Path]:
    """Files of the data folder in which the text stands."""
    files = [path for path in server.data_dir.rglob("*") if path.is_file()]
    assert any(path.name == "loregraph.db-wal" and path.stat().st_size for path in files)
    return [path for path in files if text.encode() in path.read_bytes()]
