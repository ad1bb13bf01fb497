"""One file of the index: what it says of itself is what is in it."""

import asyncio
from pathlib import Path

import pytest

from persistence.embedding.vectors import unit_vector
from persistence.index.index_file import create_index


@pytest.mark.parametrize("turns", range(12))
async def test_vectors_that_nobody_waits_for_any_more_are_known_all_the_same(tmp_path: Path, turns: int) -> None:
    file = await create_index(tmp_path / "index.db", {})
    putting = asyncio.create_task(file.put_vectors({1: (b"", unit_vector([1.0, 0.0]))}))
    for _ in range(turns):
        await asyncio.sleep(0.0005)
    putting.cancel()
    await asyncio.wait({putting})

    # What is written after it is written when it has been, or has been left.
    await file.engine.write(lambda transaction: transaction.fetch("SELECT 1"))
    tables = await file.engine.read("SELECT name FROM sqlite_schema WHERE name = 'vector'")
    await file.close()

    assert file.has_vectors == (tables == [("vector",)])
