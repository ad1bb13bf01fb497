"""What is due in chat memory, of all owners: sessions that have ended, and those that wait to be learned from."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, cast

from domain.chat_ports import Agenda, SessionKey
from domain.sessions import IDLE_LIFETIME, LONGEST_RETRY
from persistence.engine import Engine, Transaction
from persistence.mapping import to_microseconds

# A turn that is told again after so long is another one, and so is a session.
OLD: Final = timedelta(days=7)
MOST: Final = 100

_ENDED: Final = "SELECT owner, session_id FROM working_memory WHERE updated_at <= :before LIMIT :most"
# One from the future was written before the clock was set back.
_WAITING: Final = """
    SELECT owner, id FROM session
    WHERE wanted IS NOT NULL AND (retry_at IS NULL OR retry_at <= :now OR retry_at > :beyond) LIMIT :most"""
_FROM_THE_FUTURE: Final = "SELECT 1 FROM working_memory WHERE updated_at > :now LIMIT 1"
_SET_BACK: Final = "UPDATE working_memory SET updated_at = :now WHERE updated_at > :now"
_ANY_OLD: Final = """
    SELECT 1 FROM turn WHERE recorded_at < :before UNION ALL
    SELECT 1 FROM session WHERE seen_at < :before AND wanted IS NULL LIMIT 1"""
_DROP_OLD: Final = (
    "DELETE FROM turn WHERE recorded_at < :before",
    """DELETE FROM session WHERE seen_at < :before AND wanted IS NULL AND NOT EXISTS (
        SELECT 1 FROM working_memory WHERE working_memory.owner = session.owner AND session_id = session.id)""",
)


@dataclass(frozen=True, slots=True)
class ChatAgenda(Agenda):
    engine: Engine

    async def ended(self, now: datetime) -> Sequence[SessionKey]:
        await self._follow_clock(now)
        rows = await self.engine.read(_ENDED, {"before": to_microseconds(now - IDLE_LIFETIME), "most": MOST})
        return [SessionKey(*cast("Any", row)) for row in rows]

    async def waiting(self, now: datetime) -> Sequence[SessionKey]:
        parameters = {"now": to_microseconds(now), "beyond": to_microseconds(now + LONGEST_RETRY), "most": MOST}
        return [SessionKey(*cast("Any", row)) for row in await self.engine.read(_WAITING, parameters)]

    async def drop_old(self, now: datetime) -> None:
        parameters = {"before": to_microseconds(now - OLD)}
        if await self.engine.read(_ANY_OLD, parameters):
            await self._execute(_DROP_OLD, parameters)

    async def _follow_clock(self, now: datetime) -> None:
        """After the clock was set back, a session ends thirty minutes from now, not from what it was before."""
        parameters = {"now": to_microseconds(now)}
        if await self.engine.read(_FROM_THE_FUTURE, parameters):
            await self._execute((_SET_BACK,), parameters)

    async def _execute(self, statements: Sequence[str], parameters: dict[str, int]) -> None:
        async def work(transaction: Transaction) -> None:
            for sql in statements:
                await transaction.execute(sql, parameters)

        await self.engine.write(work)
