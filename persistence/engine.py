"""One writer with a queue, a few readers: how every statement reaches the database."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

import aiosqlite

from domain.errors import StorageUnavailableError
from persistence import migrations, sqlite
from persistence.sqlite import Parameters, Row

T = TypeVar("T")

# Makes a file that was just opened fit for use.
Prepare = Callable[[aiosqlite.Connection, Path], Awaitable[None]]

READERS = 4
MAX_GROUP = 256
FORGET_MILLISECONDS = 100


class Transaction:
    """The writer's connection, lent to one job at a time."""

    def __init__(self, db: aiosqlite.Connection) -> None:
        self._db = db

    async def fetch(self, sql: str, parameters: Parameters = ()) -> Sequence[Row]:
        return await _fetch(self._db, sql, parameters)

    async def execute(self, sql: str, parameters: Parameters = ()) -> None:
        await _fetch(self._db, sql, parameters)

    async def execute_many(self, sql: str, rows: Sequence[Parameters]) -> None:
        cursor = await self._db.executemany(sql, rows)
        await cursor.close()


@dataclass(slots=True)
class _Job(Generic[T]):
    work: Callable[[Transaction], Awaitable[T]]
    done: asyncio.Future[T]
    error: BaseException | None = None
    answer: T | None = None

    def settle(self) -> None:
        if self.done.done():
            return
        if self.error is not None:
            self.done.set_exception(self.error)
        else:
            self.done.set_result(self.answer)  # type: ignore[arg-type]


@dataclass
class Engine:
    """Open with `Engine.open`, and close: a connection left open keeps the process alive."""

    path: Path
    _writer: aiosqlite.Connection
    _readers: Sequence[aiosqlite.Connection]
    _at_hand: sqlite.Connection
    _max_group: int
    _idle: asyncio.LifoQueue[aiosqlite.Connection] = field(default_factory=asyncio.LifoQueue)
    _jobs: "asyncio.Queue[_Job[object] | None]" = field(default_factory=asyncio.Queue)
    _writing: asyncio.Task[None] | None = None
    _alone: asyncio.Lock = field(default_factory=asyncio.Lock)
    _is_closing: bool = False

    @classmethod
    async def open(
        cls, path: Path, prepare: Prepare = migrations.upgrade, *, readers: int = READERS, max_group: int = MAX_GROUP
    ) -> "Engine":
        """Creates or upgrades the file; refuses one that a newer Loregraph wrote."""
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            writer = await sqlite.connect(path, read_only=False)
        except sqlite.Error as error:
            raise migrations.UnreadableDatabaseError(path, str(error)) from error
        opened = [writer]
        try:
            await prepare(writer, path)
            while len(opened) <= readers:
                opened.append(await sqlite.connect(path, read_only=True))
            at_hand = sqlite.open_connection(path, read_only=True)
        except BaseException:
            for db in opened:
                await db.close()
            raise
        reading = opened[1:]
        engine = cls(path, writer, reading, at_hand, max_group)
        for reader in reading:
            engine._idle.put_nowait(reader)
        engine._writing = asyncio.create_task(engine._write_until_closed(), name="sqlite-writer")
        return engine

    async def read(self, sql: str, parameters: Parameters = ()) -> Sequence[Row]:
        """For a statement that walks an index no further than a page: done before a thread would have begun.

        Handing it to a thread and back costs several times what it takes itself, because both threads
        then want the interpreter's lock. Measured: chunk contexts 0.40 of a plain route by thread, 0.56 like this.
        """
        return self._at_hand.execute(sql, parameters).fetchall()

    async def fetch(self, sql: str, parameters: Parameters = ()) -> Sequence[Row]:
        """For a statement that may read much, in a thread of its own."""
        reader = await self._idle.get()
        try:
            return await _fetch(reader, sql, parameters)
        finally:
            self._idle.put_nowait(reader)

    async def write(self, work: Callable[[Transaction], Awaitable[T]]) -> T:
        """The answer of `work` once it is on disk; when `work` raises, nothing of it is kept."""
        if self._is_closing:
            raise StorageUnavailableError((), "the database is closed")
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.put_nowait(_Job(work, done))  # type: ignore[arg-type]
        return await done

    async def forget(self) -> None:
        """What was deleted is afterwards in no file any more; fails while somebody reads what was there before."""
        async with self._alone:
            # Nobody who wants to write waits for one who reads.
            await _fetch(self._writer, f"PRAGMA busy_timeout = {FORGET_MILLISECONDS}", ())
            ((is_busy, *_),) = await _fetch(self._writer, "PRAGMA wal_checkpoint(TRUNCATE)", ())
            await _fetch(self._writer, f"PRAGMA busy_timeout = {sqlite.BUSY_TIMEOUT_SECONDS * 1000}", ())
        if is_busy:
            raise StorageUnavailableError((), "somebody is still reading what was deleted")

    async def leave_wal(self) -> None:
        """Everything is in the one file afterwards; only closing may follow."""
        self._at_hand.close()
        for reader in self._readers:
            await reader.close()
        await _fetch(self._writer, "PRAGMA journal_mode = DELETE", ())

    async def close(self) -> None:
        """Waits for the writes already accepted."""
        self._is_closing = True
        if self._writing is not None:
            self._jobs.put_nowait(None)
            await self._writing
        self._at_hand.close()
        for db in (*self._readers, self._writer):
            await db.close()

    async def _write_until_closed(self) -> None:
        transaction = Transaction(self._writer)
        closing = False
        while not closing:
            group = [await self._jobs.get()]
            while not self._jobs.empty() and len(group) < self._max_group:
                group.append(self._jobs.get_nowait())
            closing = None in group
            jobs = [job for job in group if job is not None and not job.done.cancelled()]
            if jobs:
                async with self._alone:
                    await self._commit_together(transaction, jobs)

    async def _commit_together(self, transaction: Transaction, jobs: Sequence[_Job[object]]) -> None:
        """One commit, and so one fsync, for all jobs that waited while the last one was written."""
        try:
            await transaction.execute("BEGIN IMMEDIATE")
            for job in jobs:
                await self._attempt(transaction, job)
            await transaction.execute("COMMIT")
        except sqlite.Error as error:
            with suppress(sqlite.Error):
                await transaction.execute("ROLLBACK")
            for job in jobs:
                job.error = StorageUnavailableError((), str(error))
        for job in jobs:
            job.settle()

    async def _attempt(self, transaction: Transaction, job: _Job[object]) -> None:
        await transaction.execute("SAVEPOINT job")
        try:
            job.answer = await job.work(transaction)
        except Exception as error:
            if not self._writer.in_transaction:
                # SQLite itself rolled back (disk full, I/O error): the others' work is gone as well.
                raise sqlite.Error(str(error)) from error
            await transaction.execute("ROLLBACK TO job")
            job.error = StorageUnavailableError((), str(error)) if sqlite.is_storage_failure(error) else error
        await transaction.execute("RELEASE job")


async def _fetch(db: aiosqlite.Connection, sql: str, parameters: Parameters) -> Sequence[Row]:
    return list(await db.execute_fetchall(sql, parameters))  # type: ignore[arg-type]
