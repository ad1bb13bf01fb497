"""The one place that decides whether the extractor is up."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from domain.errors import ExtractorUnavailableError
from domain.extraction import Learned
from domain.ports import Extractor
from domain.sessions import Message
from persistence.breaker import Breaker

_log: Final = structlog.get_logger(__name__)


@dataclass(eq=False)
class GuardedExtractor(Extractor):
    """Up or down by the rule of a Breaker, where `clock`, `on_change`, `reason` and `retry_at` are told."""

    extractor: Extractor
    clock: Callable[[], float]
    on_change: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self._breaker = Breaker(ExtractorUnavailableError, self.clock, self._changed)

    @property
    def reason(self) -> str | None:
        return self._breaker.reason

    @property
    def retry_at(self) -> float:
        return self._breaker.retry_at

    async def extract(self, messages: Sequence[Message]) -> tuple[Learned, ...]:
        async with self._breaker.call():
            return await self.extractor.extract(messages)

    async def close(self) -> None:
        await self.extractor.close()

    def _changed(self) -> None:
        if self.reason is None:
            _log.info("extractor_up")
        else:
            _log.warning("extractor_down", reason=self.reason)
        self.on_change()
