"""Embeds in the background what has no vector yet, and finds out when an embedder that was down is back."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from domain.errors import EmbedderUnavailableError, StorageUnavailableError
from persistence import sqlite
from persistence.embedding.guarded import GuardedEmbedder
from persistence.index.embedding_queue import EmbeddingQueue
from persistence.index.index_file import IndexFile

RETRY_SECONDS: Final = 1.0

_PROBE: Final = "?"


@dataclass
class EmbeddingWorker:
    """`current` is the index to work on, None while there is none that fits."""

    queue: EmbeddingQueue
    embedder: GuardedEmbedder
    current: Callable[[], IndexFile | None]
    embedded: Callable[[], None]
    failed: Callable[[Exception], None]
    _wanted: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self) -> None:
        self._wanted.set()

    async def run(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                await self._work()
            except EmbedderUnavailableError:
                await asyncio.sleep(RETRY_SECONDS)
                self._wanted.set()
            except (sqlite.Error, StorageUnavailableError) as error:
                self.failed(error)

    async def _work(self) -> None:
        # Searches leave an embedder alone that is down: whether it is back is found out here.
        if self.embedder.reason is not None:
            await self.embedder.embed([_PROBE])
        file = self.current()
        if file is None:
            return
        async with file.in_use():
            after = 0
            while True:
                waiting, last = await self.queue.next_batch(file, after)
                if last == after:
                    return
                await self.queue.embed(file, waiting)
                after = last
                self.embedded()
