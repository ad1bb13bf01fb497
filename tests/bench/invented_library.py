"""A library of any size to search in: invented texts in books of a thousand, with random vectors."""

import random
import time
from bisect import bisect
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import cast

import numpy as np

from api.composition import DATABASE, Service, open_parts
from api.settings import LOCAL_OWNER, Settings
from domain.documents import Document
from domain.ports import Embedder, Vector
from domain.search import SearchSource
from domain.segmentation import document_terms
from persistence import sqlite
from persistence.embedding.guarded import GuardedEmbedder
from persistence.index.index_file import Batch, Entry, IndexFile, open_index
from persistence.index.library import Library
from persistence.mapping import to_microseconds

BOOK_SIZE = 1_000
BATCH = 500
DIMENSIONS = 512
WORDS = 20_000
# The commonest of what is left when stop words are gone stands in every fifth text.
COMMONEST = 20
TEXT_WORDS = 30
PLAIN = "plain.db"

_CREATED_AT = datetime(2026, 1, 1, tzinfo=UTC)

_BOOK = "INSERT INTO book (owner, id, name, context_limit) VALUES (?, ?, ?, 10)"
_MEMORY = """
    INSERT INTO memory (
        owner, id, book_id, content, summary, is_pinned, created_at, updated_at, last_accessed_at, access_count)
    VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, 0)"""
_UNEMBEDDED = "SELECT number, digest FROM document WHERE is_embedded = 0 AND number > ? ORDER BY number LIMIT ?"
_PLAIN = """
    CREATE TABLE text (number INTEGER PRIMARY KEY, book_id TEXT NOT NULL, text TEXT NOT NULL);
    CREATE INDEX text_of_book ON text (book_id);
    CREATE VIRTUAL TABLE plain USING fts5 (text, content = 'text', content_rowid = 'number', tokenize = unicode61)"""


@dataclass(frozen=True)
class Costs:
    """Documents per second, None where nothing was left to do; and the bytes they take."""

    words_rate: float | None
    vectors_rate: float | None
    plain_rate: float | None
    index_bytes: int
    plain_bytes: int


class Language:
    """Words as rare as in a language; every book of an odd number is Chinese, the others are English."""

    def __init__(self) -> None:
        chance = random.Random(7)
        characters = [chr(0x4E00 + number) for number in chance.sample(range(20_000), 3_000)]
        letters = "etaoinshrdlucmfw"
        self._chinese = ["".join(chance.choices(characters, k=chance.choice((1, 2, 2, 2, 3)))) for _ in range(WORDS)]
        self._english = ["".join(chance.choices(letters, k=chance.randint(3, 9))) for _ in range(WORDS)]
        self._weights = list(accumulate(1 / (rank + COMMONEST) for rank in range(WORDS)))

    def text(self, number: int, words: int = TEXT_WORDS) -> str:
        """The same for the same number."""
        chance = random.Random(number)
        is_chinese = (number // BOOK_SIZE) % 2 == 1
        vocabulary = self._chinese if is_chinese else self._english
        drawn = [vocabulary[bisect(self._weights, chance.random() * self._weights[-1])] for _ in range(words)]
        return ("" if is_chinese else " ").join(drawn)


def book_id(number: int) -> str:
    return f"book_{number // BOOK_SIZE}"


def memory_id(number: int) -> str:
    return f"mem_{number:07}"


def vectors(first: int, count: int) -> list[Vector]:
    drawn = np.random.default_rng(first).standard_normal((count, DIMENSIONS), dtype=np.float32)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return [row.tobytes() for row in drawn]


@dataclass(eq=False)
class InventedEmbedder(Embedder):
    """Costs next to nothing, so that what is measured is the search."""

    identity: str = "invented"

    async def embed(self, texts: Sequence[str]) -> tuple[Vector, ...]:
        return tuple(vectors(sum(map(ord, text)), 1)[0] for text in texts)

    async def close(self) -> None:
        pass


@asynccontextmanager
async def open_library(data_dir: Path) -> AsyncIterator[Service]:
    """A service as it is served, but for its embedder."""
    async with open_parts(Settings(data_dir=data_dir, embedder="none")) as service:
        wired = service.library
        embedder = GuardedEmbedder(InventedEmbedder(), time.monotonic)
        service.library = Library(
            wired.generations, wired.truth, wired.holdings_of, wired.owners, embedder, wired.clock
        )
        await service.library.open()
        yield service
        await service.library.close()


async def fill(data_dir: Path, size: int, language: Language) -> Costs:
    """Rows in bulk, and the index by what writes it: embedding so many texts would take an hour.

    Goes on where it was cut off.
    """
    texts = [language.text(number) for number in range(size)]
    async with open_library(data_dir) as service:
        generations = service.library.generations
        is_filled = await service.library.truth.count() == size
    index = generations.newest()
    assert index is not None, "an empty index was to be filled"
    if not is_filled:
        _put_rows(data_dir / DATABASE, texts)
    file = await open_index(index)
    words_rate = await _put_words(file, texts)
    vectors_rate = await _put_vectors(file)
    await file.put(Batch(meta={"applied": _newest_change(data_dir / DATABASE)}))
    await file.seal()
    await file.close()
    plain_rate = _put_plain(data_dir / PLAIN, texts)
    sizes = index.stat().st_size, (data_dir / PLAIN).stat().st_size
    return Costs(words_rate, vectors_rate, plain_rate, *sizes)


def _put_rows(path: Path, texts: Sequence[str]) -> None:
    at = to_microseconds(_CREATED_AT)
    db = sqlite.open_connection(path, read_only=False)
    db.execute("PRAGMA synchronous = OFF")
    db.execute("BEGIN")
    db.executemany(_BOOK, [(LOCAL_OWNER, book_id(first), "book") for first in range(0, len(texts), BOOK_SIZE)])
    db.executemany(
        _MEMORY,
        (
            (LOCAL_OWNER, memory_id(number), book_id(number), text, text[:20], at, at, at)
            for number, text in enumerate(texts)
        ),
    )
    db.execute("COMMIT")
    db.close()


def _newest_change(path: Path) -> int:
    db = sqlite.open_connection(path, read_only=True)
    ((newest,),) = db.execute("SELECT MAX(number) FROM change").fetchall()
    db.close()
    return int(newest)


async def _put_words(file: IndexFile, texts: Sequence[str]) -> float | None:
    ((there,),) = cast("list[tuple[int]]", await file.engine.fetch("SELECT COUNT(*) FROM document"))
    nothing = document_terms("")
    started = time.perf_counter()
    for first in range(there, len(texts), BATCH):
        entries = [
            Entry(LOCAL_OWNER, _document(number, text), document_terms(text), nothing)
            for number, text in enumerate(texts[first : first + BATCH], first)
        ]
        await file.put(Batch(entries))
    return _rate(len(texts) - there, started)


def _document(number: int, text: str) -> Document:
    return Document(SearchSource.MEMORY, memory_id(number), text, book_id=book_id(number), at=_CREATED_AT)


async def _put_vectors(file: IndexFile) -> float | None:
    done = last = 0
    started = time.perf_counter()
    while waiting := cast("list[tuple[int, bytes]]", await file.engine.fetch(_UNEMBEDDED, (last, BATCH))):
        last = waiting[-1][0]
        drawn = zip(waiting, vectors(last, len(waiting)), strict=True)
        await file.put_vectors({number: (digest, vector) for (number, digest), vector in drawn})
        done += len(waiting)
    return _rate(done, started)


def _put_plain(path: Path, texts: Sequence[str]) -> float | None:
    if path.exists():
        return None
    started = time.perf_counter()
    unfinished = path.with_suffix(".part")
    unfinished.unlink(missing_ok=True)
    db = sqlite.open_connection(unfinished, read_only=False)
    db.execute("PRAGMA synchronous = NORMAL")
    db.executescript(_PLAIN)
    for first in range(0, len(texts), BATCH):
        db.execute("BEGIN")
        batch = [(number, book_id(number), text) for number, text in enumerate(texts[first : first + BATCH], first)]
        db.executemany("INSERT INTO text VALUES (?, ?, ?)", batch)
        db.executemany("INSERT INTO plain (rowid, text) VALUES (?, ?)", [(number, text) for number, _, text in batch])
        db.execute("COMMIT")
    db.execute("INSERT INTO plain (plain) VALUES ('optimize')")
    db.close()
    unfinished.rename(path)
    return _rate(len(texts), started)


def _rate(done: int, started: float) -> float | None:
    return done / (time.perf_counter() - started) if done else None
