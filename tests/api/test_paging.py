"""Connections: every list can be walked page by page, without a repeat and without a gap."""

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

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
from tests.serving import Client

PAGE = """{
  totalCount
  nodes { id }
  edges { cursor node { id } }
  pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
}"""

SIZE = 25
NUMBERS = range(SIZE)


@dataclass(frozen=True)
class Listing:
    """A list of 25: the query for a page of it, the way to it in the answer, and how it is filled.

    `fill` answers the ids in the order of the list.
    """

    query: str
    way: tuple[str, ...]
    fill: Callable[[Client], list[str]]

    def page(self, client: Client, **arguments: Any) -> Any:
        found = client.ask(self.query, **arguments)
        for field in self.way:
            found = found[field]
        return found

    def walk(self, client: Client, first: int) -> list[Any]:
        pages = [self.page(client, first=first)]
        while pages[-1]["pageInfo"]["hasNextPage"]:
            pages.append(self.page(client, first=first, after=pages[-1]["pageInfo"]["endCursor"]))
        return pages


def shuffled(prefix: str) -> list[str]:
    """Ids whose order says nothing about the order they are used in."""
    ids = [f"{prefix}_{number:02}" for number in NUMBERS]
    Random(7).shuffle(ids)
    return ids


def fill_books(client: Client) -> list[str]:
    return [a_book(client, id_) for id_ in shuffled("book")]


def fill_characters(client: Client) -> list[str]:
    a_book(client, "book_1")
    return [a_character(client, "book_1", id_) for id_ in shuffled("char")]


def fill_terms(client: Client) -> list[str]:
    a_book(client, "book_1")
    return [a_term(client, "book_1", id_) for id_ in shuffled("term")]


def fill_chapters(client: Client) -> list[str]:
    a_book(client, "book_1")
    number_of = dict(zip(shuffled("chap"), NUMBERS, strict=True))
    for id_ in sorted(number_of):
        a_chapter(client, "book_1", id_, number=number_of[id_])
    return sorted(number_of, key=number_of.__getitem__)


def fill_memories(client: Client) -> list[str]:
    """Five share each time of access, so that ties have to be broken; all hang on the same three entities."""
    a_book(client, "book_1")
    a_character(client, "book_1", "char_1")
    a_term(client, "book_1", "term_1")
    refs = [ref("CHARACTER", "char_1"), ref("TERM", "term_1"), ref("BOOK", "book_1")]
    day_of = {id_: number % 5 + 1 for number, id_ in enumerate(shuffled("mem"))}
    import_memories(
        client,
        "book_1",
        *({"id": id_, "attachedTo": refs, "lastAccessedAt": f"2026-01-0{day}"} for id_, day in day_of.items()),
    )
    return sorted(day_of, key=lambda id_: (day_of[id_], id_), reverse=True)


def of_book(field: str, fill: Callable[[Client], list[str]]) -> Listing:
    page = f"{field}(first: $first, after: $after) {PAGE}"
    query = f'query($first: Int!, $after: String) {{ book(id: "book_1") {{ {page} }} }}'
    return Listing(query, ("book", field), fill)


LISTINGS = {
    "books": Listing(
        f"query($first: Int!, $after: String) {{ books(first: $first, after: $after) {PAGE} }}", ("books",), fill_books
    ),
    "characters": of_book("characters", fill_characters),
    "terms": of_book("terms", fill_terms),
    "chapters": of_book("chapters", fill_chapters),
    "book.memories": of_book("memories", fill_memories),
    "book.attachedMemories": of_book("attachedMemories", fill_memories),
    "character.attachedMemories": Listing(
        f"""query($first: Int!, $after: String) {{
          character(id: "char_1") {{ attachedMemories(first: $first, after: $after) {PAGE} }} }}""",
        ("character", "attachedMemories"),
        fill_memories,
    ),
    "memories": Listing(
        f"""query($first: Int!, $after: String) {{
          memories(bookId: "book_1", first: $first, after: $after, attachedTo: [
            {{type: CHARACTER, id: "char_1"}}, {{type: TERM, id: "term_1"}}, {{type: CHAPTER, id: "chap_missing"}}
          ]) {PAGE} }}""",
        ("memories",),
        fill_memories,
    ),
}

# Read only: for each list an owner with 25 items, made when the first test asks for it.


@dataclass(frozen=True)
class Filled:
    listing: Listing
    client: Client
    expected: list[str]


class Library:
    def __init__(self, owners: Owners, clients: ExitStack) -> None:
        self.owners = owners
        self.clients = clients
        self.filled: dict[str, Filled] = {}

    def filled_with(self, name: str) -> Filled:
        if name not in self.filled:
            client = self.clients.enter_context(self.owners.next_client())
            self.filled[name] = Filled(LISTINGS[name], client, LISTINGS[name].fill(client))
        return self.filled[name]


@pytest.fixture(scope="module")
def owners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owners]:
    with serving_owners(tmp_path_factory.mktemp("data")) as owners:
        yield owners


@pytest.fixture
def client(owners: Owners) -> Iterator[Client]:
    with owners.next_client() as client:
        yield client


@pytest.fixture(scope="module")
def library(owners: Owners) -> Iterator[Library]:
    with ExitStack() as clients:
        yield Library(owners, clients)


@pytest.fixture
def filled(library: Library, name: str) -> Filled:
    return library.filled_with(name)


every_list = pytest.mark.parametrize("name", LISTINGS)


# Walking


@every_list
def test_pages_of_seven_show_all_25_in_order_each_once(filled: Filled) -> None:
    listing, client, expected = filled.listing, filled.client, filled.expected

    pages = listing.walk(client, first=7)

    assert [[node["id"] for node in page["nodes"]] for page in pages] == [
        expected[:7],
        expected[7:14],
        expected[14:21],
        expected[21:],
    ]
    assert [page["totalCount"] for page in pages] == [SIZE] * 4


@every_list
def test_every_page_says_where_it_stands(filled: Filled) -> None:
    pages = filled.listing.walk(filled.client, first=7)

    cursors = [[edge["cursor"] for edge in page["edges"]] for page in pages]
    assert [page["pageInfo"] for page in pages] == [
        {
            "hasNextPage": number < 3,
            "hasPreviousPage": number > 0,
            "startCursor": cursors[number][0],
            "endCursor": cursors[number][-1],
        }
        for number in range(4)
    ]
    assert len({cursor for page in cursors for cursor in page}) == SIZE
    assert [[edge["node"] for edge in page["edges"]] for page in pages] == [page["nodes"] for page in pages]


@every_list
def test_page_of_all_has_nothing_behind_it(filled: Filled) -> None:
    listing, client, expected = filled.listing, filled.client, filled.expected

    page = listing.page(client, first=SIZE)
    beyond = listing.page(client, first=SIZE, after=page["pageInfo"]["endCursor"])

    assert [node["id"] for node in page["nodes"]] == expected
    assert not page["pageInfo"]["hasNextPage"]
    nowhere = {"hasNextPage": False, "hasPreviousPage": True, "startCursor": None, "endCursor": None}
    assert beyond == {"totalCount": SIZE, "nodes": [], "edges": [], "pageInfo": nowhere}


@every_list
def test_walk_can_go_on_behind_any_item(filled: Filled) -> None:
    listing, client, expected = filled.listing, filled.client, filled.expected
    edges = listing.page(client, first=SIZE)["edges"]

    following = [listing.page(client, first=1, after=edge["cursor"])["nodes"] for edge in edges]

    assert following == [*([{"id": id_}] for id_ in expected[1:]), []]


@every_list
def test_twenty_are_answered_unless_asked_otherwise(filled: Filled) -> None:
    listing, client, expected = filled.listing, filled.client, filled.expected
    query = listing.query.replace("first: $first, ", "").replace("$first: Int!, ", "")

    page = Listing(query, listing.way, listing.fill).page(client)

    assert [node["id"] for node in page["nodes"]] == expected[:20]


@pytest.mark.parametrize(
    ("name", "delete"), [("characters", "deleteCharacter"), ("chapters", "deleteChapter"), ("memories", "deleteMemory")]
)
def test_walk_goes_on_behind_an_item_that_is_gone(client: Client, name: str, delete: str) -> None:
    listing = LISTINGS[name]
    expected = listing.fill(client)
    page = listing.page(client, first=7)

    client.delete(delete, expected[6])

    following = listing.page(client, first=7, after=page["pageInfo"]["endCursor"])
    assert [node["id"] for node in following["nodes"]] == expected[7:14]
    assert following["totalCount"] == SIZE - 1


def test_item_added_in_front_is_not_met_again_behind(client: Client) -> None:
    listing = LISTINGS["book.memories"]
    expected = listing.fill(client)
    page = listing.page(client, first=7)

    a_memory(client, "book_1", "mem_newest")

    following = listing.page(client, first=100, after=page["pageInfo"]["endCursor"])
    assert [node["id"] for node in following["nodes"]] == expected[7:]
    assert following["totalCount"] == SIZE + 1


@pytest.mark.parametrize("name", ["characters", "terms", "chapters", "book.memories", "book.attachedMemories"])
def test_empty_list_is_one_empty_page(client: Client, book: str, name: str) -> None:
    nowhere = {"hasNextPage": False, "hasPreviousPage": False, "startCursor": None, "endCursor": None}

    assert LISTINGS[name].page(client, first=7) == {"totalCount": 0, "nodes": [], "edges": [], "pageInfo": nowhere}


def test_filtered_list_is_walked_and_counted_like_any_other(client: Client, book: str) -> None:
    names = [("田" if number % 2 else "山") + str(number) for number in NUMBERS]
    ids = [
        a_character(client, book, f"char_{number:02}", name=name) for number, name in zip(NUMBERS, names, strict=True)
    ]
    expected = [id_ for id_, name in zip(ids, names, strict=True) if "田" in name]
    query = LISTINGS["characters"].query.replace("characters(", 'characters(nameContains: "田", ')

    pages = Listing(query, ("book", "characters"), fill_characters).walk(client, first=7)

    assert [[node["id"] for node in page["nodes"]] for page in pages] == [expected[:7], expected[7:]]
    assert [page["totalCount"] for page in pages] == [12, 12]


# Refused


@pytest.mark.parametrize("first", [0, -1, 101, -(2**31)])
@every_list
def test_page_size_is_from_1_to_100(filled: Filled, first: int) -> None:
    (error,) = filled.client.errors(filled.listing.query, first=first)

    assert error["message"] == f"first must be from 1 to 100, not {first}."
    assert error["extensions"] == {"code": "BAD_INPUT", "path": ["first"]}


def forged(*parts: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode()


BAD_CURSORS = {
    "empty": "",
    "blank": " ",
    "garbage": "garbage!",
    "not ascii": "田中",
    "NUL": "\x00",
    "not JSON": base64.urlsafe_b64encode(b"\xff\xfe").decode(),
    "JSON null": base64.urlsafe_b64encode(b"null").decode(),
    "JSON object": base64.urlsafe_b64encode(b'{"position": 1}').decode(),
    "too short": forged("memory", 1),
    "too long": forged("memory", 1, "mem_1", "mem_2"),
    "position a text": forged("memory", "1", "mem_1"),
    "position a fraction": forged("memory", 1.5, "mem_1"),
    "position null": forged("memory", None, "mem_1"),
    "position too large": forged("memory", 2**63, "mem_1"),
    "position too small": forged("memory", -(2**63) - 1, "mem_1"),
    "id a number": forged("memory", 1, 1),
    "another list": forged("character", 1, "char_1"),
    "no list": forged("", 1, "mem_1"),
    "lone surrogate": forged("memory", 1, "\ud800"),
    "deeply nested": base64.urlsafe_b64encode(b"[" * 100_000).decode(),
}


@pytest.mark.parametrize("cursor", BAD_CURSORS.values(), ids=BAD_CURSORS.keys())
def test_cursor_that_this_list_never_gave_is_refused(library: Library, cursor: str) -> None:
    filled = library.filled_with("book.memories")

    (error,) = filled.client.errors(filled.listing.query, first=7, after=cursor)

    assert error["message"] == "after is not a cursor of this list; pass an endCursor it gave, or leave it out."
    assert error["extensions"] == {"code": "BAD_INPUT", "path": ["after"]}


FOREIGN = [
    (here, there)
    for here in ("books", "characters", "terms", "chapters", "book.memories")
    for there in ("books", "characters", "terms", "chapters", "book.memories")
    if here != there
]


@pytest.mark.parametrize(("here", "there"), FOREIGN)
def test_cursor_of_another_list_is_refused(library: Library, here: str, there: str) -> None:
    other = library.filled_with(there)
    cursor = other.listing.page(other.client, first=1)["pageInfo"]["endCursor"]
    filled = library.filled_with(here)

    (error,) = filled.client.errors(filled.listing.query, first=1, after=cursor)

    assert error["message"] == "after is not a cursor of this list; pass an endCursor it gave, or leave it out."
    assert error["extensions"] == {"code": "BAD_INPUT", "path": ["after"]}


# Nested


def test_nested_pages_go_on_behind_the_cursor_under_every_sibling(client: Client, book: str) -> None:
    characters = [a_character(client, book, f"char_{number}") for number in range(3)]
    for day in range(1, 6):
        import_memories(
            client,
            book,
            *(
                {
                    "id": f"{character}_day_{day}",
                    "attachedTo": [ref("CHARACTER", character)],
                    "lastAccessedAt": f"2026-01-0{day}",
                }
                for character in characters
            ),
        )
    third = client.ask('{ character(id: "char_1") { attachedMemories(first: 3) { pageInfo { endCursor } } } }')
    cursor = third["character"]["attachedMemories"]["pageInfo"]["endCursor"]

    answer = client.ask(
        """query($after: String!) { book(id: "book_1") { characters { nodes {
          attachedMemories(first: 1, after: $after) { totalCount nodes { id } pageInfo { hasNextPage hasPreviousPage } }
        } } } }""",
        after=cursor,
    )

    following = ["char_0_day_3", "char_1_day_2", "char_2_day_2"]
    assert [each["attachedMemories"] for each in answer["book"]["characters"]["nodes"]] == [
        {"totalCount": 5, "nodes": [{"id": id_}], "pageInfo": {"hasNextPage": True, "hasPreviousPage": True}}
        for id_ in following
    ]


def test_siblings_may_each_ask_for_a_page_of_their_own(client: Client, book: str) -> None:
    a_character(client, book, "char_1")
    a_character(client, book, "char_2")
    on_both = [ref("CHARACTER", "char_1"), ref("CHARACTER", "char_2")]
    import_memories(
        client,
        book,
        *({"id": f"mem_{day}", "attachedTo": on_both, "lastAccessedAt": f"2026-01-0{day}"} for day in range(1, 6)),
    )
    first = client.ask('{ character(id: "char_1") { attachedMemories(first: 2) { pageInfo { endCursor } } } }')
    cursor = first["character"]["attachedMemories"]["pageInfo"]["endCursor"]

    answer = client.ask(
        """query($after: String!) {
          one: character(id: "char_1") {
            start: attachedMemories(first: 1) { nodes { id } }
            rest: attachedMemories(first: 2, after: $after) { nodes { id } pageInfo { hasNextPage } }
          }
          two: character(id: "char_2") {
            start: attachedMemories(first: 2) { nodes { id } }
            rest: attachedMemories(first: 3, after: $after) { nodes { id } pageInfo { hasNextPage } }
          }
        }""",
        after=cursor,
    )

    assert answer == {
        "one": {
            "start": {"nodes": [{"id": "mem_5"}]},
            "rest": {"nodes": [{"id": "mem_3"}, {"id": "mem_2"}], "pageInfo": {"hasNextPage": True}},
        },
        "two": {
            "start": {"nodes": [{"id": "mem_5"}, {"id": "mem_4"}]},
            "rest": {"nodes": [{"id": "mem_3"}, {"id": "mem_2"}, {"id": "mem_1"}], "pageInfo": {"hasNextPage": False}},
        },
    }


def test_books_show_pages_of_their_own_entities_side_by_side(client: Client) -> None:
    for book in ("book_1", "book_2", "book_3"):
        a_book(client, book)
    for number in range(3):
        a_character(client, "book_1", f"one_{number}")
        a_character(client, "book_3", f"three_{number}")

    answer = client.ask(
        "{ books { nodes { characters(first: 2) { totalCount nodes { id } pageInfo { hasNextPage } } } } }"
    )

    assert [each["characters"] for each in answer["books"]["nodes"]] == [
        {"totalCount": 3, "nodes": [{"id": "one_0"}, {"id": "one_1"}], "pageInfo": {"hasNextPage": True}},
        {"totalCount": 0, "nodes": [], "pageInfo": {"hasNextPage": False}},
        {"totalCount": 3, "nodes": [{"id": "three_0"}, {"id": "three_1"}], "pageInfo": {"hasNextPage": True}},
    ]
