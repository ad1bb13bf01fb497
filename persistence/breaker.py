"""The rule by which a model is up or down."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import structlog

from domain.errors import EmbedderUnavailableError, ExtractorUnavailableError

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0

_log: Final = structlog.get_logger(__name__)


@dataclass(eq=False)
class Breaker:
    """After a failure every call fails at once until `retry_at`, when one is let through to see; `on_change` is
    called whenever `reason`, why it is down, has changed. `clock` tells seconds and never goes back."""

    failure: type[EmbedderUnavailableError | ExtractorUnavailableError]
    clock: Callable[[], float]
    on_change: Callable[[], None]
    reason: str | None = field(default=None, init=False)
    retry_at: float = field(default=0.0, init=False)
    _failures: int = field(default=0, init=False)
    _is_probing: bool = field(default=False, init=False)

    @asynccontextmanager
    async def call(self) -> AsyncIterator[None]:
        """Around one call of the model; whatever else goes wrong in it is raised as a `failure` too."""
        is_probe = self._admit()
        try:
            yield
        except self.failure as error:
            self._note_failure(error.reason, is_probe=is_probe)
            raise
        except Exception as error:
            _log.exception("model_failed")
            reason = f"it failed unexpectedly: {type(error).__name__}"
            self._note_failure(reason, is_probe=is_probe)
            raise self.failure((), reason) from error
        finally:
            if is_probe:
                self._is_probing = False
        self._note_success(is_probe=is_probe)

    def _admit(self) -> bool:
        """Whether the call is the one that finds out if the model is back."""
        if self.reason is None:
            return False
        if self._is_probing or self.clock() < self.retry_at:
            raise self.failure((), self.reason)
        self._is_probing = True
        return True

    def _note_failure(self, reason: str, *, is_probe: bool) -> None:
        if self.reason is not None and not is_probe:
            return  # it began while the model was up, and its failing tells nothing new
        self.retry_at = self.clock() + min(FIRST_PAUSE_SECONDS * 2**self._failures, LONGEST_PAUSE_SECONDS)
        self._failures += 1
        self._become(reason)

    def _note_success(self, *, is_probe: bool) -> None:
        if is_probe:
            self._failures = 0
            self._become(None)

    def _become(self, reason: str | None) -> None:
        if reason == self.reason:
            return
        self.reason = reason
        self.on_change()
