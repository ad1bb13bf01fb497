"""The index as one owner sees it: searching, who is named, and its state."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from domain.errors import EmbedderUnavailableError, StorageUnavailableError
from domain.ports import IndexControl, SearchIndex, Vector
from domain.search import Filters, Found, FoundDocument, IndexStatus, SearchEngine
from domain.segmentation import grams_within, keywords, query_terms
from persistence import sqlite
from persistence.index import finder
from persistence.index.finder import Bounds, Indexed
from persistence.index.index_file import IndexFile
from persistence.index.library import IndexUnavailableError, Library, State
from persistence.index.like import LikeSearch
from persistence.index.named import NamedByReading, named_in_index
from persistence.index.scopes import book_token
from persistence.related_sets import Source

# A fresh note must not be outranked by old noise: so many that have no vector yet are embedded for a query.
EMBEDDED_AT_ONCE: Final = 32
# Whoever follows the state wants to see it move, not every step.
PACE_SECONDS: Final = 0.2

_COUNTS: Final = "SELECT COUNT(*), COALESCE(SUM(is_embedded = 0), 0) FROM document WHERE owner = ?"
_CONTAINING: Final = """
    SELECT document.id FROM keyword CROSS JOIN document ON document.number = keyword.rowid
    WHERE keyword MATCH :match"""


@dataclass(frozen=True, slots=True)
class OwnerIndex(SearchIndex, IndexControl):
    library: Library
    owner: str
    like: LikeSearch
    by_reading: NamedByReading

    async def find(self, query: str, filters: Filters) -> Found:
        bounds = Bounds(self.owner, filters)
        try:
            async with self.library.at_present() as file:
                return await self._find(file, query, bounds)
        except IndexUnavailableError:
            return await self.like.find(keywords(query), bounds)

    async def named(self, book_id: str) -> Source:
        try:
            async with self.library.at_present() as file:
                await self.library.indexer.follow_names(file, self.owner, book_id)
                return await named_in_index(file, self.owner, book_id)
        except IndexUnavailableError:
            return await self.by_reading.named(book_id)

    async def containing(self, book_id: str, query: str) -> Sequence[str] | None:
        grams = grams_within(query)
        if not grams:
            return None
        match = " AND ".join(f'{{characters pairs}} : "{gram}"' for gram in grams)
        try:
            async with self.library.at_present() as file:
                rows = await file.engine.fetch(
                    _CONTAINING, {"match": f'{match} AND scope : "{book_token(self.owner, book_id)}"'}
                )
        except IndexUnavailableError:
            return None
        return [str(row[0]) for row in rows]

    async def status(self) -> IndexStatus:
        return await self._status(self.library.states.latest)

    async def status_changes(self) -> AsyncGenerator[IndexStatus, None]:
        told = None
        async for state in self.library.states.subscribe():
            status = await self._status(state)
            if status != told:
                told = status
                yield status
                await asyncio.sleep(PACE_SECONDS)

    async def rebuild(self) -> IndexStatus:
        self.library.rebuild()
        return await self.status()

    async def _find(self, file: IndexFile, query: str, bounds: Bounds) -> Found:
        terms = query_terms(query)
        vector = await self._vector(file, query)
        cosines: dict[int, float] = {}
        if vector is not None and file.has_vectors:
            try:
                cosines = await finder.by_meaning(file, vector, bounds)
            except sqlite.Error as error:
                self.library.vectors_failed(error)
                vector = None
        words = await finder.by_words(file, terms, bounds, cosines)
        documents = await finder.documents_of(file, self.owner, {*words, *cosines})
        if vector is None:
            return Found(SearchEngine.KEYWORD, _found(documents, words, {}))
        try:
            await self._embed_now(file, [each for each in documents.values() if not each.is_embedded])
            unknown = words.keys() - cosines.keys()
            if file.has_vectors:
                cosines |= await finder.cosines_of(file, vector, unknown)
        except EmbedderUnavailableError:
            return Found(SearchEngine.KEYWORD, _found(documents, words, {}))
        except (sqlite.Error, StorageUnavailableError) as error:
            self.library.vectors_failed(error)
            return Found(SearchEngine.KEYWORD, _found(documents, words, {}))
        return Found(SearchEngine.HYBRID, _found(documents, words, cosines))

    async def _vector(self, file: IndexFile, query: str) -> Vector | None:
        if not self.library.has_meaning(file) or self.library.embedder is None or not query.strip():
            return None
        try:
            (vector,) = await self.library.embedder.embed([query])
        except EmbedderUnavailableError:
            return None
        return vector

    async def _embed_now(self, file: IndexFile, fresh: Sequence[Indexed]) -> None:
        queue = self.library.queue
        if queue is not None and fresh:
            newest = sorted((each.number for each in fresh), reverse=True)[:EMBEDDED_AT_ONCE]
            await queue.embed(file, await queue.of_numbers(file, newest))

    async def _status(self, state: State) -> IndexStatus:
        progress = state.progress
        documents = unembedded = 0
        try:
            async with self.library.in_use() as file:
                ((documents, unembedded),) = cast("Any", await file.engine.fetch(_COUNTS, (self.owner,)))
        except IndexUnavailableError:
            pass
        return IndexStatus(
            state=progress.state,
            engine=state.engine,
            documents=documents,
            done=progress.done,
            total=progress.total,
            started_at=progress.started_at,
            finished_at=progress.finished_at,
            error=progress.error,
            embedder=self.library.embedder.identity if self.library.embedder else "none",
            unembedded=unembedded if self.library.queue else 0,
            degraded=state.degraded,
        )


def _found(
    documents: Mapping[int, Indexed], words: Mapping[int, float], cosines: Mapping[int, float]
) -> tuple[FoundDocument, ...]:
    """FTS5 gives bm25 as a negative number, best first."""
    return tuple(
        FoundDocument(
            each.source,
            each.id,
            keyword=-words[each.number] if each.number in words else None,
            cosine=cosines.get(each.number),
            text=each.text,
            path=each.path,
            line=each.line,
        )
        for each in documents.values()
    )
