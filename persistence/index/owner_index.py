"""The index as one owner sees it: searching, who is named, and its state."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any, Final, cast

from domain.chat_ports import FactFinder
from domain.errors import EmbedderUnavailableError, StorageUnavailableError
from domain.hybrid import rank
from domain.ports import IndexControl, SearchIndex
from domain.search import Filters, Found, FoundDocument, IndexStatus, SearchEngine, SearchSource
from domain.segmentation import QueryTerms, grams_within, keywords, query_terms
from persistence import sqlite
from persistence.index import finder
from persistence.index.embedding_queue import EmbeddingQueue
from persistence.index.finder import Bounds, Indexed
from persistence.index.index_file import IndexFile
from persistence.index.library import IndexUnavailableError, Library, State
from persistence.index.like import LikeSearch
from persistence.index.named import NamedByReading, named_in_index
from persistence.index.scopes import scope_of_book, term_prefix
from persistence.related_sets import Source

# A fresh note must be found by its meaning too, and not be outranked by old noise: so many are embedded for a query.
EMBEDDED_AT_ONCE: Final = 16
FRESH_SECONDS: Final = 1.0
# What a fact is trusted and when it was used count for more than half: so many are weighed that fit by their words.
FACT_ARM: Final = 300
# Whoever follows the state wants to see it move, not every step.
PACE_SECONDS: Final = 0.2

# Both along an index; the plus keeps SQLite from reading all of the owner's for the second.
_COUNTS: Final = """
    SELECT (SELECT COUNT(*) FROM document WHERE owner = ?1),
           (SELECT COUNT(*) FROM document WHERE is_embedded = 0 AND +owner = ?1)"""
_CONTAINING: Final = """
    SELECT document.id FROM scoped CROSS JOIN document ON document.number = scoped.rowid
    WHERE scoped MATCH :match"""


@dataclass(frozen=True, slots=True)
class OwnerIndex(SearchIndex, FactFinder, IndexControl):
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

    async def find_facts(self, terms: QueryTerms, others: Collection[str]) -> Mapping[str, float]:
        bounds = Bounds(self.owner, Filters(frozenset({SearchSource.FACT})))
        if not terms:
            return {}
        try:
            async with self.library.at_present() as file:
                numbers = await finder.numbers_of(file, self.owner, SearchSource.FACT, others)
                words = await finder.by_words(file, terms, bounds, numbers, FACT_ARM)
                documents = await finder.documents_of(file, self.owner, words)
                found = Found(SearchEngine.KEYWORD, _found(documents, words, {}))
        except IndexUnavailableError:
            found = await self.like.find((*terms.written, *terms.prefixes), bounds)
        return {each.document.id: each.score for each in rank(found, len(found.documents))}

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
        prefix = term_prefix(self.owner, scope_of_book(book_id))
        match = " AND ".join(f'{{characters pairs}} : "{prefix}{gram}"' for gram in grams)
        try:
            async with self.library.at_present() as file:
                rows = await file.engine.fetch(_CONTAINING, {"match": match})
        except IndexUnavailableError:
            return None
        return [str(row[0]) for row in rows]

    async def status(self) -> IndexStatus:
        return await self._status(self.library.states.latest)

    async def status_changes(self) -> AsyncGenerator[IndexStatus, None]:
        told = None
        async with aclosing(self.library.states.subscribe()) as states:
            async for state in states:
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
        queue = self.library.queue if self.library.has_meaning(file) else None
        if not terms:  # what has no words in it means nothing either
            return Found(SearchEngine.HYBRID if queue else SearchEngine.KEYWORD)
        if queue is not None:
            try:
                return await self._find_by_both(file, queue, query, terms, bounds)
            except EmbedderUnavailableError:
                pass  # whoever guards it knows by now, and tells
            except (sqlite.Error, StorageUnavailableError) as error:
                self.library.vectors_failed(error)
        words = await finder.by_words(file, terms, bounds)
        documents = await finder.documents_of(file, self.owner, words)
        return Found(SearchEngine.KEYWORD, _found(documents, words, {}))

    async def _find_by_both(
        self, file: IndexFile, queue: EmbeddingQueue, query: str, terms: QueryTerms, bounds: Bounds
    ) -> Found:
        (vector,) = await queue.embedder.embed([query])
        await self._embed_now(file, queue, await queue.few_waiting(file, EMBEDDED_AT_ONCE))
        cosines = await finder.by_meaning(file, vector, bounds)
        words = await finder.by_words(file, terms, bounds, cosines)
        documents = await finder.documents_of(file, self.owner, {*words, *cosines})
        fresh = [number for number, each in documents.items() if not each.is_embedded]
        await self._embed_now(file, queue, fresh)
        # A vector that was there before its document had one again is that of an older text.
        known = cosines.keys() - fresh
        cosines = {number: cosines[number] for number in known} | await finder.cosines_of(
            file, vector, documents.keys() - known
        )
        return Found(SearchEngine.HYBRID, _found(documents, words, cosines))

    async def _embed_now(self, file: IndexFile, queue: EmbeddingQueue, numbers: Sequence[int]) -> None:
        if numbers:
            newest = sorted(numbers, reverse=True)[:EMBEDDED_AT_ONCE]
            with suppress(TimeoutError):  # then they are found by their words alone for now
                async with asyncio.timeout(FRESH_SECONDS):
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
