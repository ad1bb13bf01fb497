"""A database that has left its WAL is whole in its one file, so that the file can be given another name."""

import os
from functools import partial
from pathlib import Path

from persistence import sqlite
from persistence.engine import Engine, Transaction

ROWS = [(number, "魔石" * 200) for number in range(2_000)]


async def fill(transaction: Transaction) -> None:
    await transaction.execute("CREATE TABLE kept (number INTEGER PRIMARY KEY, text TEXT)")
    await transaction.execute_many("INSERT INTO kept VALUES (?, ?)", ROWS)


def read(path: Path, sql: str) -> list[tuple[object, ...]]:
    connection = sqlite.open_connection(path, read_only=True)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


async def left_wal(path: Path) -> None:
    engine = await Engine.open(path)
    await engine.write(fill)
    assert len(await engine.fetch("SELECT number FROM kept")) == len(ROWS)
    await engine.leave_wal()
    await engine.close()


async def test_the_file_alone_has_everything(database: Path) -> None:
    await left_wal(database)

    assert [file.name for file in database.parent.iterdir()] == [database.name]
    assert read(database, "SELECT number, text FROM kept ORDER BY number") == ROWS
    assert read(database, "PRAGMA integrity_check") == [("ok",)]
    assert read(database, "PRAGMA journal_mode") == [("delete",)]


async def test_it_can_be_given_another_name_and_is_written_to_again(database: Path) -> None:
    await left_wal(database)
    renamed = database.with_name("renamed.db")

    os.rename(database, renamed)  # noqa: PTH104 - as a finished index is
    engine = await Engine.open(renamed)
    await engine.write(lambda transaction: transaction.execute("DELETE FROM kept WHERE number > 0"))

    assert await engine.fetch("SELECT * FROM kept") == ROWS[:1]
    assert await engine.read("PRAGMA journal_mode") == [("wal",)]
    await engine.close()


async def test_everything_accepted_before_is_in_it(database: Path) -> None:
    engine = await Engine.open(database)
    await engine.write(lambda transaction: transaction.execute("CREATE TABLE kept (number INTEGER)"))
    for number in range(50):
        await engine.write(partial(put, number))

    await engine.leave_wal()
    await engine.close()

    assert read(database, "SELECT COUNT(*) FROM kept") == [(50,)]


async def put(number: int, transaction: Transaction) -> None:
    await transaction.execute("INSERT INTO kept VALUES (?)", (number,))


async def test_an_empty_database_can_leave_it_as_well(database: Path) -> None:
    engine = await Engine.open(database)

    await engine.leave_wal()
    await engine.close()

    assert [file.name for file in database.parent.iterdir()] == [database.name]
