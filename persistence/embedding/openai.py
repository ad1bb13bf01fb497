"""An embedder behind any OpenAI-compatible `/embeddings` endpoint: Ollama, vLLM, OpenAI."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import httpx
import orjson

from domain.errors import EmbedderUnavailableError
from domain.ports import Embedder, Vector
from persistence.embedding.openai_answer import (
    AnswerRefusedError,
    TextsRefusedError,
    TryAgainError,
    read_answer,
)
from persistence.embedding.texts import embeddable, slices

# Most models read 512 tokens to 8,192, and many servers (vLLM; Ollama since 0.13.5, its issue 14186) refuse a longer
# text instead of cutting it. What is refused is sent again, cut shorter and shorter.
LONGEST_TEXT = 2_048
SHORTEST_CUT = 128

# Some servers refuse an empty text.
BLANK = "."

BATCH_TEXTS = 32
BATCH_CHARACTERS = BATCH_TEXTS * LONGEST_TEXT

FIRST_WAIT_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one attempt may take, how many there are, and how long a pause between two of them may be."""

    seconds: float
    attempts: int
    longest_wait: float


# Somebody is waiting for the search; a server that has to load its model first is ready for the next one.
FOR_A_QUERY = Patience(seconds=5, attempts=2, longest_wait=0.5)
FOR_A_BATCH = Patience(seconds=60, attempts=4, longest_wait=10)

# A proxy for the world outside leads nowhere near a server on this machine.
_NO_PROXY: Final = {"all://127.0.0.1": None, "all://localhost": None, "all://[::1]": None}


@dataclass(eq=False)
class OpenAIEmbedder(Embedder):
    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    for_a_query: Patience = FOR_A_QUERY
    for_a_batch: Patience = FOR_A_BATCH
    _client: httpx.AsyncClient | None = field(default=None, init=False)
    _is_closed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._url = httpx.URL(f"{self.base_url.rstrip('/')}/embeddings")

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
            raise EmbedderUnavailableError((), self._without_key(error.reason)) from None
        if len({len(vector) for vector in vectors}) > 1:
            raise EmbedderUnavailableError((), "its vectors are not all of one length")
        return tuple(vectors)

    async def close(self) -> None:
        self._is_closed = True
        if self._client is not None:
            await self._client.aclose()

    async def _embed_few(self, texts: Sequence[str], patience: Patience) -> list[Vector]:
        longest = min(LONGEST_TEXT, max(map(len, texts)))
        while True:
            try:
                return await self._try([_filled(embeddable(text, longest)) for text in texts], patience)
            except TextsRefusedError:
                longest //= 2
                if longest < SHORTEST_CUT:
                    raise

    async def _try(self, texts: Sequence[str], patience: Patience) -> list[Vector]:
        attempt = 1
        while True:
            try:
                return await self._post(texts, patience.seconds)
            except TryAgainError as error:
                wait = error.retry_after or FIRST_WAIT_SECONDS * 2 ** (attempt - 1)
                if attempt == patience.attempts or wait > patience.longest_wait:
                    raise
            attempt += 1
            await asyncio.sleep(wait)

    async def _post(self, texts: Sequence[str], seconds: float) -> list[Vector]:
        body = orjson.dumps({"model": self.model, "input": texts, "encoding_format": "float"})
        try:
            async with (
                asyncio.timeout(seconds),
                self._open_client().stream("POST", self._url, content=body) as response,
            ):
                return await read_answer(response, len(texts))
        except TimeoutError:
            raise AnswerRefusedError(f"no answer within {seconds:g} s") from None
        except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
            raise TryAgainError(f"it cannot be reached: {error or type(error).__name__}") from None
        except httpx.HTTPError as error:
            # Its words may quote a header, and so the key.
            raise AnswerRefusedError(f"it cannot be asked: {type(error).__name__}") from None

    def _open_client(self) -> httpx.AsyncClient:
        if self._is_closed:
            raise AnswerRefusedError("it has been closed")
        if self._client is None:
            headers = {b"content-type": b"application/json", b"accept-encoding": b"identity"}
            key = {b"authorization": f"Bearer {self.api_key}".encode()} if self.api_key else {}
            # Every call has one limit for all of it, which also ends an answer that trickles in.
            self._client = httpx.AsyncClient(headers=headers | key, timeout=None, mounts=_NO_PROXY)  # noqa: S113
        return self._client

    def _without_key(self, reason: str) -> str:
        return reason.replace(self.api_key, "…") if self.api_key else reason


def _filled(text: str) -> str:
    return text if text.strip() else BLANK
