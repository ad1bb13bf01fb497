"""Which SQLite the process runs on, and whether it can be trusted with a WAL."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from persistence.sqlite import checkpoints_safely

IN_A_FRESH_PROCESS = """
import asyncio, json, sys
from pathlib import Path

import api.main
from persistence import sqlite
from persistence.engine import Engine


async def main():
    engine = await Engine.open(Path(sys.argv[1]))
    asked = "SELECT vec_version(), sqlite_version()"
    reader = await engine.fetch(asked)
    writer = await engine.write(lambda transaction: transaction.fetch(asked))
    await engine.close()
    print(json.dumps({
        "same": reader == writer,
        "vec": reader[0][0],
        "sqlite": reader[0][1],
        "library": sqlite.Error.__module__.partition(".")[0],
        "safe": sqlite.checkpoints_safely(),
    }))


asyncio.run(main())
"""


def test_entry_point_opens_its_file_with_pysqlite3_and_sqlite_vec(tmp_path: Path) -> None:
    asked = subprocess.run(
        [sys.executable, "-W", "error", "-c", IN_A_FRESH_PROCESS, str(tmp_path / "loregraph.db")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (asked.returncode, asked.stderr) == (0, "")
    found = json.loads(asked.stdout)
    assert found["vec"].startswith("v0.1.")
    assert checkpoints_safely(tuple(int(part) for part in found["sqlite"].split(".")))
    assert (found["library"], found["same"], found["safe"]) == ("pysqlite3", True, True)


@pytest.mark.parametrize(
    ("version", "is_safe"),
    [
        ((3, 40, 1), False),
        ((3, 44, 5), False),
        ((3, 44, 6), True),
        ((3, 45, 0), False),
        ((3, 50, 6), False),
        ((3, 50, 7), True),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
        ((3, 52, 0), True),
        ((3, 53, 4), True),
        ((4, 0, 0), True),
    ],
)
def test_a_version_without_the_wal_fix_is_known_as_unsafe(version: tuple[int, ...], *, is_safe: bool) -> None:
    assert checkpoints_safely(version) is is_safe
