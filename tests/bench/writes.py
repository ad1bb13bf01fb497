"""What group commit pays: durable writes per second with and without it."""

import asyncio
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path

from persistence.engine import MAX_GROUP, Engine, Transaction
from tests.bench.table import Table

PRODUCERS = 64
SECONDS = 1.5
ROUNDS = 3

INSERT = "INSERT INTO book (owner, id, name, context_limit) VALUES ('local', :id, 'book', 10)"


def run() -> Table:
    measured: dict[int, list[float]] = {1: [], MAX_GROUP: []}
    for _ in range(ROUNDS):
        for group, rates in measured.items():
            rates.append(asyncio.run(_rate(group)))
    alone, grouped = (statistics.median(rates) for rates in measured.values())
    return Table(
        f"Durable writes per second, {PRODUCERS} producers (synchronous=FULL)",
        ("a commit for each", f"group commit, up to {MAX_GROUP}", "ratio"),
        [(f"{alone:.0f}", f"{grouped:.0f}", f"{grouped / alone:.1f}")],
    )


async def _rate(max_group: int) -> float:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        engine = await Engine.open(Path(folder) / "bench.db", max_group=max_group)
        started = time.perf_counter()

        async def produce(producer: int) -> int:
            written = 0
            while time.perf_counter() < started + SECONDS:
                await engine.write(partial(_insert, f"{producer}-{written}"))
                written += 1
            return written

        written = sum(await asyncio.gather(*map(produce, range(PRODUCERS))))
        elapsed = time.perf_counter() - started
        await engine.close()
        return written / elapsed


async def _insert(book_id: str, transaction: Transaction) -> None:
    await transaction.execute(INSERT, {"id": book_id})
