"""Accesses to memories, gathered in memory and written in batches."""

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

# A clock that jumped back must not make a memory look older.
_TOUCH: Final = """
    UPDATE memory SET last_accessed_at = MAX(last_accessed_at, :at),
                      access_count = MIN(access_count + :count, :most)
    WHERE owner = :owner AND id = :id"""


@dataclass(slots=True)
class _Accesses:
    count: int
    last: datetime


@dataclass
class AccessJournal:
    """Of all owners; lost with a crash are at most the accesses of the last half second."""

    engine: Engine
    _pending: dict[tuple[str, str], _Accesses] = field(default_factory=dict)
    _flushing: asyncio.Task[None] | None = None

    def of(self, owner: str) -> "OwnerAccessLog":
        return OwnerAccessLog(self, owner)

    def record(self, owner: str, memory_id: str, at: datetime) -> None:
        seen = self._pending.setdefault((owner, memory_id), _Accesses(0, at))
        seen.count += 1
        seen.last = max(seen.last, at)
        if self._flushing is None:
            self._flushing = asyncio.create_task(self._flush_soon(), name="access-journal")

    async def flush(self) -> None:
        pending, self._pending = self._pending, {}
        rows = [
            {
                "owner": owner,
                "id": memory_id,
                "at": to_microseconds(seen.last),
                "count": seen.count,
                # A larger number could not be told in GraphQL any more.
                "most": MAX_ACCESS_COUNT,
            }
            for (owner, memory_id), seen in pending.items()
        ]

        async def work(transaction: Transaction) -> None:
            await transaction.execute_many(_TOUCH, rows)

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

    def record(self, memory_id: str, at: datetime) -> None:
        self.journal.record(self.owner, memory_id, at)
