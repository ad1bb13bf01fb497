"""A real engine on a file of its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from persistence.engine import Engine


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "loregraph.db"


@pytest.fixture
async def engine(database: Path) -> AsyncIterator[Engine]:
    engine = await Engine.open(database)
    yield engine
    await engine.close()
