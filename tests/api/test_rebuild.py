"""The index is built anew while search goes on, by the server or beside it, and whoever is killed meanwhile."""

import asyncio
import contextlib
import random
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from api.composition import open_parts, open_service
from api.settings import LOCAL_OWNER, Settings
from tests.api.building import a_memory
from tests.api.test_search_ladder import (
    ANSWERS,
    a_library,
    answers,
    eventually,
    filled,
    found,
    index_file,
    logged,
    many_memories,
    search,
    start_rebuild,
    status,
    wait_for,
    wait_for_a_build,
    write_notebook,
)
from tests.api.test_serve_command import COMMAND, Command, environment, run, serving
from tests.serving import Client, running
from tests.waiting import PATIENCE_SECONDS, join

# So many that building their index takes seconds.
MANY = 1_500
DOCUMENTS = MANY + 5

BY_KEYWORDS = {"LOREGRAPH_EMBEDDER": "none"}
REBUILD = "mutation { rebuildIndex { indexStatus { state startedAt } problems { code } } }"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Indexed once, to be copied."""
    data_dir = tmp_path_factory.mktemp("library") / "data"
    write_notebook(data_dir)
    with running(Settings(data_dir=data_dir, embedder="none")) as server, server.client() as client:
        a_library(client)
        many_memories(client, MANY)
        eventually(lambda: found(client, f"word{MANY - 1}"), lambda places: places == [f"m{MANY - 1}"])
        assert status(client)["documents"] == DOCUMENTS
    return data_dir


@pytest.fixture
def data_dir(library: Path, tmp_path: Path) -> Path:
    shutil.copytree(library, tmp_path / "data")
    return tmp_path / "data"


@dataclass
class Searches:
    """Asks for one memory after the other until told to stop, and keeps what was not answered rightly."""

    command: Command
    asked: int = 0
    wrong: list[object] = field(default_factory=list)
    _stopping: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        chance = random.Random(1)
        with self.command.client() as client:
            while not self._stopping.is_set():
                number = chance.randrange(MANY)
                answer = client.post(
                    "query($words: String!) { search(query: $words) { engine hits { id } } }", words=f"word{number}"
                )
                right = {"data": {"search": {"engine": "KEYWORD", "hits": [{"id": f"m{number}"}]}}}
                if answer.json() != right:
                    self.wrong.append(answer.json())
                self.asked += 1

    @contextlib.contextmanager
    def going_on(self) -> Iterator["Searches"]:
        thread = threading.Thread(target=self.run)
        thread.start()
        try:
            yield self
        finally:
            self._stopping.set()
            join(thread)


@contextlib.contextmanager
def reindexing(data_dir: Path) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [COMMAND, "reindex"],
        env=environment(data_dir, **BY_KEYWORDS),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE_SECONDS)


def wait_until_half_way(client: Client) -> Any:
    return eventually(
        lambda: status(client), lambda seen: seen["state"] == "RUNNING" and 0 < seen["done"] < seen["total"]
    )


def generation(data_dir: Path) -> int:
    return int(index_file(data_dir).stem.removeprefix("search-"))


def test_a_rebuild_runs_and_completes(tmp_path: Path) -> None:
    with filled(Settings(data_dir=tmp_path / "data", embedder="none")) as (_, client):
        wait_for(client, "KEYWORD")

        start_rebuild(client)
        seen = wait_for_a_build(client)

        assert (seen["state"], seen["error"]) == ("COMPLETED", None)
        assert seen["startedAt"] <= seen["finishedAt"]
        assert (seen["done"], seen["total"], seen["documents"]) == (5, 5, 5)
        assert answers(client) == ANSWERS


def test_search_goes_on_during_a_rebuild_and_nothing_written_meanwhile_is_missing(data_dir: Path) -> None:
    with serving(data_dir, **BY_KEYWORDS) as command, command.client() as client:
        before = generation(data_dir)
        with Searches(command).going_on() as searches:
            start_rebuild(client)
            wait_until_half_way(client)
            a_memory(client, "book_1", "mem_late", summary="late", content="a clarinet")
            client.mutate("updateMemory", "memory { id }", id="m1", summary="changed", content="a bassoon")
            client.mutate("updateMemory", "memory { id }", id=f"m{MANY - 1}", content="an oboe")
            client.delete("deleteMemory", "m2")
            client.mutate("appendMemory", "file { path }", fact="Plays the harpsichord", category="Music")
            assert status(client)["state"] == "RUNNING"
            assert found(client, "clarinet") == ["mem_late"]
            asked_before = searches.asked
            seen = wait_for_a_build(client)
            assert searches.asked > asked_before
        eventually(lambda: generation(data_dir), lambda number: number == before + 1)

        assert [each for each in searches.wrong if "word1" not in str(each) and "word2" not in str(each)] == []
        assert seen["state"] == "COMPLETED"
        assert eventually(lambda: status(client)["documents"], lambda count: count == DOCUMENTS + 1)
        assert {word: found(client, word) for word in ("clarinet", "bassoon", "oboe", "word1", "word2", "word3")} == {
            "clarinet": ["mem_late"],
            "bassoon": ["m1"],
            "oboe": [f"m{MANY - 1}"],
            "word1": [],
            "word2": [],
            "word3": ["m3"],
        }
        assert len(found(client, "harpsichord")) == 1
        assert answers(client) == ANSWERS


def test_a_second_rebuild_while_one_is_running_starts_nothing_more(data_dir: Path) -> None:
    with serving(data_dir, **BY_KEYWORDS) as command, command.client() as client:
        before = generation(data_dir)
        start_rebuild(client)
        first = wait_until_half_way(client)

        second = client.ask(REBUILD)["rebuildIndex"]

        assert second == {"indexStatus": {"state": "RUNNING", "startedAt": first["startedAt"]}, "problems": []}
        assert status(client)["done"] >= first["done"]
        assert wait_for_a_build(client)["state"] == "COMPLETED"
        eventually(lambda: generation(data_dir), lambda number: number > before)
        assert wait_for(client, "KEYWORD") == ()
        command.stop()
    assert generation(data_dir) == before + 1


def test_a_rebuild_asked_for_as_soon_as_one_has_completed_is_begun(tmp_path: Path) -> None:
    with filled(Settings(data_dir=tmp_path / "data", embedder="none")) as (_, client):
        wait_for(client, "KEYWORD")

        for _ in range(20):
            assert client.ask(REBUILD)["rebuildIndex"]["indexStatus"]["state"] == "RUNNING"
            assert wait_for_a_build(client)["state"] == "COMPLETED"


def test_a_service_that_is_stopped_at_any_moment_of_a_rebuild_leaves_no_thread(tmp_path: Path) -> None:
    """One that is left keeps the process alive."""

    async def rebuild_and_stop(after: float) -> None:
        async with open_service(Settings(data_dir=tmp_path, embedder="none")) as service:
            await service.use_cases(LOCAL_OWNER).index.rebuild()
            await asyncio.sleep(after)

    before = set(threading.enumerate())
    for number in range(0, 60, 2):
        asyncio.run(rebuild_and_stop(number / 1_000))

    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()


def test_a_service_that_is_stopped_as_it_takes_over_a_new_index_leaves_no_thread(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, embedder="none")

    async def take_over_and_stop() -> None:
        async with open_parts(settings) as service:
            await service.library.open()
            former = service.library._file
            service.library.rebuild()
            while service.library._file is former:  # noqa: ASYNC110 - in the very turn in which it is another
                await asyncio.sleep(0)

    before = set(threading.enumerate())
    for _ in range(20):
        asyncio.run(take_over_and_stop())

    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()


async def test_an_index_that_several_look_for_at_once_is_opened_once(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, embedder="none")
    async with open_parts(settings) as service:
        await service.library.build_once(lambda _: None)
    async with open_parts(settings) as service:
        library = service.library
        await library._identify()

        await asyncio.gather(*(library._open_newest() for _ in range(3)))

        opened = [task for task in library._tasks._running if task.get_name() == "index-follow-files"]
        assert len(opened) == 1


def test_the_command_builds_beside_a_server_that_shows_it_and_takes_it_over(data_dir: Path) -> None:
    with serving(data_dir, **BY_KEYWORDS) as command, command.client() as client:
        before = generation(data_dir)
        with Searches(command).going_on() as searches, reindexing(data_dir) as process:
            half = wait_until_half_way(client)
            a_memory(client, "book_1", "mem_late", summary="late", content="a clarinet")
            shown, errors = process.communicate(timeout=60)
            seen = wait_for_a_build(client)

        assert (process.returncode, errors) == (0, "")
        assert "Indexing" in shown
        assert "/s" in shown
        assert shown.splitlines()[-1].startswith("Indexed 1,50")
        assert half["total"] >= MANY
        assert (seen["state"], seen["error"]) == ("COMPLETED", None)
        eventually(lambda: len(logged(command, "index_opened")), lambda count: count == 2)
        assert generation(data_dir) == before + 1
        assert searches.wrong == []
        assert wait_for(client, "KEYWORD") == ()
        assert (found(client, "clarinet"), answers(client)) == (["mem_late"], ANSWERS)


def test_a_rebuild_asked_of_the_server_while_the_command_builds_starts_nothing_more(data_dir: Path) -> None:
    with serving(data_dir, **BY_KEYWORDS) as command, command.client() as client:
        before = generation(data_dir)
        with reindexing(data_dir) as process:
            wait_until_half_way(client)

            assert client.ask(REBUILD)["rebuildIndex"]["indexStatus"]["state"] == "RUNNING"

            process.communicate(timeout=60)
            assert process.returncode == 0
        assert wait_for_a_build(client)["state"] == "COMPLETED"
        assert wait_for(client, "KEYWORD") == ()
        command.stop()
    assert generation(data_dir) == before + 1


def test_a_killed_command_leaves_the_old_index_at_work_and_the_server_goes_on_with_the_new(data_dir: Path) -> None:
    with serving(data_dir, **BY_KEYWORDS) as command, command.client() as client:
        with Searches(command).going_on() as searches:
            with reindexing(data_dir) as process:
                wait_until_half_way(client)
                process.kill()
            assert answers(client) == ANSWERS
            client.delete("deleteMemory", "mem_ship")

            eventually(lambda: logged(command, "index_build_resumed"), bool)
            eventually(lambda: len(logged(command, "index_opened")), lambda count: count == 2)

        assert logged(command, "index_build_resumed")[0]["scanned"] > 0
        assert searches.wrong == []
        assert wait_for_a_build(client)["state"] == "COMPLETED"
        assert wait_for(client, "KEYWORD") == ()
        assert answers(client) == ANSWERS | {"离港": []}
        assert status(client)["documents"] == DOCUMENTS - 1


def test_the_command_goes_on_with_what_a_killed_one_had_done(data_dir: Path) -> None:
    building = data_dir / "index" / "building.db"
    with reindexing(data_dir) as process:
        # Its first five hundred are in, but not yet all.
        eventually(
            lambda: sum(part.stat().st_size for part in building.parent.glob("building.db*")),
            lambda size: size > 2_000_000,
        )
        process.kill()
    assert building.exists()

    code, shown, errors = run(data_dir, "reindex", **BY_KEYWORDS)

    assert (code, errors) == (0, "")
    assert shown.splitlines()[-1] == f"Indexed {DOCUMENTS:,} documents."
    assert not building.exists()
    with serving(data_dir, **BY_KEYWORDS) as command, command.client() as client:
        assert answers(client) == ANSWERS
        assert status(client)["documents"] == DOCUMENTS
        assert found(client, "word1234") == ["m1234"]


def test_a_server_killed_during_a_rebuild_comes_back_with_right_answers(data_dir: Path) -> None:
    with serving(data_dir, **BY_KEYWORDS) as command, command.client() as client:
        start_rebuild(client)
        wait_until_half_way(client)
        a_memory(client, "book_1", "mem_late", summary="late", content="a clarinet")
        client.delete("deleteMemory", "m2")
        command.process.kill()
        command.process.wait(PATIENCE_SECONDS)

    with serving(data_dir, **BY_KEYWORDS) as command, command.client() as client:
        assert answers(client) == ANSWERS
        assert (found(client, "clarinet"), found(client, "word2")) == (["mem_late"], [])
        assert logged(command, "index_build_resumed")
        assert eventually(lambda: status(client), lambda seen: seen["state"] != "RUNNING")["state"] == "COMPLETED"
        assert wait_for(client, "KEYWORD") == ()
        assert answers(client) == ANSWERS
        assert (found(client, "clarinet"), found(client, "word2")) == (["mem_late"], [])
        assert status(client)["documents"] == DOCUMENTS
        assert not (data_dir / "index" / "building.db").exists()


def test_half_an_index_of_a_database_that_was_put_back_is_not_gone_on_with(data_dir: Path) -> None:
    backup = data_dir.with_name("backup.db")
    shutil.copy(data_dir / "loregraph.db", backup)
    with serving(data_dir, **BY_KEYWORDS) as command, command.client() as client:
        a_memory(client, "book_1", "mem_gone", summary="gone", content="a saxophone")
        client.delete("deleteMemory", "m5")
        start_rebuild(client)
        wait_until_half_way(client)
        command.process.kill()
        command.process.wait(PATIENCE_SECONDS)
    for file in data_dir.glob("loregraph.db*"):
        file.unlink()
    shutil.copy(backup, data_dir / "loregraph.db")

    with serving(data_dir, **BY_KEYWORDS) as command, command.client() as client:
        assert answers(client) == ANSWERS
        for number in range(5):
            a_memory(client, "book_1", f"mem_new{number}", summary="new", content=f"clarinet{number}")
        eventually(lambda: status(client), lambda seen: seen["state"] == "COMPLETED")
        assert wait_for(client, "KEYWORD") == ()
        assert answers(client) == ANSWERS
        assert found(client, "word5") == ["m5"]
        assert [found(client, f"clarinet{number}") for number in range(5)] == [[f"mem_new{each}"] for each in range(5)]
        assert status(client)["documents"] == DOCUMENTS + 5


def test_two_commands_at_once_both_end_well(data_dir: Path) -> None:
    before = generation(data_dir)
    with reindexing(data_dir) as first, reindexing(data_dir) as second:
        ended = [process.communicate(timeout=60) for process in (first, second)]

        assert [process.returncode for process in (first, second)] == [0, 0], ended
    assert generation(data_dir) in (before + 1, before + 2)
    with serving(data_dir, **BY_KEYWORDS) as command, command.client() as client:
        assert answers(client) == ANSWERS


@pytest.mark.parametrize("exists", [True, False])
def test_the_command_with_nothing_to_index_says_so(tmp_path: Path, exists: bool) -> None:  # noqa: FBT001
    data_dir = tmp_path / "data"
    if exists:
        data_dir.mkdir()

    code, shown, errors = run(data_dir, "reindex", **BY_KEYWORDS)

    assert (code, errors) == (0, "")
    assert shown.splitlines()[-1] == "Indexed 0 documents."
    with serving(data_dir, **BY_KEYWORDS) as command, command.client() as client:
        assert wait_for(client, "KEYWORD") == ()
        assert search(client, "緑茶") == {"engine": "KEYWORD", "hits": []}


def test_the_command_on_a_damaged_database_says_what_is_wrong_and_leaves_the_index(data_dir: Path) -> None:
    database = data_dir / "loregraph.db"
    database.write_text("dear diary, " * 1_000, encoding="utf-8")
    before = {file.name: file.read_bytes() for file in (data_dir / "index").iterdir()}

    code, shown, errors = run(data_dir, "reindex", **BY_KEYWORDS)

    assert (code, shown, errors) == (2, "", f"{database} cannot be used: file is not a database.\n")
    assert {file.name: file.read_bytes() for file in (data_dir / "index").iterdir()} == before


def test_the_command_without_a_place_for_the_index_says_what_is_wrong(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    (data_dir / "index").write_text("", encoding="utf-8")

    code, shown, errors = run(data_dir, "reindex", **BY_KEYWORDS)

    assert code != 0
    assert "index" in shown + errors
    assert "Traceback" not in errors


def test_the_command_that_cannot_build_says_why(data_dir: Path) -> None:
    obstacle = data_dir / "index" / "building.db"
    obstacle.mkdir()
    (obstacle / "something").write_text("", encoding="utf-8")

    code, shown, errors = run(data_dir, "reindex", **BY_KEYWORDS)

    assert code != 0
    assert str(obstacle) in (shown + errors).replace("\n", "")
    assert "Traceback" not in errors
