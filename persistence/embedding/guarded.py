"""The one place that decides whether the embedder is up."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import structlog

from domain.errors import EmbedderUnavailableError
from domain.ports import Embedder, Vector
from persistence.breaker import Breaker
from persistence.embedding.vectors import FLOAT_BYTES, dimensions_of, length_of

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
    """Up or down by the rule of a Breaker, where `clock`, `on_change`, `reason` and `retry_at` are told."""

    embedder: Embedder
    clock: Callable[[], float]
    on_change: Callable[[], None] = lambda: None
    expected_dimensions: int | None = None
    query_seconds: float = QUERY_SECONDS
    call_seconds: float = CALL_SECONDS
    _recent: dict[str, Vector] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._breaker = Breaker(EmbedderUnavailableError, self.clock, self._changed)

    @property
    def reason(self) -> str | None:
        return self._breaker.reason

    @property
    def retry_at(self) -> float:
        return self._breaker.retry_at

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
        async with self._breaker.call():
            vectors = await self._answer(texts, seconds)
            self._check(texts, vectors)
            return vectors

    async def _answer(self, texts: Sequence[str], seconds: float) -> tuple[Vector, ...]:
        try:
            async with asyncio.timeout(seconds):
                return await self.embedder.embed(texts)
        except TimeoutError:
            raise EmbedderUnavailableError((), f"no answer within {seconds:g} s") from None

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

    def _changed(self) -> None:
        self._recent.clear()  # what comes back may be another model
        if self.reason is None:
            _log.info("embedder_up", embedder=self.identity)
        else:
            _log.warning("embedder_down", embedder=self.identity, reason=self.reason)
        self.on_change()
