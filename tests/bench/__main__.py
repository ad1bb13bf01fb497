"""`python -m tests.bench [--data DIR] [name …]` runs the benchmarks and keeps their tables in results.md."""

import argparse
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from tests.bench import chunks, extraction, graph, oracle, recall, search_quality, search_speed, turns, writes
from tests.bench.table import Table

RESULTS: Final = Path(__file__).parent / "results.md"

BENCHMARKS: Final[Mapping[str, Callable[[], Table]]] = {
    "graph": graph.run,
    "writes": writes.run,
    "turns": turns.run,
}
# These may grow to a million, and be kept.
GROWING: Final = {
    "speed": search_speed.run,
    "recall": recall.run,
}
# These read the texts of --data.
ON_DATA: Final[Mapping[str, Callable[[Path], Table]]] = {
    "chunks": chunks.against_plain_route,
    "names": chunks.names_against_loop,
    "growth": chunks.as_the_book_grows,
    "oracle": oracle.run,
    "quality": search_quality.run,
    "extraction": extraction.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--data", type=Path, help="a folder of texts; without it, what needs them is left out")
    parser.add_argument("--million", action="store_true", help="speed and recall with a million as well; takes long")
    parser.add_argument("--keep", type=Path, help="a folder for what speed and recall fill, to be filled only once")
    parser.add_argument("names", nargs="*", choices=[*BENCHMARKS, *GROWING, *ON_DATA, []])
    arguments = parser.parse_args()
    runs: dict[str, Callable[[], Table]] = dict(BENCHMARKS)
    for name, run in GROWING.items():
        runs[name] = partial(run, with_million=arguments.million, keep=arguments.keep)
    if arguments.data is not None:
        runs |= {name: partial(run, arguments.data) for name, run in ON_DATA.items()}
    tables = []
    for name in arguments.names or runs:
        tables.append(runs[name]())
        sys.stdout.write(f"{tables[-1]}\n")
        sys.stdout.flush()
    if not arguments.names:
        RESULTS.write_text("# Results of `make bench`\n\n" + "\n".join(map(str, tables)), encoding="utf-8")


main()
