"""Request bodies: JSON of a bounded size, or a refusal that says what to send."""

from dataclasses import dataclass

import orjson
from starlette.requests import Request

from schema.problems import ProblemCode

JSON = "application/json"


@dataclass(eq=False)
class RefusedError(Exception):
    """The request cannot be understood or must not be answered."""

    status: int
    message: str
    code: ProblemCode = ProblemCode.BAD_INPUT
    allow: str | None = None

    @property
    def headers(self) -> dict[str, str]:
        return {"allow": self.allow} if self.allow else {}


async def read_json(request: Request, max_bytes: int) -> object:
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != JSON:
        raise RefusedError(415, f"Send the request as {JSON}.")
    try:
        return orjson.loads(await _read(request, max_bytes))
    except orjson.JSONDecodeError as error:
        raise RefusedError(400, f"The body is not JSON: {error}.") from error


async def _read(request: Request, max_bytes: int) -> bytes:
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > max_bytes:
            raise RefusedError(
                413, f"The request is larger than {max_bytes:,} bytes; send it in parts.", ProblemCode.TOO_COSTLY
            )
        chunks.append(chunk)
    return b"".join(chunks)
