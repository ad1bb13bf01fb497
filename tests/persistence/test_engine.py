"""The one writer and its readers: what an acknowledged write promises, and what a failed one leaves behind."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from domain.errors import StorageUnavailableError
from persistence import sqlite
from persistence.engine import Engine, Transaction

# Tables of its own: what the engine promises does not depend on what is stored.
TABLES = (
    "CREATE TABLE shelf (id TEXT NOT NULL UNIQUE, name TEXT NOT NULL)",
    "CREATE TABLE note (shelf_id TEXT NOT NULL REFERENCES shelf (id))",
)
INSERT = "INSERT INTO shelf (id, name) VALUES (:id, :name)"

Work = Callable[[Transaction], Awaitable[str]]


class SomethingWrongError(Exception):
    pass


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A file with the tables of these tests."""
    database = tmp_path / "loregraph.db"
    connection = sqlite.open_connection(database, read_only=False)
    for table in TABLES:
        connection.execute(table)
    connection.close()
    return database


def add(id: str, name: str = "砂の道") -> Work:
    async def work(transaction: Transaction) -> str:
        await transaction.execute(INSERT, {"id": id, "name": name})
        return id

    return work


def add_then_fail(id: str) -> Work:
    async def work(transaction: Transaction) -> str:
        await transaction.execute(INSERT, {"id": id, "name": "砂の道"})
        raise SomethingWrongError

    return work


def add_when(released: asyncio.Event, id: str, begun: asyncio.Event | None = None) -> Work:
    """Holds the writer, so that what is written meanwhile waits and goes into one group."""

    async def work(transaction: Transaction) -> str:
        await transaction.execute(INSERT, {"id": id, "name": "砂の道"})
        if begun is not None:
            begun.set()
        await released.wait()
        return id

    return work


async def ids(engine: Engine) -> list[object]:
    return [row[0] for row in await engine.fetch("SELECT id FROM shelf ORDER BY id")]


async def ids_after_reopening(database: Path) -> list[object]:
    reopened = await Engine.open(database)
    try:
        return await ids(reopened)
    finally:
        await reopened.close()


async def test_a_write_answers_and_every_reader_sees_it_at_once(engine: Engine) -> None:
    answer = await engine.write(add("book_1"))

    seen = await asyncio.gather(*(ids(engine) for _ in range(8)))
    assert answer == "book_1"
    assert seen == [["book_1"]] * 8


async def test_a_job_that_raises_leaves_nothing_and_its_group_is_kept(engine: Engine) -> None:
    released = asyncio.Event()
    holding = asyncio.create_task(engine.write(add_when(released, "first")))
    jobs = (add("a"), add_then_fail("b"), add("c"), add_then_fail("d"), add("e"))
    group = asyncio.gather(*(engine.write(job) for job in jobs), return_exceptions=True)
    await asyncio.sleep(0)
    released.set()

    answers = await group

    assert await holding == "first"
    assert [type(answer) for answer in answers] == [str, SomethingWrongError, str, SomethingWrongError, str]
    assert await ids(engine) == ["a", "c", "e", "first"]


async def test_a_job_that_breaks_a_constraint_fails_alone(engine: Engine) -> None:
    await engine.write(add("book_1"))

    answers = await asyncio.gather(
        *(engine.write(add(each)) for each in ("book_0", "book_1", "book_2")), return_exceptions=True
    )

    failed = answers[1]
    assert isinstance(failed, sqlite.Error)
    assert str(failed) == "UNIQUE constraint failed: shelf.id"
    assert (answers[0], answers[2]) == ("book_0", "book_2")
    assert await ids(engine) == ["book_0", "book_1", "book_2"]


async def test_foreign_keys_are_enforced(engine: Engine) -> None:
    with pytest.raises(sqlite.Error, match="FOREIGN KEY constraint failed"):
        await engine.write(lambda transaction: transaction.execute("INSERT INTO note VALUES ('nowhere')"))

    assert await engine.fetch("SELECT COUNT(*) FROM note") == [(0,)]


async def test_readers_cannot_write(engine: Engine) -> None:
    await engine.write(add("book_1"))

    with pytest.raises(sqlite.Error, match="attempt to write a readonly database"):
        await engine.fetch("DELETE FROM shelf")

    assert await ids(engine) == ["book_1"]


async def test_a_write_cancelled_while_it_waits_is_not_done(engine: Engine) -> None:
    begun, released = asyncio.Event(), asyncio.Event()
    holding = asyncio.create_task(engine.write(add_when(released, "first", begun)))
    await begun.wait()
    waiting = asyncio.create_task(engine.write(add("cancelled")))
    await asyncio.sleep(0)

    waiting.cancel()
    released.set()

    await holding
    assert await engine.write(add("last")) == "last"
    assert waiting.cancelled()
    assert await ids(engine) == ["first", "last"]


async def test_a_caller_that_leaves_while_its_write_runs_hurts_nobody(engine: Engine) -> None:
    begun, released = asyncio.Event(), asyncio.Event()
    leaving = asyncio.create_task(engine.write(add_when(released, "left alone", begun)))
    await begun.wait()

    leaving.cancel()
    released.set()

    assert await engine.write(add("last")) == "last"
    assert leaving.cancelled()
    assert await ids(engine) == ["last", "left alone"]


async def test_a_cancelled_read_gives_its_reader_back(database: Path) -> None:
    engine = await Engine.open(database, readers=1)
    reading = asyncio.create_task(ids(engine))
    await asyncio.sleep(0)

    reading.cancel()

    assert await ids(engine) == []
    await engine.close()


async def test_a_write_after_closing_is_refused(database: Path) -> None:
    engine = await Engine.open(database)
    await engine.close()

    with pytest.raises(StorageUnavailableError) as refused:
        await engine.write(add("late"))

    assert refused.value.reason == "the database is closed"
    assert await ids_after_reopening(database) == []


async def test_a_write_while_closing_is_answered(database: Path) -> None:
    engine = await Engine.open(database)
    begun, released = asyncio.Event(), asyncio.Event()
    accepted = asyncio.create_task(engine.write(add_when(released, "accepted", begun)))
    closing = asyncio.create_task(engine.close())
    await begun.wait()
    late = asyncio.create_task(engine.write(add("late")))
    await asyncio.sleep(0)
    released.set()
    await asyncio.gather(accepted, closing)

    answered, _ = await asyncio.wait({late}, timeout=5)

    late.cancel()
    assert answered == {late}, "the caller waits for ever"
    assert isinstance(late.exception(), StorageUnavailableError)
    assert await ids_after_reopening(database) == ["accepted"]


@pytest.mark.parametrize("max_group", [1, 3, 256])
async def test_closing_waits_for_the_writes_already_accepted(database: Path, max_group: int) -> None:
    engine = await Engine.open(database, max_group=max_group)
    released = asyncio.Event()
    jobs = (add_when(released, "0"), *(add(str(number)) for number in range(1, 10)))
    writes = asyncio.gather(*(engine.write(job) for job in jobs))
    await asyncio.sleep(0)
    closing = asyncio.create_task(engine.close())
    await asyncio.sleep(0)

    released.set()
    await closing

    expected = [str(number) for number in range(10)]
    assert await writes == expected
    assert await ids_after_reopening(database) == expected


async def test_two_hundred_writers_at_once_all_land(database: Path, engine: Engine) -> None:
    expected = [f"book_{number:03}" for number in range(200)]

    answers = await asyncio.gather(*(engine.write(add(each)) for each in expected))

    assert answers == expected
    assert await ids(engine) == expected


async def test_a_lock_of_another_process_only_delays_a_write(database: Path, engine: Engine) -> None:
    other = sqlite.open_connection(database, read_only=False)
    other.execute("BEGIN IMMEDIATE")
    other.execute(INSERT, {"id": "theirs", "name": "砂の道"})

    ours = asyncio.create_task(engine.write(add("ours")))
    await asyncio.sleep(0.05)
    assert not ours.done()
    assert await ids(engine) == []
    other.execute("COMMIT")

    assert await ours == "ours"
    assert await ids(engine) == ["ours", "theirs"]
    other.close()


async def test_a_lock_held_too_long_refuses_the_write_and_the_next_one_works(database: Path, engine: Engine) -> None:
    await engine._writer.execute_fetchall("PRAGMA busy_timeout = 1")
    other = sqlite.open_connection(database, read_only=False)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(StorageUnavailableError) as refused:
        await engine.write(add("refused"))
    other.execute("ROLLBACK")
    other.close()

    assert refused.value.reason == "database is locked"
    assert await engine.write(add("next")) == "next"
    assert await ids(engine) == ["next"]


async def test_a_full_disk_refuses_the_write_and_keeps_what_was_there(engine: Engine) -> None:
    await engine.write(add("before"))
    ((pages,),) = await engine.fetch("PRAGMA page_count")
    await engine._writer.execute_fetchall(f"PRAGMA max_page_count = {pages}")

    with pytest.raises(StorageUnavailableError) as refused:
        await engine.write(add("too big", name="砂" * 100_000))

    assert refused.value.reason == "database or disk is full"
    assert await ids(engine) == ["before"]
    await engine._writer.execute_fetchall("PRAGMA max_page_count = 4294967294")
    assert await engine.write(add("too big", name="砂" * 100_000)) == "too big"
    assert await ids(engine) == ["before", "too big"]
    assert await engine.fetch("PRAGMA integrity_check") == [("ok",)]


async def test_a_group_that_meets_a_full_disk_acknowledges_only_what_is_kept(engine: Engine) -> None:
    ((pages,),) = await engine.fetch("PRAGMA page_count")
    await engine._writer.execute_fetchall(f"PRAGMA max_page_count = {pages}")

    jobs = (add("small"), add("too big", name="砂" * 100_000), add("last"))
    answers = await asyncio.gather(*(engine.write(job) for job in jobs), return_exceptions=True)

    assert isinstance(answers[1], StorageUnavailableError)
    assert await ids(engine) == sorted(answer for answer in answers if isinstance(answer, str))


def test_a_refused_write_says_why() -> None:
    assert str(StorageUnavailableError((), "database or disk is full")) == "database or disk is full"


async def test_an_opening_that_is_cancelled_at_any_moment_leaves_no_thread(database: Path) -> None:
    """One that is left keeps the process alive."""
    before = set(threading.enumerate())
    for number in range(60):
        opening = asyncio.create_task(Engine.open(database))
        await asyncio.sleep(number / 4_000)
        opening.cancel()
        if await asyncio.wait({opening}) and not opening.cancelled():
            await opening.result().close()

    await asyncio.get_running_loop().shutdown_default_executor()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()
