"""A server killed at any moment has lost nothing that it acknowledged, and kept nothing by halves."""

import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from persistence import sqlite
from tests.api.test_serve_command import Command, serving
from tests.serving import Client
from tests.waiting import join

# tests/api/test_index_follows.py goes on for fifty; here it is about imports.
ROUNDS = 8
WRITERS = 4
IMPORT_SIZE = 20
# A round is killed after this many acknowledged requests: sometimes at once, sometimes in full swing.
ACKNOWLEDGED = (1, 120)

PAGE = """query($id: ID!, $after: String) {
  book(id: $id) { attachedMemories(first: 100, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } }
}"""
COUNTS = "query($id: ID!) { book(id: $id) { memories { totalCount } attachedMemories { totalCount } } }"


@dataclass
class Round:
    """What was sent in one life of the server, and what of it was acknowledged."""

    book_id: str
    created: set[str] = field(default_factory=set)
    imports: list[frozenset[str]] = field(default_factory=list)
    acknowledged_imports: list[frozenset[str]] = field(default_factory=list)
    acknowledgements: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    @property
    def acknowledged(self) -> set[str]:
        return self.created.union(*self.acknowledged_imports)


def test_a_killed_server_has_kept_every_acknowledged_memory_and_only_whole_imports(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    chance = random.Random()
    survived: dict[str, int] = {}
    rounds: list[Round] = []

    for number in range(ROUNDS + 1):
        with serving(data_dir) as command, command.client() as client:
            if rounds:
                survived[rounds[-1].book_id] = check(client, rounds[-1])
            if number < ROUNDS:
                rounds.append(write_until_killed(command, client, f"book_{number}", chance.randint(*ACKNOWLEDGED)))
            else:
                assert {book_id: count(client, book_id) for book_id in survived} == survived
        assert integrity(data_dir) == [("ok",)]

    assert sum(len(each.created) for each in rounds) > 0
    assert sum(len(each.acknowledged_imports) for each in rounds) > 0


def write_until_killed(command: Command, client: Client, book_id: str, enough: int) -> Round:
    client.mutate("createBook", "book { id }", id=book_id, name="砂の道")
    sent = Round(book_id)
    writers = [threading.Thread(target=write, args=(command, sent, f"{book_id}_{each}")) for each in range(WRITERS)]
    for writer in writers:
        writer.start()
    for _ in range(enough):
        assert sent.acknowledgements.acquire(timeout=60)
    command.process.kill()
    for writer in writers:
        join(writer)
    return sent


def write(command: Command, sent: Round, prefix: str) -> None:
    """Memories one by one, and every fifth time many at once, until the server is gone."""
    with command.client() as client:
        try:
            for number in range(100_000):
                if number % 5 == 4:
                    import_many(client, sent, f"{prefix}_{number}")
                else:
                    create_one(client, sent, f"{prefix}_{number}")
                sent.acknowledgements.release()
        except httpx.TransportError:
            return


def create_one(client: Client, sent: Round, memory_id: str) -> None:
    payload = client.mutate(
        "createMemory", "memory { id }", id=memory_id, bookId=sent.book_id, content="全文" * 100, summary="要点"
    )
    assert payload == {"memory": {"id": memory_id}, "problems": []}
    sent.created.add(memory_id)


def import_many(client: Client, sent: Round, prefix: str) -> None:
    ids = frozenset(f"{prefix}_{number}" for number in range(IMPORT_SIZE))
    sent.imports.append(ids)
    memories = [{"id": memory_id, "content": "全文" * 100, "summary": "要点"} for memory_id in ids]
    payload = client.mutate("importMemories", "memories { id }", bookId=sent.book_id, memories=memories)
    assert payload["problems"] == []
    sent.acknowledged_imports.append(ids)


def check(client: Client, sent: Round) -> int:
    """How many memories of the round there are, after all has been found as promised."""
    found = set(attached(client, sent.book_id))
    torn = [each for each in sent.imports if found & each and not each <= found]
    assert sent.acknowledged - found == set()
    assert torn == []
    assert count(client, sent.book_id) == len(found)
    return len(found)


def attached(client: Client, book_id: str) -> Iterator[str]:
    after, has_next = None, True
    while has_next:
        page = client.ask(PAGE, id=book_id, after=after)["book"]["attachedMemories"]
        yield from (node["id"] for node in page["nodes"])
        after, has_next = page["pageInfo"]["endCursor"], page["pageInfo"]["hasNextPage"]


def count(client: Client, book_id: str) -> int:
    """A memory is never without its attachment, whenever the server was killed."""
    counts = client.ask(COUNTS, id=book_id)["book"]
    assert counts["memories"] == counts["attachedMemories"]
    total: int = counts["memories"]["totalCount"]
    return total


def integrity(data_dir: Path) -> list[tuple[object, ...]]:
    connection = sqlite.open_connection(data_dir / "loregraph.db", read_only=False)
    try:
        return connection.execute("PRAGMA integrity_check").fetchall()
    finally:
        connection.close()
