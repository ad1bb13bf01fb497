"""The tools for models over REST: what each does, and what a model is told when a call is wrong."""

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.settings import Settings
from api.tools.registry import TOOLS
from tests.api.building import (
    MAX_OWNERS,
    Owners,
    a_book,
    a_chapter,
    a_character,
    a_memory,
    a_term,
    attached_ids,
    attachments,
    everything,
    import_memories,
    ref,
)
from tests.serving import Client, running
from tests.talking import wait_until

TOKENS = {f"token-{number}": f"owner-{number}" for number in range(MAX_OWNERS)}
TANAKA = {"type": "character", "id": "char_1"}
STONE = {"type": "term", "id": "term_1"}
CHAPTER = {"type": "chapter", "id": "chap_1"}
BOOK = {"type": "book", "id": "book_1"}
MEMORY = {"book_id": "book_1", "content": "田中は魔石を隠した。", "summary": "田中が魔石を隠す"}
ACCESSES = '{ book(id: "book_1") { memories(first: 100) { nodes { id accessCount lastAccessedAt } } } }'


@pytest.fixture(scope="module")
def owners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owners]:
    with running(Settings(data_dir=tmp_path_factory.mktemp("data"), tokens=TOKENS, embedder="none")) as server:
        yield Owners(server, itertools.count())


@pytest.fixture
def empty(owners: Owners) -> Iterator[Client]:
    """Of an owner who has nothing."""
    with owners.next_client() as client:
        yield client


@pytest.fixture
def client(empty: Client) -> Client:
    """Of a book with one entity of each kind, and no memories."""
    a_book(empty, "book_1")
    aliases = [{"name": "Tanaka", "translation": "Tanaka", "revealedInChapter": 2}]
    a_character(empty, "book_1", "char_1", aliases=aliases, gender="男", speakingStyle="丁寧", notes="左利き")
    a_term(empty, "book_1", "term_1", translation="magic stone", description="光る石")
    a_chapter(empty, "book_1", "chap_1", number=3)
    return empty


def call(client: Client, tool: str, /, **arguments: Any) -> Any:
    response = client.http.post(f"/api/tools/{tool}", json=arguments)
    assert response.status_code == 200, response.text
    assert response.json().keys() == {"result"}
    return response.json()["result"]


def refusal(response: httpx.Response) -> tuple[int, str, list[str], str]:
    body = response.json()
    assert body.keys() == {"code", "message", "path"}
    return response.status_code, body["code"], body["path"], body["message"]


def refused(client: Client, tool: str, /, **arguments: Any) -> tuple[int, str, list[str], str]:
    """Status, code, path and message of a call that changed nothing."""
    before = everything(client)
    response = client.http.post(f"/api/tools/{tool}", json=arguments)
    assert everything(client) == before
    return refusal(response)


def access_counts(client: Client) -> dict[str, int]:
    nodes = client.ask(ACCESSES)["book"]["memories"]["nodes"]
    return {memory["id"]: memory["accessCount"] for memory in nodes}


# The offer


def test_tools_are_offered_as_openai_takes_them(empty: Client) -> None:
    answer, by_default = (empty.http.get(f"/api/tools{query}") for query in ("?format=openai", ""))

    assert (answer.status_code, answer.json()) == (by_default.status_code, by_default.json())
    assert answer.json() == {
        "tools": [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in TOOLS.values()
        ]
    }


def test_tools_are_offered_as_anthropic_takes_them(empty: Client) -> None:
    answer = empty.http.get("/api/tools?format=anthropic")

    assert answer.json() == {
        "tools": [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in TOOLS.values()
        ]
    }


@pytest.mark.parametrize("chosen", ["", "OpenAI", "gemini", "openai,anthropic"])
def test_unknown_format_is_refused_with_the_two_there_are(empty: Client, chosen: str) -> None:
    status, code, _, message = refusal(empty.http.get("/api/tools", params={"format": chosen}))

    assert (status, code) == (422, "BAD_INPUT")
    assert message == "format must be openai or anthropic."


def test_unknown_parameter_of_the_offer_is_refused(empty: Client) -> None:
    assert refusal(empty.http.get("/api/tools?fromat=openai"))[:2] == (422, "BAD_INPUT")


@pytest.mark.parametrize("name", ["forget_all", "createMemory", "read_memory/", "a/b", "", "%00", "x" * 5000])
def test_unknown_tool_is_refused_with_the_names_there_are(empty: Client, name: str) -> None:
    status, code, path, message = refusal(empty.http.post(f"/api/tools/{name}", json={}))

    assert (status, code, path) == (404, "NOT_FOUND", ["name"])
    assert all(tool in message for tool in TOOLS)
    assert len(message) < 500


def test_tool_is_called_with_post_alone(empty: Client) -> None:
    assert empty.http.get("/api/tools/read_memory").status_code == 405


# The notebook


def test_read_memory_returns_all_of_memory_md(empty: Client) -> None:
    assert call(empty, "read_memory") == ""
    text = "# 記憶\n\n- 猫が好き\n\n<!-- 注 -->\n"
    empty.http.put("/api/memory/main", json={"content": text})

    assert call(empty, "read_memory") == text


def test_append_memory_adds_the_fact_under_its_category_and_search_finds_it(empty: Client) -> None:
    answered = call(empty, "append_memory", fact="The user drinks\noolong tea.", category="Preferences")

    assert answered == {"path": "MEMORY.md"}
    assert call(empty, "read_memory") == "## Preferences\n\n- The user drinks oolong tea.\n"
    (found,) = call(empty, "search_memory", query="oolong")["results"]
    assert found["text"] == "The user drinks oolong tea."


def test_append_memory_without_category_goes_under_general(empty: Client) -> None:
    call(empty, "append_memory", fact="猫が好き", category=None)

    assert call(empty, "read_memory") == "## General\n\n- 猫が好き\n"


def test_append_daily_log_adds_the_entry_to_the_log_of_today(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", timezone="Asia/Tokyo", embedder="none")
    late = datetime(2026, 1, 31, 20, 0, tzinfo=UTC)
    with running(settings, clock=lambda: late) as server, server.client() as client:
        answered = call(client, "append_daily_log", entry="第三章を訳した。\n宿の名は未定。")

        assert answered == {"path": "daily/2026-02-01.md"}
        log = client.http.get("/api/memory/daily/2026-02-01").json()["content"]
        assert log == "- 第三章を訳した。\n  宿の名は未定。\n"


# Searching


def test_search_memory_finds_memories_and_passages_with_what_a_model_needs(client: Client) -> None:
    a_memory(
        client, "book_1", "mem_1", ref("CHARACTER", "char_1"), summary="傘を忘れる", content="田中は傘をよく忘れる"
    )
    call(client, "append_memory", fact="傘は黒い", category="Things")
    call(client, "append_daily_log", entry="傘の訳語を決めた")

    answered = call(client, "search_memory", query="傘")

    assert answered["engine"] == "keyword"
    by_source = {(hit["source"], hit.get("path", "").partition("/")[0]): hit for hit in answered["results"]}
    memory, fact, log = by_source["memory", ""], by_source["notebook", "MEMORY.md"], by_source["notebook", "daily"]
    assert len(answered["results"]) == 3
    assert memory == {
        "source": "memory",
        "id": "mem_1",
        "book_id": "book_1",
        "summary": "傘を忘れる",
        "attached_to": [TANAKA],
        "snippet": memory["snippet"],
        "score": memory["score"],
    }
    assert fact.keys() == {"source", "id", "text", "path", "line", "snippet", "score"}
    assert (fact["text"], fact["line"]) == ("傘は黒い", 3)
    assert log["text"] == "傘の訳語を決めた"
    assert all("**傘**" in hit["snippet"] and 0 < hit["score"] <= 1 for hit in answered["results"])


def test_search_memory_returns_ten_at_most(client: Client) -> None:
    import_memories(client, "book_1", *({"id": f"mem_{n}", "content": f"傘の話{n}"} for n in range(14)))

    assert len(call(client, "search_memory", query="傘")["results"]) == 10


def test_search_memory_without_a_match_finds_nothing(client: Client) -> None:
    assert call(client, "search_memory", query="どこにもない言葉")["results"] == []


# Creating


def test_create_memory_attaches_to_everything_named(client: Client) -> None:
    refs = [TANAKA, STONE, CHAPTER, BOOK]

    created = call(client, "create_memory", **MEMORY, attached_to=refs, is_pinned=True)

    assert created == MEMORY | {
        "id": created["id"],
        "attached_to": refs,
        "is_pinned": True,
        "valid_from_chapter": None,
        "valid_until_chapter": None,
        "created_at": created["created_at"],
        "updated_at": created["created_at"],
    }
    for each in refs:
        assert attached_ids(client, each["type"], each["id"]) == [created["id"]]


@pytest.mark.parametrize("given", [{}, {"attached_to": []}, {"attached_to": None}])
def test_create_memory_without_attachments_attaches_to_the_book(client: Client, given: dict[str, Any]) -> None:
    created = call(client, "create_memory", **MEMORY, **given)

    assert created["attached_to"] == [BOOK]
    assert created["is_pinned"] is False


def test_create_memory_reads_what_a_sloppy_model_means(client: Client) -> None:
    attached_to = '[{"type": "CHARACTER", "id": "char_1"}]'

    created = call(client, "create_memory", **MEMORY, attached_to=attached_to, is_pinned="true")

    assert (created["attached_to"], created["is_pinned"]) == ([TANAKA], True)


@pytest.mark.parametrize(
    ("missing", "finder"),
    [
        ({"type": "character", "id": "char_9"}, "get_character with book_id and name"),
        ({"type": "term", "id": "char_1"}, "get_term with book_id and name"),
        ({"type": "chapter", "id": "chap_9"}, "get_chapter with book_id and number"),
    ],
)
def test_attaching_to_what_is_not_there_is_refused_with_a_way_to_find_it(
    client: Client, missing: dict[str, str], finder: str
) -> None:
    status, code, path, message = refused(client, "create_memory", **MEMORY, attached_to=[TANAKA, missing])

    assert (status, code, path) == (404, "NOT_FOUND", ["attached_to", "1"])
    assert f"attached_to[1]: there is no {missing['type']} '{missing['id']}' here." in message
    assert finder in message


def test_attaching_to_an_entity_of_another_book_is_refused(client: Client) -> None:
    a_book(client, "book_2")
    a_character(client, "book_2", "char_2")

    status, _, path, _ = refused(client, "create_memory", **MEMORY, attached_to=[{"type": "character", "id": "char_2"}])

    assert (status, path) == (404, ["attached_to", "0"])


def test_memory_of_a_book_that_is_not_there_is_refused_with_the_books_there_are(client: Client) -> None:
    status, code, path, message = refused(client, "create_memory", **MEMORY | {"book_id": "book_9"})

    assert (status, code, path) == (404, "NOT_FOUND", ["book_id"])
    assert message == (
        "create_memory: book_id: there is no book 'book_9' here. The books there are: 砂の道 (id book_1)."
    )


def test_summary_that_is_too_long_is_refused_with_the_limit(client: Client) -> None:
    status, code, path, message = refused(client, "create_memory", **MEMORY | {"summary": "長" * 501})

    assert (status, code, path) == (422, "BAD_INPUT", ["summary"])
    assert message == "create_memory: summary has 501 characters; the limit is 500."


# Changing


@pytest.mark.parametrize(
    "change", [{"content": "新しい全文"}, {"summary": "新しい要点"}, {"is_pinned": True}, {"attached_to": [STONE]}]
)
def test_update_memory_changes_what_is_given_and_nothing_else(client: Client, change: dict[str, Any]) -> None:
    before = call(client, "create_memory", **MEMORY, attached_to=[TANAKA])

    after = call(client, "update_memory", id=before["id"], **change)

    assert after == before | change | {"updated_at": after["updated_at"]}
    assert after["updated_at"] > before["updated_at"]
    (shown,) = everything(client)["nodes"][0]["memories"]["nodes"]
    assert (shown["content"], shown["summary"], shown["isPinned"]) == tuple(
        after[name] for name in ("content", "summary", "is_pinned")
    )


def test_update_memory_replaces_the_whole_list_of_attachments(client: Client) -> None:
    a_memory(client, "book_1", "mem_1", ref("CHARACTER", "char_1"), ref("TERM", "term_1"))

    assert call(client, "update_memory", id="mem_1", attached_to=[CHAPTER])["attached_to"] == [CHAPTER]
    assert call(client, "update_memory", id="mem_1", attached_to=[])["attached_to"] == [BOOK]
    assert attachments(client, "book_1") == {"mem_1": [ref("BOOK", "book_1")]}


def test_update_memory_that_changes_nothing_is_refused(client: Client) -> None:
    a_memory(client, "book_1", "mem_1")

    status, code, _, message = refused(client, "update_memory", id="mem_1", content=None)

    assert (status, code) == (422, "BAD_INPUT")
    assert "give content, or summary, or attached_to, or is_pinned" in message


def test_changing_a_memory_that_is_not_there_is_refused_with_a_way_to_find_it(client: Client) -> None:
    status, code, path, message = refused(client, "update_memory", id="mem_9", summary="要点")

    assert (status, code, path) == (404, "NOT_FOUND", ["id"])
    assert "there is no memory 'mem_9' here. search_memory finds it" in message


# Looking up


def test_get_character_shows_every_field(client: Client) -> None:
    assert call(client, "get_character", id="char_1") == {
        "type": "character",
        "id": "char_1",
        "book_id": "book_1",
        "name": "田中太郎",
        "aliases": [{"name": "Tanaka", "translation": "Tanaka", "revealed_in_chapter": 2}],
        "translation": None,
        "description": None,
        "gender": "男",
        "speaking_style": "丁寧",
        "notes": "左利き",
        "memories": [],
    }


@pytest.mark.parametrize("name", ["田中太郎", "田中 太郎", "Tanaka", "ｔａｎａｋａ", " TANAKA "])
def test_get_character_finds_a_whole_name_or_alias(client: Client, name: str) -> None:
    assert call(client, "get_character", book_id="book_1", name=name)["id"] == "char_1"


def test_get_term_shows_every_field_by_id_and_by_name(client: Client) -> None:
    expected: dict[str, Any] = {
        "type": "term",
        "id": "term_1",
        "book_id": "book_1",
        "name": "魔石",
        "aliases": [],
        "translation": "magic stone",
        "description": "光る石",
        "notes": None,
        "memories": [],
    }

    assert call(client, "get_term", id="term_1") == expected
    assert call(client, "get_term", book_id="book_1", name="魔石") == expected


@pytest.mark.parametrize("given", [{"id": "chap_1"}, {"number": 3}, {"number": "3"}])
def test_get_chapter_shows_every_field_by_id_and_by_number(client: Client, given: dict[str, Any]) -> None:
    assert call(client, "get_chapter", book_id="book_1", **given) == {
        "type": "chapter",
        "id": "chap_1",
        "book_id": "book_1",
        "name": "海へ",
        "number": 3,
        "memories": [],
    }


def test_get_book_shows_what_it_owns(client: Client) -> None:
    assert call(client, "get_book", id="book_1") == {
        "type": "book",
        "id": "book_1",
        "name": "砂の道",
        "context_limit": 10,
        "memories": [],
        "characters": [{"id": "char_1", "name": "田中太郎"}],
        "character_count": 1,
        "terms": [{"id": "term_1", "name": "魔石"}],
        "term_count": 1,
        "chapters": [{"id": "chap_1", "name": "海へ", "number": 3}],
        "chapter_count": 1,
    }


def test_get_book_of_an_empty_book_has_empty_lists(empty: Client) -> None:
    a_book(empty, "book_1")

    answered = call(empty, "get_book", id="book_1")

    assert (answered["characters"], answered["character_count"]) == ([], 0)


def test_get_character_shows_attached_memories_first_then_keyword_matches_each_marked(client: Client) -> None:
    a_memory(client, "book_1", "attached", ref("CHARACTER", "char_1"), ref("TERM", "term_1"), content="秘密の話")
    a_memory(client, "book_1", "keyword", content="田中太郎は海へ行った")
    a_memory(client, "book_1", "neither", content="田中は別人")

    memories = call(client, "get_character", id="char_1")["memories"]

    assert [(each["id"], each["match"]) for each in memories] == [("attached", "attached"), ("keyword", "keyword")]
    assert (memories[0]["summary"], memories[0]["content"]) == ("要点", "秘密の話")
    assert [each["attached_to"] for each in memories] == [[TANAKA, STONE], [BOOK]]


@pytest.mark.parametrize(
    ("tool", "id"),
    [("get_character", "char_1"), ("get_term", "term_1"), ("get_chapter", "chap_1"), ("get_book", "book_1")],
)
def test_get_tools_show_the_memories_of_graphql_ten_at_most(client: Client, tool: str, id: str) -> None:
    kind = tool.removeprefix("get_")
    texts = itertools.cycle(["田中太郎の話", "魔石の話", "その他"])
    import_memories(client, "book_1", *({"id": f"word_{n}", "content": next(texts)} for n in range(24)))
    for number in range(7):
        a_memory(client, "book_1", f"mem_{number}", ref(kind.upper(), id), isPinned=number == 2)
    relevant = f'{{ {kind}(id: "{id}") {{ relevantMemories {{ match memory {{ id summary content }} }} }} }}'
    expected = client.ask(relevant)[kind]["relevantMemories"]

    memories = call(client, tool, id=id)["memories"]

    assert len(memories) == (7 if kind == "chapter" else 10)
    assert memories[0]["id"] == "mem_2"
    assert [
        {"match": each["match"].upper(), "memory": {name: each[name] for name in ("id", "summary", "content")}}
        for each in memories
    ] == expected


# What counts as reading a memory


def test_memories_shown_by_a_get_tool_count_as_read(client: Client) -> None:
    a_memory(client, "book_1", "attached", ref("CHARACTER", "char_1"))
    a_memory(client, "book_1", "keyword", content="Tanaka")
    a_memory(client, "book_1", "not_shown")
    before = {each["id"]: each["lastAccessedAt"] for each in client.ask(ACCESSES)["book"]["memories"]["nodes"]}

    call(client, "get_character", id="char_1")

    wait_until(lambda: access_counts(client) == {"attached": 1, "keyword": 1, "not_shown": 0})
    after = {each["id"]: each["lastAccessedAt"] for each in client.ask(ACCESSES)["book"]["memories"]["nodes"]}
    assert after["attached"] > before["attached"]
    assert after["keyword"] > before["keyword"]
    assert after["not_shown"] == before["not_shown"]


def test_searching_creating_and_changing_do_not_count_as_reading(client: Client) -> None:
    a_memory(client, "book_1", "read", ref("CHAPTER", "chap_1"))
    a_memory(client, "book_1", "found", content="傘の話")
    call(client, "search_memory", query="傘")
    call(client, "update_memory", id="found", summary="傘")
    created = call(client, "create_memory", **MEMORY, attached_to=[TANAKA])["id"]

    # Accesses are written in the order they happen: after this one, an earlier one would be there.
    call(client, "get_chapter", id="chap_1")

    wait_until(lambda: access_counts(client)["read"] == 1)
    assert access_counts(client) == {"read": 1, "found": 0, created: 0}


# What is not there


@pytest.mark.parametrize(
    ("tool", "finder"),
    [
        ("get_character", "get_character with book_id and name finds it"),
        ("get_term", "get_term with book_id and name finds it"),
        ("get_chapter", "get_chapter with book_id and number finds it"),
        ("get_book", "The books there are: 砂の道 (id book_1)."),
    ],
)
def test_id_that_is_not_there_is_refused_with_a_way_to_find_it(client: Client, tool: str, finder: str) -> None:
    status, code, path, message = refused(client, tool, id="nobody")

    assert (status, code, path) == (404, "NOT_FOUND", ["id"])
    assert f"there is no {tool.removeprefix('get_')} 'nobody' here." in message
    assert finder in message


@pytest.mark.parametrize("tool", ["get_character", "get_term", "get_chapter"])
def test_entity_of_another_book_is_not_in_the_book_named(client: Client, tool: str) -> None:
    a_book(client, "book_2")
    id_ = {"get_character": "char_1", "get_term": "term_1", "get_chapter": "chap_1"}[tool]

    assert refused(client, tool, id=id_, book_id="book_2")[:3] == (404, "NOT_FOUND", ["id"])


@pytest.mark.parametrize(
    "given", [("get_character", {"name": "誰か"}), ("get_term", {"name": "何か"}), ("get_chapter", {"number": 3})]
)
def test_looking_in_a_book_that_is_not_there_names_the_books_there_are(
    client: Client, given: tuple[str, dict[str, Any]]
) -> None:
    tool, what = given

    status, code, path, message = refused(client, tool, book_id="book_9", **what)

    assert (status, code, path) == (404, "NOT_FOUND", ["book_id"])
    assert "The books there are: 砂の道 (id book_1)." in message


def test_without_any_book_a_model_is_told_so(empty: Client) -> None:
    assert refused(empty, "get_book", id="book_1")[3].endswith("There are no books yet.")


def test_only_some_of_many_books_are_named(client: Client) -> None:
    for number in range(2, 13):
        a_book(client, f"book_{number}")

    message = refused(client, "get_book", id="nobody")[3]

    assert message.endswith("砂の道 (id book_10) and others.")


@pytest.mark.parametrize("name", ["田中", "太郎", "田中太郎さん", "Ms Tanaka"])
def test_name_that_nobody_has_is_answered_with_names_like_it(client: Client, name: str) -> None:
    status, code, path, message = refused(client, "get_character", book_id="book_1", name=name)

    assert (status, code, path) == (404, "NOT_FOUND", ["name"])
    assert f"There is no character named '{name}' in the book 'book_1'." in message
    assert "田中太郎 (id char_1)" in message
    assert "get_book" in message


def test_name_of_a_term_is_no_character(client: Client) -> None:
    status, _, _, message = refused(client, "get_character", book_id="book_1", name="魔石")

    assert status == 404
    assert "term_1" not in message


def test_name_that_two_have_is_answered_with_both(client: Client) -> None:
    a_character(client, "book_1", "char_2", name="Hanako", aliases=[{"name": "TANAKA"}])

    status, code, path, message = refused(client, "get_character", book_id="book_1", name="tanaka")

    assert (status, code, path) == (422, "BAD_INPUT", ["name"])
    assert "田中太郎 (id char_1), Hanako (id char_2)" in message
    assert "Give the id of one" in message


def test_chapter_number_that_is_not_there_is_answered_with_those_near_it(client: Client) -> None:
    a_chapter(client, "book_1", "chap_5", number=5, name="夜")

    status, code, path, message = refused(client, "get_chapter", book_id="book_1", number=4)

    assert (status, code, path) == (404, "NOT_FOUND", ["number"])
    assert "There is no chapter 4 in the book 'book_1'." in message
    assert "3. 海へ (id chap_1), 5. 夜 (id chap_5)" in message


# Wrong calls


WRONG: list[Any] = [
    None,
    True,
    12,
    1.5,
    "",
    "  ",
    "\x00",
    [],
    [[]],
    {},
    {"a": {"b": []}},
    "x" * 200_000,
    -1,
    10**17,
    "😀" * 300,
]
VALID: dict[str, dict[str, Any]] = {
    "append_memory": {"fact": "事実", "category": "分類"},
    "search_memory": {"query": "傘"},
    "append_daily_log": {"entry": "記録"},
    "create_memory": {**MEMORY, "attached_to": [TANAKA], "is_pinned": False},
    "update_memory": {"id": "mem_9", "content": "全文", "summary": "要点", "attached_to": [], "is_pinned": True},
    "get_character": {"book_id": "book_1", "name": "誰か"},
    "get_term": {"book_id": "book_1", "name": "何か"},
    "get_chapter": {"book_id": "book_1", "number": 99},
    "get_book": {"id": "book_9"},
}


def test_every_tool_with_arguments_is_tried_with_wrong_ones() -> None:
    assert VALID.keys() == TOOLS.keys() - {"read_memory"}


@pytest.mark.parametrize(("tool", "name"), [(tool, name) for tool, given in VALID.items() for name in given])
def test_whatever_is_sent_for_an_argument_the_answer_says_what_is_wrong(client: Client, tool: str, name: str) -> None:
    for value in WRONG:
        response = client.http.post(f"/api/tools/{tool}", json=VALID[tool] | {name: value})
        if response.status_code == 200:
            continue
        status, code, path, message = refusal(response)
        assert (status, code) in {(422, "BAD_INPUT"), (404, "NOT_FOUND")}, response.text
        assert set(path[:1]) <= TOOLS[tool].properties.keys()
        assert 20 < len(message) < 2_000


def test_nul_is_refused_by_its_argument(client: Client) -> None:
    assert refused(client, "append_memory", fact="a\x00b")[:3] == (422, "BAD_INPUT", ["fact"])
    assert refused(client, "append_daily_log", entry="a\x00b")[:3] == (422, "BAD_INPUT", ["entry"])
    assert refused(client, "create_memory", **MEMORY | {"content": "a\x00b"})[:3] == (422, "BAD_INPUT", ["content"])
    assert refused(client, "get_term", book_id="book_1", name="a\x00b")[:3] == (422, "BAD_INPUT", ["name"])


@pytest.mark.parametrize("body", ["[]", '"text"', "null", "3", "true", '[{"query": "x"}]', '"{\\"query\\": \\"x\\"}"'])
def test_body_that_is_no_object_is_refused(empty: Client, body: str) -> None:
    response = post_raw(empty, "search_memory", body.encode())

    status, code, path, message = refusal(response)
    assert (status, code, path) == (422, "BAD_INPUT", [])
    assert "search_memory: the arguments must be a JSON object" in message
    assert 'Required: query. Example: {"query":' in message


@pytest.mark.parametrize(
    "body",
    [b"{", b'{"query": }', b"\xff\xfe", b'{"query": "\\ud800"}', b"{'query': 'x'}", b"[" * 100_000, b"NaN", b" "],
)
def test_body_that_is_no_json_is_refused(empty: Client, body: bytes) -> None:
    assert refusal(post_raw(empty, "search_memory", body))[:2] == (400, "BAD_INPUT")


def test_json_nested_deeply_is_refused(client: Client) -> None:
    deep = b'{"book_id": ' + b"[" * 900 + b"]" * 900 + b"}"
    deep_inside = VALID["create_memory"] | {"attached_to": "[" * 200_000}

    assert refusal(post_raw(client, "get_book", deep))[0] == 422
    assert refused(client, "create_memory", **deep_inside)[:3] == (422, "BAD_INPUT", ["attached_to"])


def test_body_of_another_type_is_refused(empty: Client) -> None:
    response = empty.http.post("/api/tools/append_memory", content=b"{}", headers={"content-type": "text/plain"})

    assert refusal(response)[0] == 415


def test_body_that_is_too_large_is_refused(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", max_body_bytes=1_000, embedder="none")
    with running(settings) as server, server.client() as client:
        response = client.http.post("/api/tools/append_memory", json={"fact": "x" * 1_000})

        assert refusal(response)[:2] == (413, "TOO_COSTLY")
        assert call(client, "read_memory") == ""


@pytest.mark.parametrize("headers", [{}, {"content-type": "application/json"}, {"content-type": "text/plain"}])
def test_empty_body_means_no_arguments(empty: Client, headers: dict[str, str]) -> None:
    read = empty.http.post("/api/tools/read_memory", headers=headers)
    search = empty.http.post("/api/tools/search_memory", headers=headers)

    assert (read.status_code, read.json()) == (200, {"result": ""})
    assert refusal(search)[:3] == (422, "BAD_INPUT", ["query"])


def test_limits_that_were_set_are_those_of_the_tools(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", max_summary=600, embedder="none")
    with running(settings) as server, server.client() as client:
        a_book(client, "book_1")

        assert call(client, "create_memory", **MEMORY | {"summary": "長" * 600})["summary"] == "長" * 600


def post_raw(client: Client, tool: str, body: bytes) -> httpx.Response:
    return client.http.post(f"/api/tools/{tool}", content=body, headers={"content-type": "application/json"})


# Owners


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("get_book", {"id": "book_1"}),
        ("get_character", {"id": "char_1"}),
        ("get_character", {"book_id": "book_1", "name": "田中太郎"}),
        ("get_term", {"id": "term_1"}),
        ("get_chapter", {"book_id": "book_1", "number": 3}),
        ("create_memory", MEMORY),
        ("update_memory", {"id": "mem_1", "summary": "新しい要点"}),
    ],
)
def test_tool_does_not_see_the_book_of_another_owner(
    owners: Owners, client: Client, tool: str, arguments: dict[str, Any]
) -> None:
    a_memory(client, "book_1", "mem_1")
    before = everything(client)

    with owners.next_client() as other:
        status, code, _, message = refused(other, tool, **arguments)

    assert (status, code) == (404, "NOT_FOUND")
    assert "砂の道" not in message
    assert everything(client) == before


def test_notebook_and_search_of_another_owner_are_not_seen(owners: Owners, client: Client) -> None:
    call(client, "append_memory", fact="傘は黒い")
    a_memory(client, "book_1", "mem_1", content="傘の話")

    with owners.next_client() as other:
        assert call(other, "read_memory") == ""
        assert call(other, "search_memory", query="傘")["results"] == []


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_without_a_token_no_tool_is_offered_or_called(owners: Owners, method: str) -> None:
    url = f"{owners.server.url}/api/tools" + ("" if method == "GET" else "/read_memory")

    assert httpx.request(method, url, trust_env=False).status_code == 401
