"""EventSource, as every browser has it built in, against a real server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from api.settings import Settings
from tests.serving import Server, running
from tests.talking import REBUILD, STATUS, live, wait_until

LISTEN = """query => {
  window.heard = []
  window.source = new EventSource(`/graphql?query=${encodeURIComponent(query)}`)
  source.addEventListener('next', event => heard.push(event.data))
  source.addEventListener('complete', () => { source.close(); heard.push('complete') })
}"""

HAS_ENDED = """startedAt => heard
  .map(each => JSON.parse(each).data.indexStatusChanged)
  .some(status => status.state === 'COMPLETED' && status.startedAt >= startedAt)"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with running(Settings(data_dir=tmp_path / "data")) as server:
        yield server


def heard(page: Page, last: str) -> list[Any]:
    """All events, once the last one has `last` in it."""
    page.wait_for_function("last => heard.at(-1)?.includes(last)", arg=last)
    return [each if each == "complete" else json.loads(each) for each in page.evaluate("heard")]


def test_a_query_is_answered_and_complete(server: Server, page: Page) -> None:
    page.goto(f"{server.url}/health")

    page.evaluate(LISTEN, "{ books { totalCount } }")

    assert heard(page, "complete") == [{"data": {"books": {"totalCount": 0}}}, "complete"]


def test_a_subscription_is_followed_until_it_is_closed(server: Server, page: Page) -> None:
    page.goto(f"{server.url}/health")

    page.evaluate(LISTEN, STATUS)
    heard(page, "indexStatusChanged")
    with server.client() as client:
        started_at = client.ask(REBUILD)["rebuildIndex"]["indexStatus"]["startedAt"]
    page.wait_for_function(HAS_ENDED, arg=started_at)
    page.evaluate("source.close()")

    wait_until(lambda: live() == [])
