"""A model behind one endpoint of an OpenAI-compatible server: asked with patience, read within bounds."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
import orjson

FIRST_WAIT_SECONDS = 0.25
SHOWN_WORDS = 200

_KEY_REFUSED: Final = (401, 403)
_QUESTION_REFUSED: Final = (400, 413, 422)
_TRY_AGAIN: Final = (408, 429)

# A proxy for the world outside leads nowhere near a server on this machine.
_NO_PROXY: Final = {"all://127.0.0.1": None, "all://localhost": None, "all://[::1]": None}


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one attempt may take, how many there are, and how long a pause between two of them may be."""

    seconds: float
    attempts: int
    longest_wait: float


@dataclass(eq=False)
class AnswerRefusedError(Exception):
    reason: str


@dataclass(eq=False)
class QuestionRefusedError(AnswerRefusedError):
    """Perhaps it was too long, or in a form that the server does not know."""


@dataclass(eq=False)
class TryAgainError(AnswerRefusedError):
    retry_after: float | None = None


@dataclass(eq=False)
class HttpModel:
    """Nothing is reached before the first question; the key stands in no error."""

    url: str
    api_key: str = field(repr=False)
    most_bytes: int
    _client: httpx.AsyncClient | None = field(default=None, init=False, repr=False)
    _is_closed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._url = httpx.URL(self.url)

    async def ask(self, question: Mapping[str, object], patience: Patience) -> Any:
        """The JSON it answered; raises AnswerRefusedError."""
        body = orjson.dumps(question)
        attempt = 1
        while True:
            try:
                return await self._post(body, patience.seconds)
            except TryAgainError as error:
                wait = error.retry_after or FIRST_WAIT_SECONDS * 2 ** (attempt - 1)
                if attempt == patience.attempts or wait > patience.longest_wait:
                    raise
            attempt += 1
            await asyncio.sleep(wait)

    async def close(self) -> None:
        self._is_closed = True
        if self._client is not None:
            await self._client.aclose()

    async def _post(self, body: bytes, seconds: float) -> Any:
        try:
            async with (
                asyncio.timeout(seconds),
                self._open_client().stream("POST", self._url, content=body) as response,
            ):
                return await self._read(response)
        except TimeoutError:
            raise AnswerRefusedError(f"no answer within {seconds:g} s") from None
        except (httpx.NetworkError, httpx.RemoteProtocolError) as error:
            words = self._without_key(str(error)) or type(error).__name__
            raise TryAgainError(f"it cannot be reached: {words}") from None
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

    async def _read(self, response: httpx.Response) -> Any:
        body = await self._body(response)
        if not response.is_success:
            raise self._refusal(response, body)
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise AnswerRefusedError(f"its answer is not JSON: {error}") from None

    async def _body(self, response: httpx.Response) -> bytes:
        """Read raw, since a small packed body may unpack to any size."""
        body = bytearray()
        async for part in response.aiter_raw():
            body += part
            if len(body) > self.most_bytes:
                raise AnswerRefusedError(f"its answer is larger than {self.most_bytes:,} bytes")
        return bytes(body)

    def _refusal(self, response: httpx.Response, body: bytes) -> AnswerRefusedError:
        status = response.status_code
        reason = self._without_key(f"it answered {status} {response.reason_phrase}".rstrip())
        if response.is_redirect:
            return AnswerRefusedError(f"{reason}; redirects are not followed")
        if status in _KEY_REFUSED:
            # Its words may quote a part of the key.
            return AnswerRefusedError(f"{reason}; the API key is missing or not accepted")
        words = self._without_key(_words(body))[:SHOWN_WORDS]
        reason = f"{reason}: {words}" if words else reason
        if status in _QUESTION_REFUSED:
            return QuestionRefusedError(reason)
        if status in _TRY_AGAIN or response.is_server_error:
            return TryAgainError(reason, _retry_after(response))
        return AnswerRefusedError(reason)

    def _without_key(self, words: str) -> str:
        return words.replace(self.api_key, "…") if self.api_key else words


def _words(body: bytes) -> str:
    """What the server says about an error: `{"error": {"message": …}}`, `{"error": …}` or `{"message": …}`."""
    try:
        said = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    for name in ("error", "message"):
        said = said.get(name, said) if isinstance(said, dict) else said
    return " ".join(said.split()) if isinstance(said, str) else ""


def _retry_after(response: httpx.Response) -> float | None:
    """A date, the other form the header allows, counts as none given: model servers send seconds."""
    given = response.headers.get("retry-after", "")
    return float(given) if given.isascii() and given.isdigit() else None
