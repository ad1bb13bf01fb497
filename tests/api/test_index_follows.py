"""The index follows what is written, by whichever process, and whenever one is killed."""

import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from api.settings import Settings
from tests.api.building import a_book, a_memory
from tests.api.test_killed_server import attached, integrity
from tests.api.test_search_ladder import (
    ANSWERS,
    a_library,
    answers,
    eventually,
    found,
    status,
    wait_for,
    write_notebook,
)
from tests.api.test_serve_command import Command, environment, serving
from tests.serving import Client, running
from tests.waiting import join

BY_KEYWORDS = {"LOREGRAPH_EMBEDDER": "none"}

# Fifty servers are killed in all, ten in turn on the same data.
ROUNDS = 10
LIBRARIES = 5
# A round is killed after this many acknowledged requests: sometimes at once, sometimes in full swing.
ACKNOWLEDGED = (1, 60)
DAY = "2026-01-31"
FILES = ("MEMORY.md", f"daily/{DAY}.md")

WRITE_BESIDE = """
import asyncio
from api.composition import open_service
from api.settings import Settings
from domain.memories import MemoryDraft


async def write() -> None:
    async with open_service(Settings()) as service:
        draft = MemoryDraft(id="mem_beside", book_id="book_1", content="a clarinet", summary="beside")
        await service.use_cases("local").memories.create(draft)


asyncio.run(write())
"""


def test_what_is_written_is_indexed_before_anybody_searches(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    write_notebook(data_dir)
    with running(Settings(data_dir=data_dir, embedder="none")) as server, server.client() as client:
        a_library(client)

        eventually(lambda: status(client)["documents"], lambda count: count == 5)


def test_what_a_second_server_writes_is_found_by_the_first(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    write_notebook(data_dir)
    with (
        serving(data_dir, **BY_KEYWORDS) as first,
        serving(data_dir, **BY_KEYWORDS) as second,
        first.client() as one,
        second.client() as other,
    ):
        a_library(one)
        assert (answers(one), answers(other)) == (ANSWERS, ANSWERS)

        a_memory(other, "book_1", "mem_late", summary="late", content="a clarinet")
        other.mutate("updateMemory", "memory { id }", id="mem_tea", summary="coffee", content="珈琲")
        other.delete("deleteMemory", "mem_ship")

        for client in (one, other):
            assert found(client, "clarinet") == ["mem_late"]
            assert found(client, "珈琲") == ["mem_tea"]
            assert answers(client) == ANSWERS | {"緑茶": [], "离港": []}
            assert status(client)["documents"] == 5


def test_what_a_second_server_appends_to_the_notebook_is_found_by_the_first(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with (
        serving(data_dir, **BY_KEYWORDS) as first,
        serving(data_dir, **BY_KEYWORDS) as second,
        first.client() as one,
        second.client() as other,
    ):
        other.mutate("appendMemory", "file { path }", fact="Plays the harpsichord", category="Music")
        other.mutate("appendDailyLog", "file { path }", entry="Heard a bassoon", date=DAY)

        for client in (one, other):
            eventually(lambda client=client: found(client, "harpsichord"), lambda places: len(places) == 1)  # type: ignore[misc]
            eventually(lambda client=client: found(client, "bassoon"), lambda places: len(places) == 1)  # type: ignore[misc]


def test_what_another_program_writes_with_the_same_code_is_found(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with serving(data_dir, **BY_KEYWORDS) as command, command.client() as client:
        a_book(client, "book_1")

        subprocess.run(
            [sys.executable, "-c", WRITE_BESIDE], env=environment(data_dir, **BY_KEYWORDS), check=True, timeout=60
        )

        assert found(client, "clarinet") == ["mem_beside"]


def test_two_servers_that_are_built_anew_in_turn_both_go_on_with_the_newest(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    write_notebook(data_dir)
    with (
        serving(data_dir, **BY_KEYWORDS) as first,
        serving(data_dir, **BY_KEYWORDS) as second,
        first.client() as one,
        second.client() as other,
    ):
        a_library(one)
        for number, (client, beside) in enumerate([(one, other), (other, one)] * 3):
            client.ask("mutation { rebuildIndex { indexStatus { state } } }")
            a_memory(beside, "book_1", f"mem_{number}", summary="late", content=f"clarinet{number}")
            for each in (one, other):
                wait_for(each, "KEYWORD")
                assert found(each, f"clarinet{number}") == [f"mem_{number}"]
                assert answers(each) == ANSWERS


@dataclass
class Life:
    """What was sent in one life of the server, each with a word of its own, and what of it was acknowledged."""

    number: int
    sent: set[str] = field(default_factory=set)
    created: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    noted: set[str] = field(default_factory=set)
    acknowledgements: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    @property
    def book_id(self) -> str:
        return f"book_{self.number}"

    def words(self, writer: str) -> Iterator[str]:
        for number in range(100_000):
            word = f"r{self.number}{writer}{number}x"
            self.sent.add(word)
            yield word


@pytest.mark.parametrize("library", range(LIBRARIES))
def test_a_killed_server_leaves_index_and_truth_equal_and_loses_nothing_acknowledged(
    tmp_path: Path, library: int
) -> None:
    data_dir = tmp_path / "data"
    chance = random.Random()
    lives: list[Life] = []

    for number in range(ROUNDS + 1):
        with serving(data_dir, **BY_KEYWORDS) as command, command.client() as client:
            if lives:
                check(client, data_dir, lives[-1])
            if number < ROUNDS:
                lives.append(live(command, client, Life(number), chance.randint(*ACKNOWLEDGED)))
            else:
                for each in lives:
                    check(client, data_dir, each)
                documents = sum(len(places) for each in lives for places in expected(client, data_dir, each).values())
                assert status(client)["documents"] == documents
        assert integrity(data_dir) == [("ok",)]

    assert all(sum(len(kind) for kind in kinds) > 0 for kinds in zip(*map(acknowledged, lives), strict=True))


def acknowledged(life: Life) -> tuple[set[str], set[str], set[str]]:
    return life.created, life.deleted, life.noted


def live(command: Command, client: Client, life: Life, enough: int) -> Life:
    a_book(client, life.book_id)
    writers = [threading.Thread(target=write, args=(command, life)) for write in (remember, forget, append, log)]
    for writer in writers:
        writer.start()
    for _ in range(enough):
        assert life.acknowledgements.acquire(timeout=60)
    command.process.kill()
    for writer in writers:
        join(writer)
    return life


def remember(command: Command, life: Life) -> None:
    with command.client() as client:
        for word in life.words("m"):
            try:
                a_memory(client, life.book_id, f"mem_{word}", summary=word, content="全文" * 50)
            except httpx.TransportError:
                return
            life.created.add(word)
            life.acknowledgements.release()


def forget(command: Command, life: Life) -> None:
    """Creates as well, to have something that no other thread counts on."""
    with command.client() as client:
        for word in life.words("f"):
            try:
                a_memory(client, life.book_id, f"mem_{word}", summary=word, content="全文")
                assert client.delete("deleteMemory", f"mem_{word}")["problems"] == []
            except httpx.TransportError:
                return
            life.deleted.add(word)
            life.acknowledgements.release()


def append(command: Command, life: Life) -> None:
    with command.client() as client:
        for word in life.words("a"):
            try:
                payload = client.mutate("appendMemory", "file { path }", fact=f"Likes {word}", category="Likes")
            except httpx.TransportError:
                return
            assert payload["problems"] == []
            life.noted.add(word)
            life.acknowledgements.release()


def log(command: Command, life: Life) -> None:
    with command.client() as client:
        for word in life.words("l"):
            try:
                payload = client.mutate("appendDailyLog", "file { path }", entry=f"Saw {word}", date=DAY)
            except httpx.TransportError:
                return
            assert payload["problems"] == []
            life.noted.add(word)
            life.acknowledgements.release()


def expected(client: Client, data_dir: Path, life: Life) -> dict[str, list[str]]:
    """Where every word of the round stands, as the rows and the files have it."""
    ids = set(attached(client, life.book_id))
    lines = {
        word: f"{name}:{line}"
        for name in FILES
        for line, text in enumerate(contents(data_dir, name).splitlines(), 1)
        for word in text.split()[-1:]
    }
    places: dict[str, list[str]] = {}
    for word in life.sent:
        of_row = [f"mem_{word}"] if f"mem_{word}" in ids else []
        places[word] = of_row + ([lines[word]] if word in lines else [])
    return places


def contents(data_dir: Path, name: str) -> str:
    file = data_dir / "prompts" / "memory" / name
    return file.read_text(encoding="utf-8") if file.exists() else ""


def check(client: Client, data_dir: Path, life: Life) -> None:
    truth = expected(client, data_dir, life)
    there = {word for word, places in truth.items() if places}
    assert (life.created | life.noted) - there == set()
    assert life.deleted & there == set()
    assert {word: found(client, word) for word in life.sent} == truth
