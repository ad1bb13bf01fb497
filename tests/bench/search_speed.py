"""How long a search takes as the library grows, beside LIKE and a plain FTS5 in the same run."""

import asyncio
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from api.composition import Service, open_service
from api.settings import LOCAL_OWNER, Settings
from domain.entities import Book
from domain.limits import BULK_LIMIT
from domain.memories import MemoryDraft
from domain.search import Filters, SearchEngine
from domain.segmentation import keywords
from persistence import sqlite
from persistence.index.finder import Bounds
from persistence.index.like import LikeSearch
from tests.bench.invented_library import (
    BOOK_SIZE,
    PLAIN,
    Costs,
    Language,
    book_id,
    fill,
    memory_id,
    open_library,
)
from tests.bench.table import Table

SIZES = (10_000, 100_000)
MILLION = 1_000_000
GROWTH_GOAL = 2

HITS = 10
QUESTION_WORDS = 6
LONG_WORDS = 80
IN_BOOK_ROUNDS = 40
# What reads the whole library, or may.
SLOW_ROUNDS = 5
PIPELINE = 10_000

_MB = 1024 * 1024
_WORD = re.compile(r"\w+")
_PLAIN_IN_BOOK = """
    SELECT text.number, text.text FROM plain JOIN text ON text.number = plain.rowid
    WHERE plain MATCH :match AND (:book_id IS NULL OR book_id = :book_id) ORDER BY rank LIMIT :limit"""


@dataclass(frozen=True)
class Way:
    title: str
    search: Callable[["Library", str, str | None], Awaitable[None]]
    in_book: bool
    rounds: int
    words: int = QUESTION_WORDS
    goal: str = ""


@dataclass
class Library:
    """A service on a library of one size, and what the same texts are in a plain FTS5."""

    size: int
    service: Service
    plain: sqlite.Connection
    costs: Costs
    memory: float
    seconds: dict[str, list[float]] = field(default_factory=dict)

    @property
    def like(self) -> LikeSearch:
        return LikeSearch(self.service.engine, self.service.library.holdings_of(LOCAL_OWNER).notebook)


def run(*, with_million: bool = False, keep: Path | None = None) -> Table:
    """Libraries are kept in a folder of that name, if one is given: a million documents take long to fill."""
    sizes = (*SIZES, MILLION) if with_million else SIZES
    return asyncio.run(_measure(sizes, keep))


async def _measure(sizes: Sequence[int], keep: Path | None) -> Table:
    language = Language()
    pipeline = [f"{PIPELINE / seconds:,.0f}" for seconds in await _pipeline_seconds(language)]
    async with AsyncExitStack() as opened:
        folder = keep if keep is not None else Path(opened.enter_context(tempfile.TemporaryDirectory()))
        libraries = [await _open(opened, folder / str(size), size, language) for size in sizes]
        await _search_in_turns(libraries, language)
        rows = [row for way in WAYS for row in _rows(way, libraries)]
        rows += [
            _row("words indexed per second", (each.costs.words_rate for each in libraries), "{:,.0f}"),
            _row("vectors stored per second", (each.costs.vectors_rate for each in libraries), "{:,.0f}"),
            _row("plain FTS5, texts indexed per second", (each.costs.plain_rate for each in libraries), "{:,.0f}"),
            ("imported and found by words, per second", pipeline[0], *[""] * len(sizes)),
            ("imported, found by words and embedded, per second", pipeline[1], *[""] * len(sizes)),
            _row("memory of a process that searches, MB", (each.memory for each in libraries), "{:.0f}"),
            _row("index, MB", (each.costs.index_bytes / _MB for each in libraries), "{:,.0f}"),
            _row("plain FTS5 with its texts, MB", (each.costs.plain_bytes / _MB for each in libraries), "{:,.0f}"),
        ]
    return Table(
        f"Search as the library grows: books of {BOOK_SIZE:,} documents, milliseconds unless said otherwise",
        ("", *(f"{size:,}" for size in sizes), "last / first"),
        [(*row, "") if len(row) < len(sizes) + 2 else row for row in rows],
    )


async def _open(opened: AsyncExitStack, data_dir: Path, size: int, language: Language) -> Library:
    costs = await fill(data_dir, size, language)
    memory = _memory_of_a_process(data_dir)
    service = await opened.enter_async_context(open_library(data_dir))
    plain = sqlite.open_connection(data_dir / PLAIN, read_only=True)
    opened.callback(plain.close)
    return Library(size, service, plain, costs, memory)


async def _search_in_turns(libraries: Sequence[Library], language: Language) -> None:
    for round_ in range(IN_BOOK_ROUNDS):
        for way in WAYS:
            if round_ >= way.rounds:
                continue
            for library in libraries:
                # Another book each time, in turn English and Chinese.
                number = (round_ * 7 * BOOK_SIZE + round_) % library.size
                question = language.text(number, way.words)
                started = time.perf_counter()
                await way.search(library, question, book_id(number) if way.in_book else None)
                library.seconds.setdefault(way.title, []).append(time.perf_counter() - started)


async def _hybrid(library: Library, question: str, book: str | None) -> None:
    await _ask(library, question, book, SearchEngine.HYBRID)


async def _keyword(library: Library, question: str, book: str | None) -> None:
    embedder = library.service.library.embedder
    assert embedder is not None, "it is opened with one"
    embedder._breaker.reason = "measured without"
    await _ask(library, question, book, SearchEngine.KEYWORD)
    embedder._breaker.reason = None


async def _ask(library: Library, question: str, book: str | None, engine: SearchEngine) -> None:
    result = await library.service.use_cases(LOCAL_OWNER).search.run(question, HITS, Filters(book_id=book))
    assert result.engine is engine, f"searched by {result.engine}"
    assert result.hits, "the text that the question is taken from is not found"


async def _like(library: Library, question: str, book: str | None) -> None:
    await library.like.find(keywords(question), Bounds(LOCAL_OWNER, Filters(book_id=book)))


async def _plain_fts5(library: Library, question: str, book: str | None) -> None:
    match = " OR ".join(f'"{word}"' for word in dict.fromkeys(_WORD.findall(question)))
    library.plain.execute(_PLAIN_IN_BOOK, {"match": match, "book_id": book, "limit": HITS}).fetchall()


_GOAL = f" (≤ {GROWTH_GOAL})"

WAYS = (
    Way("HYBRID in a book", _hybrid, in_book=True, rounds=IN_BOOK_ROUNDS, goal=_GOAL),
    Way("KEYWORD in a book", _keyword, in_book=True, rounds=IN_BOOK_ROUNDS, goal=_GOAL),
    Way(f"KEYWORD in a book, {LONG_WORDS} words", _keyword, in_book=True, rounds=IN_BOOK_ROUNDS, words=LONG_WORDS),
    Way("plain FTS5 in a book", _plain_fts5, in_book=True, rounds=IN_BOOK_ROUNDS),
    Way("LIKE in a book", _like, in_book=True, rounds=SLOW_ROUNDS),
    Way("HYBRID in the whole library", _hybrid, in_book=False, rounds=SLOW_ROUNDS),
    Way("KEYWORD in the whole library", _keyword, in_book=False, rounds=SLOW_ROUNDS),
    Way("plain FTS5 in the whole library", _plain_fts5, in_book=False, rounds=SLOW_ROUNDS),
    Way("LIKE in the whole library", _like, in_book=False, rounds=SLOW_ROUNDS),
)


def _rows(way: Way, libraries: Sequence[Library]) -> list[tuple[str, ...]]:
    measured = [[seconds * 1e3 for seconds in library.seconds[way.title]] for library in libraries]
    middle = [statistics.median(each) for each in measured]
    rows = [_row(f"{way.title}, p50", middle, "{:.1f}", f"{middle[-1] / middle[0]:.1f}{way.goal}")]
    if way.rounds == IN_BOOK_ROUNDS:
        rows.append(_row(f"{way.title}, p95", (statistics.quantiles(each, n=20)[-1] for each in measured), "{:.1f}"))
    return rows


def _row(title: str, figures: Iterable[float | None], shown: str, ratio: str = "") -> tuple[str, ...]:
    return (title, *("" if figure is None else shown.format(figure) for figure in figures), ratio)


async def _pipeline_seconds(language: Language) -> tuple[float, float]:
    """From the first import to the last document found by its words, and to the last vector made."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_service(Settings(data_dir=Path(folder))) as service:
            use_cases = service.use_cases(LOCAL_OWNER)
            started = time.perf_counter()
            for first in range(0, PIPELINE, BULK_LIMIT):
                await use_cases.entities.create(Book(book_id(first), "book"))
                texts = [(number, language.text(number)) for number in range(first, first + BULK_LIMIT)]
                await use_cases.memories.import_all(
                    [MemoryDraft(memory_id(number), book_id(number), text, text[:20]) for number, text in texts]
                )
            found_by_words = 0.0
            await use_cases.search.run("?", 1, Filters())
            async for status in use_cases.index.status_changes():
                if status.documents < PIPELINE:
                    # Each search waits a while for the index to come up.
                    await use_cases.search.run("?", 1, Filters())
                elif not found_by_words:
                    found_by_words = time.perf_counter() - started
                if status.documents == PIPELINE and not status.unembedded:
                    break
            return found_by_words, time.perf_counter() - started


def _memory_of_a_process(data_dir: Path) -> float:
    """MB of one that has nothing else to do: what filling the library has freed would hide it here."""
    command = f"from tests.bench.search_speed import tell_memory; tell_memory({str(data_dir)!r})"
    told = subprocess.run([sys.executable, "-c", command], check=True, capture_output=True, text=True)
    return float(told.stdout.split()[-1])


def tell_memory(data_dir: str) -> None:
    """Without the pages of files that are mapped: the system takes those back when it needs them."""
    asyncio.run(_search_a_little(Path(data_dir)))


async def _search_a_little(data_dir: Path) -> None:
    language = Language()
    async with open_library(data_dir) as service:
        search = service.use_cases(LOCAL_OWNER).search
        for number in range(0, 10 * BOOK_SIZE, BOOK_SIZE):
            question = language.text(number, QUESTION_WORDS)
            await search.run(question, HITS, Filters(book_id=book_id(number)))
            await search.run(question, HITS, Filters())
        sys.stdout.write(f"{_resident_megabytes()}\n")


def _resident_megabytes() -> float:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("RssAnon:")[2].split()[0]) / 1024
