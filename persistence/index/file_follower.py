"""Which files of the notebooks are not in the index yet as they are now."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from persistence.index.index_file import IndexFile
from persistence.index.indexer import Indexer


@dataclass
class FileFollower:
    indexer: Indexer
    owners: Callable[[], Awaitable[set[str]]]
    _changed: set[tuple[str, str]] = field(default_factory=set)
    _following: asyncio.Lock = field(default_factory=asyncio.Lock)

    def note(self, owner: str, path: str) -> None:
        self._changed.add((owner, path))

    @property
    def is_behind(self) -> bool:
        return bool(self._changed) or self._following.locked()

    async def follow(self, file: IndexFile) -> bool:
        """All that were noted; whether any was another than the index knew."""
        found = False
        # Whoever comes later waits here for what an earlier one has taken up.
        async with self._following:
            while self._changed:
                # Taken out first: what is written while the file is read is noted once more.
                owner, path = self._changed.pop()
                found |= await self.indexer.follow_files(file, owner, [path])
        return found

    async def follow_all(self, file: IndexFile) -> bool:
        """All there are: what was edited while nobody looked."""
        found = False
        async with self._following:
            for owner in sorted(await self.owners() | await self.indexer.owners_of_files(file)):
                found |= await self.indexer.follow_files(file, owner)
        return found
