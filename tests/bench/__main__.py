"""`python -m tests.bench [name …]` runs the benchmarks and keeps their tables in results.md."""

import sys
from pathlib import Path
from typing import Final

from tests.bench import graph, writes

RESULTS: Final = Path(__file__).parent / "results.md"
BENCHMARKS: Final = {"graph": graph.run, "writes": writes.run}


def main(names: list[str]) -> None:
    tables = []
    for name in names or BENCHMARKS:
        table = BENCHMARKS[name]()
        sys.stdout.write(f"{table}\n")
        tables.append(table)
    if not names:
        RESULTS.write_text("# Results of `make bench`\n\n" + "\n".join(map(str, tables)), encoding="utf-8")


main(sys.argv[1:])
