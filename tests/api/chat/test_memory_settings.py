"""Settings of chat memory: their defaults, their changes over GraphQL and REST, and what they switch off."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from api.settings import Settings
from tests.api.building import Owners
from tests.api.chat.chatting import (
    chat_server,
    facts,
    four_messages,
    learned,
    memory_md,
    record_turn,
    report,
    set_memory,
    state,
    working_memory,
)
from tests.api.test_search_ladder import eventually
from tests.clock import SettableClock
from tests.serving import Client, running

CONFIG = "/api/memory/config"
DEFAULTS = {
    "enabled": True,
    "autoExtract": True,
    "flushThreshold": 0.75,
    "extractionIntervalSeconds": 60,
    "extractionMinMessages": 4,
    "retrievalLimit": 5,
    "evictionThreshold": None,
    "archiveOnExpiry": False,
}
OTHERS = {
    "enabled": False,
    "autoExtract": False,
    "flushThreshold": 0.5,
    "extractionIntervalSeconds": 0,
    "extractionMinMessages": 1,
    "retrievalLimit": 100,
    "evictionThreshold": 1_000_000,
    "archiveOnExpiry": True,
}
FIELDS = " ".join(DEFAULTS)


def settings(client: Client) -> Any:
    """The same over GraphQL and REST."""
    shown = client.ask(f"{{ memorySettings {{ {FIELDS} }} }}")["memorySettings"]
    rest = client.http.get(CONFIG)
    assert (rest.status_code, rest.json()) == (200, shown)
    return shown


def update(client: Client, **changes: Any) -> Any:
    return client.mutate("updateMemorySettings", f"memorySettings {{ {FIELDS} }}", **changes)


# Changing


def test_settings_of_a_new_owner_are_the_defaults(client: Client) -> None:
    assert settings(client) == DEFAULTS


@pytest.mark.parametrize("name", DEFAULTS)
def test_what_is_not_named_stays(client: Client, name: str) -> None:
    payload = update(client, **{name: OTHERS[name]})

    expected = DEFAULTS | {name: OTHERS[name]}
    assert payload == {"memorySettings": expected, "problems": []}
    assert settings(client) == expected


def test_an_update_of_nothing_changes_nothing(client: Client) -> None:
    update(client, **OTHERS)

    assert update(client) == {"memorySettings": OTHERS, "problems": []}


@pytest.mark.parametrize("name", [name for name in DEFAULTS if name != "evictionThreshold"])
def test_null_is_refused_by_name_and_changes_nothing(client: Client, name: str) -> None:
    payload = update(client, evictionThreshold=3, **{name: None})
    rest = client.http.put(CONFIG, json={"evictionThreshold": 3, name: None})

    (problem,) = payload["problems"]
    assert (payload["memorySettings"], problem["code"], problem["path"]) == (None, "BAD_INPUT", [name])
    assert (rest.status_code, rest.json()["code"], rest.json()["path"]) == (422, "BAD_INPUT", [name])
    assert settings(client) == DEFAULTS


def test_null_takes_the_eviction_threshold_away(client: Client) -> None:
    update(client, evictionThreshold=3)

    assert update(client, evictionThreshold=None)["memorySettings"] == DEFAULTS
    client.http.put(CONFIG, json={"evictionThreshold": 3})
    assert client.http.put(CONFIG, json={"evictionThreshold": None}).json() == DEFAULTS
    assert settings(client) == DEFAULTS


UNFIT = [
    ("flushThreshold", 0),
    ("flushThreshold", -0.1),
    ("flushThreshold", 1.01),
    ("extractionIntervalSeconds", -1),
    ("extractionIntervalSeconds", 86_401),
    ("extractionMinMessages", 0),
    ("extractionMinMessages", 1_001),
    ("retrievalLimit", 0),
    ("retrievalLimit", 101),
    ("evictionThreshold", 0),
    ("evictionThreshold", 1_000_000_001),
]


@pytest.mark.parametrize(("name", "value"), UNFIT)
def test_what_is_beyond_its_range_is_refused_by_name_and_changes_nothing(client: Client, name: str, value: Any) -> None:
    payload = update(client, archiveOnExpiry=True, **{name: value})
    rest = client.http.put(CONFIG, json={"archiveOnExpiry": True, name: value})

    (problem,) = payload["problems"]
    assert (payload["memorySettings"], problem["code"], problem["path"]) == (None, "BAD_INPUT", [name])
    assert (rest.status_code, rest.json()) == (422, problem)
    assert settings(client) == DEFAULTS


@pytest.mark.parametrize("name", DEFAULTS)
def test_put_merges_what_it_is_given(client: Client, name: str) -> None:
    answer = client.http.put(CONFIG, json={name: OTHERS[name]})

    assert (answer.status_code, answer.json()) == (200, DEFAULTS | {name: OTHERS[name]})
    assert settings(client) == answer.json()


def test_put_of_an_empty_object_changes_nothing(client: Client) -> None:
    client.http.put(CONFIG, json=OTHERS)

    assert client.http.put(CONFIG, json={}).json() == OTHERS


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("enabled", "true"),
        ("enabled", 1),
        ("autoExtract", 0),
        ("archiveOnExpiry", []),
        ("flushThreshold", "0.5"),
        ("flushThreshold", True),
        ("extractionIntervalSeconds", 1.5),
        ("extractionIntervalSeconds", True),
        ("extractionMinMessages", "4"),
        ("retrievalLimit", {}),
        ("retrievalLimit", 5.0),
        ("evictionThreshold", False),
        ("evictionThreshold", "3"),
        ("retrieval_limit", 3),
        ("Enabled", True),
        ("colour", "green"),
        ("", 1),
    ],
)
def test_wrong_types_and_unknown_names_are_refused_by_name_and_change_nothing(
    client: Client, name: str, value: Any
) -> None:
    answer = client.http.put(CONFIG, json={"extractionMinMessages": 9} | {name: value})

    assert (answer.status_code, list(answer.json())) == (422, ["code", "message", "path"])
    assert (answer.json()["code"], name in answer.json()["message"]) == ("BAD_INPUT", True)
    assert settings(client) == DEFAULTS


@pytest.mark.parametrize("body", [[], None, 3, "enabled", [{"enabled": False}]])
def test_what_is_no_object_is_refused(client: Client, body: Any) -> None:
    answer = client.http.put(CONFIG, content=json.dumps(body), headers={"content-type": "application/json"})

    assert (answer.status_code, answer.json()["code"]) == (422, "BAD_INPUT")
    assert settings(client) == DEFAULTS


def test_what_is_no_json_is_refused(client: Client) -> None:
    answer = client.http.put(CONFIG, content=b"{enabled", headers={"content-type": "application/json"})

    assert (answer.status_code, answer.json()["code"]) == (400, "BAD_INPUT")


def test_settings_are_of_one_owner(owners: Owners) -> None:
    with ExitStack() as stack:
        alice, bob = (stack.enter_context(owners.next_client()) for _ in range(2))

        set_memory(alice, **OTHERS)

        assert (settings(alice), settings(bob)) == (OTHERS, DEFAULTS)


# What the server is started with


def test_settings_survive_a_restart(tmp_path: Path, clock: SettableClock) -> None:
    with chat_server(tmp_path, clock) as server, server.client() as client:
        set_memory(client, **OTHERS)

    with chat_server(tmp_path, clock) as server, server.client() as client:
        assert settings(client) == OTHERS


def test_environment_gives_the_default_and_what_is_stored_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_RETRIEVAL_LIMIT", "8")
    monkeypatch.setenv("MEMORY_EVICTION_THRESHOLD", "50")
    given = Settings(data_dir=tmp_path, embedder="none")

    with running(given) as server, server.client() as client:
        assert settings(client) == DEFAULTS | {"retrievalLimit": 8, "evictionThreshold": 50}
        set_memory(client, retrievalLimit=3, evictionThreshold=None)

    with running(given) as server, server.client() as client:
        assert settings(client) == DEFAULTS | {"retrievalLimit": 3, "evictionThreshold": None}


def test_an_update_stores_only_what_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A default that changes later still holds for all else."""
    with running(Settings(data_dir=tmp_path, embedder="none")) as server, server.client() as client:
        set_memory(client, archiveOnExpiry=True)
    monkeypatch.setenv("MEMORY_RETRIEVAL_LIMIT", "8")

    with running(Settings(data_dir=tmp_path, embedder="none")) as server, server.client() as client:
        assert settings(client) == DEFAULTS | {"archiveOnExpiry": True, "retrievalLimit": 8}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MEMORY_RETRIEVAL_LIMIT", "0"),
        ("MEMORY_RETRIEVAL_LIMIT", "101"),
        ("MEMORY_RETRIEVAL_LIMIT", "five"),
        ("MEMORY_EVICTION_THRESHOLD", "0"),
        ("MEMORY_EVICTION_THRESHOLD", "-5"),
        ("MEMORY_EVICTION_THRESHOLD", "1.5"),
    ],
)
def test_an_environment_that_says_nonsense_is_told(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(ValidationError, match=name):
        Settings()


def test_an_empty_eviction_threshold_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_EVICTION_THRESHOLD", " ")

    assert Settings().memory.eviction_threshold is None


# Memory that is off


def test_nothing_is_learned_while_memory_is_off(client: Client) -> None:
    set_memory(client, enabled=False)
    record_turn(client, "s1", *four_messages("My name is Marisol Quintanilla."))

    assert report(client, "s1", "STREAM_IDLE")[0] == "EXTRACTION_SKIPPED"
    assert report(client, "s1", "USAGE_INFO", used=90, limit=100)[0] != "FLUSH_STARTED"
    assert report(client, "s1", "COMPACTION_START")[0] != "FLUSH_STARTED"
    assert (working_memory(client, "s1")["turnCount"], learned(client)) == (1, [])


def test_what_was_said_while_memory_was_off_is_never_learned(client: Client, clock: SettableClock) -> None:
    set_memory(client, enabled=False)
    record_turn(client, "s1", *four_messages("My name is Marisol Quintanilla."))
    set_memory(client, enabled=True)
    record_turn(client, "s1", *four_messages("My name is Tobias Ekholm."))

    assert report(client, "s1", "STREAM_IDLE") == ("EXTRACTION_STARTED", None)
    eventually(lambda: learned(client), lambda seen: len(seen) > 0)

    assert "Tobias Ekholm" in memory_md(client)
    assert "Quintanilla" not in memory_md(client)


def test_while_memory_is_off_no_message_reaches_a_file(tmp_path: Path, clock: SettableClock) -> None:
    with chat_server(tmp_path, clock) as server, server.client() as client:
        set_memory(client, enabled=False)
        record_turn(client, "s1", *four_messages("My name is Marisol Quintanilla."))

        assert not any(b"Quintanilla" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_facts_of_a_turn_are_kept_while_memory_is_off(client: Client) -> None:
    """The host says so itself; that is no learning."""
    set_memory(client, enabled=False)

    record_turn(client, "s1", memoryUpdate=state("city", "Kyoto"))

    assert [each["value"] for each in facts(client)] == ["Kyoto"]


def test_nothing_is_injected_while_memory_is_off(client: Client) -> None:
    record_turn(client, "s1", memoryUpdate=state("favourite city", "Kyoto"))
    client.mutate("appendMemory", "file { version }", fact="Lives in Kyoto", category="Facts")
    query = """{
      systemPrompt(message: "my favourite city") { text sections { title } }
      recall(message: "city") { fact { value } }
    }"""
    before = client.ask(query)
    assert len(before["systemPrompt"]["sections"]) == 2

    set_memory(client, enabled=False)

    after = client.ask(query)
    assert after["systemPrompt"] == {"text": "", "sections": []}
    assert after["recall"] == before["recall"]


def test_an_idle_session_is_not_learned_from_without_automatic_extraction(client: Client) -> None:
    set_memory(client, autoExtract=False)
    record_turn(client, "s1", *four_messages("My name is Marisol Quintanilla."))

    assert report(client, "s1", "STREAM_IDLE")[0] == "EXTRACTION_SKIPPED"
