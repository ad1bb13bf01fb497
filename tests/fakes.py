"""Stand-ins that pass the same contract tests as the real adapters."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from domain.errors import EmbedderUnavailableError
from domain.ports import Embedder, Vector
from persistence.embedding.vectors import unit_vector


def hashed_numbers(text: str, dimensions: int) -> list[float]:
    """Counts of the text's characters and pairs of characters: texts that share them lie near each other."""
    numbers = [0.0] * dimensions
    for gram in (*text, *(text[at : at + 2] for at in range(len(text) - 1))):
        numbers[zlib.crc32(gram.encode("utf-8", "replace")) % dimensions] += 1.0
    return numbers


@dataclass(eq=False)
class HashEmbedder(Embedder):
    """Always the same vector for the same text, at once; down for as long as `failure` says why."""

    dimensions: int = 64
    identity: str = "hash"
    failure: str | None = None
    embedded: list[str] = field(default_factory=list)
    _is_closed: bool = field(default=False, init=False)

    async def embed(self, texts: Sequence[str]) -> tuple[Vector, ...]:
        if texts and (self.failure is not None or self._is_closed):
            raise EmbedderUnavailableError((), self.failure or "it has been closed")
        self.embedded.extend(texts)
        return tuple(unit_vector(hashed_numbers(text, self.dimensions)) for text in texts)

    async def close(self) -> None:
        self._is_closed = True
