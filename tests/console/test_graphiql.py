"""GraphiQL as a person meets it, with no other host in reach."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Page, expect

from api.settings import Settings
from tests.conftest import SAMPLE
from tests.serving import Server, running

RESPONSE = ".graphiql-response .view-lines"
QUERY = "{ books { nodes { name } } }"


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Server]:
    with running(Settings(data_dir=tmp_path / "data"), SAMPLE) as server:
        yield server


def wait_until_ready(page: Page) -> None:
    page.locator(".graphiql-query-editor .view-line").first.wait_for()


def test_a_query_run_in_graphiql_shows_its_answer(library: Server, page: Page) -> None:
    page.goto(f"{library.url}/graphql?query={quote(QUERY)}")
    wait_until_ready(page)

    page.locator("button.graphiql-execute-button").click()

    expect(page.locator(RESPONSE)).to_contain_text("引き潮郵便局の七年")


def test_the_first_query_shown_answers_with_the_sample_book(library: Server, page: Page) -> None:
    page.goto(library.url)
    wait_until_ready(page)

    page.locator("button.graphiql-execute-button").click()

    expect(page.locator(RESPONSE)).to_contain_text("汐見湊")


def test_graphiql_asks_no_other_host(library: Server, page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    page.goto(f"{library.url}/graphql?query={quote(QUERY)}")
    wait_until_ready(page)
    page.locator("button.graphiql-execute-button").click()
    expect(page.locator(RESPONSE)).to_contain_text("books")

    assert f"{library.url}/graphql" in asked
    assert [url for url in asked if not url.startswith((f"{library.url}/", "data:", "blob:"))] == []


def test_graphiql_reports_no_error_to_the_browser(library: Server, page: Page) -> None:
    reported: list[str] = []
    page.on("pageerror", lambda error: reported.append(str(error)))
    page.on("console", lambda message: reported.append(message.text) if message.type == "error" else None)

    page.goto(f"{library.url}/graphql")
    wait_until_ready(page)

    assert reported == []


@pytest.mark.parametrize("accept", ["application/json", "application/graphql-response+json", "*/*"])
def test_clients_that_ask_for_json_do_not_get_the_page(library: Server, accept: str) -> None:
    answer = httpx.get(f"{library.url}/graphql", params={"query": QUERY}, headers={"accept": accept}, trust_env=False)

    assert answer.json() == {"data": {"books": {"nodes": [{"name": "引き潮郵便局の七年"}]}}}
