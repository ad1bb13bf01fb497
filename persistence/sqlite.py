"""The one SQLite library of the process: every connection is opened here."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import aiosqlite

if TYPE_CHECKING:
    import sqlite3
else:
    # Many Python builds ship a `sqlite3` that cannot load extensions and links an old SQLite.
    # One file must never be opened through two SQLite libraries, so the choice is made here alone.
    try:
        import pysqlite3 as sqlite3
    except ImportError:
        import sqlite3

Row = tuple[object, ...]
Parameters = Mapping[str, object] | Sequence[object]

Connection = sqlite3.Connection
Error = sqlite3.Error
is_complete = sqlite3.complete_statement
VERSION = sqlite3.sqlite_version_info

# Before these, two connections that checkpoint one WAL can lose acknowledged commits.
_WAL_FIXES = ((3, 44, 6), (3, 50, 7), (3, 51, 3))

BUSY_TIMEOUT_SECONDS = 10
STATEMENT_CACHE = 256

_COMMON = (
    "PRAGMA foreign_keys = ON",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA mmap_size = 268435456",
)
_WRITER = (
    "PRAGMA journal_mode = WAL",
    # An acknowledged write survives a power cut; group commit pays for the fsync.
    "PRAGMA synchronous = FULL",
    # What is deleted is overwritten, not merely no longer listed.
    "PRAGMA secure_delete = ON",
)


def is_storage_failure(error: Exception) -> bool:
    """The disk, a lock or the file is at fault, not our statement."""
    return isinstance(error, sqlite3.OperationalError) or type(error) is sqlite3.DatabaseError


async def connect(path: Path, *, read_only: bool) -> aiosqlite.Connection:
    """Cancelled, it is closed first: a thread left behind would keep the process alive, or outlive the loop."""
    connecting = asyncio.create_task(_connect(path, read_only=read_only))
    try:
        return await asyncio.shield(connecting)
    except asyncio.CancelledError:
        with suppress(Error):
            await (await connecting).close()
        raise


async def _connect(path: Path, *, read_only: bool) -> aiosqlite.Connection:
    # Opened first: a thread that aiosqlite started for a connection that fails would outlive the loop.
    connection = await asyncio.to_thread(open_connection, path, read_only=read_only)
    db = await aiosqlite.Connection(lambda: connection, iter_chunk_size=64)
    try:
        for pragma in () if read_only else _WRITER:
            await db.execute_fetchall(pragma)
    except Error:
        await db.close()
        raise
    return db


def open_connection(path: Path, *, read_only: bool) -> "Connection":
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rwc'}",
        uri=True,
        timeout=BUSY_TIMEOUT_SECONDS,
        isolation_level=None,
        cached_statements=STATEMENT_CACHE,
        check_same_thread=False,
    )
    if why_no_vectors() is None:
        _load_vectors(connection)
    for pragma in _COMMON:
        connection.execute(pragma)
    return connection


@lru_cache(maxsize=1)
def why_no_vectors() -> str | None:
    """None where sqlite-vec works; found out once."""
    connection = sqlite3.connect(":memory:")
    try:
        _load_vectors(connection)
        connection.execute("SELECT vec_version()")
    except AttributeError:
        return "this Python's SQLite cannot load extensions; install pysqlite3"
    except (ImportError, Error) as error:
        return f"sqlite-vec cannot be loaded ({error}); install it again"
    finally:
        connection.close()
    return None


def _load_vectors(connection: "Connection") -> None:
    connection.enable_load_extension(True)
    import_module("sqlite_vec").load(connection)
    connection.enable_load_extension(False)


def checkpoints_safely(version: tuple[int, ...] = VERSION) -> bool:
    same_line = [fix for fix in _WAL_FIXES if fix[:2] == version[:2]]
    return version >= (same_line or _WAL_FIXES[-1:])[0]
