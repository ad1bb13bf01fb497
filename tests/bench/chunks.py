"""Chunk contexts: GraphQL against a plain route, names against a loop, a small book against a large one."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import orjson

from api.composition import DATABASE, Service, open_service
from api.settings import LOCAL_OWNER, Settings
from domain.memories import MemoryDraft, Retrieval
from domain.mentions import Matcher, Name
from domain.search import Filters
from domain.usecases import UseCases
from domain.usecases.chunks import ChunkRequest
from tests.bench import load, novel
from tests.bench.table import Table

ROUTE_GOAL = 0.5
LOOP_GOAL = 100
GROWTH_GOAL = 1.5
MERGE_GROWTH_GOAL = 2
MEMORIES = 5_000
SMALL, LARGE = 500, 100_000
INVENTED = 10_000
CHUNKS = 50
GROWTH_ROUNDS = 11
CHANGES = 5

QUERY = """
query ($text: String!) {
  chunkContext(bookId: "book", text: $text, retrieval: ATTACHED) {
    mentions { entity { id name } spans { start end text } }
    memories { match memory { id summary lastAccessedAt } }
    omittedCount etag entitySection memorySection prompt
  }
}"""


def against_plain_route(data: Path) -> Table:
    real = novel.read_novel(data, "zh_红楼梦")
    rows = []
    for book in (real, novel.with_invented_names(real, INVENTED)):
        with tempfile.TemporaryDirectory() as folder:
            data_dir = Path(folder)
            asyncio.run(_fill(data_dir, book, MEMORIES))
            (text,) = book.chunks(1)
            graphql = load.Target(
                "GraphQL", 8803, load.http_post("/graphql", orjson.dumps({"query": QUERY, "variables": {"text": text}}))
            )
            plain = load.Target("plain", 8804, load.http_post("/chunk-context", orjson.dumps({"text": text})))
            command = ["-m", "tests.bench.plain_route", str(data_dir / DATABASE), str(plain.port)]
            with (
                load.serving(["-m", "api.main", "serve", "--port", str(graphql.port)], graphql.port, data_dir),
                load.serving(command, plain.port, data_dir),
            ):
                assert orjson.loads(load.answer(graphql)) == orjson.loads(load.answer(plain)), "the answers differ"
                rates = load.rates([graphql, plain])
        ratio = rates["GraphQL"] / rates["plain"]
        rows.append((book.title, f"{rates['GraphQL']:.0f}", f"{rates['plain']:.0f}", f"{ratio:.2f}", f"≥ {ROUTE_GOAL}"))
    return Table(
        f"chunkContext of 2,000 characters, {MEMORIES:,} memories, ATTACHED, requests per second",
        ("names", "GraphQL", "plain route, same SQL and formatting", "ratio", "goal"),
        rows,
    )


def names_against_loop(data: Path) -> Table:
    book = novel.with_invented_names(novel.read_novel(data, "zh_红楼梦"), INVENTED)
    names = [name for name in book.names if name]
    chunks = book.chunks(CHUNKS)
    matcher = Matcher(Name(each.ref, each.name) for each in book.characters if each.id.startswith("invented"))
    invented = [each.name for each in book.characters if each.id.startswith("invented")]
    one_pass = _seconds(lambda: [matcher.mentions(chunk) for chunk in chunks])
    loop = _seconds(lambda: [[name for name in invented if name in chunk] for chunk in chunks], rounds=1)
    return Table(
        f"Mentions in 2,000 characters, {len(names) - len(names) % 1000:,} names, microseconds per chunk",
        ("one pass", "`name in text` for every name", "ratio", "goal"),
        [
            (
                f"{one_pass / CHUNKS * 1e6:.0f}",
                f"{loop / CHUNKS * 1e6:.0f}",
                f"{loop / one_pass:.0f}",
                f"≥ {LOOP_GOAL}",
            )
        ],
    )


def as_the_book_grows(data: Path) -> Table:
    """Once with all memories on the same names, once with names that grow along, ten memories for each."""
    real = novel.read_novel(data, "zh_红楼梦")
    growing = novel.with_invented_names(real, LARGE // 10 - len(real.characters))
    rows: list[tuple[str, ...]] = []
    for title, large in ((f"the same {len(real.characters)} characters", real), ("as many more characters", growing)):
        rows += [(title, *row) for row in asyncio.run(_growth((real, SMALL), (large, LARGE)))]
    return Table(
        "chunkContext as the book grows, milliseconds per call",
        ("book", "retrieval", f"{SMALL:,} memories", f"{LARGE:,} memories", "ratio", "goal"),
        rows,
    )


async def _growth(*books: tuple[novel.Novel, int]) -> list[tuple[str, ...]]:
    async with AsyncExitStack() as opened:
        measured = [await _open(opened, book, memories) for book, memories in books]
        texts = books[0][0].chunks(CHUNKS)
        rows = []
        for retrieval, goal in ((Retrieval.ATTACHED, GROWTH_GOAL), (Retrieval.MERGE, MERGE_GROWTH_GOAL)):
            requests = [ChunkRequest(novel.BOOK_ID, (text,), retrieval=retrieval) for text in texts]
            rows.append(_row(retrieval.name, await _costs_in_turns(measured, requests), f"≤ {goal}"))
        costs = await _costs_after_a_change(measured, requests[0])
        return [*rows, _row(f"{Retrieval.MERGE.name}, the first call after a memory is written", costs, "")]


def _row(title: str, costs: Sequence[float], goal: str) -> tuple[str, ...]:
    return title, *(f"{cost * 1e3:.2f}" for cost in costs), f"{costs[-1] / costs[0]:.2f}", goal


async def _open(opened: AsyncExitStack, book: novel.Novel, memories: int) -> UseCases:
    """With all memories in the index. Nothing is embedded: no chunk asks for it, and it would run meanwhile."""
    folder = opened.enter_context(tempfile.TemporaryDirectory())
    settings = Settings(data_dir=Path(folder), embedder="none")
    service = await opened.enter_async_context(open_service(settings))
    await _import(service, book, memories)
    use_cases = service.use_cases(LOCAL_OWNER)
    await use_cases.search.run("?", 1, Filters())
    async for status in use_cases.index.status_changes():
        if status.documents == memories:
            break
    return use_cases


async def _costs_in_turns(measured: Sequence[UseCases], requests: Sequence[ChunkRequest]) -> list[float]:
    """Seconds per chunk of each book, the median of rounds in which they take turns."""
    costs: list[list[float]] = [[] for _ in measured]
    for _ in range(GROWTH_ROUNDS):
        for use_cases, of_book in zip(measured, costs, strict=True):
            started = time.perf_counter()
            for request in requests:
                await use_cases.chunks.contexts(request)
            of_book.append((time.perf_counter() - started) / CHUNKS)
    # The first round reads what is kept from then on.
    return [statistics.median(of_book[1:]) for of_book in costs]


async def _costs_after_a_change(measured: Sequence[UseCases], request: ChunkRequest) -> list[float]:
    costs: list[list[float]] = [[] for _ in measured]
    for number in range(CHANGES):
        for use_cases, of_book in zip(measured, costs, strict=True):
            await use_cases.memories.create(MemoryDraft(f"new_{number}", novel.BOOK_ID, novel.CONTENT, "宝玉"))
            started = time.perf_counter()
            await use_cases.chunks.contexts(request)
            of_book.append(time.perf_counter() - started)
    return [statistics.median(of_book) for of_book in costs]


async def _fill(data_dir: Path, book: novel.Novel, memories: int) -> None:
    async with open_service(Settings(data_dir=data_dir)) as service:
        await _import(service, book, memories)


async def _import(service: Service, book: novel.Novel, memories: int) -> None:
    await service.use_cases(LOCAL_OWNER).book_import.run(*novel.a_book(book, memories))


def _seconds(work: Callable[[], object], rounds: int = 5) -> float:
    measured = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        measured.append(time.perf_counter() - started)
    return statistics.median(measured)
