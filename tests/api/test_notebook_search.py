"""What stands in the notebook is searched as it stands there now, whoever wrote it and with whatever."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from api.settings import Settings
from tests.embedding_server import EmbeddingServer, embedding_server
from tests.serving import Client, running

SEARCH = "query($words: String!) { search(query: $words, sources: [NOTEBOOK]) { engine hits { text path line } } }"
STATUS = "{ indexStatus { documents unembedded } }"
FACTS = [f"fact number{n} about topic{n}" for n in range(50)]
PATIENCE_SECONDS = 30


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    return tmp_path / "data" / "prompts" / "memory"


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with running(Settings(data_dir=tmp_path / "data", embedder="none")) as server, server.client() as client:
        yield client


@pytest.fixture
def embeddings() -> Iterator[EmbeddingServer]:
    with embedding_server() as server:
        yield server


@pytest.fixture
def embedding_client(tmp_path: Path, embeddings: EmbeddingServer) -> Iterator[Client]:
    settings = Settings(
        data_dir=tmp_path / "data",
        embedder="openai",
        embedding_base_url=embeddings.base_url,
        embedding_model="hash",
    )
    with running(settings) as server, server.client() as client:
        yield client


def hits(client: Client, query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.ask(SEARCH, words=query)["search"]["hits"]
    return found


def texts(client: Client, query: str) -> list[str]:
    return [hit["text"] for hit in hits(client, query)]


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.05)


def append(client: Client, fact: str, category: str = "People") -> None:
    assert client.mutate("appendMemory", "file { version }", fact=fact, category=category)["problems"] == []


def items(facts: list[str]) -> str:
    return "# People\n\n" + "".join(f"- {fact}\n" for fact in facts)


def test_fact_that_was_appended_is_found_at_once_with_its_line(client: Client) -> None:
    append(client, "湊は猫を飼っている")
    append(client, "the harbour closes at nine", "Places")

    assert hits(client, "猫") == [{"text": "湊は猫を飼っている", "path": "MEMORY.md", "line": 3}]
    assert hits(client, "harbour") == [{"text": "the harbour closes at nine", "path": "MEMORY.md", "line": 7}]


def test_passage_is_found_by_the_heading_it_stands_under(client: Client) -> None:
    append(client, "never peanuts", "Allergies")

    assert texts(client, "allergies") == ["never peanuts"]


def test_daily_note_is_found_by_its_day(client: Client) -> None:
    client.mutate("appendDailyLog", "file { path }", entry="met at the quay", date="2026-01-31")

    assert hits(client, "quay") == [{"text": "met at the quay", "path": "daily/2026-01-31.md", "line": 1}]
    between = '{ search(query: "quay", from: "2026-01-31", until: "2026-01-31") { hits { path } } }'
    before = '{ search(query: "quay", until: "2026-01-30") { hits { path } } }'
    assert client.ask(between)["search"]["hits"] == [{"path": "daily/2026-01-31.md"}]
    assert client.ask(before)["search"]["hits"] == []


def test_replaced_file_is_found_by_its_new_text_alone(client: Client) -> None:
    append(client, "an old saxophone")
    version = client.ask("{ notebook { version } }")["notebook"]["version"]

    client.mutate("writeNotebook", "file { version }", content="- a new clarinet\n", expectedVersion=version)

    assert texts(client, "saxophone") == []
    assert texts(client, "clarinet") == ["a new clarinet"]


def test_last_of_many_quick_writes_is_what_is_found(client: Client) -> None:
    version = client.ask("{ notebook { version } }")["notebook"]["version"]
    for number in range(40):
        content = f"- the clarinet number{number}\n"
        payload = client.mutate("writeNotebook", "file { version }", content=content, expectedVersion=version)
        version = payload["file"]["version"]

        assert texts(client, "clarinet") == [f"the clarinet number{number}"]


def test_edit_in_place_is_indexed(client: Client, notebook: Path) -> None:
    append(client, "an old saxophone")

    with (notebook / "MEMORY.md").open("a", encoding="utf-8") as file:
        file.write("- a new clarinet\n")

    wait_until(lambda: texts(client, "clarinet") == ["a new clarinet"])
    assert texts(client, "saxophone") == ["an old saxophone"]


def test_edit_by_atomic_replace_is_indexed(client: Client, notebook: Path) -> None:
    append(client, "an old saxophone")

    draft = notebook / "MEMORY.md.tmp"
    draft.write_text("- a new clarinet\n", encoding="utf-8")
    draft.replace(notebook / "MEMORY.md")

    wait_until(lambda: texts(client, "clarinet") == ["a new clarinet"])
    assert texts(client, "saxophone") == []


def test_new_daily_file_is_indexed_and_forgotten_with_it(client: Client, notebook: Path) -> None:
    log = notebook / "daily" / "2026-01-31.md"

    log.write_text("- a clarinet in the fog\n", encoding="utf-8")
    wait_until(lambda: texts(client, "clarinet") == ["a clarinet in the fog"])

    log.unlink()
    wait_until(lambda: texts(client, "clarinet") == [])


def test_edit_while_nobody_served_is_found_after_the_start(tmp_path: Path, notebook: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", embedder="none")
    with running(settings) as server, server.client() as client:
        append(client, "an old saxophone")
    (notebook / "MEMORY.md").write_text("- a new clarinet\n", encoding="utf-8")

    with running(settings) as server, server.client() as client:
        assert texts(client, "clarinet") == ["a new clarinet"]
        assert texts(client, "saxophone") == []


def test_passage_that_moved_has_its_new_line(client: Client, notebook: Path) -> None:
    append(client, "an old saxophone")
    text = (notebook / "MEMORY.md").read_text(encoding="utf-8")

    (notebook / "MEMORY.md").write_text(f"# A title\n\n- a new clarinet\n\n{text}", encoding="utf-8")

    wait_until(lambda: bool(texts(client, "clarinet")))
    assert hits(client, "saxophone") == [{"text": "an old saxophone", "path": "MEMORY.md", "line": 7}]


def test_only_the_passage_that_changed_is_embedded_again(
    embedding_client: Client, embeddings: EmbeddingServer, notebook: Path
) -> None:
    (notebook / "MEMORY.md").write_text(items(FACTS), encoding="utf-8")
    wait_until(lambda: embedded_of(embeddings, "fact number") == set(FACTS))
    before = Counter(embedded(embeddings))

    changed = [*FACTS[:20], "fact number20 is another now", *FACTS[21:]]
    (notebook / "MEMORY.md").write_text(items(changed), encoding="utf-8")
    wait_until(lambda: "fact number20 is another now" in embedded_of(embeddings, "fact number"))

    new = Counter(embedded(embeddings)) - before
    assert {text.split("\n")[-1] for text in new if "fact number" in text} == {"fact number20 is another now"}


def test_own_write_is_embedded_once_though_the_watch_sees_it_as_well(
    embedding_client: Client, embeddings: EmbeddingServer, notebook: Path
) -> None:
    append(embedding_client, "an old saxophone")
    # Searched for sooner, it would be embedded for the search as well.
    wait_until(lambda: embedding_client.ask(STATUS)["indexStatus"] == {"documents": 1, "unembedded": 0})
    assert texts(embedding_client, "saxophone") == ["an old saxophone"]

    # Once the watch has told of a person's edit that came later, it has told of our own write too.
    (notebook / "daily" / "2026-01-31.md").write_text("- a new clarinet\n", encoding="utf-8")
    wait_until(lambda: "a new clarinet" in texts(embedding_client, "clarinet"))

    assert Counter(text for text in embedded(embeddings) if "an old saxophone" in text).total() == 1


def embedded(embeddings: EmbeddingServer) -> list[str]:
    return [text for asked in embeddings.asked for text in asked["input"]]


def embedded_of(embeddings: EmbeddingServer, beginning: str) -> set[str]:
    """Passages without the headings they were embedded with."""
    passages = {text.split("\n")[-1] for text in embedded(embeddings)}
    return {passage for passage in passages if passage.startswith(beginning)}
