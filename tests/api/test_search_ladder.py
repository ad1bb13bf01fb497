"""Search by what is there: every part is really taken away, what is left answers, and what comes back is used again."""

import asyncio
import contextlib
import json
import os
import resource
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import Any, TypeVar

import pytest
from starlette.requests import Request
from starlette.responses import Response

from api.settings import Settings
from persistence import sqlite
from tests.api.building import a_book, a_memory, import_memories
from tests.api.test_serve_command import Command, serving
from tests.embedding_server import (
    Behaviour,
    EmbeddingServer,
    Json,
    as_json,
    embedding_server,
    entries_for,
    hanging,
    refusing,
    saying,
    well,
    with_dimensions,
)
from tests.serving import Client, Server, running

T = TypeVar("T")

PATIENCE_SECONDS = 60
MODEL = "hash-48"

STATUS = """{
  indexStatus { state engine documents done total startedAt finishedAt error embedder unembedded degraded }
}"""
SEARCH = """query($words: String!) {
  search(query: $words, limit: 100) {
    engine hits { source id path line score vectorScore keywordScore }
  }
}"""

MEMORIES = {
    "mem_tea": "田中太郎は毎朝緑茶を飲む",
    "mem_stone": "The magic stone glows under the moon",
    "mem_ship": "蒸汽船在黎明前离港",
}
NOTEBOOK = "# Preferences\n\n- Prefers dark mode\n- 喜欢用 Python 写代码\n"

# Each is found in one place alone.
ANSWERS = {
    "緑茶": ["mem_tea"],
    "magic stone": ["mem_stone"],
    "离港": ["mem_ship"],
    "Python": ["MEMORY.md:4"],
    "dark": ["MEMORY.md:3"],
    "saxophone": [],
}


@dataclass(frozen=True)
class Rung:
    """What search runs on, as told by a search, by the status of the index and by the health of the service."""

    searched: str
    engine: str
    degraded: tuple[str, ...]
    health: tuple[str, ...]

    def is_on(self, engine: str) -> bool:
        return self.searched == self.engine == engine and self.degraded == self.health


def eventually(look: Callable[[], T], is_right: Callable[[T], bool]) -> T:
    """What is seen once it is right; waits for it as long as nobody would."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_right(seen := look()):
        assert time.monotonic() < deadline, seen
        time.sleep(0.01)
    return seen


def status(client: Client) -> Any:
    return client.ask(STATUS)["indexStatus"]


def search(client: Client, query: str) -> Any:
    return client.ask(SEARCH, words=query)["search"]


def place(hit: Mapping[str, Any]) -> str:
    return hit["id"] if hit["path"] is None else f"{hit['path']}:{hit['line']}"


def found(client: Client, query: str) -> list[str]:
    """Where a word of the query stands."""
    return sorted(place(hit) for hit in search(client, query)["hits"] if hit["keywordScore"])


def answers(client: Client) -> dict[str, list[str]]:
    return {query: found(client, query) for query in ANSWERS}


def scores(client: Client) -> dict[str, list[tuple[str, float | None, float]]]:
    def of(hit: Mapping[str, Any]) -> tuple[str, float | None, float]:
        near = hit["vectorScore"]
        return place(hit), near if near is None else round(near, 4), round(hit["keywordScore"], 4)

    return {query: sorted(map(of, search(client, query)["hits"])) for query in ANSWERS}


def rung(client: Client) -> Rung:
    seen = status(client)
    health = client.http.get("/health").json()
    assert health["status"] == "ok"
    searched = search(client, "緑茶")["engine"]
    return Rung(searched, seen["engine"], tuple(seen["degraded"]), tuple(health["degraded"]))


def wait_for(client: Client, engine: str) -> tuple[str, ...]:
    """What is degraded, once searches run on this and everybody says so."""
    return eventually(lambda: rung(client), lambda seen: seen.is_on(engine)).degraded


def wait_until_embedded(client: Client) -> None:
    eventually(lambda: status(client), lambda seen: seen["unembedded"] == 0)


def start_rebuild(client: Client) -> None:
    """One that begins now, even if another is just ending."""
    asked = "mutation { rebuildIndex { indexStatus { state } problems { code } } }"
    begun = {"rebuildIndex": {"indexStatus": {"state": "RUNNING"}, "problems": []}}
    eventually(lambda: client.ask(asked), lambda seen: seen == begun)


def wait_for_a_build(client: Client) -> Any:
    """The status once nothing is being built."""
    return eventually(lambda: status(client), lambda seen: seen["state"] in ("COMPLETED", "FAILED"))


def a_library(client: Client) -> None:
    """The memories; the notebook is best there before the server is."""
    a_book(client, "book_1")
    for id_, text in MEMORIES.items():
        a_memory(client, "book_1", id_, summary=text, content=text)


def write_notebook(data_dir: Path, content: str = NOTEBOOK) -> None:
    file = data_dir / "prompts" / "memory" / "MEMORY.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, encoding="utf-8")


def many_memories(client: Client, count: int) -> None:
    """Long enough that building their index takes a while; each has a word of its own."""
    for start in range(0, count, 500):
        numbers = range(start, min(start + 500, count))
        import_memories(client, "book_1", *({"id": f"m{each}", **a_long_text(each)} for each in numbers))


def a_long_text(number: int) -> dict[str, str]:
    filler = "".join(chr(0x3400 + (number * 7919 + each * each * 31) % 0x1900) for each in range(300))
    return {"content": filler, "summary": f"word{number}"}


def index_file(data_dir: Path) -> Path:
    return max((data_dir / "index").glob("search-*.db"))


def execute(database: Path, *statements: str) -> None:
    connection = sqlite.open_connection(database, read_only=False)
    try:
        for statement in statements:
            connection.execute(statement)
    finally:
        connection.close()


def log_events(command: Command) -> list[dict[str, Any]]:
    return [json.loads(line) for line in command.errors.read_text(encoding="utf-8").splitlines()]


def logged(command: Command, event: str) -> list[dict[str, Any]]:
    return [each for each in log_events(command) if each["event"] == event]


def log_warns(command: Command, reason: str) -> bool:
    """Where people look who run the server: what has a reason is at least a warning."""
    return any(
        each["level"] in ("warning", "error") and any(reason in str(value) for value in each.values())
        for each in log_events(command)
    )


def without_index(data_dir: Path, copy: Path) -> Path:
    """The same rows and files, in a folder that was never indexed."""
    shutil.copytree(data_dir, copy, ignore=shutil.ignore_patterns("index", "*-shm"))
    return copy


def openai(data_dir: Path, embedder: EmbeddingServer, model: str = MODEL) -> Settings:
    return Settings(data_dir=data_dir, embedder="openai", embedding_base_url=embedder.base_url, embedding_model=model)


def as_environment(embedder: EmbeddingServer) -> dict[str, str]:
    return {
        "LOREGRAPH_EMBEDDER": "openai",
        "LOREGRAPH_EMBEDDING_BASE_URL": embedder.base_url,
        "LOREGRAPH_EMBEDDING_MODEL": MODEL,
    }


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def embedder() -> Iterator[EmbeddingServer]:
    with embedding_server() as server:
        yield server


@pytest.fixture
def released(embedder: EmbeddingServer) -> Iterator[threading.Event]:
    """Whatever was held until then is let go at the end, before the server of it stops."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def by_keywords(data_dir: Path) -> Settings:
    return Settings(data_dir=data_dir, embedder="none")


@contextlib.contextmanager
def filled(settings: Settings) -> Iterator[tuple[Server, Client]]:
    write_notebook(settings.data_dir)
    with running(settings) as server, server.client() as client:
        a_library(client)
        yield server, client


# A Python without sqlite-vec


def cannot_load_extensions(folder: Path) -> None:
    """As pyenv builds Python."""
    spec = util.find_spec("pysqlite3")
    assert spec is not None
    package = folder / "pysqlite3"
    package.mkdir()
    (package / "__init__.py").write_text(
        f"""
import functools
__path__ = {list(spec.submodule_search_locations or ())!r}
from pysqlite3 import dbapi2
from pysqlite3.dbapi2 import *
class Connection(dbapi2.Connection):
    @property
    def enable_load_extension(self):
        raise AttributeError("enable_load_extension")
connect = functools.partial(dbapi2.connect, factory=Connection)
""",
        encoding="utf-8",
    )


def no_sqlite_vec(folder: Path) -> None:
    (folder / "sqlite_vec.py").write_text("raise ModuleNotFoundError(\"No module named 'sqlite_vec'\")\n")


def broken_sqlite_vec(folder: Path) -> None:
    spec = util.find_spec("sqlite_vec")
    assert spec is not None
    assert spec.origin is not None
    copy = folder / "sqlite_vec"
    shutil.copytree(Path(spec.origin).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (library,) = copy.glob("vec0.*")
    library.write_bytes(b"dear diary, " * 1_000)


NO_VECTORS: Mapping[str, tuple[Callable[[Path], None], str]] = {
    "extensions cannot be loaded": (cannot_load_extensions, "cannot load extensions; install pysqlite3"),
    "sqlite-vec is not installed": (no_sqlite_vec, "sqlite-vec cannot be loaded (No module named 'sqlite_vec')"),
    "sqlite-vec is broken": (broken_sqlite_vec, "sqlite-vec cannot be loaded ("),
}


@pytest.mark.parametrize(("obstacle", "reason"), NO_VECTORS.values(), ids=NO_VECTORS.keys())
def test_without_sqlite_vec_search_is_by_keywords_until_it_is_back(
    tmp_path: Path, data_dir: Path, embedder: EmbeddingServer, obstacle: Callable[[Path], None], reason: str
) -> None:
    settings = as_environment(embedder)
    in_front = tmp_path / "in_front"
    in_front.mkdir()
    obstacle(in_front)
    write_notebook(data_dir)
    with serving(data_dir, **settings) as command, command.client() as client:
        a_library(client)
        a_memory(client, "book_1", "mem_gone", summary="gone", content="a saxophone")
        a_memory(client, "book_1", "mem_new", summary="old", content="a trombone")
        assert wait_for(client, "HYBRID") == ()
        wait_until_embedded(client)
        command.stop()

    with serving(data_dir, **settings, PYTHONPATH=str(in_front)) as command, command.client() as client:
        (why,) = wait_for(client, "KEYWORD")
        assert why.startswith("Search is by keywords alone: ")
        assert reason in why
        assert answers(client) == ANSWERS | {"saxophone": ["mem_gone"]}
        client.delete("deleteMemory", "mem_gone")
        client.mutate("updateMemory", "memory { id }", id="mem_new", summary="new", content="a clarinet")
        a_memory(client, "book_1", "mem_newer", summary="newer", content="a bassoon")
        assert (found(client, "clarinet"), found(client, "bassoon")) == (["mem_new"], ["mem_newer"])
        assert answers(client) == ANSWERS
        command.stop()

    with serving(data_dir, **settings) as command, command.client() as client:
        assert wait_for(client, "HYBRID") == ()
        wait_until_embedded(client)
        assert answers(client) == ANSWERS
        assert status(client)["documents"] == 7
        kept = scores(client)
        command.stop()
    fresh = without_index(data_dir, tmp_path / "fresh")
    with serving(fresh, **settings) as command, command.client() as client:
        wait_for(client, "HYBRID")
        wait_until_embedded(client)
        assert scores(client) == kept


@pytest.mark.parametrize(("obstacle", "reason"), NO_VECTORS.values(), ids=NO_VECTORS.keys())
def test_the_log_says_why_there_are_no_vectors(
    tmp_path: Path, data_dir: Path, embedder: EmbeddingServer, obstacle: Callable[[Path], None], reason: str
) -> None:
    obstacle(tmp_path)

    with serving(data_dir, **as_environment(embedder), PYTHONPATH=str(tmp_path)) as command, command.client() as client:
        wait_for(client, "KEYWORD")

        assert log_warns(command, reason)


def test_an_index_built_without_sqlite_vec_gets_its_vectors_when_it_is_there(
    tmp_path: Path, data_dir: Path, embedder: EmbeddingServer
) -> None:
    in_front = tmp_path / "in_front"
    in_front.mkdir()
    cannot_load_extensions(in_front)
    settings = as_environment(embedder)
    write_notebook(data_dir)
    with serving(data_dir, **settings, PYTHONPATH=str(in_front)) as command, command.client() as client:
        a_library(client)
        wait_for(client, "KEYWORD")
        assert status(client)["unembedded"] == 0
        command.stop()

    with serving(data_dir, **settings) as command, command.client() as client:
        assert wait_for(client, "HYBRID") == ()
        wait_until_embedded(client)
        assert answers(client) == ANSWERS
        assert all(hit["vectorScore"] > 0 for hit in search(client, "magic stone")["hits"])


# A part of the index is gone while the server runs


def test_a_lost_word_table_is_answered_for_by_a_look_through_all_texts(by_keywords: Settings) -> None:
    with filled(by_keywords) as (server, client):
        assert wait_for(client, "KEYWORD") == ()
        eventually(lambda: answers(client), lambda seen: seen == ANSWERS)

        execute(index_file(server.data_dir), "DROP TABLE keyword")
        first = search(client, "緑茶")

        assert (first["engine"], [place(hit) for hit in first["hits"]]) == ("LIKE", ["mem_tea"])
        assert answers(client) == ANSWERS
        assert wait_for(client, "KEYWORD") == ()
        assert answers(client) == ANSWERS


def test_a_lost_word_table_is_told_everywhere_until_there_is_a_new_one(
    data_dir: Path, embedder: EmbeddingServer
) -> None:
    write_notebook(data_dir)
    with serving(data_dir, **as_environment(embedder)) as command, command.client() as client:
        a_library(client)
        many_memories(client, 800)
        assert wait_for(client, "HYBRID") == ()
        wait_until_embedded(client)

        execute(index_file(data_dir), "DROP TABLE keyword")
        (why,) = wait_for(client, "LIKE")

        assert why == "Search looks through all texts until the index is built: no such table: keyword"
        assert answers(client) == ANSWERS
        assert wait_for(client, "HYBRID") == ()
        assert answers(client) == ANSWERS
        assert found(client, "word789") == ["m789"]
        assert log_warns(command, "no such table: keyword")


def test_looking_through_all_texts_scores_by_how_many_keywords_stand_in_them(by_keywords: Settings) -> None:
    write_notebook(by_keywords.data_dir, "- red apples and green pears\n- yellow plums\n")
    with running(by_keywords) as server, server.client() as client:
        a_book(client, "book_1")
        a_memory(client, "book_1", "all", summary="Red", content="GREEN, blue and yellow")
        a_memory(client, "book_1", "half", summary="green", content="and blue")
        a_memory(client, "book_1", "none", summary="white", content="and black 100% sure_ly")
        wait_for(client, "KEYWORD")
        execute(index_file(server.data_dir), "DROP TABLE keyword")

        result = search(client, "red green blue yellow")

        assert result["engine"] == "LIKE"
        assert [(place(hit), hit["score"], hit["keywordScore"], hit["vectorScore"]) for hit in result["hits"]] == [
            ("all", 1.0, 1.0, None),
            ("half", 0.5, 0.5, None),
            ("MEMORY.md:1", 0.5, 0.5, None),
            ("MEMORY.md:2", 0.25, 0.25, None),
        ]


def test_a_lost_vector_table_leaves_the_words_until_there_is_a_new_one(
    data_dir: Path, embedder: EmbeddingServer
) -> None:
    with filled(openai(data_dir, embedder)) as (server, client):
        wait_for(client, "HYBRID")
        wait_until_embedded(client)
        before = scores(client)

        execute(index_file(server.data_dir), "DROP TABLE vector")
        first = search(client, "離れた港")

        assert first["engine"] == "KEYWORD"
        assert answers(client) == ANSWERS
        assert wait_for(client, "HYBRID") == ()
        wait_until_embedded(client)
        assert scores(client) == before


def test_a_lost_vector_table_is_told_everywhere_and_in_the_log(
    data_dir: Path, embedder: EmbeddingServer, released: threading.Event
) -> None:
    write_notebook(data_dir)
    with serving(data_dir, **as_environment(embedder)) as command, command.client() as client:
        a_library(client)
        wait_for(client, "HYBRID")
        wait_until_embedded(client)
        embedder.behave(batches_held_until(released))

        execute(index_file(data_dir), "DROP TABLE vector")
        (why,) = wait_for(client, "KEYWORD")

        assert why == "Search is by keywords alone until the index is built: no such table: vector"
        assert answers(client) == ANSWERS
        released.set()
        assert wait_for(client, "HYBRID") == ()
        assert log_warns(command, "no such table: vector")


# The index file is not what it was


def of_another_database(data_dir: Path) -> None:
    other = data_dir.with_name("other")
    with running(Settings(data_dir=other, embedder="none")) as server, server.client() as client:
        a_book(client, "book_1")
        for id_ in MEMORIES:
            a_memory(client, "book_1", id_, summary="a saxophone", content="a saxophone")
        wait_for(client, "KEYWORD")
        assert found(client, "saxophone") == sorted(MEMORIES)
    shutil.copy(index_file(other), index_file(data_dir))


def garbage(data_dir: Path) -> None:
    index_file(data_dir).write_bytes(b"dear diary, " * 10_000)


def a_folder(data_dir: Path) -> None:
    file = index_file(data_dir)
    file.unlink()
    file.mkdir()


def damaged_within(data_dir: Path) -> None:
    """The first pages are as they were."""
    file = index_file(data_dir)
    content = bytearray(file.read_bytes())
    content[len(content) // 3 :] = b"\xa5" * len(content[len(content) // 3 :])
    file.write_bytes(content)


def ahead(data_dir: Path) -> None:
    """A backup of the database is put back, of before the memory with the saxophone."""
    backup = data_dir.with_name("backup.db")
    shutil.copy(data_dir / "loregraph.db", backup)
    with running(Settings(data_dir=data_dir, embedder="none")) as server, server.client() as client:
        a_memory(client, "book_1", "mem_sax", summary="later", content="a saxophone")
        client.delete("deleteMemory", "mem_tea")
        wait_for(client, "KEYWORD")
        assert found(client, "saxophone") == ["mem_sax"]
    shutil.copy(backup, data_dir / "loregraph.db")


OTHER_FILES: Mapping[str, Callable[[Path], None]] = {
    "folder deleted": lambda data_dir: shutil.rmtree(data_dir / "index"),
    "deleted": lambda data_dir: index_file(data_dir).unlink(),
    "emptied": lambda data_dir: os.truncate(index_file(data_dir), 0),
    "truncated": lambda data_dir: os.truncate(index_file(data_dir), index_file(data_dir).stat().st_size // 2),
    "garbage": garbage,
    "garbage within": damaged_within,
    "without words": lambda data_dir: execute(index_file(data_dir), "DROP TABLE keyword"),
    "without some words": lambda data_dir: execute(index_file(data_dir), "DELETE FROM keyword WHERE rowid = 2"),
    "without documents": lambda data_dir: execute(index_file(data_dir), "DROP TABLE document"),
    "without properties": lambda data_dir: execute(index_file(data_dir), "DELETE FROM meta"),
    "of another database": of_another_database,
    "of another format": lambda data_dir: execute(
        index_file(data_dir), "UPDATE meta SET value = '0; made long ago' WHERE name = 'format'"
    ),
    "ahead of the database": ahead,
    "a folder": a_folder,
}


@pytest.mark.parametrize("change", OTHER_FILES.values(), ids=OTHER_FILES.keys())
def test_an_index_that_does_not_fit_is_built_anew(by_keywords: Settings, change: Callable[[Path], None]) -> None:
    with filled(by_keywords) as (_, client):
        wait_for(client, "KEYWORD")
        eventually(lambda: answers(client), lambda seen: seen == ANSWERS)

    change(by_keywords.data_dir)

    with running(by_keywords) as server, server.client() as client:
        assert answers(client) == ANSWERS
        assert wait_for(client, "KEYWORD") == ()
        assert answers(client) == ANSWERS
        assert status(client)["documents"] == 5
        a_memory(client, "book_1", "mem_late", summary="late", content="a clarinet")
        assert found(client, "clarinet") == ["mem_late"]


WHILE_RUNNING: Mapping[str, Callable[[Path], None]] = {
    name: OTHER_FILES[name] for name in ("folder deleted", "deleted", "garbage", "garbage within", "truncated")
}


@pytest.mark.parametrize("change", WHILE_RUNNING.values(), ids=WHILE_RUNNING.keys())
def test_an_index_that_is_damaged_under_a_running_server_is_built_anew(
    data_dir: Path, change: Callable[[Path], None]
) -> None:
    write_notebook(data_dir)
    with serving(data_dir, LOREGRAPH_EMBEDDER="none") as command, command.client() as client:
        a_library(client)
        wait_for(client, "KEYWORD")
        eventually(lambda: answers(client), lambda seen: seen == ANSWERS)

        change(data_dir)

        assert answers(client) == ANSWERS
        a_memory(client, "book_1", "mem_late", summary="late", content="a clarinet")
        assert found(client, "clarinet") == ["mem_late"]
        assert wait_for(client, "KEYWORD") == ()
        assert answers(client) == ANSWERS
        assert found(client, "clarinet") == ["mem_late"]
        command.stop()

    with serving(data_dir, LOREGRAPH_EMBEDDER="none") as command, command.client() as client:
        assert answers(client) == ANSWERS
        assert wait_for(client, "KEYWORD") == ()
        assert found(client, "clarinet") == ["mem_late"]


# The embedder


def batches_held_until(released: threading.Event) -> Behaviour:
    """A single text, as that of a query, is answered at once."""

    async def behaviour(request: Request, asked: Json) -> Response:
        if len(asked["input"]) > 1:
            await asyncio.to_thread(released.wait, PATIENCE_SECONDS)
        return await well(request, asked)

    return behaviour


def stop(embedder: EmbeddingServer) -> None:
    embedder.stop()


def start(embedder: EmbeddingServer) -> None:
    embedder.start()


def behaving(behaviour: Behaviour) -> Callable[[EmbeddingServer], None]:
    return lambda embedder: embedder.behave(behaviour)


NOT_A_NUMBER = json.dumps({"data": [{"index": 0, "embedding": [float("nan")] * 48}]})
NULLS = json.dumps({"data": [{"index": 0, "embedding": [None] * 48}]})

Turn = Callable[[EmbeddingServer], None]
MISHAPS: Mapping[str, tuple[Turn, Turn, str]] = {
    "is down": (stop, start, "it cannot be reached"),
    "hangs": (behaving(hanging), behaving(well), "no answer within"),
    "answers NaN": (behaving(saying(NOT_A_NUMBER)), behaving(well), "its answer is not JSON"),
    "answers null": (behaving(saying(NULLS)), behaving(well), "something that is not a finite number"),
    "answers another dimension": (behaving(with_dimensions(32)), behaving(well), "32 dimensions, not 48"),
    "answers 500": (behaving(refusing(500)), behaving(well), "it answered 500"),
}


@pytest.mark.parametrize(("breaks", "mends", "reason"), MISHAPS.values(), ids=MISHAPS.keys())
def test_while_the_embedder_fails_search_is_by_keywords(
    data_dir: Path, embedder: EmbeddingServer, breaks: Turn, mends: Turn, reason: str
) -> None:
    with filled(openai(data_dir, embedder)) as (_, client):
        assert wait_for(client, "HYBRID") == ()
        wait_until_embedded(client)

        breaks(embedder)
        first = search(client, "clarinet")
        assert first == {"engine": "KEYWORD", "hits": []}
        (why,) = wait_for(client, "KEYWORD")
        assert why.startswith("Search is by keywords alone, the embedder is down: ")
        assert reason in why
        a_memory(client, "book_1", "mem_late", summary="late", content="a clarinet")
        assert found(client, "clarinet") == ["mem_late"]
        assert answers(client) == ANSWERS
        assert status(client)["unembedded"] == 1

        mends(embedder)
        assert wait_for(client, "HYBRID") == ()
        wait_until_embedded(client)
        (late,) = [hit for hit in search(client, "clarinet")["hits"] if hit["id"] == "mem_late"]
        assert late["vectorScore"] > 0
        assert answers(client) == ANSWERS


def test_an_embedder_that_is_down_from_the_start_keeps_nothing_from_being_found(
    data_dir: Path, embedder: EmbeddingServer
) -> None:
    embedder.stop()
    write_notebook(data_dir)
    with serving(data_dir, **as_environment(embedder)) as command, command.client() as client:
        a_library(client)
        eventually(lambda: answers(client), lambda seen: seen == ANSWERS)
        (why,) = wait_for(client, "KEYWORD")
        assert "the embedder is down: it cannot be reached" in why
        assert "it cannot be reached" in logged(command, "embedder_down")[0]["reason"]

        embedder.start()

        assert wait_for(client, "HYBRID") == ()
        wait_until_embedded(client)
        assert answers(client) == ANSWERS
        assert len(logged(command, "embedder_up")) == 1


def test_a_search_does_not_wait_for_an_embedder_that_hangs_over_fresh_memories(
    data_dir: Path, embedder: EmbeddingServer, released: threading.Event
) -> None:
    with filled(openai(data_dir, embedder)) as (_, client):
        wait_for(client, "HYBRID")
        wait_until_embedded(client)
        # The query itself is known to the embedder from now on.
        assert search(client, "clarinet")["engine"] == "HYBRID"
        embedder.behave(batches_held_until(released))
        import_memories(
            client, "book_1", *({"id": f"late_{each}", "content": f"clarinet {each}"} for each in range(40))
        )

        # Its client gives up long before the embedder's own limit.
        assert len(found(client, "clarinet")) == 40

        released.set()
        wait_for(client, "HYBRID")
        wait_until_embedded(client)


def test_no_embedder_is_an_honest_choice(by_keywords: Settings) -> None:
    with filled(by_keywords) as (_, client):
        assert wait_for(client, "KEYWORD") == ()

        assert answers(client) == ANSWERS
        seen = status(client)
        assert (seen["unembedded"], seen["degraded"], seen["error"]) == (0, [], None)
        assert [hit["vectorScore"] for hit in search(client, "magic stone")["hits"]] == [None]


# Another embedder at the next start


def of_two_models(released: threading.Event) -> Behaviour:
    """The second model means something else by every number; its batches wait."""

    async def behaviour(request: Request, asked: Json) -> Response:
        if asked["model"] == MODEL:
            return await well(request, asked)
        if len(asked["input"]) > 1:
            await asyncio.to_thread(released.wait, PATIENCE_SECONDS)
        dimensions = int(asked["model"].rpartition("-")[2])
        entries = entries_for([" ".join(text) for text in asked["input"]], dimensions)
        return as_json([entry | {"embedding": entry["embedding"][::-1]} for entry in entries])

    return behaviour


@pytest.mark.parametrize("model", ["backward-48", "backward-96"])
def test_vectors_of_two_embedders_are_never_mixed(
    tmp_path: Path, data_dir: Path, embedder: EmbeddingServer, released: threading.Event, model: str
) -> None:
    embedder.behave(of_two_models(released))
    with filled(openai(data_dir, embedder)) as (_, client):
        wait_for(client, "HYBRID")
        wait_until_embedded(client)
        before = scores(client)

    with running(openai(data_dir, embedder, model)) as server, server.client() as client:
        (why,) = wait_for(client, "KEYWORD")
        assert why == "Search is by keywords alone until the vectors of the new embedder are made"
        assert answers(client) == ANSWERS
        assert status(client)["embedder"] == f"openai {embedder.base_url} {model}"
        a_memory(client, "book_1", "mem_late", summary="late", content="a clarinet")
        assert found(client, "clarinet") == ["mem_late"]
        released.set()
        assert wait_for(client, "HYBRID") == ()
        wait_until_embedded(client)
        changed = scores(client)

    fresh = without_index(data_dir, tmp_path / "fresh")
    with running(openai(fresh, embedder, model)) as server, server.client() as client:
        wait_for(client, "HYBRID")
        wait_until_embedded(client)
        assert changed == scores(client)
        assert changed != before


def test_the_former_embedder_finds_no_vectors_of_the_latter(
    data_dir: Path, embedder: EmbeddingServer, released: threading.Event
) -> None:
    released.set()
    embedder.behave(of_two_models(released))
    with filled(openai(data_dir, embedder)) as (_, client):
        wait_for(client, "HYBRID")
        wait_until_embedded(client)
        before = scores(client)
    with running(openai(data_dir, embedder, "backward-48")) as server, server.client() as client:
        wait_for(client, "HYBRID")
        wait_until_embedded(client)
        assert scores(client) != before

    with running(openai(data_dir, embedder)) as server, server.client() as client:
        wait_for(client, "HYBRID")
        wait_until_embedded(client)
        assert scores(client) == before


def test_giving_up_the_embedder_and_taking_it_again_loses_nothing(data_dir: Path, embedder: EmbeddingServer) -> None:
    with filled(openai(data_dir, embedder)) as (_, client):
        wait_for(client, "HYBRID")
        wait_until_embedded(client)
        before = scores(client)
    with running(Settings(data_dir=data_dir, embedder="none")) as server, server.client() as client:
        assert wait_for(client, "KEYWORD") == ()
        assert answers(client) == ANSWERS

    with running(openai(data_dir, embedder)) as server, server.client() as client:
        assert answers(client) == ANSWERS
        assert wait_for(client, "HYBRID") == ()
        wait_until_embedded(client)
        assert scores(client) == before


# No room for the index


def test_without_a_place_for_the_index_all_texts_are_looked_through(data_dir: Path) -> None:
    write_notebook(data_dir)
    (data_dir / "index").write_text("", encoding="utf-8")

    with serving(data_dir, LOREGRAPH_EMBEDDER="none") as command, command.client() as client:
        assert command.process.poll() is None, command.errors.read_text(encoding="utf-8")
        a_library(client)
        (why,) = wait_for(client, "LIKE")
        assert str(data_dir / "index") in why
        assert answers(client) == ANSWERS
        command.stop()

    (data_dir / "index").unlink()
    with serving(data_dir, LOREGRAPH_EMBEDDER="none") as command, command.client() as client:
        assert wait_for(client, "KEYWORD") == ()
        assert answers(client) == ANSWERS


def test_what_stands_in_the_way_of_a_build_is_told(by_keywords: Settings) -> None:
    obstacle = by_keywords.data_dir / "index" / "building.db"
    obstacle.mkdir(parents=True)
    (obstacle / "something").write_text("", encoding="utf-8")

    with filled(by_keywords) as (_, client):
        (why,) = wait_for(client, "LIKE")
        assert "building.db" in why or "unable to open database file" in why
        failed = wait_for_a_build(client)
        assert (failed["state"], failed["error"] is None) == ("FAILED", False)
        assert answers(client) == ANSWERS

        shutil.rmtree(obstacle)
        start_rebuild(client)

        assert wait_for(client, "KEYWORD") == ()
        assert answers(client) == ANSWERS


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits another process")
def test_a_full_disk_leaves_the_old_index_at_work_and_loses_nothing(data_dir: Path) -> None:
    write_notebook(data_dir)
    with serving(data_dir, LOREGRAPH_EMBEDDER="none") as command, command.client() as client:
        a_library(client)
        many_memories(client, 800)
        eventually(lambda: found(client, "word799"), lambda seen: seen == ["m799"])
        start_rebuild(client)
        assert wait_for_a_build(client)["state"] == "COMPLETED"
        size = index_file(data_dir).stat().st_size

        limit_files(command, size // 2)
        start_rebuild(client)
        failed = wait_for_a_build(client)

        assert failed["state"] == "FAILED"
        assert failed["error"]
        assert failed["engine"] == "KEYWORD"
        assert answers(client) == ANSWERS
        assert not list((data_dir / "index").glob("building.db*"))
        assert log_warns(command, failed["error"])

        limit_files(command, resource.RLIM_INFINITY)
        a_memory(client, "book_1", "mem_late", summary="late", content="a clarinet")
        start_rebuild(client)
        assert wait_for_a_build(client)["state"] == "COMPLETED"
        assert (found(client, "clarinet"), found(client, "word799")) == (["mem_late"], ["m799"])


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits another process")
def test_a_disk_too_full_for_any_index_leaves_a_look_through_all_texts(data_dir: Path) -> None:
    write_notebook(data_dir)
    with serving(data_dir, LOREGRAPH_EMBEDDER="none") as command, command.client() as client:
        a_library(client)
        many_memories(client, 800)
        eventually(lambda: found(client, "word799"), lambda seen: seen == ["m799"])
        limit_files(command, max(each.stat().st_size for each in data_dir.glob("loregraph.db*")) + 1_000_000)
        execute(index_file(data_dir), "DROP TABLE keyword")
        search(client, "緑茶")
        failed = wait_for_a_build(client)

        assert failed["state"] == "FAILED"
        (why,) = wait_for(client, "LIKE")
        assert why.startswith("Search looks through all texts until the index is built: ")
        assert answers(client) == ANSWERS
        assert found(client, "word799") == ["m799"]
        a_memory(client, "book_1", "mem_late", summary="late", content="a clarinet")
        assert found(client, "clarinet") == ["mem_late"]

        limit_files(command, resource.RLIM_INFINITY)
        start_rebuild(client)
        assert wait_for(client, "KEYWORD") == ()
        assert (found(client, "clarinet"), found(client, "word799")) == (["mem_late"], ["m799"])


def limit_files(command: Command, size: int) -> None:
    """Writing beyond it fails in the server as on a full disk."""
    _, hard = resource.prlimit(command.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(command.process.pid, resource.RLIMIT_FSIZE, (size, hard))
