"""POST /api/books/{id}/chunk-context: the answers of `chunkContext` for services that do not speak GraphQL."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from api.settings import Settings
from tests.api.building import (
    Owners,
    a_book,
    a_chapter,
    a_character,
    a_memory,
    a_term,
    import_memories,
    ref,
    serving_owners,
)
from tests.serving import Client, Server, running

# Everything the route answers, asked of GraphQL.
MEMORY = """id content summary isPinned validFromChapter validUntilChapter
    createdAt updatedAt lastAccessedAt accessCount"""
CONTEXT = f"""query(
  $bookId: ID!, $text: String!, $chapterId: ID, $limit: Int, $tokenBudget: Int, $retrieval: Retrieval! = MERGE,
  $selection: Selection! = RECENT, $offsets: OffsetUnit! = CODE_POINT
) {{
  chunkContext(
    bookId: $bookId, text: $text, chapterId: $chapterId, limit: $limit, tokenBudget: $tokenBudget,
    retrieval: $retrieval, selection: $selection, offsets: $offsets
  ) {{
    mentions {{ entity {{ type id name }} spans {{ start end text }} }}
    memories {{ memory {{ {MEMORY} }} match via {{ type id name }} }}
    omitted {{ memory {{ {MEMORY} }} reason }}
    omittedCount etag entitySection memorySection prompt
  }}
}}"""

TEXT = "😀田中太郎と魔石。彼はＡＮＮを見た。鵜（う）飼は杏だ。"


@pytest.fixture(scope="module")
def owners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owners]:
    with serving_owners(tmp_path_factory.mktemp("data")) as owners:
        yield owners


@pytest.fixture(scope="module")
def client(owners: Owners) -> Iterator[Client]:
    """Of a book with something of everything; the tests only read."""
    with owners.next_client() as client:
        book = a_book(client, "book_1", contextLimit=6)
        tanaka = ref("CHARACTER", a_character(client, book, "char_1", translation="Tanaka", description="医者\n左利き"))
        stone = ref("TERM", a_term(client, book, "term_1"))
        a_character(client, book, "char_ann", name="Ann", aliases=[{"name": "杏", "revealedInChapter": 5}])
        a_character(client, book, "char_ukai", name="鵜飼")
        chapter = ref("CHAPTER", a_chapter(client, book, "chap_3", number=3))
        a_chapter(client, book, "chap_5", number=5, name="夜")
        import_memories(
            client,
            book,
            *(
                {
                    "id": f"of_{each['id']}_{number}",
                    "summary": f"{each['id']}の{number}",
                    "attachedTo": [each],
                    "lastAccessedAt": f"2026-01-01T00:00:{number:02}.{number:06}Z",
                    "accessCount": number,
                }
                for each in (tanaka, stone)
                for number in range(14)
            ),
        )
        a_memory(client, book, "shared", tanaka, stone, chapter, summary="二人\nの話")
        a_memory(client, book, "pinned", chapter, isPinned=True)
        a_memory(client, book, "future", tanaka, validFromChapter=4)
        a_memory(client, book, "past", stone, validUntilChapter=2)
        a_memory(client, book, "keyword", content="Annの手紙")
        yield client


@pytest.fixture
def book(client: Client) -> str:
    return "book_1"


def post(client: Client, book: str, body: Any) -> httpx.Response:
    return client.http.post(f"/api/books/{book}/chunk-context", json=body)


def refused(response: httpx.Response) -> tuple[int, str, list[str]]:
    """Status, code and path of an error that also has words."""
    assert response.headers["content-type"] == "application/json"
    body = response.json()
    assert body.keys() == {"code", "message", "path"}
    assert body["message"]
    return response.status_code, body["code"], body["path"]


@pytest.mark.parametrize(
    "body",
    [
        {"text": TEXT},
        {"text": ""},
        {"text": "誰もいない。\n"},
        {"text": TEXT, "chapterId": "chap_3"},
        {"text": TEXT, "chapterId": "chap_5"},
        {"text": TEXT, "chapterId": None, "limit": None, "tokenBudget": None},
        {"text": TEXT, "retrieval": None, "selection": None, "offsets": None},
        {"text": TEXT, "limit": 0},
        {"text": TEXT, "limit": 3},
        {"text": TEXT, "limit": 100},
        {"text": TEXT, "tokenBudget": 0},
        {"text": TEXT, "tokenBudget": 60},
        {"text": TEXT, "tokenBudget": 60, "limit": 2},
        {"text": TEXT, "tokenBudget": 10_000_000},
        {"text": TEXT, "retrieval": "ATTACHED"},
        {"text": TEXT, "retrieval": "FALLBACK"},
        {"text": TEXT, "retrieval": "MERGE", "selection": "RECENT", "offsets": "CODE_POINT"},
        {"text": TEXT, "selection": "BALANCED", "limit": 5},
        {"text": TEXT, "offsets": "UTF16"},
        {
            "text": TEXT,
            "chapterId": "chap_3",
            "limit": 4,
            "tokenBudget": 90,
            "retrieval": "FALLBACK",
            "selection": "BALANCED",
            "offsets": "UTF16",
        },
    ],
)
def test_answer_is_that_of_graphql(client: Client, book: str, body: dict[str, Any]) -> None:
    response = post(client, book, body)

    given = {name: value for name, value in body.items() if value is not None}
    expected = client.ask(CONTEXT, bookId=book, **given)["chunkContext"]
    assert (response.status_code, response.json()) == (200, expected)
    assert response.headers["etag"] == f'"{expected["etag"]}"'
    assert response.headers["content-type"] == "application/json"


def test_etag_header_changes_with_the_prompt(client: Client, book: str) -> None:
    first, again, other = (post(client, book, {"text": text}) for text in (TEXT, TEXT, f"{TEXT}。"))

    assert first.headers["etag"] == again.headers["etag"] != other.headers["etag"]
    assert first.content == again.content


@pytest.mark.parametrize(
    ("book_id", "body", "path"),
    [
        ("book_x", {"text": ""}, "bookId"),
        ("book_1", {"text": "", "chapterId": "chap_x"}, "chapterId"),
        ("book_1", {"text": "", "chapterId": ""}, "chapterId"),
    ],
)
def test_what_does_not_exist_is_404(client: Client, book_id: str, body: dict[str, Any], path: str) -> None:
    assert refused(post(client, book_id, body)) == (404, "NOT_FOUND", [path])


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"text": "", "limit": -1}, "limit"),
        ({"text": "", "limit": 101}, "limit"),
        ({"text": "", "limit": 10**18}, "limit"),
        ({"text": "", "tokenBudget": -1}, "tokenBudget"),
        ({"text": "あ" * 100_001}, "text"),
        ({"text": "a\x00b"}, "text"),
    ],
)
def test_what_is_out_of_range_is_422_and_says_where(client: Client, book: str, body: dict[str, Any], path: str) -> None:
    assert refused(post(client, book, body)) == (422, "BAD_INPUT", [path])


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        "田中太郎",
        7,
        {"text": None},
        {"text": 7},
        {"text": ["田中太郎"]},
        {"texts": ["田中太郎"]},
        {"text": "", "limit": "10"},
        {"text": "", "limit": 1.5},
        {"text": "", "limit": True},
        {"text": "", "limit": [1]},
        {"text": "", "tokenBudget": "10"},
        {"text": "", "chapterId": 7},
        {"text": "", "chapterId": {"id": "chap_3"}},
        {"text": "", "retrieval": "merge"},
        {"text": "", "retrieval": "ALL"},
        {"text": "", "retrieval": 1},
        {"text": "", "retrieval": ["MERGE"]},
        {"text": "", "selection": "OLDEST"},
        {"text": "", "offsets": "BYTES"},
        {"text": "", "bookId": "book_1"},
        {"text": "", "chapter_id": "chap_3"},
        {"text": "", "": 1},
    ],
)
def test_wrong_types_and_unknown_fields_are_422(client: Client, book: str, body: Any) -> None:
    assert refused(post(client, book, body)) == (422, "BAD_INPUT", [])


def test_null_is_no_request(client: Client, book: str) -> None:
    response = client.http.post(
        f"/api/books/{book}/chunk-context", content=b"null", headers={"content-type": "application/json"}
    )

    assert refused(response) == (422, "BAD_INPUT", [])


@pytest.mark.parametrize("content", [b"", b"{", b"{'text': 1}", b"\xff", b'{"text": "\\ud800"}', b'{"text": NaN}'])
def test_what_is_not_json_is_400(client: Client, book: str, content: bytes) -> None:
    response = client.http.post(
        f"/api/books/{book}/chunk-context", content=content, headers={"content-type": "application/json"}
    )

    assert refused(response) == (400, "BAD_INPUT", [])


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonx"])
def test_another_content_type_is_415(client: Client, book: str, content_type: str | None) -> None:
    headers = {"content-type": content_type} if content_type else {}

    response = client.http.post(f"/api/books/{book}/chunk-context", content=b'{"text": ""}', headers=headers)

    assert refused(response) == (415, "BAD_INPUT", [])


def test_content_type_may_name_its_charset(client: Client, book: str) -> None:
    response = client.http.post(
        f"/api/books/{book}/chunk-context",
        content=b'{"text": ""}',
        headers={"content-type": "Application/JSON; charset=utf-8"},
    )

    assert response.status_code == 200


def test_a_body_that_is_too_large_is_413(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", max_body_bytes=1_000)
    with running(settings) as server, server.client() as client:
        book = a_book(client, "book_1")

        assert refused(post(client, book, {"text": "a" * 1_000})) == (413, "TOO_COSTLY", [])
        assert post(client, book, {"text": "a" * 900}).status_code == 200


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_other_methods_are_405(client: Client, book: str, method: str) -> None:
    response = client.http.request(method, f"/api/books/{book}/chunk-context")

    assert (response.status_code, response.headers["allow"]) == (405, "POST")


# Who is asking


def test_a_token_is_needed(owners: Owners, client: Client, book: str) -> None:
    for token in (None, "token-of-nobody"):
        with owners.server.client(token) as stranger:
            response = post(stranger, book, {"text": TEXT})

            assert response.status_code == 401
            assert "田中" not in response.text


def test_a_token_opens_the_books_of_its_owner_alone(owners: Owners, client: Client, book: str) -> None:
    with owners.next_client() as other:
        assert refused(post(other, book, {"text": TEXT})) == (404, "NOT_FOUND", ["bookId"])

        a_book(other, book)
        answer = post(other, book, {"text": TEXT}).json()

    assert (answer["mentions"], answer["memories"], answer["prompt"]) == ([], [], TEXT)


def test_without_tokens_this_machine_is_served(server: Server) -> None:
    with server.client() as local:
        book = a_book(local, "book_1")

        assert post(local, book, {"text": TEXT}).json()["prompt"] == TEXT


@pytest.mark.parametrize("book_id", ["本", "a%20b", "a?b#c", "a/b", "a:b@c", "..."])
def test_a_book_of_any_id_can_be_asked_for(owners: Owners, book_id: str) -> None:
    with owners.next_client() as client:
        a_book(client, book_id)

        response = post(client, quote(book_id, safe=""), {"text": "静か"})

        assert response.status_code == 200
        assert response.json()["prompt"] == "静か"
