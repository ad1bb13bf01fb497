"""One value that changes, and any number of readers who follow it."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Generic, TypeVar

T = TypeVar("T")


class Broadcast(Generic[T]):
    """Of one event loop: from another thread, publish with `loop.call_soon_threadsafe`.

    Nothing is kept for a reader but the value it was given last, so that neither a slow nor a forgotten one costs
    anything.
    """

    def __init__(self, first: T) -> None:
        self._latest = first
        self._changed = asyncio.Event()
        self._is_closed = False

    @property
    def latest(self) -> T:
        return self._latest

    def publish(self, value: T) -> None:
        if not self._is_closed and value != self._latest:
            self._latest = value
            self._wake()

    def close(self) -> None:
        """Readers end once they have the latest value."""
        self._is_closed = True
        self._wake()

    async def subscribe(self) -> AsyncGenerator[T, None]:
        """The latest value at once, then every change; a slow reader skips to the newest, and never misses the last."""
        given = self._latest
        yield given
        while True:
            if self._latest != given:
                given = self._latest
                yield given
            elif self._is_closed:
                return
            else:
                await self._changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
