"""The names of each book, kept ready until they change."""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field

from domain.mentions import Matcher
from domain.ports import GraphReader

KEPT_BOOKS = 32


@dataclass
class Matchers:
    """Built once for each version of a book's names, whichever process changed them."""

    graph: GraphReader
    _kept: "OrderedDict[str, tuple[str, Matcher]]" = field(default_factory=OrderedDict)
    _building: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def of_book(self, book_id: str, names_version: str) -> Matcher:
        async with self._building:
            version, matcher = self._kept.get(book_id, ("", None))
            if matcher is None or version != names_version:
                names = await self.graph.names(book_id)
                # Ten thousand names take a moment, in which others should be answered.
                matcher = await asyncio.to_thread(Matcher, names)
                self._kept[book_id] = names_version, matcher
            self._kept.move_to_end(book_id)
            if len(self._kept) > KEPT_BOOKS:
                self._kept.popitem(last=False)
            return matcher
