"""How long recall, the system prompt and forgetting take as facts grow: those of one owner, and those of others."""

import asyncio
import shutil
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from api.composition import Service, open_service
from api.settings import LOCAL_OWNER
from domain.search import SearchEngine
from domain.usecases.facts import Facts
from tests.bench.invented_facts import NOW, Talk, fill, settings_of
from tests.bench.table import Table

SIZES = (1_000, 100_000)
MILLION = 1_000_000
FACTS_EACH = 1_000
GROWTH_GOAL = 2

ROUNDS = 60
DELETIONS = 3
LIMIT = 5


@dataclass
class Shelf:
    """The facts of one size, with what was measured on them, in seconds."""

    data_dir: Path
    index_rate: float | None
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def note(self, title: str, started: float) -> None:
        self.seconds.setdefault(title, []).append(time.perf_counter() - started)


@dataclass(frozen=True)
class Way:
    title: str
    ask: Callable[[Service, Talk, int], Awaitable[None]]


def run(*, with_million: bool = False, keep: Path | None = None) -> Table:
    """What is filled is kept in a folder of that name, if one is given."""
    sizes = (*SIZES, MILLION) if with_million else SIZES
    return asyncio.run(_measure(sizes, keep))


async def _measure(sizes: Sequence[int], keep: Path | None) -> Table:
    talk = Talk()
    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or Path(temporary)
        of_one = [await _fill(folder, size, talk, is_of_one=True) for size in sizes]
        of_many = [await _fill(folder, size, talk, is_of_one=False) for size in sizes]
        # Apart, so that those who have few are not always asked right after one who has a million.
        await _ask_in_turns(of_one, talk)
        await _ask_in_turns(of_many, talk)
        for shelf in (*of_one, *of_many):
            await _forget(shelf, Path(temporary) / "forgotten")
    return Table(
        "Chat memory as facts grow, milliseconds unless said otherwise",
        ("facts", "", *(f"{size:,}" for size in sizes), "last / first"),
        [
            *_rows("all of the owner who asks", of_one, goal=""),
            *_rows(f"{FACTS_EACH:,} of the owner who asks, the others of others", of_many, f" (≤ {GROWTH_GOAL})"),
        ],
    )


async def _fill(folder: Path, size: int, talk: Talk, *, is_of_one: bool) -> Shelf:
    data_dir = folder / f"{size}-facts-of-{'one' if is_of_one else 'many'}"
    index_rate = await fill(data_dir, size, size if is_of_one else FACTS_EACH, talk)
    return Shelf(data_dir, index_rate)


async def _ask_in_turns(shelves: Sequence[Shelf], talk: Talk) -> None:
    async with AsyncExitStack() as opened:
        services = [await opened.enter_async_context(_open(each.data_dir)) for each in shelves]
        for service in services:
            assert service.library.engine is SearchEngine.KEYWORD, "it would look through all texts"
            for way in WAYS:
                await way.ask(service, talk, ROUNDS)
        in_turn = deque(zip(shelves, services, strict=True))
        for round_ in range(ROUNDS):
            in_turn.rotate()
            for way in WAYS:
                for shelf, service in in_turn:
                    started = time.perf_counter()
                    await way.ask(service, talk, round_)
                    shelf.note(way.title, started)


async def _recall(service: Service, talk: Talk, number: int) -> None:
    await _facts(service).recall(talk.message(number), None, LIMIT, track=False)


async def _recall_preferences(service: Service, talk: Talk, number: int) -> None:
    found = await _facts(service).recall(talk.preference(number), None, LIMIT, track=False)
    assert len(found) == LIMIT, "preferences are found without a word in common"


async def _compose(service: Service, talk: Talk, number: int) -> None:
    message = talk.preference(number) if number % 2 else talk.message(number)
    await service.use_cases(LOCAL_OWNER).prompts.compose(message, None, None)


WAYS = (
    Way("`recall`, an ordinary message", _recall),
    Way("`recall`, a message of preferences", _recall_preferences),
    Way("`systemPrompt`", _compose),
)
DELETE = "`deleteFact`"
CLEAR = "`clearFacts`"
FORGOTTEN = "`clearFacts`, with what goes on after the answer"


async def _forget(shelf: Shelf, copy: Path) -> None:
    """In a copy, so that what is kept stays."""
    shutil.copytree(shelf.data_dir, copy)
    async with _open(copy) as service:
        facts = _facts(service)
        for fact in await facts.list_from(None, 0, DELETIONS):
            started = time.perf_counter()
            await facts.delete(fact.id)
            shelf.note(DELETE, started)
        started = time.perf_counter()
        await facts.clear()
        shelf.note(CLEAR, started)
        await service.forgetting.begin()
        shelf.note(FORGOTTEN, started)
    shutil.rmtree(copy)


def _open(data_dir: Path) -> AbstractAsyncContextManager[Service]:
    return open_service(settings_of(data_dir), clock=lambda: NOW)


def _facts(service: Service) -> Facts:
    return service.use_cases(LOCAL_OWNER).facts


def _rows(whose: str, shelves: Sequence[Shelf], goal: str) -> list[tuple[str, ...]]:
    rows = [row for way in WAYS for row in _rows_of(way, shelves, goal)]
    rows += [
        _row(title, (statistics.median(each.seconds[title]) * 1e3 for each in shelves), "{:,.0f}")
        for title in (DELETE, CLEAR, FORGOTTEN)
    ]
    rows.append(_row("facts indexed per second", (each.index_rate for each in shelves), "{:,.0f}"))
    return [(whose, *row) for row in rows]


def _rows_of(way: Way, shelves: Sequence[Shelf], goal: str) -> list[tuple[str, ...]]:
    measured = [[seconds * 1e3 for seconds in each.seconds[way.title]] for each in shelves]
    middle = [statistics.median(each) for each in measured]
    slow = [statistics.quantiles(each, n=20)[-1] for each in measured]
    return [
        _row(f"{way.title}, p50", middle, "{:.1f}", f"{middle[-1] / middle[0]:.1f}{goal}"),
        _row(f"{way.title}, p95", slow, "{:.1f}", f"{slow[-1] / slow[0]:.1f}"),
    ]


def _row(title: str, figures: Iterable[float | None], shown: str, ratio: str = "") -> tuple[str, ...]:
    return (title, *("" if figure is None else shown.format(figure) for figure in figures), ratio)
