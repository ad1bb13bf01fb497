"""A database file is brought to the present version, or left exactly as it was."""

import re
from pathlib import Path
from typing import cast

import pytest
from sqlalchemy import Table
from sqlalchemy.dialects import sqlite as dialect
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlmodel import SQLModel

from persistence import migrations, sqlite, tables
from persistence.engine import Engine
from persistence.migrations import UnreadableDatabaseError, upgrade

FIRST = "CREATE TABLE shelf (name TEXT NOT NULL);\nINSERT INTO shelf VALUES ('砂の道');\n"
SECOND = "ALTER TABLE shelf ADD COLUMN height INTEGER;\n\nUPDATE shelf SET height = 3;\n"
FAILING = "ALTER TABLE shelf ADD COLUMN height INTEGER;\nINSERT INTO nowhere VALUES (1);\n"


async def upgraded(database: Path, steps: tuple[str, ...]) -> None:
    db = await sqlite.connect(database, read_only=False)
    try:
        await upgrade(db, database, steps)
    finally:
        await db.close()


def ask(database: Path, sql: str) -> list[tuple[object, ...]]:
    connection = sqlite.open_connection(database, read_only=True)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def run(database: Path, *statements: str) -> None:
    connection = sqlite.open_connection(database, read_only=False)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def version_of(database: Path) -> object:
    return ask(database, "PRAGMA user_version")[0][0]


def everything_in(database: Path) -> list[str]:
    connection = sqlite.open_connection(database, read_only=True)
    dump = [*connection.iterdump(), str(connection.execute("PRAGMA user_version").fetchall())]
    connection.close()
    return dump


async def test_a_new_file_gets_the_present_version(database: Path) -> None:
    engine = await Engine.open(database)
    await engine.close()

    assert version_of(database) == len(migrations.scripts())
    found = ask(database, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY 1")
    assert found == [("attachment",), ("book",), ("chapter",), ("character",), ("memory",), ("term",)]


async def test_an_older_file_is_upgraded_and_keeps_its_rows(database: Path) -> None:
    await upgraded(database, (FIRST,))
    run(database, "INSERT INTO shelf VALUES ('海へ')")

    await upgraded(database, (FIRST, SECOND))

    assert version_of(database) == 2
    assert ask(database, "SELECT name, height FROM shelf ORDER BY rowid") == [("砂の道", 3), ("海へ", 3)]


async def test_a_step_that_fails_leaves_the_file_as_it_was(database: Path) -> None:
    await upgraded(database, (FIRST,))
    before = everything_in(database)

    with pytest.raises(UnreadableDatabaseError) as refused:
        await upgraded(database, (FIRST, SECOND, FAILING))

    assert str(refused.value).startswith(f"{database} cannot be used: ")
    assert everything_in(database) == before
    assert version_of(database) == 1


async def test_a_statement_that_is_never_ended_is_not_passed_over(database: Path) -> None:
    with pytest.raises(UnreadableDatabaseError):
        await upgraded(database, ("CREATE TABLE shelf (name TEXT NOT NULL);\nCREATE TABLE lost (name TEXT NOT NULL)\n",))

    assert version_of(database) == 0


async def test_a_file_of_a_newer_version_is_refused_and_left_alone(database: Path) -> None:
    engine = await Engine.open(database)
    await engine.close()
    present = len(migrations.scripts())
    run(database, f"PRAGMA user_version = {present + 1}")
    before = everything_in(database)

    with pytest.raises(UnreadableDatabaseError) as refused:
        await Engine.open(database)

    assert str(refused.value) == (
        f"{database} cannot be used: it was written by a newer Loregraph"
        f" (format {present + 1}, this one knows up to {present});"
        " upgrade Loregraph or choose another data folder"
    )
    assert everything_in(database) == before


async def test_a_file_that_is_no_database_is_refused_and_left_alone(database: Path) -> None:
    database.write_text("dear diary, " * 1_000, encoding="utf-8")

    with pytest.raises(UnreadableDatabaseError) as refused:
        await Engine.open(database)

    assert str(refused.value) == f"{database} cannot be used: file is not a database"
    assert database.read_text(encoding="utf-8") == "dear diary, " * 1_000


async def test_a_folder_in_place_of_the_file_is_refused(database: Path) -> None:
    database.mkdir()

    with pytest.raises(UnreadableDatabaseError) as refused:
        await Engine.open(database)

    assert str(refused.value) == f"{database} cannot be used: unable to open database file"


async def test_opening_again_changes_nothing(database: Path) -> None:
    engine = await Engine.open(database)
    await engine.close()
    run(database, "INSERT INTO book (owner, id, name, context_limit) VALUES ('local', 'book_1', '砂の道', 10)")
    before = everything_in(database)
    watching = sqlite.open_connection(database, read_only=True)
    commits = watching.execute("PRAGMA data_version").fetchall()

    again = await Engine.open(database)
    await again.close()

    assert watching.execute("PRAGMA data_version").fetchall() == commits
    assert everything_in(database) == before
    watching.close()


Details = dict[str, object]


def _table_details(connection: object, table: str) -> Details:
    def pragma(name: str, of: str) -> list[tuple[object, ...]]:
        return cast("Table", connection).execute(f"PRAGMA {name}('{of}')").fetchall()  # type: ignore[attr-defined, no-any-return]

    indexes = {index[1]: index[2:] for index in pragma("index_list", table)}
    return {
        "columns": pragma("table_xinfo", table),
        "foreign_keys": pragma("foreign_key_list", table),
        "indexes": {name: (kind, pragma("index_xinfo", str(name))) for name, kind in indexes.items()},
    }
