"""Facts from what users state: how far they are trusted, the gate they pass, their history, and their list."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from tests.api.building import Owners
from tests.api.chat.chatting import FACT, facts, record_turn, state, working_memory
from tests.clock import SettableClock
from tests.serving import Client

HISTORY = f"query($id: ID!) {{ fact(id: $id) {{ {FACT} history {{ {FACT} }} }} }}"
PAGE = """query($category: FactCategory, $first: Int!, $after: String) {
  facts(category: $category, first: $first, after: $after) {
    totalCount nodes { key } pageInfo { hasNextPage endCursor }
  }
}"""
SEARCH = "query($words: String!) { search(query: $words, sources: [FACT]) { hits { id text fact { value } } } }"
RECALL = "query($message: String!) { recall(message: $message, track: false) { fact { id } } }"

# Put together here so that no scanner takes this file for a leak.
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
CARD = "4111 1111 " + "1111 1111"


def write(client: Client, key: str, value: Any, **fields: Any) -> Any:
    """What became of a fact that was told without anything going wrong."""
    payload = record_turn(client, "s1", memoryUpdate=state(key, value, **fields))
    assert payload["problems"] == []
    (written,) = payload["factWrites"]
    return written


def read(client: Client, id: str) -> Any:
    """With its history; null when there is none."""
    return client.ask(HISTORY, id=id)["fact"]


def values(found: list[dict[str, Any]]) -> list[Any]:
    return [each["value"] for each in found]


def found_by_search(client: Client, words: str) -> list[str]:
    return [hit["id"] for hit in client.ask(SEARCH, words=words)["search"]["hits"]]


def recalled(client: Client, message: str) -> list[str]:
    return [each["fact"]["id"] for each in client.ask(RECALL, message=message)["recall"]]


# From what the user states


def test_create_long_term_memory_from_user_statement(client: Client, clock: SettableClock) -> None:
    update = {"shouldStore": True, "category": "PREFERENCE", "key": "favourite_drink", "value": "绿茶"}

    payload = record_turn(client, "s1", "我最喜欢绿茶", memoryUpdate=update)

    now = clock.now.isoformat(timespec="microseconds")
    (written,) = payload["factWrites"]
    assert written == {
        "outcome": "ADDED",
        "supersedes": None,
        "fact": {
            "id": written["fact"]["id"],
            "sessionId": "s1",
            "category": "PREFERENCE",
            "key": "favourite_drink",
            "value": "绿茶",
            "confidence": 0.9,
            "source": "USER_STATED",
            "createdAt": now,
            "lastAccessedAt": now,
            "accessCount": 0,
            "supersededAt": None,
        },
    }
    assert payload["problems"] == []
    assert payload["workingMemory"]["turnCount"] == 1
    assert facts(client) == [written["fact"]]


def test_category_is_fact_when_none_is_told(client: Client) -> None:
    assert write(client, "city", "Kyoto")["fact"]["category"] == "FACT"


@pytest.mark.parametrize(
    ("source", "told", "kept"),
    [
        (None, None, 0.9),
        (None, 0.2, 0.9),
        ("USER_STATED", 0.2, 0.9),
        ("USER_STATED", 0.95, 0.95),
        ("USER_STATED", 1, 1.0),
        ("INFERRED", 0.2, 0.2),
        ("INFERRED", 0, 0.0),
        ("SYSTEM", 0.5, 0.5),
    ],
)
def test_confidence_of_what_the_user_states_is_nine_tenths_at_least(
    client: Client, source: str | None, told: float | None, kept: float
) -> None:
    fact = write(client, "city", "Kyoto", confidence=told, source=source)["fact"]

    assert (fact["source"], fact["confidence"]) == (source or "USER_STATED", kept)


@pytest.mark.parametrize("confidence", [2, -1, 1.0001, -0.0001])
def test_confidence_beyond_its_range_is_refused_with_the_whole_turn(client: Client, confidence: float) -> None:
    update = state("city", "Kyoto", confidence=confidence)

    payload = record_turn(client, "s1", "I live in Kyoto", memoryUpdate=update)

    (problem,) = payload["problems"]
    assert (problem["code"], problem["path"]) == ("BAD_INPUT", ["analysis", "memoryUpdate", "confidence"])
    assert (payload["workingMemory"], payload["factWrites"]) == (None, [])
    assert (working_memory(client, "s1"), facts(client)) == (None, [])


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_confidence_that_is_no_number_is_refused_with_the_whole_turn(client: Client, number: str) -> None:
    query = "mutation($input: RecordTurnInput!) { recordTurn(input: $input) { factWrites { outcome } } }"
    update = state("city", "Kyoto", confidence="HERE")
    body = {
        "query": query,
        "variables": {"input": {"sessionId": "s1", "messages": [], "analysis": {"memoryUpdate": update}}},
    }

    answer = client.http.post(
        "/graphql", content=json.dumps(body).replace('"HERE"', number), headers={"content-type": "application/json"}
    )

    assert answer.status_code in (200, 400)
    assert answer.json()["errors"]
    assert (working_memory(client, "s1"), facts(client)) == (None, [])


def test_nothing_is_stored_that_should_not_be(client: Client) -> None:
    payload = record_turn(client, "s1", "我喜欢绿茶", memoryUpdate=state("drink", "绿茶") | {"shouldStore": False})

    assert (payload["factWrites"], payload["problems"]) == ([], [])
    assert payload["workingMemory"]["turnCount"] == 1
    assert facts(client) == []


@pytest.mark.parametrize(
    ("missing", "update"),
    [
        ("key", {"value": "绿茶"}),
        ("key", {"key": None, "value": "绿茶"}),
        ("key", {"key": "  ", "value": "绿茶"}),
        ("key", {"key": "_-_", "value": "绿茶"}),
        ("value", {"key": "drink"}),
        ("value", {"key": "drink", "value": None}),
    ],
)
def test_a_fact_without_key_or_value_is_refused_with_the_whole_turn(
    client: Client, missing: str, update: dict[str, Any]
) -> None:
    payload = record_turn(client, "s1", "我喜欢绿茶", memoryUpdate={"shouldStore": True} | update)

    (problem,) = payload["problems"]
    assert (problem["code"], problem["path"]) == ("BAD_INPUT", ["analysis", "memoryUpdate", missing])
    assert (payload["workingMemory"], payload["factWrites"]) == (None, [])
    assert (working_memory(client, "s1"), facts(client)) == (None, [])


# Values


JSON_VALUES: list[Any] = [
    "绿茶",
    "田中さん 👩‍👩‍👧 𠮷",
    "",
    'line\nbreak "quoted" \\ \u2028',
    0,
    -7,
    1.5,
    1e-7,
    2**53,
    True,
    False,
    [],
    {},
    [None],
    [1, [2, [3, "四"]], {"五": None}],
    {"city": "京都", "years": [2019, 2024], "with": {"cat": True, "名前": "たま"}, "": ""},
]


@pytest.mark.parametrize("value", JSON_VALUES, ids=repr)
def test_a_json_value_comes_back_as_it_was(client: Client, value: Any) -> None:
    written = write(client, "anything", value)["fact"]

    (listed,) = facts(client)
    seen = [written["value"], listed["value"], read(client, written["id"])["value"]]
    assert [(type(each), each) for each in seen] == [(type(value), value)] * 3


def test_a_json_value_can_be_written_into_the_query(client: Client) -> None:
    client.ask(
        """mutation { recordTurn(input: {sessionId: "s1", messages: [], analysis: {memoryUpdate: {
             shouldStore: true, key: "trip", value: {city: "京都", days: [1, 2.5], alone: false, note: null}
           }}}) { problems { code } } }"""
    )

    assert values(facts(client)) == [{"city": "京都", "days": [1, 2.5], "alone": False, "note": None}]


@pytest.mark.parametrize(
    "value",
    ["a\x00b", 2**53 + 1, "x" * 20_001, [0] * 10_001, [[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]],
    ids=lambda each: repr(each)[:20],
)
def test_a_value_that_cannot_be_kept_is_refused_with_the_whole_turn(client: Client, value: Any) -> None:
    payload = record_turn(client, "s1", "hello", memoryUpdate=state("anything", value))

    (problem,) = payload["problems"]
    assert (problem["code"], problem["path"][:3]) == ("BAD_INPUT", ["analysis", "memoryUpdate", "value"])
    assert (working_memory(client, "s1"), facts(client)) == (None, [])


# The gate


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("favourite_drink", "green tea"),
        ("favourite_drink", "GREEN  Tea"),
        ("favourite_drink", "ｇｒｅｅｎ　ｔｅａ"),
        ("favourite_drink", " green tea. "),
        ("Favourite Drink", "green tea!"),
        ("FAVOURITE-drink ", "Green tea"),
    ],
)
def test_the_same_fact_again_is_a_duplicate_and_nothing_is_added(client: Client, key: str, value: str) -> None:
    first = write(client, "favourite_drink", "green tea")["fact"]

    again = write(client, key, value)

    assert again == {"outcome": "DUPLICATE", "fact": first, "supersedes": None}
    assert facts(client) == [first]
    assert read(client, first["id"])["history"] == []


def test_an_object_in_another_order_is_a_duplicate(client: Client) -> None:
    write(client, "trip", {"city": "Kyoto", "years": [2019, 2024]})

    assert write(client, "trip", {"years": [2019, 2024], "city": "kyoto"})["outcome"] == "DUPLICATE"


def test_a_new_value_supersedes_the_old_one(client: Client, clock: SettableClock) -> None:
    old = write(client, "city", "Kyoto")["fact"]
    clock.move(days=1)

    written = write(client, "City", "Osaka", category="PATTERN")

    superseded = old | {"supersededAt": clock.now.isoformat(timespec="microseconds")}
    assert (written["outcome"], written["supersedes"]) == ("SUPERSEDED", superseded)
    assert (written["fact"]["value"], written["fact"]["supersededAt"]) == ("Osaka", None)
    assert facts(client) == [written["fact"]]


def test_a_value_that_held_before_supersedes_as_any_other(client: Client) -> None:
    for city in ("Kyoto", "Osaka"):
        write(client, "city", city)

    back = write(client, "city", "Kyoto")

    assert (back["outcome"], back["supersedes"]["value"]) == ("SUPERSEDED", "Osaka")
    assert values(read(client, back["fact"]["id"])["history"]) == ["Osaka", "Kyoto"]


def test_what_is_merely_similar_is_never_touched(client: Client) -> None:
    similar = {
        "favourite_drink": "green tea",
        "favourite_drinks": "green tea",
        "favorite_drink": "green  teas",
        "drink": "Green tea.",
        "favourite drink in winter": "green tea",
        "喜欢的饮料": "绿茶",
        "喜歡的飲料": "绿茶",
    }

    outcomes = [write(client, key, value)["outcome"] for key, value in similar.items()]

    assert outcomes == ["ADDED"] * len(similar)
    assert {each["key"]: each["value"] for each in facts(client)} == similar


def test_sixteen_writers_of_one_key_leave_exactly_one_that_holds(client: Client) -> None:
    def tell(number: int) -> Any:
        return record_turn(client, f"s{number}", memoryUpdate=state("city", f"city {number}"))["factWrites"][0]

    with ThreadPoolExecutor(16) as pool:
        written = list(pool.map(tell, range(16)))

    (holding,) = facts(client)
    history = read(client, holding["id"])["history"]
    assert sorted(each["outcome"] for each in written) == ["ADDED"] + ["SUPERSEDED"] * 15
    assert sorted(values([holding, *history])) == sorted(f"city {number}" for number in range(16))
    superseded = [each["supersedes"]["id"] for each in written if each["supersedes"]]
    assert sorted(superseded) == sorted(each["id"] for each in history)


def test_sixteen_writers_of_one_fact_add_it_once(client: Client) -> None:
    def tell(number: int) -> str:
        outcome: str = record_turn(client, f"s{number}", memoryUpdate=state("city", "Kyoto"))["factWrites"][0][
            "outcome"
        ]
        return outcome

    with ThreadPoolExecutor(16) as pool:
        outcomes = list(pool.map(tell, range(16)))

    assert sorted(outcomes) == ["ADDED"] + ["DUPLICATE"] * 15
    assert values(facts(client)) == ["Kyoto"]


# History


def test_history_is_what_held_before_the_last_first(client: Client, clock: SettableClock) -> None:
    ids = []
    for city in ("Kyoto", "Osaka", "Nara", "Kobe"):
        ids.append(write(client, "city", city)["fact"]["id"])
        clock.move(hours=1)

    assert [values(read(client, id_)["history"]) for id_ in ids] == [
        [],
        ["Kyoto"],
        ["Osaka", "Kyoto"],
        ["Nara", "Osaka", "Kyoto"],
    ]


def test_history_does_not_go_by_the_clock(client: Client, clock: SettableClock) -> None:
    """It may stand still, and be set back."""
    ids = [write(client, "city", city)["fact"]["id"] for city in ("Kyoto", "Osaka")]
    clock.move(days=-3)
    ids += [write(client, "city", city)["fact"]["id"] for city in ("Nara", "Kobe")]
    clock.move(days=3)

    assert [values(read(client, id_)["history"]) for id_ in ids] == [
        [],
        ["Kyoto"],
        ["Osaka", "Kyoto"],
        ["Nara", "Osaka", "Kyoto"],
    ]


def test_history_is_of_its_own_key_alone(client: Client) -> None:
    for key, value in (("city", "Kyoto"), ("cities", "Paris"), ("city", "Osaka"), ("cities", "Rome")):
        write(client, key, value)

    histories = {each["key"]: values(read(client, each["id"])["history"]) for each in facts(client)}

    assert histories == {"city": ["Kyoto"], "cities": ["Paris"]}


def test_what_was_superseded_is_out_of_lists_counts_search_and_recall(client: Client) -> None:
    old = write(client, "pet", "a saxophone")["fact"]["id"]
    assert (found_by_search(client, "saxophone"), recalled(client, "saxophone")) == ([old], [old])

    new = write(client, "pet", "a clarinet")["fact"]["id"]

    page = client.ask(PAGE, first=10)["facts"]
    rest = client.http.get("/memory/long-term").json()
    assert (page["totalCount"], [each["id"] for each in facts(client)]) == (1, [new])
    assert (rest["total"], [each["id"] for each in rest["items"]]) == (1, [new])
    assert (found_by_search(client, "saxophone"), recalled(client, "saxophone")) == ([], [])
    assert (found_by_search(client, "clarinet"), recalled(client, "clarinet")) == ([new], [new])


def test_what_was_superseded_can_be_read_by_its_id(client: Client, clock: SettableClock) -> None:
    old = write(client, "city", "Kyoto")["fact"]
    clock.move(hours=1)
    write(client, "city", "Osaka")

    seen = read(client, old["id"])
    rest = client.http.get(f"/memory/long-term/{old['id']}")

    assert seen == old | {"supersededAt": clock.now.isoformat(timespec="microseconds"), "history": []}
    assert (rest.status_code, rest.json()["value"]) == (200, "Kyoto")


def test_a_fact_that_is_not_there_is_null(client: Client) -> None:
    assert read(client, "fact_none") is None


# Lists


def test_facts_are_paged_newest_first_without_a_repeat_or_a_gap(client: Client) -> None:
    for number in range(25):
        write(client, f"key {number}", number)

    pages = [client.ask(PAGE, first=10)["facts"]]
    while pages[-1]["pageInfo"]["hasNextPage"]:
        pages.append(client.ask(PAGE, first=10, after=pages[-1]["pageInfo"]["endCursor"])["facts"])

    assert [len(page["nodes"]) for page in pages] == [10, 10, 5]
    assert [each["key"] for page in pages for each in page["nodes"]] == [
        f"key {number}" for number in reversed(range(25))
    ]
    assert {page["totalCount"] for page in pages} == {25}


def test_a_new_value_brings_a_fact_to_the_front(client: Client) -> None:
    for key in ("a", "b", "c"):
        write(client, key, 1)
    write(client, "a", 2)

    assert [each["key"] for each in facts(client)] == ["a", "c", "b"]


def test_facts_of_one_category_are_listed_and_counted_alone(client: Client) -> None:
    for number, category in enumerate(("PREFERENCE", "FACT", "PATTERN", "PREFERENCE", "FACT", "PREFERENCE")):
        write(client, f"key {number}", number, category=category)

    first = client.ask(PAGE, category="PREFERENCE", first=2)["facts"]
    second = client.ask(PAGE, category="PREFERENCE", first=2, after=first["pageInfo"]["endCursor"])["facts"]

    assert [each["key"] for each in first["nodes"] + second["nodes"]] == ["key 5", "key 3", "key 0"]
    assert (first["totalCount"], second["totalCount"], second["pageInfo"]["hasNextPage"]) == (3, 3, False)


@pytest.mark.parametrize("first", [0, -1, 101])
def test_a_page_of_no_size_is_refused(client: Client, first: int) -> None:
    (error,) = client.errors(PAGE, first=first)

    assert error["extensions"]["code"] == "BAD_INPUT"


def test_a_cursor_of_no_list_is_refused(client: Client) -> None:
    (error,) = client.errors(PAGE, first=1, after="nonsense")

    assert error["extensions"]["code"] == "BAD_INPUT"


# Owners


def test_owners_meet_nothing_of_each_other(owners: Owners) -> None:
    with ExitStack() as stack:
        alice, bob = (stack.enter_context(owners.next_client()) for _ in range(2))
        hers = write(alice, "city", "Kyoto")["fact"]

        his = write(bob, "city", "Kyoto")

        assert (his["outcome"], his["fact"]["id"] == hers["id"]) == ("ADDED", False)
        assert write(bob, "city", "Osaka")["outcome"] == "SUPERSEDED"
        assert (values(facts(alice)), values(facts(bob))) == (["Kyoto"], ["Osaka"])
        assert read(bob, hers["id"]) is None
        assert bob.http.get(f"/memory/long-term/{hers['id']}").status_code == 404
        assert (recalled(bob, "Kyoto"), found_by_search(bob, "Kyoto")) == ([], [])
        assert bob.delete("deleteFact", hers["id"])["problems"][0]["code"] == "NOT_FOUND"
        assert facts(alice) == [hers]


# Secrets


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("note", f"my token is {TOKEN}"),
        ("note", TOKEN),
        ("card", CARD),
        ("card", int(CARD.replace(" ", ""))),
        ("password", "hunter2"),
        ("Wifi Password", "hunter2"),
        ("密码", "abc12345"),
        ("login", {"user": "anna", "password": "hunter2"}),
        ("logins", [{"site": "example.org", "password": "hunter2"}]),
        ("accounts", {"bank": ["first", TOKEN]}),
        ("accounts", {TOKEN: "first"}),
        (TOKEN, "first"),
    ],
)
def test_a_secret_is_refused_while_its_turn_is_recorded(client: Client, key: str, value: Any) -> None:
    payload = record_turn(client, "s1", "remember that", memoryUpdate=state(key, value), currentTopic="accounts")

    (problem,) = payload["problems"]
    assert (problem["code"], problem["path"]) == ("BAD_INPUT", ["analysis", "memoryUpdate", "value"])
    assert (payload["factWrites"], facts(client)) == ([], [])
    assert payload["workingMemory"] == working_memory(client, "s1")
    assert (payload["workingMemory"]["turnCount"], payload["workingMemory"]["currentTopic"]) == (1, "accounts")


@pytest.mark.parametrize(
    ("key", "value"),
    [("password manager", "Bitwarden"), ("forgets passwords", True), ("order", "2024-1234"), ("phone", 5550123)],
)
def test_what_only_looks_like_a_secret_is_kept(client: Client, key: str, value: Any) -> None:
    assert write(client, key, value)["outcome"] == "ADDED"
