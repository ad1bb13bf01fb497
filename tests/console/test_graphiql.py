"""GraphiQL as a person meets it, with no other host in reach."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Page, expect

from api.settings import Settings
from tests.conftest import SAMPLE
from tests.serving import Client, Server, running
from tests.talking import REBUILD, STATUS, has_ended, live, wait_until

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


# Subscriptions


def rebuild(client: Client) -> str:
    """Builds the index anew, and answers when that was done."""
    started_at: str = client.ask(REBUILD)["rebuildIndex"]["indexStatus"]["startedAt"]
    status = "{ indexStatus { state startedAt finishedAt } }"
    wait_until(lambda: has_ended(client.ask(status)["indexStatus"], started_at))
    finished_at: str = client.ask(status)["indexStatus"]["finishedAt"]
    return finished_at


def test_a_subscription_shows_the_present_status_and_every_change(library: Server, page: Page) -> None:
    page.goto(f"{library.url}/graphql?query={quote(STATUS)}")
    wait_until_ready(page)

    page.locator("button.graphiql-execute-button").click()
    expect(page.locator(RESPONSE)).to_contain_text("indexStatusChanged")

    with library.client() as client:
        for _ in range(2):
            finished_at = rebuild(client)
            expect(page.locator(RESPONSE)).to_contain_text(finished_at)


def test_stopping_a_subscription_ends_it_on_the_server(library: Server, page: Page) -> None:
    page.goto(f"{library.url}/graphql?query={quote(STATUS)}")
    wait_until_ready(page)
    page.locator("button.graphiql-execute-button").click()
    expect(page.locator(RESPONSE)).to_contain_text("indexStatusChanged")
    assert live() != []

    page.locator("button.graphiql-execute-button").click()

    wait_until(lambda: live() == [])


def test_leaving_the_page_ends_its_subscription(library: Server, page: Page) -> None:
    page.goto(f"{library.url}/graphql?query={quote(STATUS)}")
    wait_until_ready(page)
    page.locator("button.graphiql-execute-button").click()
    expect(page.locator(RESPONSE)).to_contain_text("indexStatusChanged")

    page.goto("about:blank")

    wait_until(lambda: live() == [])


@pytest.fixture
def owned(tmp_path: Path) -> Iterator[Server]:
    with running(Settings(data_dir=tmp_path / "owned", tokens={"t-alice": "alice"})) as server:
        yield server


def type_headers(page: Page, headers: str) -> None:
    page.locator(".graphiql-editor-tool .monaco-editor").locator("visible=true").click()
    page.keyboard.insert_text(headers)


@pytest.mark.parametrize("name", ["authorization", "Authorization"])
def test_a_subscription_takes_the_token_from_the_headers(owned: Server, page: Page, name: str) -> None:
    page.goto(f"{owned.url}/graphql?query={quote(STATUS)}")
    wait_until_ready(page)

    type_headers(page, f'{{"{name}": "Bearer t-alice"}}')
    page.locator("button.graphiql-execute-button").click()

    expect(page.locator(RESPONSE)).to_contain_text("indexStatusChanged")


def test_a_subscription_without_a_token_says_so(owned: Server, page: Page) -> None:
    page.goto(f"{owned.url}/graphql?query={quote(STATUS)}")
    wait_until_ready(page)

    page.locator("button.graphiql-execute-button").click()

    expect(page.locator(RESPONSE)).to_contain_text("4401 Unauthorized")
