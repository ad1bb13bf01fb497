"""What an OpenAI-compatible server answered: its vectors, or the reason why there are none."""

from dataclasses import dataclass
from typing import Final

import httpx
import orjson

from domain.ports import Vector
from persistence.embedding.vectors import NotAVectorError, unit_vector

# 32 vectors of 8,192 numbers with 24 characters each are 6 MB.
MOST_BODY_BYTES = 16 * 1024 * 1024
SHOWN_WORDS = 200

_KEY_REFUSED: Final = (401, 403)
_TEXTS_REFUSED: Final = (400, 413, 422)
_TRY_AGAIN: Final = (408, 429)


@dataclass(eq=False)
class AnswerRefusedError(Exception):
    reason: str


@dataclass(eq=False)
class TextsRefusedError(AnswerRefusedError):
    """Perhaps they were too long."""


@dataclass(eq=False)
class TryAgainError(AnswerRefusedError):
    retry_after: float | None = None


async def read_answer(response: httpx.Response, count: int) -> list[Vector]:
    body = await _body(response)
    if response.is_success:
        return _vectors(body, count)
    status = response.status_code
    reason = f"it answered {status} {response.reason_phrase}".rstrip()
    if response.is_redirect:
        raise AnswerRefusedError(f"{reason}; redirects are not followed")
    if status in _KEY_REFUSED:
        # Its words may quote the key.
        raise AnswerRefusedError(f"{reason}; the API key is missing or not accepted")
    reason = ": ".join(filter(None, (reason, _words(body))))
    if status in _TEXTS_REFUSED:
        raise TextsRefusedError(reason)
    if status in _TRY_AGAIN or response.is_server_error:
        raise TryAgainError(reason, _retry_after(response))
    raise AnswerRefusedError(reason)


async def _body(response: httpx.Response) -> bytes:
    """Read raw, since a small packed body may unpack to any size."""
    body = bytearray()
    async for part in response.aiter_raw():
        body += part
        if len(body) > MOST_BODY_BYTES:
            raise AnswerRefusedError(f"its answer is larger than {MOST_BODY_BYTES:,} bytes")
    return bytes(body)


def _vectors(body: bytes, count: int) -> list[Vector]:
    try:
        entries = orjson.loads(body)["data"]
        vectors = {entry["index"]: unit_vector(entry["embedding"]) for entry in entries}
    except orjson.JSONDecodeError as error:
        raise AnswerRefusedError(f"its answer is not JSON: {error}") from None
    except NotAVectorError:
        raise AnswerRefusedError("its vectors hold something that is not a finite number") from None
    except (KeyError, TypeError):
        raise AnswerRefusedError("its answer is not a list of embeddings") from None
    if len(entries) != count or vectors.keys() != set(range(count)):
        raise AnswerRefusedError(f"its answer does not hold one vector for each of the {count} texts")
    return [vectors[index] for index in range(count)]


def _words(body: bytes) -> str:
    """What the server says about an error: `{"error": {"message": …}}`, `{"error": …}` or `{"message": …}`."""
    try:
        said = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ""
    for name in ("error", "message"):
        said = said.get(name, said) if isinstance(said, dict) else said
    return " ".join(said.split())[:SHOWN_WORDS] if isinstance(said, str) else ""


def _retry_after(response: httpx.Response) -> float | None:
    """A date, the other form the header allows, counts as none given: embedding servers send seconds."""
    given = response.headers.get("retry-after", "")
    return float(given) if given.isascii() and given.isdigit() else None
