"""The one place that decides whether the embedder is up."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import structlog

from domain.errors import EmbedderUnavailableError
from domain.ports import Embedder, Vector
from persistence.embedding.vectors import FLOAT_BYTES, dimensions_of, length_of

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 60.0

# Longer than an adapter's own limits: these are for the adapter that does not keep any.
QUERY_SECONDS = 12.0
CALL_SECONDS = 240.0
CALL_TEXTS = 64

UNIT_TOLERANCE = 1e-3

# The same words are searched again while somebody types, pages and filters: 256 vectors are 0.5 to 3 MB.
RECENT_QUERIES = 256
LONGEST_RECENT = 256

_log: Final = structlog.get_logger(__name__)


@dataclass(eq=False)
class GuardedEmbedder(Embedder):
    """After a failure every call fails at once until `retry_at`, when one is let through to see; `on_change` is
    called whenever `reason`, why it is down, has changed. `clock` tells seconds and never goes back."""

    embedder: Embedder
    clock: Callable[[], float]
    on_change: Callable[[], None] = lambda: None
    expected_dimensions: int | None = None
    query_seconds: float = QUERY_SECONDS
    call_seconds: float = CALL_SECONDS
    reason: str | None = field(default=None, init=False)
    retry_at: float = field(default=0.0, init=False)
    _failures: int = field(default=0, init=False)
    _is_probing: bool = field(default=False, init=False)
    _recent: dict[str, Vector] = field(default_factory=dict, init=False)

    @property
    def identity(self) -> str:
        return self.embedder.identity

    async def embed(self, texts: Sequence[str]) -> tuple[Vector, ...]:
        if len(texts) == 1:
            return (await self._embed_query(texts[0]),)
        vectors: list[Vector] = []
        for start in range(0, len(texts), CALL_TEXTS):
            vectors += await self._call(texts[start : start + CALL_TEXTS], self.call_seconds)
        return tuple(vectors)

    async def close(self) -> None:
        await self.embedder.close()

    async def _embed_query(self, text: str) -> Vector:
        if self.reason is None and text in self._recent:
            self._recent[text] = vector = self._recent.pop(text)
            return vector
        (vector,) = await self._call([text], self.query_seconds)
        if self.reason is None and len(text) <= LONGEST_RECENT:
            self._recent[text] = vector
        if len(self._recent) > RECENT_QUERIES:
            del self._recent[next(iter(self._recent))]
        return vector

    async def _call(self, texts: Sequence[str], seconds: float) -> tuple[Vector, ...]:
        is_probe = self._admit()
        try:
            vectors = await self._answer(texts, seconds)
        except EmbedderUnavailableError as error:
            self._note_failure(error.reason, is_probe=is_probe)
            raise
        finally:
            if is_probe:
                self._is_probing = False
        self._note_success(is_probe=is_probe)
        return vectors

    def _admit(self) -> bool:
        """Whether the call is the one that finds out if the embedder is back."""
        if self.reason is None:
            return False
        if self._is_probing or self.clock() < self.retry_at:
            raise EmbedderUnavailableError((), self.reason)
        self._is_probing = True
        return True

    async def _answer(self, texts: Sequence[str], seconds: float) -> tuple[Vector, ...]:
        try:
            async with asyncio.timeout(seconds):
                vectors = await self.embedder.embed(texts)
        except EmbedderUnavailableError:
            raise
        except TimeoutError:
            raise EmbedderUnavailableError((), f"no answer within {seconds:g} s") from None
        except Exception as error:
            _log.exception("embedder_failed", embedder=self.identity)
            raise EmbedderUnavailableError((), f"it failed unexpectedly: {type(error).__name__}") from error
        self._check(texts, vectors)
        return vectors

    def _check(self, texts: Sequence[str], vectors: Sequence[Vector]) -> None:
        if len(vectors) != len(texts):
            raise EmbedderUnavailableError((), f"it answered {len(vectors)} vectors for {len(texts)} texts")
        expected = self.expected_dimensions or dimensions_of(vectors[0])
        for vector in vectors:
            if len(vector) != expected * FLOAT_BYTES:
                given = dimensions_of(vector)
                raise EmbedderUnavailableError((), f"its vectors have {given} dimensions, not {expected} as before")
            # Also false when it is NaN.
            if not abs(length_of(vector) - 1) <= UNIT_TOLERANCE:
                raise EmbedderUnavailableError((), "its vectors are not finite and of unit length")
        self.expected_dimensions = expected

    def _note_failure(self, reason: str, *, is_probe: bool) -> None:
        if self.reason is not None and not is_probe:
            return  # it began while the embedder was up, and its failing tells nothing new
        self._recent.clear()  # what comes back may be another model
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
        if reason is None:
            _log.info("embedder_up", embedder=self.identity)
        else:
            _log.warning("embedder_down", embedder=self.identity, reason=reason)
        self.on_change()
