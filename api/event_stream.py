"""Answers as server-sent events: the distinct connections mode of GraphQL over SSE.

https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md
"""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from typing import Any, Final

import orjson
from starlette.types import Receive, Scope, Send

from api.operations import Answer

EVENT_STREAM: Final = "text/event-stream"

# A comment: it shows proxies that the stream is alive, and clients pass it over.
KEEP_ALIVE: Final = b":\n\n"
# Browsers pass over an event that has no data at all.
COMPLETE: Final = b"event: complete\ndata:\n\n"

_HEADERS: Final = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    # nginx would hold events back until it has a buffer full of them.
    (b"x-accel-buffering", b"no"),
)


class EventStream:
    """Ends with the answers, or before: when the client is gone, or the server stops.

    One that ends before has no `complete`, so that clients know to ask again.
    """

    def __init__(
        self, answers: AsyncGenerator[Answer, None], stopping: asyncio.Event, keep_alive_seconds: float
    ) -> None:
        self.answers = answers
        self.stopping = stopping
        self.keep_alive_seconds = keep_alive_seconds

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        await _first_of(
            self._send_answers(send), self._keep_alive(send), _until_client_is_gone(receive), self.stopping.wait()
        )
        await send({"type": "http.response.body", "body": b""})

    async def _send_answers(self, send: Send) -> None:
        async with aclosing(self.answers):
            async for answer in self.answers:
                await _send_part(send, b"event: next\ndata: %b\n\n" % orjson.dumps(answer.body))
        await _send_part(send, COMPLETE)

    async def _keep_alive(self, send: Send) -> None:
        while True:
            await asyncio.sleep(self.keep_alive_seconds)
            await _send_part(send, KEEP_ALIVE)


async def _send_part(send: Send, part: bytes) -> None:
    await send({"type": "http.response.body", "body": part, "more_body": True})


async def _until_client_is_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _first_of(*works: Coroutine[Any, Any, object]) -> None:
    """Until the first of them ends; the others are cancelled, and have ended too."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in ended:
        task.result()
