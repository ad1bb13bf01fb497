"""Facts that are deleted or evicted: gone from every answer, and from every byte of every file."""

import asyncio
import contextlib
import threading
from collections.abc import Collection, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from api.composition import open_service
from api.settings import LOCAL_OWNER, Settings
from domain.facts import FactCategory
from domain.turns import MemoryUpdate, Turn, TurnAnalysis
from persistence import sqlite
from tests.api.chat.chatting import (
    chat_server,
    facts,
    four_messages,
    memory_md,
    record_turn,
    report,
    set_memory,
    state,
    working_memory,
)
from tests.api.test_search_ladder import eventually, index_file, start_rebuild, wait_for_a_build
from tests.clock import SettableClock
from tests.serving import Client, Server
from tests.waiting import join

CLEAR = "mutation { clearFacts { deletedCount problems { code } } }"
READ = "query($id: ID!) { fact(id: $id) { id value history { id value } } }"
RECALL = "query($message: String!) { recall(message: $message, limit: 100, track: false) { fact { id } } }"
SEARCH = "query($words: String!) { search(query: $words, sources: [FACT], limit: 100) { hits { id } } }"

MANY = 5_000


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def server(data_dir: Path, clock: SettableClock) -> Iterator[Server]:
    with chat_server(data_dir, clock) as server:
        yield server


def write(client: Client, key: str, value: Any, **fields: Any) -> str:
    """Answers the id."""
    (written,) = record_turn(client, "writing", memoryUpdate=state(key, value, **fields))["factWrites"]
    id_: str = written["fact"]["id"]
    return id_


def recalled(client: Client, message: str) -> list[str]:
    return [each["fact"]["id"] for each in client.ask(RECALL, message=message)["recall"]]


def searched(client: Client, words: str) -> list[str]:
    return [each["id"] for each in client.ask(SEARCH, words=words)["search"]["hits"]]


def values(client: Client) -> dict[str, Any]:
    return {each["key"]: each["value"] for each in facts(client)}


def delete(client: Client, id: str) -> None:
    assert client.delete("deleteFact", id) == {"deletedId": id, "problems": []}


def clear(client: Client) -> int:
    payload = client.ask(CLEAR)["clearFacts"]
    assert payload["problems"] == []
    count: int = payload["deletedCount"]
    return count


def traces(data_dir: Path, *texts: str) -> set[tuple[str, str]]:
    """In which files but those of the notebook a text stands, in letters of any case."""
    found = set()
    for path in data_dir.rglob("*"):
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):
            if "prompts" not in path.relative_to(data_dir).parts:
                content = path.read_bytes().lower()
                found |= {(path.name, text) for text in texts if text.lower().encode() in content}
    return found


def files_with(data_dir: Path, text: str) -> set[str]:
    return {name for name, _ in traces(data_dir, text)}


def indexed(data_dir: Path, *texts: str) -> set[str]:
    """Which of them stand in a word of the index: its file has of each only what sets it apart from the one before."""
    connection = sqlite.open_connection(index_file(data_dir), read_only=True)
    try:
        words: list[str] = []
        for table in ("keyword", "scoped"):
            connection.execute(f"CREATE VIRTUAL TABLE temp.{table}_word USING fts5vocab (main, {table}, row)")
            words += [row[0] for row in connection.execute(f"SELECT term FROM temp.{table}_word")]
    finally:
        connection.close()
    return {text for text in texts if any(text in word for word in words)}


def gone(data_dir: Path, *texts: str) -> None:
    """Waits until it is so; with much to read that goes on when the deletion has been answered."""
    eventually(lambda: traces(data_dir, *texts), lambda seen: seen == set())


def marker(number: int) -> str:
    """Stands in one fact alone, is of no length in particular, and begins as no other does."""
    random = Random(number)
    return "".join(random.choices("bcdfghjkmnpqrtvwxz", k=random.randint(12, 60)))


async def _write_many(settings: Settings, clock: SettableClock, number: int) -> None:
    async with open_service(settings, clock) as service:
        sessions = service.use_cases(LOCAL_OWNER).sessions
        for start in range(0, number, 250):
            turns = (
                Turn("writing", (), analysis=TurnAnalysis(memory_update=_update(each)))
                for each in range(start, min(start + 250, number))
            )
            await asyncio.gather(*map(sessions.record_turn, turns))
        await service.use_cases(LOCAL_OWNER).facts.recall(marker(0), None, 1, track=False)


def _update(number: int) -> MemoryUpdate:
    return MemoryUpdate(
        should_store=True, category=FactCategory.FACT, key=key_of(number), value=f"some text of {marker(number)}"
    )


def key_of(number: int) -> str:
    return f"{number:05}key"


@pytest.fixture
def many(data_dir: Path, clock: SettableClock) -> Iterator[Server]:
    """A server with thousands of facts."""
    asyncio.run(_write_many(Settings(data_dir=data_dir, embedder="none"), clock, MANY))
    with chat_server(data_dir, clock) as server:
        yield server


@contextlib.contextmanager
def readers(server: Server, number: int, words: str) -> Iterator[None]:
    """Who ask all the time for what is being deleted."""
    stopped = threading.Event()

    def read() -> None:
        with server.client() as client:
            while not stopped.is_set():
                facts(client)
                recalled(client, words)
                searched(client, words)

    threads = [threading.Thread(target=read, name=f"reader-{each}") for each in range(number)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stopped.set()
        for thread in threads:
            join(thread)


# One fact


def test_a_deleted_fact_is_in_no_answer_any_more(server: Server) -> None:
    with server.client() as client:
        id_, kept = write(client, "instrument", "saxophone"), write(client, "city", "Kyoto")
        assert (recalled(client, "saxophone"), searched(client, "saxophone")) == ([id_], [id_])

        delete(client, id_)

        assert client.ask(READ, id=id_)["fact"] is None
        assert [each["id"] for each in facts(client)] == [kept]
        assert (recalled(client, "saxophone"), searched(client, "saxophone")) == ([], [])
        assert client.ask("{ facts { totalCount } }")["facts"]["totalCount"] == 1


def test_a_deleted_fact_is_in_no_file_any_more(server: Server, data_dir: Path) -> None:
    told = ("grandmoth", "xylophon", "彗鳶", "麒麟")
    with server.client() as client:
        id_ = write(client, "instrument of Grandmother", {"name": "Xylophone", "色": "彗鳶麒麟"})
        write(client, "city", "Kyoto")
        recalled(client, "Xylophone")
        assert all(files_with(data_dir, text) & {"loregraph.db", "loregraph.db-wal"} for text in told)
        assert indexed(data_dir, *told, "kyoto") == {*told, "kyoto"}

        delete(client, id_)

        gone(data_dir, *told)
        assert indexed(data_dir, *told, "kyoto") == {"kyoto"}
        assert (files_with(data_dir, "Kyoto") != set(), values(client)) == (True, {"city": "Kyoto"})


def test_deleting_a_fact_takes_its_history_along(server: Server, data_dir: Path) -> None:
    instruments = ("saxophone", "xylophone", "glockenspiel")
    with server.client() as client:
        ids = [write(client, "instrument", each) for each in instruments]
        write(client, "instruments", "piano")
        recalled(client, "glockenspiel")

        delete(client, ids[-1])

        assert [client.ask(READ, id=id_)["fact"] for id_ in ids] == [None] * 3
        assert values(client) == {"instruments": "piano"}
        gone(data_dir, *instruments)


def test_deleting_what_was_superseded_keeps_the_rest(server: Server, data_dir: Path) -> None:
    with server.client() as client:
        first, second, third = (write(client, "instrument", each) for each in ("saxophone", "xylophone", "piano"))

        delete(client, second)

        assert client.ask(READ, id=third)["fact"] == {
            "id": third,
            "value": "piano",
            "history": [{"id": first, "value": "saxophone"}],
        }
        assert client.ask(READ, id=second)["fact"] is None
        assert recalled(client, "piano") == [third]
        gone(data_dir, "xylophone")


def test_a_fact_that_was_deleted_cannot_be_deleted_again(server: Server) -> None:
    with server.client() as client:
        id_ = write(client, "instrument", "saxophone")
        delete(client, id_)

        payload = client.delete("deleteFact", id_)

        (problem,) = payload["problems"]
        assert (payload["deletedId"], problem["code"], problem["path"]) == (None, "NOT_FOUND", ["id"])


def test_a_turn_told_again_does_not_bring_its_deleted_fact_back(server: Server) -> None:
    with server.client() as client:
        update = state("instrument", "saxophone")
        (written,) = record_turn(client, "s1", turn_id="turn_1", memoryUpdate=update)["factWrites"]
        delete(client, written["fact"]["id"])

        again = record_turn(client, "s1", turn_id="turn_1", memoryUpdate=update)

        assert (again["factWrites"], again["problems"], facts(client)) == ([], [], [])


def test_a_deleted_fact_can_be_told_anew(server: Server) -> None:
    with server.client() as client:
        delete(client, write(client, "instrument", "saxophone"))

        (written,) = record_turn(client, "s1", memoryUpdate=state("instrument", "saxophone"))["factWrites"]

        assert (written["outcome"], recalled(client, "saxophone")) == ("ADDED", [written["fact"]["id"]])


def test_a_fact_is_forgotten_while_others_read(server: Server, data_dir: Path) -> None:
    with server.client() as client:
        ids = [write(client, f"instrument {number}", f"saxophone{number}x") for number in range(20)]
        recalled(client, "saxophone0x")
        with readers(server, 4, "saxophone1x"):
            for id_ in ids:
                delete(client, id_)
            gone(data_dir, *(f"saxophone{number}x" for number in range(20)))

        assert facts(client) == []


def test_what_somebody_still_reads_is_forgotten_when_they_have_ended(
    server: Server, data_dir: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A backup, say, that holds the database as it was."""
    with server.client() as client:
        id_ = write(client, "instrument", "saxophone")
        backup = sqlite.open_connection(data_dir / "loregraph.db", read_only=True)
        backup.execute("BEGIN")
        assert backup.execute("SELECT COUNT(*) FROM fact").fetchall() == [(1,)]

        delete(client, id_)
        eventually(lambda: capfd.readouterr().out, lambda logged: "not_forgotten_yet" in logged)
        assert facts(client) == []
        backup.close()

        gone(data_dir, "saxophone")


# All facts


def test_clearing_leaves_nothing_and_says_how_many_there_were(server: Server, data_dir: Path) -> None:
    with server.client() as client:
        ids = [write(client, "instrument", each) for each in ("saxophone", "xylophone")]
        ids += [write(client, "city", "Trondheim"), write(client, "trip", {"to": ["Reykjavik", "彗鳶麒麟"]})]
        recalled(client, "Reykjavik")

        assert (clear(client), clear(client)) == (4, 0)

        assert (facts(client), recalled(client, "Trondheim"), searched(client, "xylophone")) == ([], [], [])
        assert [client.ask(READ, id=id_)["fact"] for id_ in ids] == [None] * 4
        gone(data_dir, "saxophone", "xylophone", "trondheim", "reykjavik", "彗鳶", "麒麟")


def test_clearing_keeps_working_memory_notebook_and_settings(server: Server, data_dir: Path) -> None:
    with server.client() as client:
        client.mutate("appendMemory", "file { version }", fact="Plays the saxophone", category="Facts")
        set_memory(client, retrievalLimit=9)
        record_turn(client, "s1", "hello", currentTopic="music", contextVariables={"mood": "good"})
        write(client, "instrument", "saxophone")
        before = working_memory(client, "s1"), memory_md(client)

        assert clear(client) == 1

        assert (working_memory(client, "s1"), memory_md(client)) == before
        assert "saxophone" in memory_md(client)
        assert client.ask("{ memorySettings { retrievalLimit } }") == {"memorySettings": {"retrievalLimit": 9}}
        assert client.ask('{ search(query: "saxophone") { hits { path } } }')["search"]["hits"] == [
            {"path": "MEMORY.md"}
        ]


def test_clearing_keeps_what_others_have(data_dir: Path, clock: SettableClock) -> None:
    tokens = {"t-alice": "alice", "t-bob": "bob"}
    with (
        chat_server(data_dir, clock, tokens=tokens) as server,
        server.client("t-alice") as alice,
        server.client("t-bob") as bob,
    ):
        for client in (alice, bob):
            write(client, "instrument", "piano")
            write(client, "instrument", "saxophone")
            record_turn(client, "s1", "I play the xylophone", "every day", "and", "night")
        kept = facts(bob)

        assert clear(alice) == 2

        assert (facts(alice), facts(bob)) == ([], kept)
        assert recalled(bob, "saxophone") == [kept[0]["id"]]
        assert [each["value"] for each in bob.ask(READ, id=kept[0]["id"])["fact"]["history"]] == ["piano"]
        assert report(bob, "s1", "STREAM_IDLE") == ("EXTRACTION_STARTED", None)


def test_clearing_takes_messages_along_that_wait_to_be_learned(server: Server, data_dir: Path) -> None:
    with server.client() as client:
        record_turn(client, "s1", *four_messages("My name is Marisol Quintanilla."))
        record_turn(client, "s2", *four_messages("I live in Trondheim."))
        assert files_with(data_dir, "Quintanilla")

        clear(client)

        gone(data_dir, "Quintanilla", "Trondheim")
        assert report(client, "s1", "STREAM_IDLE") == ("EXTRACTION_SKIPPED", "0 of 4 new messages")
        assert working_memory(client, "s1")["turnCount"] == 1
        assert memory_md(client) == ""


def test_what_was_forgotten_does_not_come_back_with_a_restart_or_a_rebuild(
    data_dir: Path, clock: SettableClock
) -> None:
    with chat_server(data_dir, clock) as server, server.client() as client:
        deleted, kept = write(client, "instrument", "saxophone"), write(client, "city", "Kyoto")
        recalled(client, "saxophone")
        delete(client, deleted)

    with chat_server(data_dir, clock) as server, server.client() as client:
        assert (client.ask(READ, id=deleted)["fact"], recalled(client, "saxophone")) == (None, [])
        start_rebuild(client)
        assert wait_for_a_build(client)["state"] == "COMPLETED"
        assert ([each["id"] for each in facts(client)], searched(client, "saxophone Kyoto")) == ([kept], [kept])
        gone(data_dir, "saxophone")
        clear(client)

    with chat_server(data_dir, clock) as server, server.client() as client:
        assert (facts(client), recalled(client, "Kyoto")) == ([], [])
        gone(data_dir, "saxophone", "Kyoto")


def remaining(data_dir: Path, numbers: Collection[int]) -> set[str]:
    """What of these facts stands in a file, with as much of it as the index may leave out."""
    return {text for _, text in traces(data_dir, *(marker(number)[5:] for number in numbers), *map(key_of, numbers))}


def test_some_of_thousands_are_forgotten_and_the_others_kept(many: Server, data_dir: Path) -> None:
    numbers = Random(1).sample(range(MANY), 60)
    with many.client() as client:
        ids = {number: recalled(client, marker(number)) for number in numbers}
        assert all(len(found) == 1 for found in ids.values())

        for (id_,) in ids.values():
            delete(client, id_)

        eventually(lambda: remaining(data_dir, numbers), lambda seen: seen == set())
        others = [number for number in range(0, MANY, 97) if number not in numbers]
        assert all(len(recalled(client, marker(number))) == 1 for number in others)
        assert client.ask("{ facts { totalCount } }")["facts"]["totalCount"] == MANY - 60


def test_thousands_are_forgotten_at_once_while_others_read(many: Server, data_dir: Path) -> None:
    with many.client() as client, readers(many, 2, marker(7)):
        assert clear(client) == MANY

        eventually(lambda: remaining(data_dir, range(0, MANY, 9)), lambda seen: seen == set())
        assert (facts(client), recalled(client, marker(7))) == ([], [])


def test_what_is_deleted_while_the_index_is_built_is_in_no_file_afterwards(many: Server, data_dir: Path) -> None:
    numbers = [1, MANY // 2, MANY - 1]
    with many.client() as client:
        ids = [recalled(client, marker(number))[0] for number in numbers]
        start_rebuild(client)

        for id_ in ids:
            delete(client, id_)

        assert wait_for_a_build(client)["state"] == "COMPLETED"
        assert [recalled(client, marker(number)) for number in numbers] == [[], [], []]
        eventually(lambda: remaining(data_dir, numbers), lambda seen: seen == set())


# Eviction


def infer(client: Client, key: str, confidence: float, value: Any = "x") -> str:
    return write(client, key, value, source="INFERRED", confidence=confidence)


def test_nothing_is_evicted_unless_a_threshold_is_set(server: Server) -> None:
    with server.client() as client:
        for number in range(150):
            infer(client, f"note {number}", 0.0)

        assert client.ask("{ facts { totalCount } }")["facts"]["totalCount"] == 150


def test_optional_memory_eviction_for_performance(server: Server, clock: SettableClock) -> None:
    """The least trusted go first, and of equals the one that was not accessed for longest."""
    with server.client() as client:
        for key, confidence in {"a": 0.5, "b": 0.9, "c": 0.1, "d": 0.5, "e": 0.5}.items():
            infer(client, key, confidence, f"about {key}{key}")
            clock.move(hours=1)
        client.ask('{ recall(message: "aa") { fact { id } } }')
        eventually(lambda: facts(client), lambda seen: seen[-1]["accessCount"] == 1)

        left = []
        for threshold in (5, 4, 3, 2, 1):
            set_memory(client, evictionThreshold=threshold)
            left.append("".join(sorted(values(client))))

        assert left == ["abcde", "abde", "abe", "ab", "b"]


def test_a_new_fact_evicts_the_least_trusted(server: Server) -> None:
    with server.client() as client:
        set_memory(client, evictionThreshold=2)

        infer(client, "a", 0.5)
        infer(client, "b", 0.4)
        assert values(client).keys() == {"a", "b"}
        infer(client, "c", 0.6)
        assert values(client).keys() == {"a", "c"}
        # A new value of what is there makes no more of them.
        infer(client, "c", 0.7, "y")

        assert values(client) == {"a": "x", "c": "y"}


def test_history_goes_along_and_does_not_count(server: Server, data_dir: Path) -> None:
    with server.client() as client:
        ids = [infer(client, "instrument", 0.1, each) for each in ("saxophone", "xylophone", "glockenspiel")]
        infer(client, "city", 0.9, "Kyoto")
        set_memory(client, evictionThreshold=2)
        assert values(client) == {"instrument": "glockenspiel", "city": "Kyoto"}

        set_memory(client, evictionThreshold=1)

        assert values(client) == {"city": "Kyoto"}
        assert [client.ask(READ, id=id_)["fact"] for id_ in ids] == [None] * 3
        gone(data_dir, "saxophone", "xylophone", "glockenspiel")


def test_what_a_new_fact_evicts_is_in_no_file_any_more(server: Server, data_dir: Path) -> None:
    with server.client() as client:
        set_memory(client, evictionThreshold=1)
        infer(client, "instrument", 0.1, "saxophone")
        recalled(client, "saxophone")

        infer(client, "city", 0.9, "Kyoto")

        assert values(client) == {"city": "Kyoto"}
        gone(data_dir, "saxophone")


def test_what_a_stopped_server_had_not_forgotten_the_next_one_forgets(data_dir: Path, clock: SettableClock) -> None:
    with chat_server(data_dir, clock) as server, server.client() as client:
        set_memory(client, evictionThreshold=1)
        infer(client, "instrument", 0.1, "saxophone")
        recalled(client, "saxophone")
        # Answers before it is forgotten, and the server is stopped at once.
        infer(client, "city", 0.9, "Kyoto")

    with chat_server(data_dir, clock) as server, server.client() as client:
        gone(data_dir, "saxophone")
        assert values(client) == {"city": "Kyoto"}


def test_the_threshold_is_of_each_owner(data_dir: Path, clock: SettableClock) -> None:
    tokens = {"t-alice": "alice", "t-bob": "bob"}
    with (
        chat_server(data_dir, clock, tokens=tokens) as server,
        server.client("t-alice") as alice,
        server.client("t-bob") as bob,
    ):
        for client in (alice, bob):
            for key in ("a", "b", "c"):
                infer(client, key, 0.5)

        set_memory(alice, evictionThreshold=1)

        assert (len(facts(alice)), len(facts(bob))) == (1, 3)


def test_the_threshold_of_all_owners_is_set_by_the_environment(
    data_dir: Path, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_EVICTION_THRESHOLD", "2")
    with chat_server(data_dir, clock) as server, server.client() as client:
        for key, confidence in {"a": 0.5, "b": 0.4, "c": 0.6, "d": 0.3}.items():
            infer(client, key, confidence)

        assert values(client).keys() == {"a", "c"}
        set_memory(client, evictionThreshold=None)
        infer(client, "e", 0.0)
        assert values(client).keys() == {"a", "c", "e"}
