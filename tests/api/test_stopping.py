"""A server that is told to stop while clients follow something: it does not wait for them."""

import contextlib
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.api.test_serve_command import Command, serving
from tests.talking import STATUS, connected

SERVICE_RESTART = 1012


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Command]:
    with serving(tmp_path / "data") as command:
        yield command


@contextlib.contextmanager
def following(command: Command) -> Iterator[Iterator[str]]:
    """The lines of an event stream, after its first event."""
    headers = {"accept": "text/event-stream"}
    with (
        command.client() as client,
        client.http.stream("POST", "/graphql", json={"query": STATUS}, headers=headers) as response,
    ):
        lines = response.iter_lines()
        assert next(lines) == "event: next"
        assert next(lines).startswith("data: ")
        yield lines


def has_waited_in_vain(command: Command) -> bool:
    """As the log of uvicorn tells it, when it ran out of patience with open connections."""
    logged = command.errors.read_text(encoding="utf-8")
    events = [json.loads(line)["event"] for line in logged.splitlines()]
    assert "stopped" in events, logged
    return any("graceful shutdown exceeded" in event for event in events)


@pytest.mark.parametrize("stopped_by", [signal.SIGTERM, signal.SIGINT])
def test_open_websocket_is_closed(command: Command, stopped_by: signal.Signals) -> None:
    with connected(command.url) as talk:
        talk.subscribe("1", STATUS)
        talk.next_status("1")

        code = command.stop(stopped_by)

        assert talk.closed()[0] == SERVICE_RESTART
    assert code in (0, -stopped_by, 128 + stopped_by)
    assert not has_waited_in_vain(command)


@pytest.mark.parametrize("stopped_by", [signal.SIGTERM, signal.SIGINT])
def test_open_event_stream_is_ended(command: Command, stopped_by: signal.Signals) -> None:
    with following(command) as lines:
        code = command.stop(stopped_by)

        assert [line for line in lines if line] == []
    assert code in (0, -stopped_by, 128 + stopped_by)
    assert not has_waited_in_vain(command)


def test_many_of_both_are_ended(command: Command) -> None:
    with contextlib.ExitStack() as clients:
        talks = [clients.enter_context(connected(command.url)) for _ in range(20)]
        streams = [clients.enter_context(following(command)) for _ in range(20)]
        for talk in talks:
            for number in range(5):
                talk.subscribe(f"{number}", STATUS)
                talk.next_status(f"{number}")

        command.stop()

        assert {talk.closed()[0] for talk in talks} == {SERVICE_RESTART}
        assert [line for lines in streams for line in lines if line] == []
    assert not has_waited_in_vain(command)


def test_connection_that_never_said_a_word_is_ended(command: Command) -> None:
    with httpx.Client(base_url=command.url, trust_env=False) as idle, connected(command.url) as silent:
        idle.get("/health")

        command.stop()

        assert silent.closed()[0] == SERVICE_RESTART
    assert not has_waited_in_vain(command)
