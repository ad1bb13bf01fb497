"""An embedder behind any OpenAI-compatible `/embeddings` endpoint: Ollama, vLLM, OpenAI."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from domain.errors import EmbedderUnavailableError
from domain.ports import Embedder, Vector
from persistence.embedding.openai_answer import MOST_BODY_BYTES, vectors_in
from persistence.embedding.texts import embeddable, slices
from persistence.http_model import AnswerRefusedError, HttpModel, Patience, QuestionRefusedError

__all__ = ["OpenAIEmbedder", "Patience"]

# Most models read 512 tokens to 8,192, and many servers (vLLM; Ollama since 0.13.5, its issue 14186) refuse a longer
# text instead of cutting it. What is refused is sent again, cut shorter and shorter.
LONGEST_TEXT = 2_048
SHORTEST_CUT = 128

# Some servers refuse an empty text.
BLANK = "."

BATCH_TEXTS = 32
BATCH_CHARACTERS = BATCH_TEXTS * LONGEST_TEXT

# Somebody is waiting for the search; a server that has to load its model first is ready for the next one.
FOR_A_QUERY = Patience(seconds=5, attempts=2, longest_wait=0.5)
FOR_A_BATCH = Patience(seconds=60, attempts=4, longest_wait=10)


@dataclass(eq=False)
class OpenAIEmbedder(Embedder):
    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    for_a_query: Patience = FOR_A_QUERY
    for_a_batch: Patience = FOR_A_BATCH

    def __post_init__(self) -> None:
        self._server = HttpModel(f"{self.base_url.rstrip('/')}/embeddings", self.api_key, MOST_BODY_BYTES)

    @property
    def identity(self) -> str:
        return f"openai {self.base_url.rstrip('/')} {self.model}"

    async def embed(self, texts: Sequence[str]) -> tuple[Vector, ...]:
        patience = self.for_a_query if len(texts) == 1 else self.for_a_batch
        vectors: list[Vector] = []
        try:
            for few in slices(texts, BATCH_TEXTS, BATCH_CHARACTERS):
                vectors += await self._embed_few(few, patience)
        except AnswerRefusedError as error:
            raise EmbedderUnavailableError((), error.reason) from None
        if len({len(vector) for vector in vectors}) > 1:
            raise EmbedderUnavailableError((), "its vectors are not all of one length")
        return tuple(vectors)

    async def close(self) -> None:
        await self._server.close()

    async def _embed_few(self, texts: Sequence[str], patience: Patience) -> list[Vector]:
        longest = min(LONGEST_TEXT, max(map(len, texts)))
        while True:
            try:
                return await self._ask([_filled(embeddable(text, longest)) for text in texts], patience)
            except QuestionRefusedError:
                longest //= 2
                if longest < SHORTEST_CUT:
                    raise

    async def _ask(self, texts: Sequence[str], patience: Patience) -> list[Vector]:
        question = {"model": self.model, "input": texts, "encoding_format": "float"}
        return vectors_in(await self._server.ask(question, patience), len(texts))


def _filled(text: str) -> str:
    return text if text.strip() else BLANK
