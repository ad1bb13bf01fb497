"""A process that writes to a notebook: `python -m tests.persistence.notebook_writer ROOT NAME COUNT KIND`."""

import asyncio
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from domain.notebook import MEMORY, Insertion, place_entry, place_fact
from persistence.notebook_files import NotebookFiles

LOG = "daily/2026-01-31.md"

# Notes of a day go to the end; facts to a section with another one below, and every other one to that last one.
KINDS: dict[str, Callable[[str, int], tuple[str, Callable[[bytes], Insertion]]]] = {
    "entries": lambda text, _: (LOG, lambda content: place_entry(content, text)),
    "facts": lambda text, number: (MEMORY, lambda content: place_fact(content, text, ("Middle", "Last")[number % 2])),
}


async def write(root: Path, name: str, count: int, kind: str) -> None:
    """Says each line when it is acknowledged."""
    files = NotebookFiles(root, lambda: datetime.now(UTC))
    for number in range(count):
        text = f"{name}-{number} {'字' * (number % 7)}."
        await files.insert(*KINDS[kind](text, number))
        sys.stdout.write(f"- {text}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(write(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]))
