"""Accesses to memories and facts, gathered in memory and written in batches."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import structlog

from domain.errors import StorageUnavailableError
from domain.limits import MAX_ACCESS_COUNT
from domain.ports import AccessLog
from persistence.engine import Engine, Transaction
from persistence.mapping import to_microseconds

FLUSH_SECONDS = 0.5

_log: Final = structlog.get_logger(__name__)

# A clock that jumped back must not make anything look older.
_TOUCH: Final = """
    UPDATE {table} SET last_accessed_at = MAX(last_accessed_at, :at),
                      access_count = MIN(access_count + :count, :most)
    WHERE owner = :owner AND id = :id"""

MEMORY: Final = "memory"
FACT: Final = "fact"


@dataclass(slots=True)
class _Accesses:
    count: int
    last: datetime


@dataclass
class AccessJournal:
    """Of all owners; lost with a crash are at most the accesses of the last half second."""

    engine: Engine
    _pending: dict[tuple[str, str, str], _Accesses] = field(default_factory=dict)
    _flushing: asyncio.Task[None] | None = None

    def of(self, owner: str, table: str = MEMORY) -> "OwnerAccessLog":
        return OwnerAccessLog(self, owner, table)

    def record(self, table: str, owner: str, id: str, at: datetime) -> None:
        seen = self._pending.setdefault((table, owner, id), _Accesses(0, at))
        seen.count += 1
        seen.last = max(seen.last, at)
        if self._flushing is None:
            self._flushing = asyncio.create_task(self._flush_soon(), name="access-journal")

    async def flush(self) -> None:
        pending, self._pending = self._pending, {}
        rows: dict[str, list[dict[str, object]]] = {}
        for (table, owner, id_), seen in pending.items():
            # A larger count could not be told in GraphQL any more.
            row = {"at": to_microseconds(seen.last), "count": seen.count, "most": MAX_ACCESS_COUNT}
            rows.setdefault(table, []).append({"owner": owner, "id": id_, **row})

        async def work(transaction: Transaction) -> None:
            for table, touched in rows.items():
                await transaction.execute_many(_TOUCH.format(table=table), touched)

        if rows:
            await self.engine.write(work)

    async def close(self) -> None:
        if self._flushing is not None:
            self._flushing.cancel()
            with suppress(asyncio.CancelledError):
                await self._flushing
        await self.flush()

    async def _flush_soon(self) -> None:
        await asyncio.sleep(FLUSH_SECONDS)
        self._flushing = None
        try:
            await self.flush()
        except StorageUnavailableError as error:
            _log.warning("accesses_not_recorded", reason=error.reason)


@dataclass(frozen=True, slots=True)
class OwnerAccessLog(AccessLog):
    journal: AccessJournal
    owner: str
    table: str

    def record(self, id: str, at: datetime) -> None:
        self.journal.record(self.table, self.owner, id, at)
