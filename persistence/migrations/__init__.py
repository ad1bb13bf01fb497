"""Numbered steps that bring a database file from any older version to the present one."""

from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import aiosqlite

from persistence import sqlite


@dataclass(eq=False)
class UnreadableDatabaseError(Exception):
    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.path} cannot be used: {self.reason}"


def scripts() -> tuple[str, ...]:
    """In order; the n-th brings a file from version n to n + 1."""
    files = [file for file in resources.files(__package__).iterdir() if file.name.endswith(".sql")]
    return tuple(file.read_text(encoding="utf-8") for file in sorted(files, key=lambda file: file.name))


async def upgrade(db: aiosqlite.Connection, path: Path, steps: tuple[str, ...] | None = None) -> None:
    """All missing steps in one transaction: an upgrade that fails leaves the file as it was."""
    steps = scripts() if steps is None else steps
    try:
        await db.execute_fetchall("BEGIN IMMEDIATE")
        ((version,),) = await db.execute_fetchall("PRAGMA user_version")
        if version > len(steps):
            raise UnreadableDatabaseError(
                path,
                f"it was written by a newer Loregraph (format {version}, this one knows up to {len(steps)});"
                " upgrade Loregraph or choose another data folder",
            )
        for step in steps[version:]:
            for statement in _statements(step):
                await db.execute_fetchall(statement)
        if version < len(steps):
            await db.execute_fetchall(f"PRAGMA user_version = {len(steps)}")
        await db.execute_fetchall("COMMIT")
    except sqlite.Error as error:
        raise UnreadableDatabaseError(path, str(error)) from error
    finally:
        if db.in_transaction:
            # A COMMIT that was cancelled may still come before it.
            with suppress(sqlite.Error):
                await db.execute_fetchall("ROLLBACK")


def _statements(script: str) -> list[str]:
    statements, current = [], ""
    for line in script.splitlines(keepends=True):
        current += line
        if sqlite.is_complete(current):
            statements.append(current)
            current = ""
    # A rest that never ends is left to SQLite, which says what is wrong with it.
    return [*statements, current] if current.strip() else statements
