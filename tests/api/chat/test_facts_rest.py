"""`/memory/long-term`: facts in the fields of the chat memory specification, page by page, and their deletion."""

from typing import Any

import httpx
import pytest

from tests.api.building import Owners
from tests.api.chat.chatting import facts, record_turn, state, working_memory
from tests.clock import SettableClock
from tests.serving import Client

FACTS = "/memory/long-term"
FIELDS = [
    "id",
    "session_id",
    "category",
    "key",
    "value",
    "confidence",
    "source",
    "created_at",
    "last_accessed",
    "access_count",
]


def write(client: Client, key: str, value: Any, **fields: Any) -> str:
    """Answers the id."""
    (written,) = record_turn(client, "s1", memoryUpdate=state(key, value, **fields))["factWrites"]
    id_: str = written["fact"]["id"]
    return id_


def write_many(client: Client, number: int) -> list[str]:
    """Answers the ids in the order of the list."""
    return [write(client, f"key {each}", each) for each in range(number)][::-1]


def refused(answer: httpx.Response) -> tuple[int, str]:
    """Status and code of an error that has the shape of all errors."""
    body = answer.json()
    assert list(body) == ["code", "message", "path"]
    assert body["message"]
    assert isinstance(body["path"], list)
    return answer.status_code, body["code"]


# Reading


def test_a_fact_has_exactly_the_fields_of_the_specification(client: Client, clock: SettableClock) -> None:
    id_ = write(client, "喜欢的饮料", {"名": ["绿茶", 1, None]}, category="PREFERENCE")

    answer = client.http.get(f"{FACTS}/{id_}")

    now = clock.now.isoformat(timespec="microseconds")
    assert (answer.status_code, list(answer.json())) == (200, FIELDS)
    assert answer.json() == {
        "id": id_,
        "session_id": "s1",
        "category": "preference",
        "key": "喜欢的饮料",
        "value": {"名": ["绿茶", 1, None]},
        "confidence": 0.9,
        "source": "user_stated",
        "created_at": now,
        "last_accessed": now,
        "access_count": 0,
    }


@pytest.mark.parametrize("category", ["PREFERENCE", "FACT", "PATTERN"])
@pytest.mark.parametrize("source", ["USER_STATED", "INFERRED", "SYSTEM"])
def test_values_of_category_and_source_are_in_lower_case(client: Client, category: str, source: str) -> None:
    id_ = write(client, "city", "Kyoto", category=category, source=source)

    fact = client.http.get(f"{FACTS}/{id_}").json()

    assert (fact["category"], fact["source"]) == (category.lower(), source.lower())


def test_list_long_term_memories_with_pagination(client: Client) -> None:
    ids = write_many(client, 25)

    pages = [client.http.get(f"{FACTS}?limit=10&offset={offset}").json() for offset in (0, 10, 20)]

    assert [(page["total"], page["limit"], page["offset"]) for page in pages] == [
        (25, 10, 0),
        (25, 10, 10),
        (25, 10, 20),
    ]
    assert [item["id"] for page in pages for item in page["items"]] == ids
    assert [list(item) for item in pages[0]["items"]] == [FIELDS] * 10


def test_the_list_begins_with_twenty_when_nothing_is_asked(client: Client) -> None:
    ids = write_many(client, 21)

    page = client.http.get(FACTS).json()

    assert list(page) == ["items", "total", "limit", "offset"]
    assert ([item["id"] for item in page["items"]], page["total"], page["limit"], page["offset"]) == (
        ids[:20],
        21,
        20,
        0,
    )


@pytest.mark.parametrize("offset", [3, 4, 1000, 2**53])
def test_behind_the_end_the_list_is_empty_and_still_counted(client: Client, offset: int) -> None:
    write_many(client, 3)

    page = client.http.get(FACTS, params={"offset": offset}).json()

    assert page == {"items": [], "total": 3, "limit": 20, "offset": offset}


def test_an_owner_without_facts_has_an_empty_list(client: Client) -> None:
    assert client.http.get(FACTS).json() == {"items": [], "total": 0, "limit": 20, "offset": 0}


@pytest.mark.parametrize("written", ["preference", "PREFERENCE"])
def test_facts_of_one_category_are_listed_and_counted_alone(client: Client, written: str) -> None:
    ids = [write(client, f"key {each}", each, category="PREFERENCE") for each in range(3)]
    write(client, "other", 1, category="FACT")

    page = client.http.get(FACTS, params={"category": written, "limit": 2, "offset": 1}).json()

    assert ([item["id"] for item in page["items"]], page["total"]) == ([ids[1], ids[0]], 3)


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=-1", "limit"),
        ("limit=ten", "limit"),
        ("limit=", "limit"),
        ("limit=1.5", "limit"),
        ("limit=１０", "limit"),
        (f"limit={'9' * 200}", "limit"),
        ("offset=-1", "offset"),
        ("offset=x", "offset"),
        (f"offset={2**53 + 1}", "offset"),
        (f"offset={10**60}", "offset"),
        ("category=opinion", "category"),
        ("category=", "category"),
        ("page=2", "page"),
    ],
)
def test_bad_parameters_are_refused_by_name(client: Client, query: str, named: str) -> None:
    answer = client.http.get(f"{FACTS}?{query}")

    assert refused(answer) == (422, "BAD_INPUT")
    assert named in answer.json()["message"]


@pytest.mark.parametrize("id_", ["fact_none", "事实", "a/b", "..%2f", "%00", "x" * 2000])
def test_a_fact_that_is_not_there_is_not_found(client: Client, id_: str) -> None:
    for method in ("GET", "DELETE"):
        assert refused(client.http.request(method, f"{FACTS}/{id_}")) == (404, "NOT_FOUND")


# Deleting


def test_user_delete_specific_memory(client: Client) -> None:
    kept, gone = write(client, "city", "Kyoto"), write(client, "drink", "绿茶")

    first = client.http.delete(f"{FACTS}/{gone}")

    assert (first.status_code, first.json()) == (200, {"deleted_id": gone})
    assert refused(client.http.get(f"{FACTS}/{gone}")) == (404, "NOT_FOUND")
    assert refused(client.http.delete(f"{FACTS}/{gone}")) == (404, "NOT_FOUND")
    assert [each["id"] for each in facts(client)] == [kept]


def test_user_clear_all_memories(client: Client) -> None:
    write_many(client, 3)
    write(client, "key 0", "another value")

    first, second = client.http.delete(FACTS), client.http.delete(FACTS)

    assert (first.status_code, first.json()) == (200, {"deleted_count": 4})
    assert (second.status_code, second.json()) == (200, {"deleted_count": 0})
    assert client.http.get(FACTS).json()["total"] == 0
    assert working_memory(client, "s1")["turnCount"] == 0


def test_clearing_with_a_filter_that_does_not_exist_is_refused_and_clears_nothing(client: Client) -> None:
    """Who asks to delete one category must not lose all of them."""
    ids = write_many(client, 2)

    answer = client.http.delete(f"{FACTS}?category=preference")

    assert refused(answer) == (422, "BAD_INPUT")
    assert answer.json()["message"] == "'category' is not known; send none."
    assert [each["id"] for each in facts(client)] == ids


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_facts_are_not_written_here(client: Client, method: str) -> None:
    assert client.http.request(method, FACTS, json={}).status_code == 405


def test_owners_meet_nothing_of_each_other(owners: Owners, client: Client) -> None:
    hers = write(client, "city", "Kyoto")
    with owners.next_client() as bob:
        assert bob.http.get(FACTS).json()["total"] == 0
        assert refused(bob.http.get(f"{FACTS}/{hers}")) == (404, "NOT_FOUND")
        assert refused(bob.http.delete(f"{FACTS}/{hers}")) == (404, "NOT_FOUND")
        assert bob.http.delete(FACTS).json() == {"deleted_count": 0}

    assert [each["id"] for each in facts(client)] == [hers]


def test_without_a_token_nobody_is_answered(owners: Owners) -> None:
    with owners.server.client() as nobody:
        answers = [nobody.http.get(FACTS), nobody.http.delete(FACTS), nobody.http.get(f"{FACTS}/fact_1")]

    assert [answer.status_code for answer in answers] == [401, 401, 401]
