"""Fixtures shared by all tests: real servers on real files."""

from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from api.settings import Settings
from tests.serving import Client, Server, running

# The same examples in every run: what fails here fails for whoever looks into it.
hypothesis.settings.register_profile("steady", derandomize=True)
hypothesis.settings.load_profile("steady")

SAMPLE = Path(__file__).parent.parent / "data" / "sample" / "ebb_tide_post.json"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Serves the owner `local`, with no book yet."""
    with running(Settings(data_dir=tmp_path / "data")) as server:
        yield server


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with server.client() as client:
        yield client


@pytest.fixture
def book(client: Client) -> str:
    """The id of an empty book."""
    client.mutate("createBook", "book { id }", id="book_1", name="砂の道")
    return "book_1"
