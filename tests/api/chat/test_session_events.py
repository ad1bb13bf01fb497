"""A session's life as its host reports it, on a real server: learning when it is idle, flushing when it gets full."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response

from tests import chat_server as model
from tests.api.chat.chatting import (
    chat_server,
    four_messages,
    learned,
    memory_md,
    record_turn,
    report,
    report_event,
    rows,
    set_memory,
)
from tests.api.test_serve_command import serving
from tests.clock import SettableClock
from tests.embedding_server import Json, refusing
from tests.serving import Client, Server
from tests.talking import PATIENCE_SECONDS, wait_until

S = "session_1"
KYOTO, PEANUTS = "I live in Kyoto.", "I am allergic to peanuts."
LIVES_IN_KYOTO = "User lives in Kyoto"
HALF_AN_HOUR = 30

STARTED = ("EXTRACTION_STARTED", None)
FLUSHING = ("FLUSH_STARTED", None)
FLUSHED = ("FLUSH_SKIPPED", "this compaction cycle has been flushed")
BELOW = ("NONE", "the use is below the threshold")
OFF = ("EXTRACTION_SKIPPED", "automatic memory is off")


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


@dataclass
class SlowModel:
    """Takes every message of the user for a fact, but answers only once it may."""

    may_answer: threading.Event = field(default_factory=threading.Event)
    at_work: int = 0
    most_at_work: int = 0

    async def __call__(self, request: Request, asked: Json) -> Response:
        self.at_work += 1
        self.most_at_work = max(self.at_work, self.most_at_work)
        await asyncio.to_thread(self.may_answer.wait, PATIENCE_SECONDS)
        self.at_work -= 1
        return await model.well(request, asked)


@contextmanager
def server_asking(llm: model.ChatServer, data_dir: Path, clock: SettableClock) -> Iterator[Server]:
    with chat_server(data_dir, clock, llm_base_url=llm.base_url, llm_model=model.MODEL) as server:
        yield server


def idle(client: Client, session_id: str = S) -> tuple[str, str | None]:
    return report(client, session_id, "STREAM_IDLE")


def use(client: Client, percent: int, session_id: str = S) -> tuple[str, str | None]:
    return report(client, session_id, "USAGE_INFO", percent, 100)


def compaction(client: Client, what: str) -> tuple[str, str | None]:
    return report(client, S, f"COMPACTION_{what}")


def post(client: Client, session_id: str, body: Any) -> httpx.Response:
    return client.http.post(f"/api/sessions/{quote(session_id, safe='')}/events", json=body)


def waiting(server: Server) -> list[str]:
    """The messages that nothing was learned from yet."""
    return [content for (content,) in rows(server, "SELECT content FROM message ORDER BY seq")]


def wait_until_settled(server: Server) -> None:
    wait_until(lambda: rows(server, "SELECT id FROM session WHERE wanted IS NOT NULL") == [])


# Idle


def test_an_idle_session_is_learned_from(server: Server, client: Client) -> None:
    record_turn(client, S, *four_messages(KYOTO))

    assert idle(client) == STARTED

    wait_until(lambda: learned(client) == [LIVES_IN_KYOTO])
    wait_until(lambda: waiting(server) == [])


def test_fewer_than_four_messages_are_skipped(server: Server, client: Client) -> None:
    for count, said in enumerate((KYOTO, "Hello?", "Well.")):
        assert idle(client) == ("EXTRACTION_SKIPPED", f"{count} of 4 new messages")
        record_turn(client, S, said)

    assert idle(client) == ("EXTRACTION_SKIPPED", "3 of 4 new messages")
    assert waiting(server) == [KYOTO, "Hello?", "Well."]


def test_less_than_sixty_seconds_after_the_last_extraction_are_skipped(
    server: Server, client: Client, clock: SettableClock
) -> None:
    record_turn(client, S, *four_messages(KYOTO))
    idle(client)
    wait_until_settled(server)
    record_turn(client, S, *four_messages(PEANUTS))

    clock.move(seconds=59)
    assert idle(client) == ("EXTRACTION_SKIPPED", "59 of 60 s since the last time")

    clock.move(seconds=1)
    assert idle(client) == STARTED
    wait_until(lambda: len(learned(client)) == 2)


def test_only_messages_since_the_last_extraction_count(server: Server, client: Client, clock: SettableClock) -> None:
    record_turn(client, S, *four_messages(KYOTO))
    idle(client)
    wait_until_settled(server)
    clock.move(minutes=5)

    record_turn(client, S, "Hello again!")

    assert idle(client) == ("EXTRACTION_SKIPPED", "1 of 4 new messages")


def test_settings_change_how_many_messages_and_how_long_between(
    server: Server, client: Client, clock: SettableClock
) -> None:
    set_memory(client, extractionMinMessages=2, extractionIntervalSeconds=5)
    record_turn(client, S, KYOTO)
    assert idle(client) == ("EXTRACTION_SKIPPED", "1 of 2 new messages")
    record_turn(client, S, "Hello?")
    assert idle(client) == STARTED
    wait_until_settled(server)

    record_turn(client, S, PEANUTS, "Hello?")
    clock.move(seconds=4)
    assert idle(client) == ("EXTRACTION_SKIPPED", "4 of 5 s since the last time")
    clock.move(seconds=1)
    assert idle(client) == STARTED


def test_with_automatic_memory_off_messages_wait(server: Server, client: Client) -> None:
    set_memory(client, autoExtract=False)
    record_turn(client, S, *four_messages(KYOTO))
    assert idle(client) == OFF
    assert len(waiting(server)) == 4

    set_memory(client, autoExtract=True)

    assert idle(client) == STARTED


def test_with_memory_off_messages_are_not_even_kept(server: Server, client: Client) -> None:
    set_memory(client, enabled=False)
    record_turn(client, S, *four_messages(KYOTO))
    assert idle(client) == OFF
    assert waiting(server) == []

    set_memory(client, enabled=True)

    assert idle(client) == ("EXTRACTION_SKIPPED", "0 of 4 new messages")


def test_sessions_are_throttled_one_by_one(client: Client) -> None:
    for session_id in ("one", "two"):
        record_turn(client, session_id, *four_messages(KYOTO))

    assert [idle(client, session_id) for session_id in ("one", "two")] == [STARTED, STARTED]


def test_owners_are_throttled_one_by_one(tmp_path: Path, clock: SettableClock) -> None:
    tokens = {"token-a": "anna", "token-b": "ben"}
    with (
        chat_server(tmp_path, clock, tokens=tokens) as server,
        server.client("token-a") as anna,
        server.client("token-b") as ben,
    ):
        record_turn(anna, S, *four_messages(KYOTO))
        assert idle(ben) == ("EXTRACTION_SKIPPED", "0 of 4 new messages")
        record_turn(ben, S, *four_messages(PEANUTS))

        assert (idle(anna), idle(ben)) == (STARTED, STARTED)

        wait_until(lambda: learned(anna) == [LIVES_IN_KYOTO])
        wait_until(lambda: learned(ben) != [])
        assert LIVES_IN_KYOTO not in memory_md(ben)


def test_what_is_said_again_is_learned_once(server: Server, client: Client, clock: SettableClock) -> None:
    for _ in range(3):
        record_turn(client, S, *four_messages(KYOTO))
        assert idle(client) == STARTED
        wait_until_settled(server)
        clock.move(minutes=2)

    assert learned(client) == [LIVES_IN_KYOTO]


# In the background


def test_a_session_is_learned_from_by_one_at_a_time(tmp_path: Path, clock: SettableClock) -> None:
    slow = SlowModel()
    with model.chat_server() as llm, server_asking(llm, tmp_path, clock) as server, server.client() as client:
        llm.behave(slow)
        record_turn(client, S, *four_messages(KYOTO))
        assert idle(client) == STARTED
        wait_until(lambda: slow.at_work == 1)

        record_turn(client, S, *four_messages(PEANUTS))
        clock.move(minutes=2)
        assert idle(client) == ("EXTRACTION_SKIPPED", "it is being learned from")

        slow.may_answer.set()
        wait_until(lambda: {KYOTO, PEANUTS} <= set(learned(client)))
        wait_until(lambda: waiting(server) == [])
        assert slow.most_at_work == 1


def test_several_sessions_are_learned_from_at_once(tmp_path: Path, clock: SettableClock) -> None:
    slow = SlowModel()
    with model.chat_server() as llm, server_asking(llm, tmp_path, clock) as server, server.client() as client:
        llm.behave(slow)
        for session_id in ("one", "two"):
            record_turn(client, session_id, *four_messages(KYOTO))
            assert idle(client, session_id) == STARTED

        wait_until(lambda: slow.at_work == 2)
        slow.may_answer.set()


def test_turns_are_recorded_while_a_session_is_learned_from(tmp_path: Path, clock: SettableClock) -> None:
    slow = SlowModel()
    with model.chat_server() as llm, server_asking(llm, tmp_path, clock) as server, server.client() as client:
        llm.behave(slow)
        record_turn(client, S, *four_messages(KYOTO))
        idle(client)
        wait_until(lambda: slow.at_work == 1)

        assert record_turn(client, S, PEANUTS)["workingMemory"]["turnCount"] == 2

        slow.may_answer.set()
        wait_until(lambda: PEANUTS in learned(client))


# Kept until learned


def test_messages_of_a_server_that_was_killed_are_learned_from_after_its_restart(tmp_path: Path) -> None:
    with serve(tmp_path) as command, command.client() as client:
        record_turn(client, S, *four_messages(KYOTO))
        command.process.kill()

    with serve(tmp_path) as command, command.client() as client:
        assert idle(client) == STARTED
        wait_until(lambda: learned(client) == [LIVES_IN_KYOTO])


def test_an_extraction_that_was_killed_is_taken_up_again_without_being_asked(tmp_path: Path) -> None:
    with serve(tmp_path) as command, command.client() as client:
        record_turn(client, S, *four_messages(KYOTO))
        assert idle(client) == STARTED
        command.process.kill()

    with serve(tmp_path) as command, command.client() as client:
        wait_until(lambda: learned(client) == [LIVES_IN_KYOTO])


def test_an_extraction_that_a_stop_interrupts_is_taken_up_again(tmp_path: Path, clock: SettableClock) -> None:
    slow = SlowModel()
    with model.chat_server() as llm:
        llm.behave(slow)
        with server_asking(llm, tmp_path, clock) as server, server.client() as client:
            record_turn(client, S, *four_messages(KYOTO))
            idle(client)
            wait_until(lambda: slow.at_work == 1)
        slow.may_answer.set()

    with chat_server(tmp_path, clock) as server, server.client() as client:
        wait_until(lambda: learned(client) == [LIVES_IN_KYOTO])


def serve(tmp_path: Path) -> Any:
    """The command itself in a process of its own, which can be killed."""
    return serving(tmp_path / "data", LOREGRAPH_EMBEDDER="none")


# The end of a session


def test_what_waits_when_a_session_ends_is_learned(server: Server, client: Client, clock: SettableClock) -> None:
    record_turn(client, S, KYOTO)

    clock.move(minutes=HALF_AN_HOUR)

    wait_until(lambda: learned(client) == [LIVES_IN_KYOTO])
    wait_until_settled(server)
    assert waiting(server) == []


def test_what_waits_when_a_session_is_begun_anew_is_learned(client: Client, clock: SettableClock) -> None:
    record_turn(client, S, KYOTO)
    clock.move(minutes=HALF_AN_HOUR)

    record_turn(client, S, "Hello again!")

    wait_until(lambda: learned(client) == [LIVES_IN_KYOTO])


def test_what_waits_when_a_session_ends_with_the_server_off_is_learned(tmp_path: Path, clock: SettableClock) -> None:
    with chat_server(tmp_path, clock) as server, server.client() as client:
        record_turn(client, S, KYOTO)
    clock.move(hours=3)

    with chat_server(tmp_path, clock) as server, server.client() as client:
        wait_until(lambda: learned(client) == [LIVES_IN_KYOTO])


def test_with_automatic_memory_off_what_waits_goes_with_the_session(
    server: Server, client: Client, clock: SettableClock
) -> None:
    set_memory(client, autoExtract=False)
    record_turn(client, S, KYOTO)

    clock.move(minutes=HALF_AN_HOUR)

    wait_until(lambda: rows(server, "SELECT session_id FROM working_memory") == [])
    assert waiting(server) == []
    assert memory_md(client) == ""


# Flush


@pytest.mark.parametrize(
    ("used", "limit", "answer"),
    [
        (75, 100, FLUSHING),
        (749, 1000, BELOW),
        (0, 100, BELOW),
        (100, 100, FLUSHING),
        (300, 100, FLUSHING),
        (0, 0, ("NONE", "the token limit is not known")),
        (5, 0, ("NONE", "the token limit is not known")),
        (2**31 - 1, 2**31 - 1, FLUSHING),
    ],
)
def test_three_quarters_of_the_context_begin_a_flush(
    client: Client, used: int, limit: int, answer: tuple[str, str | None]
) -> None:
    record_turn(client, S, KYOTO)

    assert report(client, S, "USAGE_INFO", used, limit) == answer


def test_a_flush_waits_for_neither_messages_nor_seconds(server: Server, client: Client) -> None:
    record_turn(client, S, *four_messages(KYOTO))
    idle(client)
    wait_until_settled(server)
    record_turn(client, S, PEANUTS)
    assert idle(client)[0] == "EXTRACTION_SKIPPED"

    assert use(client, 80) == FLUSHING

    wait_until(lambda: len(learned(client)) == 2)


def test_a_flush_comes_once_in_a_compaction_cycle(server: Server, client: Client) -> None:
    record_turn(client, S, KYOTO)
    assert use(client, 80) == FLUSHING
    wait_until_settled(server)
    record_turn(client, S, PEANUTS)

    assert [use(client, 85), use(client, 85), compaction(client, "START"), use(client, 99)] == [FLUSHED] * 4

    assert compaction(client, "COMPLETE") == ("NONE", None)
    assert use(client, 80) == FLUSHING
    wait_until(lambda: len(learned(client)) == 2)


def test_compaction_that_begins_is_the_last_chance_to_flush(server: Server, client: Client) -> None:
    record_turn(client, S, KYOTO)

    assert compaction(client, "START") == FLUSHING

    wait_until(lambda: learned(client) == [LIVES_IN_KYOTO])
    wait_until_settled(server)
    assert compaction(client, "START") == FLUSHED


def test_for_hosts_that_never_tell_of_completion_a_cycle_ends_when_there_is_room_again(
    server: Server, client: Client
) -> None:
    record_turn(client, S, KYOTO)
    assert use(client, 80) == FLUSHING
    wait_until_settled(server)
    assert use(client, 60) == BELOW
    assert use(client, 80) == FLUSHED
    assert compaction(client, "START") == FLUSHED
    assert use(client, 90) == FLUSHED

    assert use(client, 30) == BELOW

    assert use(client, 80) == FLUSHING


def test_completion_that_nobody_began_is_harmless(server: Server, client: Client) -> None:
    record_turn(client, S, KYOTO)
    for _ in range(3):
        assert compaction(client, "COMPLETE") == ("NONE", None)

    assert use(client, 80) == FLUSHING
    wait_until_settled(server)
    assert use(client, 80) == FLUSHED


def test_a_session_without_any_turn_is_flushed_once_in_a_cycle(server: Server, client: Client) -> None:
    assert use(client, 80) == FLUSHING
    wait_until_settled(server)

    assert use(client, 90) == FLUSHED


def test_sessions_have_cycles_of_their_own(client: Client) -> None:
    for session_id in ("one", "two"):
        record_turn(client, session_id, KYOTO)

    assert [use(client, 80, session_id) for session_id in ("one", "two")] == [FLUSHING, FLUSHING]


def test_the_threshold_can_be_set(client: Client) -> None:
    set_memory(client, flushThreshold=0.5)
    record_turn(client, S, KYOTO)

    assert use(client, 49) == BELOW
    assert use(client, 50) == FLUSHING


def test_a_cycle_that_was_flushed_is_flushed_after_a_restart(tmp_path: Path, clock: SettableClock) -> None:
    with chat_server(tmp_path, clock) as server, server.client() as client:
        record_turn(client, S, KYOTO)
        assert use(client, 80) == FLUSHING
        wait_until_settled(server)

    with chat_server(tmp_path, clock) as server, server.client() as client:
        assert use(client, 80) == FLUSHED
        assert compaction(client, "START") == FLUSHED

    with chat_server(tmp_path, clock) as server, server.client() as client:
        assert use(client, 30) == BELOW
        assert use(client, 80) == FLUSHING


def test_a_flush_that_was_killed_is_finished_after_the_restart(tmp_path: Path) -> None:
    with serve(tmp_path) as command, command.client() as client:
        record_turn(client, S, KYOTO)
        assert use(client, 80) == FLUSHING
        command.process.kill()

    with serve(tmp_path) as command, command.client() as client:
        wait_until(lambda: learned(client) == [LIVES_IN_KYOTO])
        wait_until(lambda: use(client, 80) == FLUSHED)


def test_a_flush_that_runs_is_not_begun_twice(tmp_path: Path, clock: SettableClock) -> None:
    slow = SlowModel()
    with model.chat_server() as llm, server_asking(llm, tmp_path, clock) as server, server.client() as client:
        llm.behave(slow)
        record_turn(client, S, KYOTO)
        assert use(client, 80) == FLUSHING
        wait_until(lambda: slow.at_work == 1)

        running = ("FLUSH_SKIPPED", "a flush is running")
        assert [use(client, 80), compaction(client, "START")] == [running, running]

        slow.may_answer.set()
        wait_until(lambda: use(client, 80) == FLUSHED)
        assert slow.most_at_work == 1


def test_a_flush_that_failed_is_begun_again_and_has_lost_nothing(tmp_path: Path, clock: SettableClock) -> None:
    with model.chat_server() as llm, server_asking(llm, tmp_path, clock) as server, server.client() as client:
        llm.behave(refusing(401))
        record_turn(client, S, KYOTO)
        assert use(client, 80) == FLUSHING

        wait_until(lambda: use(client, 80) == FLUSHING)

        assert waiting(server) == [KYOTO]
        llm.behave(model.well)
        wait_until(lambda: use(client, 80) == FLUSHED)
        assert learned(client) == [KYOTO]


def test_with_memory_off_nothing_is_flushed(server: Server, client: Client) -> None:
    record_turn(client, S, KYOTO)
    set_memory(client, enabled=False)
    assert use(client, 80) == ("NONE", "memory is off")
    assert compaction(client, "START") == ("NONE", "memory is off")
    assert waiting(server) == [KYOTO]

    set_memory(client, enabled=True)

    assert use(client, 80) == FLUSHING


def test_a_cycle_that_ends_while_memory_is_off_has_ended(server: Server, client: Client) -> None:
    record_turn(client, S, KYOTO)
    use(client, 80)
    wait_until_settled(server)
    set_memory(client, enabled=False)
    compaction(client, "COMPLETE")
    set_memory(client, enabled=True)

    assert use(client, 80) == FLUSHING


def test_without_automatic_extraction_a_session_is_flushed_all_the_same(client: Client) -> None:
    set_memory(client, autoExtract=False)
    record_turn(client, S, KYOTO)

    assert use(client, 80) == FLUSHING

    wait_until(lambda: learned(client) == [LIVES_IN_KYOTO])


# What cannot be understood


@pytest.mark.parametrize(
    ("used", "limit", "path"),
    [(-1, 100, "usedTokens"), (10, -100, "tokenLimit"), (None, 100, "usedTokens"), (10, None, "tokenLimit")],
)
def test_tokens_that_are_missing_or_negative_are_a_problem_and_change_nothing(
    server: Server, client: Client, used: int | None, limit: int | None, path: str
) -> None:
    record_turn(client, S, KYOTO)

    payload = report_event(client, S, "USAGE_INFO", used, limit)

    (problem,) = payload["problems"]
    assert (problem["code"], problem["path"]) == ("BAD_INPUT", [path])
    assert (payload["action"], payload["reason"]) == ("NONE", None)
    assert rows(server, "SELECT * FROM session") == []
    refused = post(client, S, {"type": "session.usage_info", "usedTokens": used, "tokenLimit": limit})
    assert (refused.status_code, refused.json()["path"]) == (422, [path])


@pytest.mark.parametrize("session_id", ["", "a b", "\u3000", "x" * 129])
def test_an_event_of_a_session_with_no_proper_id_is_refused(server: Server, client: Client, session_id: str) -> None:
    payload = report_event(client, session_id, "COMPACTION_START")

    assert [problem["path"] for problem in payload["problems"]] == [["sessionId"]]
    assert post(client, session_id, {"type": "session.compaction_start"}).status_code in (404, 422)
    assert rows(server, "SELECT * FROM session") == []


NAMES = (
    "stream:idle",
    "session.usage_info",
    "session.compaction_start",
    "session.compaction_complete",
    "STREAM_IDLE",
    "USAGE_INFO",
    "COMPACTION_START",
    "COMPACTION_COMPLETE",
)


@pytest.mark.parametrize("type", ["", "idle", "stream_idle", "Stream:Idle", None, 1, True, ["stream:idle"], {"a": 1}])
def test_an_unknown_event_is_refused_with_the_names_that_are_known(server: Server, client: Client, type: Any) -> None:
    response = post(client, S, {"type": type})

    assert response.status_code == 422
    body = response.json()
    assert body["code"] == "BAD_INPUT"
    assert [name for name in NAMES if name not in body["message"]] == []
    assert rows(server, "SELECT * FROM session") == []


@pytest.mark.parametrize("body", [[], "stream:idle", 1, {}, [{"type": "stream:idle"}]])
def test_a_body_that_is_no_event_is_refused(client: Client, body: Any) -> None:
    assert post(client, S, body).status_code == 422


def test_a_field_that_is_not_known_is_refused_with_those_that_are(client: Client) -> None:
    response = post(client, S, {"type": "stream:idle", "tokens": 1})

    assert response.status_code == 422
    assert "'tokens'" in response.json()["message"]
    assert "usedTokens, tokenLimit" in response.json()["message"]


@pytest.mark.parametrize("tokens", [1.5, "80", True, [80], {}, 2**60])
def test_tokens_that_are_no_whole_number_are_refused(client: Client, tokens: Any) -> None:
    for name, other in (("usedTokens", "tokenLimit"), ("tokenLimit", "usedTokens")):
        response = post(client, S, {"type": "session.usage_info", name: tokens, other: 100})

        assert response.status_code == 422
        assert name in response.json()["message"]


def test_an_event_type_that_graphql_does_not_know_is_an_error(client: Client) -> None:
    query = 'mutation { reportSessionEvent(input: {sessionId: "s", type: NAP}) { action } }'

    (error,) = client.errors(query)

    assert error["extensions"]["code"] == "BAD_INPUT"


# Both faces


EVENTS = {
    "stream:idle": "STREAM_IDLE",
    "session.usage_info": "USAGE_INFO",
    "session.compaction_start": "COMPACTION_START",
    "session.compaction_complete": "COMPACTION_COMPLETE",
}
TOKENS = {"usedTokens": 10, "tokenLimit": 100}


@pytest.mark.parametrize(("name", "type"), EVENTS.items())
def test_rest_takes_the_names_of_the_documents_and_those_of_graphql(client: Client, name: str, type: str) -> None:
    action, reason = report(client, "one", type, 10, 100)

    for session_id, spoken in (("two", name), ("three", type)):
        response = post(client, session_id, {"type": spoken} | TOKENS)
        assert (response.status_code, response.json()) == (200, {"action": action, "reason": reason})


def test_rest_events_lead_to_learning(client: Client) -> None:
    record_turn(client, "a/b", *four_messages(KYOTO))

    response = post(client, "a/b", {"type": "stream:idle"})

    assert response.json() == {"action": "EXTRACTION_STARTED", "reason": None}
    wait_until(lambda: learned(client) == [LIVES_IN_KYOTO])


def test_rest_events_lead_to_one_flush_in_a_cycle(server: Server, client: Client) -> None:
    record_turn(client, "会议", KYOTO)
    full = {"type": "session.usage_info", "usedTokens": 96_000, "tokenLimit": 128_000}
    assert post(client, "会议", full).json() == {"action": "FLUSH_STARTED", "reason": None}
    wait_until_settled(server)

    response = post(client, "会议", {"type": "session.compaction_start"})

    assert response.json() == {"action": "FLUSH_SKIPPED", "reason": "this compaction cycle has been flushed"}
