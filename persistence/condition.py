"""What state the database is in, for those who start and watch the service."""

from persistence import sqlite
from persistence.engine import Engine


async def has_never_held_a_book(engine: Engine) -> bool:
    """True until the first book is created, and never again: AUTOINCREMENT remembers."""
    return not await engine.read("SELECT 1 FROM sqlite_sequence WHERE name = 'book'")


async def degraded(engine: Engine) -> list[str]:
    """What does not work as well as it could; raises when requests cannot be served at all."""
    await engine.read("SELECT 1 FROM book LIMIT 1")
    found = []
    if not sqlite.checkpoints_safely():
        version = ".".join(map(str, sqlite.VERSION))
        found.append(f"SQLite {version} can lose commits when two processes write: install pysqlite3 0.6 or newer")
    return found
