"""One server for the tests of a module, each as an owner of its own who has nothing yet."""

from collections.abc import Iterator
from itertools import count

import pytest

from tests.api.building import MAX_OWNERS, Owners
from tests.api.chat.chatting import chat_server
from tests.clock import SettableClock
from tests.serving import Client


@pytest.fixture(scope="module")
def clock() -> SettableClock:
    """Of the module: it goes on from test to test."""
    return SettableClock()


@pytest.fixture(scope="module")
def owners(tmp_path_factory: pytest.TempPathFactory, clock: SettableClock) -> Iterator[Owners]:
    tokens = {f"token-{number}": f"owner-{number}" for number in range(MAX_OWNERS)}
    with chat_server(tmp_path_factory.mktemp("data"), clock, tokens=tokens) as server:
        yield Owners(server, count())


@pytest.fixture
def client(owners: Owners) -> Iterator[Client]:
    with owners.next_client() as client:
        yield client
