"""Work that goes on in the background: kept from being forgotten, ended together, its failures told."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, Final

import structlog

_log: Final = structlog.get_logger(__name__)


@dataclass
class Tasks:
    _running: set[asyncio.Task[None]] = field(default_factory=set)

    def run(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(self._ended)
        return task

    async def finish(self) -> None:
        await asyncio.gather(*self._running, return_exceptions=True)

    async def end(self) -> None:
        # Again for what one of them has begun as it ended.
        while running := set(self._running):
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("background_work_failed", task=task.get_name(), exc_info=error)


async def finish(work: Coroutine[Any, Any, None]) -> None:
    """Whoever is cancelled here is so only once the work has ended."""
    task = asyncio.create_task(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise
