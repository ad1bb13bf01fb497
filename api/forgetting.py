"""What was deleted is made to vanish from the files as well, however often that has to be tried."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import structlog

from domain.errors import StorageUnavailableError

# So long a deletion waits; then it goes on without.
PATIENCE_SECONDS: Final = 10.0
FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 5.0

_log: Final = structlog.get_logger(__name__)


@dataclass
class Forgetting:
    """`steps` each fail with StorageUnavailableError while somebody still reads what was deleted."""

    steps: Sequence[Callable[[], Awaitable[None]]]
    _work: asyncio.Task[None] | None = None
    _is_wanted_again: bool = field(default=False, init=False)

    def begin(self) -> asyncio.Task[None]:
        """Once for all that was deleted meanwhile."""
        self._is_wanted_again = True
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._forget(), name="forgetting")
        return self._work

    async def finish(self) -> None:
        """When this has ended, or soon after where there is much to read or somebody reads for long."""
        await asyncio.wait({self.begin()}, timeout=PATIENCE_SECONDS)

    async def close(self) -> None:
        """What is still read then is forgotten as the files are closed."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)

    async def _forget(self) -> None:
        while self._is_wanted_again:
            self._is_wanted_again = False
            for step in self.steps:
                await _try_until_done(step)


async def _try_until_done(step: Callable[[], Awaitable[None]]) -> None:
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            return await step()
        except StorageUnavailableError as error:
            _log.warning("not_forgotten_yet", reason=error.reason)
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
