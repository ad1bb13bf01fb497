"""What counts as an access to a memory, and what does not."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from api.settings import Settings
from tests.api.building import a_character, a_memory, attached_ids, import_memories, ref
from tests.serving import Client, running

VISIBLE_WITHIN_SECONDS = 1.0

# A list of the book's memories: looking this way is no access.
ACCESSES = 'query { book(id: "book_1") { memories { nodes { id lastAccessedAt accessCount } } } }'


@pytest.fixture
def memory(client: Client, book: str) -> str:
    return a_memory(client, book, "mem_1", content="田中太郎は元医者。")


def read(client: Client, id: str) -> None:
    answer = client.ask("query($id: ID!) { memory(id: $id) { id } }", id=id)
    assert answer == {"memory": {"id": id}}


def accesses(client: Client) -> dict[str, tuple[str, int]]:
    """By memory id: last access and count."""
    nodes = client.ask(ACCESSES)["book"]["memories"]["nodes"]
    return {node["id"]: (node["lastAccessedAt"], node["accessCount"]) for node in nodes}


def counted(client: Client, id: str, count: int) -> str:
    """Waits until the memory shows so many accesses, at most as long as promised; answers the last one."""
    deadline = time.monotonic() + VISIBLE_WITHIN_SECONDS
    while (found := accesses(client)[id])[1] != count and time.monotonic() < deadline:
        time.sleep(0.01)
    last, shown = found
    assert shown == count
    return last


def test_reading_by_id_is_visible_within_a_second(client: Client, memory: str) -> None:
    before = datetime.now(UTC)
    read(client, memory)
    after = datetime.now(UTC)

    last = counted(client, memory, 1)

    assert before <= datetime.fromisoformat(last) <= after


def test_every_reading_is_counted(client: Client, memory: str) -> None:
    for _ in range(3):
        read(client, memory)
    client.ask('{ first: memory(id: "mem_1") { id } second: memory(id: "mem_1") { id } }')

    counted(client, memory, 5)


def test_reading_answers_the_memory_as_it_was_before(client: Client, memory: str) -> None:
    before = accesses(client)[memory]

    answer = client.ask('{ memory(id: "mem_1") { lastAccessedAt accessCount } }')["memory"]

    assert (answer["lastAccessedAt"], answer["accessCount"]) == before


def test_memory_that_was_read_comes_first(client: Client, book: str) -> None:
    tanaka = a_character(client, book, "char_1")
    for id_ in ("mem_1", "mem_2", "mem_3"):
        a_memory(client, book, id_, ref("CHARACTER", tanaka))

    read(client, "mem_1")
    counted(client, "mem_1", 1)

    assert attached_ids(client, "CHARACTER", tanaka) == ["mem_1", "mem_3", "mem_2"]
    assert list(accesses(client)) == ["mem_1", "mem_3", "mem_2"]


def test_access_adds_to_what_was_imported(client: Client, book: str) -> None:
    import_memories(client, book, {"id": "mem_1", "accessCount": 7, "lastAccessedAt": "2020-01-01T00:00:00Z"})

    read(client, "mem_1")

    assert counted(client, "mem_1", 8) > "2020-01-01T00:00:00.000000+00:00"


def test_access_never_makes_a_memory_look_older(client: Client, book: str) -> None:
    import_memories(client, book, {"id": "mem_1", "lastAccessedAt": "2999-01-01T00:00:00Z"})

    read(client, "mem_1")

    assert counted(client, "mem_1", 1) == "2999-01-01T00:00:00.000000+00:00"


def test_memory_read_more_often_than_can_be_counted_can_still_be_read(client: Client, book: str) -> None:
    most = 2**31 - 1
    import_memories(client, book, {"id": "mem_1", "accessCount": most}, {"id": "mem_2"})

    read(client, "mem_1")
    read(client, "mem_2")

    counted(client, "mem_2", 1)
    assert accesses(client)["mem_1"][1] == most
    assert client.ask('{ memory(id: "mem_1") { accessCount } }') == {"memory": {"accessCount": most}}


def update(client: Client) -> None:
    client.mutate("updateMemory", "memory { id lastAccessedAt }", id="mem_1", summary="新しい要点", isPinned=True)


def attach(client: Client) -> None:
    on_tanaka = {"memoryIds": ["mem_1"], "entities": [ref("CHARACTER", "char_1")]}
    client.mutate("attachMemories", "memories { id content }", bookId="book_1", **on_tanaka)
    client.mutate("detachMemories", "memories { id content }", bookId="book_1", **on_tanaka)
    client.mutate("updateMemory", "memory { id }", id="mem_1", attachedTo=[ref("CHARACTER", "char_1")])


def attach_matching(client: Client) -> None:
    refs = [ref("CHARACTER", "char_1")]
    payload = client.mutate("attachMatching", "memories { id }", bookId="book_1", query="田中", entities=refs)
    assert payload["memories"] == [{"id": "mem_1"}]


def list_all(client: Client) -> None:
    answer = client.ask(
        """{
          book(id: "book_1") { memories { nodes { content } } attachedMemories { nodes { content } } }
          memories(bookId: "book_1", attachedTo: [{type: BOOK, id: "book_1"}]) { nodes { content } }
        }"""
    )
    assert len(answer["memories"]["nodes"]) == 2


def relevant(client: Client) -> None:
    query = "{ relevantMemories { memory { content } } }"
    answer = client.ask(f'{{ character(id: "char_1") {query} book(id: "book_1") {query} }}')
    assert len(answer["character"]["relevantMemories"]) == 1


def change_its_book(client: Client) -> None:
    client.mutate("updateBook", "book { memories { nodes { content } } }", id="book_1", name="海の道")


@pytest.mark.parametrize("act", [update, attach, attach_matching, list_all, relevant, change_its_book])
def test_nothing_but_reading_by_id_is_an_access(
    client: Client, book: str, memory: str, act: Callable[[Client], None]
) -> None:
    a_character(client, book, "char_1", name="田中太郎")
    marker = a_memory(client, book, "mem_marker")
    before = accesses(client)[memory]

    act(client)
    # What is read later is written no earlier: when the marker is counted, nothing else is on its way.
    read(client, marker)
    counted(client, marker, 1)

    assert accesses(client)[memory] == before


def test_update_moves_the_time_of_change_alone(client: Client, memory: str) -> None:
    times = "memory { createdAt updatedAt lastAccessedAt accessCount }"
    before = client.mutate("updateMemory", times, id=memory)["memory"]

    after = client.mutate("updateMemory", times, id=memory, summary="新しい要点")["memory"]

    assert after == before | {"updatedAt": after["updatedAt"]}
    assert after["updatedAt"] > before["updatedAt"] > before["createdAt"]


def test_access_and_update_do_not_lose_each_other(client: Client, memory: str) -> None:
    read(client, memory)
    client.mutate("updateMemory", "memory { id }", id=memory, summary="新しい要点")

    last = counted(client, memory, 1)

    stored = client.ask('{ book(id: "book_1") { memories { nodes { summary createdAt } } } }')
    (only,) = stored["book"]["memories"]["nodes"]
    assert only["summary"] == "新しい要点"
    assert last > only["createdAt"]


def test_memory_deleted_right_after_reading_stays_deleted(client: Client, book: str, memory: str) -> None:
    marker = a_memory(client, book, "mem_marker")

    read(client, memory)
    client.delete("deleteMemory", memory)
    read(client, marker)

    counted(client, marker, 1)
    assert list(accesses(client)) == [marker]


def test_reading_what_is_not_there_leaves_no_trace(client: Client, book: str) -> None:
    answer = client.ask('{ memory(id: "mem_1") { id } }')
    a_memory(client, book, "mem_1")
    marker = a_memory(client, book, "mem_marker")
    read(client, marker)
    counted(client, marker, 1)

    assert answer == {"memory": None}
    assert accesses(client)["mem_1"][1] == 0


def test_accesses_are_written_when_the_server_stops(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    with running(settings) as server, server.client() as client:
        client.mutate("createBook", "book { id }", id="book_1", name="砂の道")
        a_memory(client, "book_1", "mem_1")
        created = accesses(client)["mem_1"][0]
        read(client, "mem_1")
        read(client, "mem_1")

    with running(settings) as server, server.client() as client:
        found: Any = accesses(client)

    last, count = found["mem_1"]
    assert count == 2
    assert last > created
