"""A database file is brought to the present version, or left exactly as it was."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy.dialects import sqlite as dialect
from sqlalchemy.schema import CreateIndex, CreateTable

from persistence import migrations, sqlite, tables
from persistence.engine import Engine
from persistence.migrations import UnreadableDatabaseError, upgrade

FIRST = "CREATE TABLE shelf (name TEXT NOT NULL);\nINSERT INTO shelf VALUES ('砂の道');\n"
SECOND = "ALTER TABLE shelf ADD COLUMN height INTEGER;\n\nUPDATE shelf SET height = 3;\n"
OPENING = """
import asyncio, sys
from pathlib import Path

from persistence.engine import Engine
from persistence.migrations import UnreadableDatabaseError

try:
    asyncio.run(Engine.open(Path(sys.argv[1])))
except UnreadableDatabaseError as error:
    print(error)
"""
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


def everything_in(database: Path) -> dict[str, object]:
    """The schema and every row of every table."""
    schema = ask(database, "SELECT name, type, sql FROM sqlite_schema ORDER BY name")
    names = [str(name) for name, kind, _ in schema if kind == "table"]
    rows = {name: ask(database, f"SELECT * FROM {name}") for name in names}
    return {"version": version_of(database), "schema": schema, "rows": rows}


async def test_a_new_file_gets_the_present_version(database: Path) -> None:
    engine = await Engine.open(database)
    await engine.close()

    assert version_of(database) == len(migrations.scripts())
    assert set(tables_in(database)) == set(tables.BookRow.metadata.tables)


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


async def test_a_last_statement_without_its_semicolon_is_not_passed_over(database: Path) -> None:
    await upgraded(database, (FIRST + "INSERT INTO shelf VALUES ('海へ')\n-- the end\n",))

    assert ask(database, "SELECT name FROM shelf ORDER BY rowid") == [("砂の道",), ("海へ",)]


async def test_a_last_statement_that_is_cut_off_is_refused(database: Path) -> None:
    with pytest.raises(UnreadableDatabaseError):
        await upgraded(database, (FIRST + "INSERT INTO shelf VALUES (\n",))

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


def test_a_file_that_is_no_database_is_refused_and_left_alone(database: Path) -> None:
    database.write_text("dear diary, " * 1_000, encoding="utf-8")

    opened = open_in_a_fresh_process(database)

    assert opened == (0, f"{database} cannot be used: file is not a database\n", "")
    assert database.read_text(encoding="utf-8") == "dear diary, " * 1_000


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    opened = open_in_a_fresh_process(tmp_path)

    assert opened == (0, f"{tmp_path} cannot be used: unable to open database file\n", "")


def open_in_a_fresh_process(database: Path) -> tuple[int, str, str]:
    """A connection left behind would keep the process from ending, or speak up after its end."""
    process = subprocess.run(
        [sys.executable, "-c", OPENING, str(database)], capture_output=True, text=True, check=False, timeout=30
    )
    return process.returncode, process.stdout, process.stderr


async def test_opening_again_changes_nothing(database: Path) -> None:
    engine = await Engine.open(database)
    await engine.close()
    run(database, "CREATE TABLE shelf (name TEXT NOT NULL)", "INSERT INTO shelf VALUES ('砂の道')")
    before = everything_in(database)
    watching = sqlite.open_connection(database, read_only=True)
    commits = watching.execute("PRAGMA data_version").fetchall()

    again = await Engine.open(database)
    await again.close()

    assert watching.execute("PRAGMA data_version").fetchall() == commits
    assert everything_in(database) == before
    watching.close()


def test_the_migrated_tables_are_those_of_the_code(tmp_path: Path) -> None:
    migrated, declared = tmp_path / "migrated.db", tmp_path / "declared.db"
    run(migrated, *(statement for script in migrations.scripts() for statement in migrations._statements(script)))
    run(declared, *declarations())

    assert tables_in(migrated) == tables_in(declared)


def declarations() -> list[str]:
    """The DDL of the classes in persistence.tables."""
    statements: list[str] = []
    for table in tables.BookRow.metadata.sorted_tables:
        statements.append(str(CreateTable(table).compile(dialect=dialect.dialect())))
        statements += [str(CreateIndex(index).compile(dialect=dialect.dialect())) for index in table.indexes]
    return statements


def tables_in(database: Path) -> dict[str, dict[str, object]]:
    """All that a pragma tells, and of the statements what no pragma does: checks, conditions, AUTOINCREMENT."""
    statements = ask(database, "SELECT name, sql FROM sqlite_schema WHERE type IN ('table', 'index')")
    written = {row[0]: row[1] for row in statements}
    names = ask(database, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return {str(name): table_in(database, str(name), written) for (name,) in names}


def table_in(database: Path, name: str, written: dict[object, object]) -> dict[str, object]:
    indexes = ask(database, f"SELECT name, \"unique\", origin, partial FROM pragma_index_list('{name}') ORDER BY name")
    return {
        "columns": ask(database, f"PRAGMA table_xinfo('{name}')"),
        "foreign keys": ask(database, f"PRAGMA foreign_key_list('{name}')"),
        "indexes": indexes,
        "indexed": {index[0]: ask(database, f"PRAGMA index_xinfo('{index[0]}')") for index in indexes},
        "statements": [plain(written[each]) for each in (name, *(index[0] for index in indexes))],
    }


def plain(statement: object) -> str | None:
    """Without differences of layout."""
    return None if statement is None else re.sub(r"\s+|(?<=\()|(?=\))", " ", str(statement)).strip()
