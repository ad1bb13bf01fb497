"""What goes on without being asked: learning from sessions, and ending those that were left."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import structlog

from domain.chat_ports import Agenda, SessionKey
from domain.errors import StorageUnavailableError
from domain.ports import Clock
from domain.usecases import UseCases

# So many sessions are learned from at once; the others wait.
AT_ONCE: Final = 4

_log: Final = structlog.get_logger(__name__)


@dataclass
class Background:
    """`use_cases` are those of an owner; `interval` is in seconds."""

    agenda: Agenda
    use_cases: Callable[[str], UseCases]
    clock: Clock
    interval: float
    _learning: dict[SessionKey, asyncio.Task[None]] = field(default_factory=dict)
    _room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    def learn(self, owner: str, session_id: str) -> bool:
        """False when the session is being learned from: that goes on until none of its messages is left."""
        key = SessionKey(owner, session_id)
        if key in self._learning:
            return False
        task = asyncio.create_task(self._learn(key), name="learning")
        self._learning[key] = task
        task.add_done_callback(lambda _: self._learning.pop(key, None))
        return True

    async def run(self) -> None:
        """What a stopped server left to do is done first."""
        while True:
            try:
                await self._look_once()
            except StorageUnavailableError as error:
                _log.warning("background_work_failed", reason=error.reason)
            except Exception:
                _log.exception("background_work_failed")
            await asyncio.sleep(self.interval)

    async def stop(self) -> None:
        """What is not finished is taken up again by the next start."""
        tasks = list(self._learning.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _look_once(self) -> None:
        now = self.clock()
        while ended := await self.agenda.ended(now):
            for owner, session_id in ended:
                await self.use_cases(owner).sessions.end(session_id)
        for owner, session_id in await self.agenda.waiting(now):
            self.learn(owner, session_id)
        await self.agenda.drop_old(now)

    async def _learn(self, key: SessionKey) -> None:
        async with self._room:
            try:
                reason = await self.use_cases(key.owner).learner.learn(key.session_id)
            except Exception:
                # Its note of the failure could not be written either: the next look at the agenda tries again.
                _log.exception("learning_failed", session=key.session_id)
                return
        if reason is not None:
            _log.warning("learning_failed", session=key.session_id, reason=reason)
