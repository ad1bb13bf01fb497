"""The scenarios of the attachments document, over HTTP."""

from collections.abc import Iterator
from operator import itemgetter
from typing import Any

import pytest

from persistence.sqlite import open_connection
from tests.api.building import (
    Owners,
    Ref,
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
    serving_owners,
)
from tests.serving import Client, Server

MEMORIES = """query($book: ID!, $refs: [EntityRefInput!]!) {
  memories(bookId: $book, attachedTo: $refs) { totalCount nodes { id } }
}"""
MEMORIES_NOW = "memories { id attachedTo { type id } }"
MEMORY_NOW = "memory { id attachedTo { type id } }"

BOOK = "book_1"
RESULTS = {
    "createMemory": "memory",
    "updateMemory": "memory",
    "attachMemories": "memories",
    "detachMemories": "memories",
    "attachMatching": "memories",
    "importMemories": "memories",
}

ADD_ORPHAN = """INSERT INTO attachment (owner, entity_type, entity_id, memory_id, is_pinned, last_accessed_at)
    VALUES ('local', 'character', 'char_gone', 'mem_1', 0, 0)"""


@pytest.fixture(scope="module")
def owners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owners]:
    with serving_owners(tmp_path_factory.mktemp("data")) as owners:
        yield owners


@pytest.fixture
def client(owners: Owners) -> Iterator[Client]:
    with owners.next_client() as client:
        yield client


@pytest.fixture
def tanaka(client: Client, book: str) -> str:
    return a_character(client, book, "char_001", name="田中太郎")


@pytest.fixture
def stone(client: Client, book: str) -> str:
    return a_term(client, book, "term_001", name="魔石")


@pytest.fixture
def chapter(client: Client, book: str) -> str:
    return a_chapter(client, book, "chap_005", number=5)


@pytest.fixture
def other_book(client: Client) -> str:
    """A second book with one entity of each kind and one memory."""
    other = a_book(client, "book_2")
    a_character(client, other, "char_other")
    a_term(client, other, "term_other")
    a_chapter(client, other, "chap_other")
    a_memory(client, other, "mem_other")
    return other


def ids(client: Client, book: str, *refs: Ref) -> list[str]:
    found = client.ask(MEMORIES, book=book, refs=list(refs))["memories"]
    assert found["totalCount"] == len(found["nodes"])
    return [memory["id"] for memory in found["nodes"]]


def problem(payload: Any) -> Any:
    (only,) = payload["problems"]
    return only


# Attaching when a memory is created


def test_memory_attached_to_a_single_character_is_shown_by_it(client: Client, book: str, tanaka: str) -> None:
    payload = client.mutate(
        "createMemory",
        MEMORY_NOW,
        id="mem_1",
        bookId=book,
        content="全文",
        summary="要点",
        attachedTo=[ref("CHARACTER", tanaka)],
    )

    assert payload == {"memory": {"id": "mem_1", "attachedTo": [ref("CHARACTER", tanaka)]}, "problems": []}
    assert attached_ids(client, "CHARACTER", tanaka) == ["mem_1"]


def test_memory_attached_to_several_entities_is_shown_by_each(
    client: Client, book: str, tanaka: str, stone: str, chapter: str
) -> None:
    refs = [ref("CHARACTER", tanaka), ref("CHAPTER", chapter), ref("TERM", stone), ref("BOOK", book)]

    a_memory(client, book, "mem_1", *refs)

    assert attachments(client, book) == {"mem_1": refs}
    assert [attached_ids(client, each["type"], each["id"]) for each in refs] == [["mem_1"]] * 4


@pytest.mark.parametrize("given", [{}, {"attachedTo": None}, {"attachedTo": []}])
def test_memory_without_attachments_is_attached_to_its_book(client: Client, book: str, given: dict[str, Any]) -> None:
    payload = client.mutate(
        "createMemory", MEMORY_NOW, id="mem_1", bookId=book, content="全文", summary="要点", **given
    )

    assert payload == {"memory": {"id": "mem_1", "attachedTo": [ref("BOOK", book)]}, "problems": []}
    assert attached_ids(client, "BOOK", book) == ["mem_1"]


def test_memory_attached_to_a_character_alone_is_not_on_the_book(client: Client, book: str, tanaka: str) -> None:
    a_memory(client, book, "mem_1", ref("CHARACTER", tanaka))

    assert attached_ids(client, "BOOK", book) == []


def test_entity_named_twice_is_attached_once(client: Client, book: str, tanaka: str) -> None:
    a_memory(client, book, "mem_1", ref("CHARACTER", tanaka), ref("CHARACTER", tanaka))

    assert attachments(client, book) == {"mem_1": [ref("CHARACTER", tanaka)]}
    assert attached_ids(client, "CHARACTER", tanaka) == ["mem_1"]


def test_entities_of_different_types_with_the_same_id_are_told_apart(client: Client, book: str) -> None:
    a_character(client, book, "same")
    a_term(client, book, "same")

    a_memory(client, book, "mem_1", ref("TERM", "same"))

    assert attached_ids(client, "TERM", "same") == ["mem_1"]
    assert attached_ids(client, "CHARACTER", "same") == []


def test_new_memory_counts_as_accessed_when_it_was_created(client: Client, book: str) -> None:
    a_memory(client, book, "mem_1")

    (memory,) = everything(client)["nodes"][0]["memories"]["nodes"]
    assert memory["createdAt"] == memory["updatedAt"] == memory["lastAccessedAt"]
    assert memory["accessCount"] == 0


# Looking memories up by what they are attached to


def test_memories_of_one_entity_come_newest_access_first(client: Client, book: str, tanaka: str, stone: str) -> None:
    on_tanaka, on_stone = [ref("CHARACTER", tanaka)], [ref("TERM", stone)]
    import_memories(
        client,
        book,
        {"id": "second", "attachedTo": on_tanaka, "lastAccessedAt": "2026-02-02T00:00:00Z"},
        {"id": "first", "attachedTo": on_tanaka, "lastAccessedAt": "2026-02-02T00:00:00.000001Z"},
        {"id": "third", "attachedTo": on_tanaka, "lastAccessedAt": "2026-02-02T00:00:00+00:01"},
        {"id": "elsewhere", "attachedTo": on_stone, "lastAccessedAt": "2026-03-03T00:00:00Z"},
    )

    assert ids(client, book, ref("CHARACTER", tanaka)) == ["first", "second", "third"]
    assert attached_ids(client, "CHARACTER", tanaka) == ["first", "second", "third"]


def test_memories_of_several_entities_are_those_of_any_each_once(
    client: Client, book: str, tanaka: str, stone: str
) -> None:
    on_tanaka, on_stone = ref("CHARACTER", tanaka), ref("TERM", stone)
    import_memories(
        client,
        book,
        {"id": "of_tanaka", "attachedTo": [on_tanaka], "lastAccessedAt": "2026-01-02T00:00:00Z"},
        {"id": "of_both", "attachedTo": [on_tanaka, on_stone], "lastAccessedAt": "2026-01-01T00:00:00Z"},
        {"id": "of_stone", "attachedTo": [on_stone], "lastAccessedAt": "2026-01-03T00:00:00Z"},
        {"id": "of_neither"},
    )

    assert ids(client, book, on_stone, on_tanaka) == ["of_stone", "of_tanaka", "of_both"]


def test_entity_asked_for_twice_gives_its_memories_once(client: Client, book: str, tanaka: str) -> None:
    a_memory(client, book, "mem_1", ref("CHARACTER", tanaka))

    assert ids(client, book, ref("CHARACTER", tanaka), ref("CHARACTER", tanaka)) == ["mem_1"]


def test_no_entity_unknown_entities_and_those_of_another_book_have_no_memories(
    client: Client, book: str, other_book: str
) -> None:
    a_memory(client, book, "mem_1")

    assert ids(client, book) == []
    assert ids(client, book, ref("CHARACTER", "char_missing")) == []
    assert ids(client, book, ref("BOOK", other_book)) == []


def test_memories_of_an_unknown_book_are_not_found(client: Client) -> None:
    (error,) = client.errors(MEMORIES, book="book_missing", refs=[])

    assert error["message"] == "bookId: there is no book 'book_missing' here."
    assert error["extensions"] == {"code": "NOT_FOUND", "path": ["bookId"]}


def test_more_than_a_thousand_entities_cannot_be_asked_for(client: Client, book: str) -> None:
    (error,) = client.errors(MEMORIES, book=book, refs=[ref("TERM", f"term_{n}") for n in range(1001)])

    assert error["message"] == "attachedTo: 1001 items are too many for one request; the limit is 1000."
    assert error["extensions"] == {"code": "BAD_INPUT", "path": ["attachedTo"]}


# References that cannot be

BAD_REFS = [
    (ref("CHARACTER", "char_missing"), "character 'char_missing'"),
    (ref("TERM", "char_001"), "term 'char_001'"),
    (ref("CHARACTER", "char_other"), "character 'char_other'"),
    (ref("TERM", "term_other"), "term 'term_other'"),
    (ref("CHAPTER", "chap_other"), "chapter 'chap_other'"),
    (ref("BOOK", "book_2"), "book 'book_2'"),
]


@pytest.mark.usefixtures("tanaka", "other_book")
@pytest.mark.parametrize(("bad", "name"), BAD_REFS)
@pytest.mark.parametrize(
    ("mutation", "path"),
    [
        ("createMemory", "attachedTo[1]"),
        ("updateMemory", "attachedTo[1]"),
        ("attachMemories", "entities[1]"),
        ("attachMatching", "entities[1]"),
        ("importMemories", "memories[1].attachedTo[1]"),
    ],
)
def test_attachment_to_what_is_not_in_the_book_is_refused_by_name(
    client: Client, mutation: str, path: str, bad: Ref, name: str
) -> None:
    a_memory(client, BOOK, "mem_1")
    refs = [ref("CHARACTER", "char_001"), bad]
    text = {"content": "新しい全文", "summary": "新しい要点"}
    inputs: dict[str, dict[str, Any]] = {
        "createMemory": {"bookId": BOOK, "attachedTo": refs, **text},
        "updateMemory": {"id": "mem_1", "attachedTo": refs, **text},
        "attachMemories": {"bookId": BOOK, "memoryIds": ["mem_1"], "entities": refs},
        "attachMatching": {"bookId": BOOK, "query": "要点", "entities": refs},
        "importMemories": {"bookId": BOOK, "memories": [text, text | {"attachedTo": refs}]},
    }
    before = everything(client)

    payload = client.mutate(mutation, f"{RESULTS[mutation]} {{ id }}", **inputs[mutation])

    assert payload[RESULTS[mutation]] is None
    assert problem(payload) == {
        "code": "NOT_FOUND",
        "message": f"{path}: there is no {name} here.",
        "path": path.replace("[", ".").replace("]", "").split("."),
    }
    assert everything(client) == before


@pytest.fixture
def with_orphan(server: Server) -> Iterator[Client]:
    """A memory that is also attached to a character that is not there; this cannot be done through the API."""
    with server.client() as client:
        a_memory(client, a_book(client, BOOK), "mem_1")
        database = open_connection(server.data_dir / "loregraph.db", read_only=False)
        database.execute(ADD_ORPHAN)
        database.close()
        yield client


def test_reading_never_fails_on_a_link_to_what_is_gone(with_orphan: Client) -> None:
    assert attachments(with_orphan, BOOK) == {"mem_1": [ref("BOOK", BOOK)]}
    assert ids(with_orphan, BOOK, ref("CHARACTER", "char_gone")) == ["mem_1"]


def test_link_to_what_is_gone_can_be_detached(with_orphan: Client) -> None:
    payload = with_orphan.mutate(
        "detachMemories", MEMORIES_NOW, bookId=BOOK, memoryIds=["mem_1"], entities=[ref("CHARACTER", "char_gone")]
    )

    assert payload == {"memories": [{"id": "mem_1", "attachedTo": [ref("BOOK", BOOK)]}], "problems": []}
    assert ids(with_orphan, BOOK, ref("CHARACTER", "char_gone")) == []


# Replacing the list


def test_update_replaces_the_whole_list(client: Client, book: str, tanaka: str, stone: str, chapter: str) -> None:
    a_memory(client, book, "mem_1", ref("CHARACTER", tanaka), ref("TERM", stone))
    refs = [ref("CHAPTER", chapter), ref("TERM", stone)]

    payload = client.mutate("updateMemory", MEMORY_NOW, id="mem_1", attachedTo=refs)

    assert payload == {"memory": {"id": "mem_1", "attachedTo": refs}, "problems": []}
    assert attached_ids(client, "CHARACTER", tanaka) == []
    assert attached_ids(client, "TERM", stone) == ["mem_1"]
    assert attached_ids(client, "CHAPTER", chapter) == ["mem_1"]


@pytest.mark.parametrize("given", [[], None])
def test_update_to_no_attachment_leaves_the_memory_on_its_book(
    client: Client, book: str, tanaka: str, given: list[Ref] | None
) -> None:
    a_memory(client, book, "mem_1", ref("CHARACTER", tanaka))

    payload = client.mutate("updateMemory", MEMORY_NOW, id="mem_1", attachedTo=given)

    assert payload == {"memory": {"id": "mem_1", "attachedTo": [ref("BOOK", book)]}, "problems": []}
    assert attached_ids(client, "CHARACTER", tanaka) == []


def test_update_without_attachments_leaves_them(client: Client, book: str, tanaka: str) -> None:
    a_memory(client, book, "mem_1", ref("CHARACTER", tanaka))

    payload = client.mutate(
        "updateMemory", "memory { summary attachedTo { type id } }", id="mem_1", summary="新しい要点"
    )

    assert payload["memory"] == {"summary": "新しい要点", "attachedTo": [ref("CHARACTER", tanaka)]}


def test_second_change_in_one_request_answers_what_is_true_after_it(client: Client, book: str, tanaka: str) -> None:
    a_memory(client, book, "mem_1")

    answer = client.ask(
        """mutation($refs: [EntityRefInput!]!) {
          first: updateMemory(input: {id: "mem_1", summary: "一"}) { memory { attachedTo { type id } } }
          second: updateMemory(input: {id: "mem_1", attachedTo: $refs}) { memory { attachedTo { type id } } }
        }""",
        refs=[ref("CHARACTER", tanaka)],
    )

    assert answer == {
        "first": {"memory": {"attachedTo": [ref("BOOK", book)]}},
        "second": {"memory": {"attachedTo": [ref("CHARACTER", tanaka)]}},
    }


# Many at once


def test_many_memories_are_attached_to_many_entities(
    client: Client, book: str, tanaka: str, stone: str, chapter: str
) -> None:
    a_memory(client, book, "mem_1", ref("CHAPTER", chapter))
    a_memory(client, book, "mem_2", ref("TERM", stone))
    a_memory(client, book, "untouched")
    refs = [ref("CHARACTER", tanaka), ref("TERM", stone)]

    payload = client.mutate("attachMemories", MEMORIES_NOW, bookId=book, memoryIds=["mem_2", "mem_1"], entities=refs)

    first = {"id": "mem_1", "attachedTo": [ref("CHAPTER", chapter), ref("CHARACTER", tanaka), ref("TERM", stone)]}
    second = {"id": "mem_2", "attachedTo": [ref("TERM", stone), ref("CHARACTER", tanaka)]}
    assert payload == {"memories": [second, first], "problems": []}
    assert attachments(client, book) == {
        "mem_1": first["attachedTo"],
        "mem_2": second["attachedTo"],
        "untouched": [ref("BOOK", book)],
    }


def test_memory_named_twice_is_attached_and_answered_once(client: Client, book: str, tanaka: str) -> None:
    a_memory(client, book, "mem_1")

    payload = client.mutate(
        "attachMemories",
        "memories { id }",
        bookId=book,
        memoryIds=["mem_1", "mem_1"],
        entities=[ref("CHARACTER", tanaka), ref("CHARACTER", tanaka)],
    )

    assert payload == {"memories": [{"id": "mem_1"}], "problems": []}
    assert attachments(client, book) == {"mem_1": [ref("BOOK", book), ref("CHARACTER", tanaka)]}


def test_many_memories_are_detached_and_the_last_link_leaves_the_book(
    client: Client, book: str, tanaka: str, stone: str, chapter: str
) -> None:
    a_memory(client, book, "mem_1", ref("CHARACTER", tanaka), ref("TERM", stone))
    a_memory(client, book, "mem_2", ref("CHARACTER", tanaka), ref("CHAPTER", chapter))
    a_memory(client, book, "untouched", ref("CHARACTER", tanaka))

    payload = client.mutate(
        "detachMemories",
        MEMORIES_NOW,
        bookId=book,
        memoryIds=["mem_1", "mem_2"],
        entities=[ref("CHARACTER", tanaka), ref("TERM", stone)],
    )

    first = {"id": "mem_1", "attachedTo": [ref("BOOK", book)]}
    second = {"id": "mem_2", "attachedTo": [ref("CHAPTER", chapter)]}
    assert payload == {"memories": [first, second], "problems": []}
    assert attachments(client, book) == {
        "mem_1": first["attachedTo"],
        "mem_2": second["attachedTo"],
        "untouched": [ref("CHARACTER", tanaka)],
    }


def test_memory_detached_from_its_book_stays_on_it_when_nothing_else_is_left(client: Client, book: str) -> None:
    a_memory(client, book, "mem_1")

    payload = client.mutate(
        "detachMemories", MEMORIES_NOW, bookId=book, memoryIds=["mem_1"], entities=[ref("BOOK", book)]
    )

    assert payload == {"memories": [{"id": "mem_1", "attachedTo": [ref("BOOK", book)]}], "problems": []}


def test_detaching_what_is_not_attached_changes_nothing(client: Client, book: str, tanaka: str, stone: str) -> None:
    a_memory(client, book, "mem_1", ref("CHARACTER", tanaka))
    before = everything(client)

    payload = client.mutate(
        "detachMemories", "memories { id }", bookId=book, memoryIds=["mem_1"], entities=[ref("TERM", stone)]
    )

    assert payload == {"memories": [{"id": "mem_1"}], "problems": []}
    assert everything(client) == before


@pytest.mark.usefixtures("other_book")
@pytest.mark.parametrize("bad", ["mem_missing", "mem_other"])
@pytest.mark.parametrize(("mutation", "type_"), [("attachMemories", "TERM"), ("detachMemories", "CHARACTER")])
def test_one_bad_memory_keeps_all_others_as_they_were(
    client: Client, tanaka: str, mutation: str, type_: str, bad: str
) -> None:
    a_term(client, BOOK, tanaka)
    a_memory(client, BOOK, "mem_1", ref("CHARACTER", tanaka))
    a_memory(client, BOOK, "mem_2", ref("CHARACTER", tanaka))
    before = everything(client)

    payload = client.mutate(
        mutation, "memories { id }", bookId=BOOK, memoryIds=["mem_1", bad, "mem_2"], entities=[ref(type_, tanaka)]
    )

    assert payload["memories"] is None
    assert problem(payload) == {
        "code": "NOT_FOUND",
        "message": f"memoryIds[1]: there is no memory '{bad}' here.",
        "path": ["memoryIds", "1"],
    }
    assert everything(client) == before


@pytest.mark.parametrize(
    ("mutation", "fields"),
    [
        ("attachMemories", {"memoryIds": ["mem_1"]}),
        ("detachMemories", {"memoryIds": ["mem_1"]}),
        ("attachMatching", {"query": "要点"}),
    ],
)
def test_without_an_entity_there_is_nothing_to_attach_to(
    client: Client, book: str, mutation: str, fields: dict[str, Any]
) -> None:
    a_memory(client, book, "mem_1")
    before = everything(client)

    payload = client.mutate(mutation, "memories { id }", bookId=book, entities=[], **fields)

    assert payload["memories"] is None
    assert problem(payload) == {"code": "BAD_INPUT", "message": "entities must not be empty.", "path": ["entities"]}
    assert everything(client) == before


# Attaching whatever matches


@pytest.mark.parametrize("query", ["Sand Road", "sand road", "SAND ROAD", "Ｓａｎｄ　Ｒｏａｄ"])
def test_every_memory_that_contains_the_text_is_attached(client: Client, book: str, tanaka: str, query: str) -> None:
    import_memories(
        client,
        book,
        {"id": "in_summary", "summary": "On the sand road", "lastAccessedAt": "2026-01-03T00:00:00Z"},
        {"id": "in_content", "content": "The Ｓａｎｄ Ｒｏａｄ ends.", "lastAccessedAt": "2026-01-02T00:00:00Z"},
        {"id": "part_of_a_word", "content": "Quicksand roadside", "lastAccessedAt": "2026-01-01T00:00:00Z"},
        {"id": "no_match", "summary": "sand", "content": "road"},
    )

    payload = client.mutate(
        "attachMatching", MEMORIES_NOW, bookId=book, query=query, entities=[ref("CHARACTER", tanaka)]
    )

    now = [ref("BOOK", book), ref("CHARACTER", tanaka)]
    assert payload["problems"] == []
    assert sorted(payload["memories"], key=itemgetter("id")) == [
        {"id": "in_content", "attachedTo": now},
        {"id": "in_summary", "attachedTo": now},
        {"id": "part_of_a_word", "attachedTo": now},
    ]
    assert attachments(client, book)["no_match"] == [ref("BOOK", book)]


def test_memories_mentioning_a_name_are_attached_to_the_one_who_bears_it(
    client: Client, book: str, tanaka: str, other_book: str
) -> None:
    a_memory(client, book, "mem_1", content="田中太郎は医者だった。")
    a_memory(client, book, "mem_2", content="鈴木は漁師だった。")
    a_memory(client, other_book, "mem_elsewhere", content="田中太郎は別人だ。")

    payload = client.mutate(
        "attachMatching", "memories { id }", bookId=book, query="田中太郎", entities=[ref("CHARACTER", tanaka)]
    )

    assert payload == {"memories": [{"id": "mem_1"}], "problems": []}
    assert attached_ids(client, "CHARACTER", tanaka) == ["mem_1"]
    assert attachments(client, other_book)["mem_elsewhere"] == [ref("BOOK", other_book)]


@pytest.mark.parametrize("query", ["鈴木", "%", "_", "要点\n全文"])
def test_text_that_stands_nowhere_attaches_nothing(client: Client, book: str, tanaka: str, query: str) -> None:
    a_memory(client, book, "mem_1", summary="要点", content="全文")
    before = everything(client)

    payload = client.mutate(
        "attachMatching", "memories { id }", bookId=book, query=query, entities=[ref("CHARACTER", tanaka)]
    )

    assert payload == {"memories": [], "problems": []}
    assert everything(client) == before


# The limit of many


def test_a_thousand_memories_are_imported_and_attached_at_once(client: Client, book: str, tanaka: str) -> None:
    names = [f"mem_{number:04}" for number in range(1000)]

    import_memories(client, book, *({"id": name, "summary": "千の一つ"} for name in names))
    attached = client.mutate(
        "attachMemories", "memories { id }", bookId=book, memoryIds=names, entities=[ref("CHARACTER", tanaka)]
    )
    matched = client.mutate(
        "attachMatching", "memories { id }", bookId=book, query="千の", entities=[ref("CHARACTER", tanaka)]
    )
    detached = client.mutate(
        "detachMemories", "memories { id }", bookId=book, memoryIds=names, entities=[ref("BOOK", book)]
    )

    assert attached == detached == {"memories": [{"id": name} for name in names], "problems": []}
    assert matched["problems"] == []
    assert sorted(memory["id"] for memory in matched["memories"]) == names
    counts = (
        "{ character(id: %s) { attachedMemories { totalCount } } book(id: %s) { attachedMemories { totalCount } } }"
    )
    assert client.ask(counts % (f'"{tanaka}"', f'"{book}"')) == {
        "character": {"attachedMemories": {"totalCount": 1000}},
        "book": {"attachedMemories": {"totalCount": 0}},
    }


@pytest.mark.parametrize("mutation", ["attachMemories", "detachMemories"])
def test_more_than_a_thousand_memories_are_refused(client: Client, book: str, tanaka: str, mutation: str) -> None:
    a_memory(client, book, "mem_0")
    before = everything(client)

    payload = client.mutate(
        mutation,
        "memories { id }",
        bookId=book,
        memoryIds=[f"mem_{number}" for number in range(1001)],
        entities=[ref("BOOK", book)],
    )

    assert payload["memories"] is None
    assert problem(payload) == {
        "code": "BAD_INPUT",
        "message": "memoryIds: 1001 items are too many for one request; the limit is 1000.",
        "path": ["memoryIds"],
    }
    assert everything(client) == before


def test_import_of_more_than_a_thousand_is_refused(client: Client, book: str) -> None:
    before = everything(client)

    payload = client.mutate(
        "importMemories", "memories { id }", bookId=book, memories=[{"content": "全文", "summary": "要点"}] * 1001
    )

    assert payload["memories"] is None
    assert problem(payload) == {
        "code": "BAD_INPUT",
        "message": "memories: 1001 items are too many for one request; the limit is 1000.",
        "path": ["memories"],
    }
    assert everything(client) == before


def test_text_that_matches_more_than_a_thousand_attaches_none(client: Client, book: str, tanaka: str) -> None:
    import_memories(client, book, *({} for _ in range(1000)))
    import_memories(client, book, {})

    payload = client.mutate(
        "attachMatching", "memories { id }", bookId=book, query="要点", entities=[ref("CHARACTER", tanaka)]
    )

    assert payload["memories"] is None
    assert problem(payload) == {
        "code": "BAD_INPUT",
        "message": "query: 1001 items are too many for one request; the limit is 1000.",
        "path": ["query"],
    }
    assert attached_ids(client, "CHARACTER", tanaka) == []


@pytest.mark.parametrize(
    ("mutation", "path"),
    [
        ("createMemory", ["attachedTo"]),
        ("updateMemory", ["attachedTo"]),
        ("attachMemories", ["entities"]),
        ("detachMemories", ["entities"]),
        ("attachMatching", ["entities"]),
        ("importMemories", ["memories", "0", "attachedTo"]),
    ],
)
def test_more_than_a_hundred_entities_are_refused(client: Client, book: str, mutation: str, path: list[str]) -> None:
    a_memory(client, book, "mem_1")
    refs = [ref("TERM", f"term_{number}") for number in range(101)]
    text = {"content": "全文", "summary": "要点"}
    inputs: dict[str, dict[str, Any]] = {
        "createMemory": {"bookId": book, "attachedTo": refs, **text},
        "updateMemory": {"id": "mem_1", "attachedTo": refs},
        "attachMemories": {"bookId": book, "memoryIds": ["mem_1"], "entities": refs},
        "detachMemories": {"bookId": book, "memoryIds": ["mem_1"], "entities": refs},
        "attachMatching": {"bookId": book, "query": "要点", "entities": refs},
        "importMemories": {"bookId": book, "memories": [text | {"attachedTo": refs}]},
    }
    before = everything(client)

    payload = client.mutate(mutation, f"{RESULTS[mutation]} {{ id }}", **inputs[mutation])

    assert payload[RESULTS[mutation]] is None
    assert (problem(payload)["code"], problem(payload)["path"]) == ("BAD_INPUT", path)
    assert "101 items are too many for one request; the limit is 100." in problem(payload)["message"]
    assert everything(client) == before


# What becomes of a memory when its entity goes


@pytest.mark.parametrize("type_", ["CHARACTER", "TERM", "CHAPTER"])
def test_deleting_an_entity_leaves_its_memories_on_the_book(client: Client, book: str, type_: str) -> None:
    a_character(client, book, "entity_1")
    a_term(client, book, "entity_1")
    a_chapter(client, book, "entity_1")
    refs = [ref("CHARACTER", "entity_1"), ref("TERM", "entity_1"), ref("CHAPTER", "entity_1")]
    a_memory(client, book, "mem_alone", ref(type_, "entity_1"))
    a_memory(client, book, "mem_shared", *refs)

    payload = client.delete(f"delete{type_.capitalize()}", "entity_1")

    assert payload == {"deletedId": "entity_1", "problems": []}
    assert attachments(client, book) == {
        "mem_alone": [ref("BOOK", book)],
        "mem_shared": [each for each in refs if each["type"] != type_],
    }
    assert attached_ids(client, "BOOK", book) == ["mem_alone"]


def test_entity_created_again_has_no_memories_of_its_former_self(client: Client, book: str, tanaka: str) -> None:
    a_memory(client, book, "mem_1", ref("CHARACTER", tanaka))
    client.delete("deleteCharacter", tanaka)

    a_character(client, book, tanaka)

    assert attached_ids(client, "CHARACTER", tanaka) == []


def test_deleted_memory_is_shown_nowhere(client: Client, book: str, tanaka: str) -> None:
    a_memory(client, book, "mem_1", ref("CHARACTER", tanaka), ref("BOOK", book))
    a_memory(client, book, "mem_2", ref("CHARACTER", tanaka))

    payload = client.delete("deleteMemory", "mem_1")

    assert payload == {"deletedId": "mem_1", "problems": []}
    assert client.ask('{ memory(id: "mem_1") { id } }') == {"memory": None}
    assert attached_ids(client, "CHARACTER", tanaka) == ["mem_2"]
    assert attached_ids(client, "BOOK", book) == []


# Memories of an older store


def test_imported_memory_keeps_its_times_and_count_and_is_put_on_the_book(client: Client, book: str) -> None:
    payload = client.mutate(
        "importMemories",
        "memories { id content createdAt updatedAt lastAccessedAt accessCount isPinned attachedTo { type id } }",
        bookId=book,
        memories=[
            {
                "id": "mem_old",
                "content": "全文",
                "summary": "要点",
                "createdAt": "2019-05-01T09:00:00.123456+09:00",
                "lastAccessedAt": "2020-06-02T00:00:00Z",
                "accessCount": 7,
            }
        ],
    )

    expected = {
        "id": "mem_old",
        "content": "全文",
        "createdAt": "2019-05-01T00:00:00.123456+00:00",
        "updatedAt": "2019-05-01T00:00:00.123456+00:00",
        "lastAccessedAt": "2020-06-02T00:00:00.000000+00:00",
        "accessCount": 7,
        "isPinned": False,
        "attachedTo": [ref("BOOK", book)],
    }
    assert payload == {"memories": [expected], "problems": []}
    (stored,) = everything(client)["nodes"][0]["memories"]["nodes"]
    assert stored == stored | expected


def test_imported_memory_without_an_access_was_last_accessed_when_created(client: Client, book: str) -> None:
    payload = client.mutate(
        "importMemories",
        "memories { lastAccessedAt accessCount }",
        bookId=book,
        memories=[{"content": "全文", "summary": "要点", "createdAt": "2019-05-01T00:00:00Z"}],
    )

    assert payload["memories"] == [{"lastAccessedAt": "2019-05-01T00:00:00.000000+00:00", "accessCount": 0}]


def test_imported_memory_keeps_the_attachments_it_has(client: Client, book: str, tanaka: str) -> None:
    import_memories(client, book, {"id": "mem_1", "attachedTo": [ref("CHARACTER", tanaka)]}, {"id": "mem_2"})

    assert attachments(client, book) == {"mem_1": [ref("CHARACTER", tanaka)], "mem_2": [ref("BOOK", book)]}


def test_imported_memory_is_found_by_keyword(client: Client, book: str, tanaka: str) -> None:
    import_memories(
        client, book, {"id": "mem_old", "content": "田中太郎は元医者。", "createdAt": "2019-05-01T00:00:00Z"}
    )

    assert relevant(client, tanaka) == [("mem_old", "KEYWORD")]


@pytest.mark.parametrize(
    ("bad", "code", "path"),
    [
        ({"id": "mem_taken"}, "CONFLICT", ["memories", "1", "id"]),
        ({"id": "mem_new"}, "CONFLICT", ["memories", "1", "id"]),
        ({"id": "with space"}, "BAD_INPUT", ["memories", "1", "id"]),
        ({"summary": " "}, "BAD_INPUT", ["memories", "1", "summary"]),
        ({"content": ""}, "BAD_INPUT", ["memories", "1", "content"]),
        ({"accessCount": -1}, "BAD_INPUT", ["memories", "1", "accessCount"]),
    ],
)
def test_import_with_one_bad_memory_brings_in_none(
    client: Client, book: str, bad: dict[str, Any], code: str, path: list[str]
) -> None:
    a_memory(client, book, "mem_taken")
    before = everything(client)
    text = {"content": "全文", "summary": "要点"}

    payload = client.mutate(
        "importMemories", "memories { id }", bookId=book, memories=[text | {"id": "mem_new"}, text | bad, text]
    )

    assert payload["memories"] is None
    assert (problem(payload)["code"], problem(payload)["path"]) == (code, path)
    assert everything(client) == before


def test_import_into_an_unknown_book_is_refused(client: Client, book: str) -> None:
    before = everything(client)

    payload = client.mutate(
        "importMemories", "memories { id }", bookId="book_missing", memories=[{"content": "全文", "summary": "要点"}]
    )

    assert payload["memories"] is None
    assert problem(payload) == {
        "code": "NOT_FOUND",
        "message": "bookId: there is no book 'book_missing' here.",
        "path": ["bookId"],
    }
    assert everything(client) == before


# What is relevant to an entity

RELEVANT = """query($id: ID!, $limit: Int!, $retrieval: Retrieval!) {
  character(id: $id) {
    relevantMemories(limit: $limit, retrieval: $retrieval) { memory { id } match via { type id } }
  }
}"""


def relevant(client: Client, character: str, retrieval: str = "MERGE", limit: int = 100) -> list[tuple[str, str]]:
    """Each (memory id, how it was found); brought up by the character itself."""
    answer = client.ask(RELEVANT, id=character, limit=limit, retrieval=retrieval)
    found = answer["character"]["relevantMemories"]
    assert [each["via"] for each in found] == [[ref("CHARACTER", character)]] * len(found)
    return [(each["memory"]["id"], each["match"]) for each in found]


@pytest.fixture
def old_and_new(client: Client, book: str, tanaka: str) -> None:
    """Memories from before there were attachments, beside new ones, the old ones accessed last."""
    on_tanaka = [ref("CHARACTER", tanaka)]
    import_memories(
        client,
        book,
        {"id": "old_1", "content": "田中太郎は左利き。", "lastAccessedAt": "2026-05-01T00:00:00Z"},
        {"id": "old_2", "summary": "田中太郎の妹", "lastAccessedAt": "2026-05-02T00:00:00Z"},
        {"id": "old_other", "summary": "鈴木の船", "lastAccessedAt": "2026-05-03T00:00:00Z"},
        {"id": "new_1", "attachedTo": on_tanaka, "lastAccessedAt": "2026-01-01T00:00:00Z"},
        {"id": "new_2", "content": "田中太郎", "attachedTo": on_tanaka, "lastAccessedAt": "2026-01-02T00:00:00Z"},
    )


@pytest.mark.usefixtures("old_and_new")
def test_attached_memories_come_first_then_keyword_matches_each_once(client: Client, tanaka: str) -> None:
    assert relevant(client, tanaka) == [
        ("new_2", "ATTACHED"),
        ("new_1", "ATTACHED"),
        ("old_2", "KEYWORD"),
        ("old_1", "KEYWORD"),
    ]


@pytest.mark.usefixtures("old_and_new")
def test_merging_is_what_is_done_unless_asked_otherwise(client: Client, tanaka: str) -> None:
    answer = client.ask('{ character(id: "char_001") { relevantMemories { memory { id } } } }')

    found = [each["memory"]["id"] for each in answer["character"]["relevantMemories"]]
    assert found == ["new_2", "new_1", "old_2", "old_1"]


@pytest.mark.usefixtures("old_and_new")
@pytest.mark.parametrize("retrieval", ["FALLBACK", "ATTACHED"])
def test_where_something_is_attached_keywords_are_not_fallen_back_on(
    client: Client, tanaka: str, retrieval: str
) -> None:
    assert relevant(client, tanaka, retrieval) == [("new_2", "ATTACHED"), ("new_1", "ATTACHED")]


@pytest.mark.usefixtures("old_and_new")
def test_entity_without_attached_memories_falls_back_on_keywords(client: Client, book: str) -> None:
    suzuki = a_character(client, book, "char_002", name="鈴木")

    assert relevant(client, suzuki, "FALLBACK") == [("old_other", "KEYWORD")]
    assert relevant(client, suzuki, "MERGE") == [("old_other", "KEYWORD")]
    assert relevant(client, suzuki, "ATTACHED") == []


@pytest.mark.usefixtures("old_and_new")
def test_relevant_memories_stop_at_the_limit(client: Client, tanaka: str) -> None:
    assert relevant(client, tanaka, limit=3) == [("new_2", "ATTACHED"), ("new_1", "ATTACHED"), ("old_2", "KEYWORD")]
    assert relevant(client, tanaka, limit=1) == [("new_2", "ATTACHED")]


def test_ten_relevant_memories_are_answered_unless_asked_otherwise(client: Client, book: str, tanaka: str) -> None:
    import_memories(client, book, *({"attachedTo": [ref("CHARACTER", tanaka)]} for _ in range(11)))

    answer = client.ask('{ character(id: "char_001") { relevantMemories { match } } }')

    assert answer["character"]["relevantMemories"] == [{"match": "ATTACHED"}] * 10


@pytest.mark.parametrize("limit", [0, -1, 101])
def test_limit_of_relevant_memories_is_from_1_to_100(client: Client, tanaka: str, limit: int) -> None:
    (error,) = client.errors(RELEVANT, id=tanaka, limit=limit, retrieval="MERGE")

    assert error["message"] == f"limit must be from 1 to 100, not {limit}."
    assert error["extensions"] == {"code": "BAD_INPUT", "path": ["limit"]}


def test_pinned_memories_come_first_attached_or_not(client: Client, book: str, tanaka: str) -> None:
    on_tanaka = ref("CHARACTER", tanaka)
    a_memory(client, book, "pinned_keyword", content="田中太郎", isPinned=True)
    a_memory(client, book, "pinned_attached", on_tanaka, isPinned=True)
    a_memory(client, book, "keyword", content="田中太郎")
    a_memory(client, book, "attached", on_tanaka)

    assert relevant(client, tanaka) == [
        ("pinned_attached", "ATTACHED"),
        ("pinned_keyword", "KEYWORD"),
        ("attached", "ATTACHED"),
        ("keyword", "KEYWORD"),
    ]
    assert relevant(client, tanaka, limit=1) == [("pinned_attached", "ATTACHED")]


def test_memory_comes_first_from_when_it_is_pinned_until_it_is_not(client: Client, book: str, tanaka: str) -> None:
    a_memory(client, book, "older", ref("CHARACTER", tanaka))
    a_memory(client, book, "newer", ref("CHARACTER", tanaka))

    client.mutate("updateMemory", "memory { id }", id="older", isPinned=True)
    while_pinned = relevant(client, tanaka, limit=1)
    client.mutate("updateMemory", "memory { id }", id="older", isPinned=None)

    assert while_pinned == [("older", "ATTACHED")]
    assert relevant(client, tanaka, limit=1) == [("newer", "ATTACHED")]


def test_pinning_does_not_change_the_order_of_attached_memories(client: Client, book: str, tanaka: str) -> None:
    a_memory(client, book, "older", ref("CHARACTER", tanaka), isPinned=True)
    a_memory(client, book, "newer", ref("CHARACTER", tanaka))

    assert attached_ids(client, "CHARACTER", tanaka) == ["newer", "older"]


def test_alias_is_a_keyword_too(client: Client, book: str) -> None:
    taro = a_character(client, book, "char_002", name="田中太郎", aliases=[{"name": "タロー"}, {"name": "Doc"}])
    a_memory(client, book, "by_alias", content="タローと呼ばれた。")
    a_memory(client, book, "by_latin_alias", content="They call him Doc.")
    a_memory(client, book, "by_nothing", content="ドク")

    assert relevant(client, taro) == [("by_latin_alias", "KEYWORD"), ("by_alias", "KEYWORD")]


def test_translation_is_no_keyword(client: Client, book: str) -> None:
    taro = a_character(client, book, "char_002", name="田中太郎", translation="Taro")
    a_memory(client, book, "mem_1", content="Taro")

    assert relevant(client, taro) == []


def test_memories_of_another_book_are_not_matched(client: Client, book: str, tanaka: str, other_book: str) -> None:
    a_memory(client, other_book, "mem_elsewhere", content="田中太郎")

    assert relevant(client, tanaka) == []


def test_term_finds_memories_by_its_name(client: Client, book: str, stone: str) -> None:
    a_memory(client, book, "keyword", content="魔石が光る")
    a_memory(client, book, "attached", ref("TERM", stone))

    answer = client.ask('{ term(id: "term_001") { relevantMemories { memory { id } match via { name } } } }')

    assert answer["term"]["relevantMemories"] == [
        {"memory": {"id": "attached"}, "match": "ATTACHED", "via": [{"name": "魔石"}]},
        {"memory": {"id": "keyword"}, "match": "KEYWORD", "via": [{"name": "魔石"}]},
    ]


@pytest.mark.parametrize("retrieval", ["MERGE", "FALLBACK", "ATTACHED"])
def test_chapters_and_books_have_attached_memories_only(client: Client, book: str, retrieval: str) -> None:
    chapter = a_chapter(client, book, "chap_1", name="海へ")
    a_memory(client, book, "names_both", ref("CHAPTER", chapter), content="砂の道、海へ")
    a_memory(client, book, "on_book", content="砂の道、海へ")

    answer = client.ask(
        """query($retrieval: Retrieval!) {
          book(id: "book_1") { relevantMemories(retrieval: $retrieval) { memory { id } match via { type id } } }
          chapter(id: "chap_1") { relevantMemories(retrieval: $retrieval) { memory { id } match via { type id } } }
        }""",
        retrieval=retrieval,
    )

    of_book = {"memory": {"id": "on_book"}, "match": "ATTACHED", "via": [ref("BOOK", book)]}
    of_chapter = {"memory": {"id": "names_both"}, "match": "ATTACHED", "via": [ref("CHAPTER", chapter)]}
    assert answer == {"book": {"relevantMemories": [of_book]}, "chapter": {"relevantMemories": [of_chapter]}}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Ann", "Ann came home"),
        ("Ann", "home came Ann"),
        ("Ann", "ANN! ann?"),
        ("ANN", "Ann"),
        ("Ann", "Ann's hat"),
        ("Ann", "Anna, then Ann"),
        ("Ann", "Annは笑った"),
        ("Ann", "彼女はＡｎｎという"),
        ("Ａｎｎ", "ann"),
        ("Mary Ann", "MARY ANN sang"),
        ("Zoë", "Zoe\u0308 sang"),
        ("Анна", "АННА пришла"),
        ("アン", "アンが来た"),
        ("アン", "小さなアン"),
        ("アン", "ジョン・アン・スミス"),
        ("アン", "Annとアン"),
        ("ｱﾝ", "アンが来た"),
        ("アン", "ｱﾝが来た"),
        ("ガロ", "ｶﾞﾛの剣"),
        ("魔石", "大魔石の力"),
        ("田中", "田中太郎が来た"),
        ("さくら", "いさくらべ"),
        ("김철수", "김철수가 왔다"),
        ("𠮷田", "昔の𠮷田屋"),
        ("🧙‍♀️", "森の🧙‍♀️だ"),
        ("C++", "C++で書く"),
        ("Ann", "一行目\nAnn\n三行目"),
    ],
)
def test_memory_containing_the_whole_name_is_found(client: Client, book: str, name: str, text: str) -> None:
    bearer = a_character(client, book, name=name)
    in_content = a_memory(client, book, None, content=text)
    in_summary = a_memory(client, book, None, summary=text)

    assert relevant(client, bearer) == [(in_summary, "KEYWORD"), (in_content, "KEYWORD")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Ann", "Anna came home"),
        ("Ann", "Joann came home"),
        ("Ann", "ＡＮＮＡ"),
        ("Ann", "Ann2"),
        ("Ann", "A nn"),
        ("Zoe", "Zoë sang"),
        ("Zo", "Zoe\u0308 sang"),
        ("Анн", "Анна пришла"),
        ("アン", "アンナが来た"),
        ("アン", "ジョアン"),
        ("アン", "ｱﾝﾅが来た"),
        ("タロ", "タローが来た"),
        ("アン", "あん"),
        ("田中太郎", "田中が来た"),
        ("田中太郎", "太郎、田中"),
        ("魔石", "魔の石"),
    ],
)
def test_memory_containing_only_part_of_the_name_or_a_longer_word_is_not(
    client: Client, book: str, name: str, text: str
) -> None:
    bearer = a_character(client, book, name=name)
    a_memory(client, book, None, content=text)
    a_memory(client, book, None, summary=text)

    assert relevant(client, bearer) == []
