"""Books, characters, terms and chapters over HTTP: create, read, change, delete."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.api.building import (
    Owners,
    a_book,
    a_chapter,
    a_character,
    a_memory,
    a_term,
    everything,
    import_memories,
    ref,
    serving_owners,
)
from tests.serving import Client

BOOK = "book_1"


@pytest.fixture(scope="module")
def owners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owners]:
    with serving_owners(tmp_path_factory.mktemp("data")) as owners:
        yield owners


@pytest.fixture
def client(owners: Owners) -> Iterator[Client]:
    with owners.next_client() as client:
        yield client


@dataclass(frozen=True)
class Kind:
    """One type of entity: its field in queries and payloads, what it can carry, and what it carries at the least."""

    field: str
    prefix: str
    selection: str
    full: dict[str, Any]
    bare: dict[str, Any]

    @property
    def create(self) -> str:
        return f"create{self.field.capitalize()}"

    @property
    def update(self) -> str:
        return f"update{self.field.capitalize()}"

    @property
    def delete(self) -> str:
        return f"delete{self.field.capitalize()}"

    def look_up(self, client: Client, id: str) -> Any:
        query = f"query($id: ID!) {{ {self.field}(id: $id) {{ {self.selection} }} }}"
        return client.ask(query, id=id)[self.field]


ALIASES = [
    {"name": "タロー", "translation": "Taro", "revealedInChapter": 3},
    {"name": "先生", "translation": None, "revealedInChapter": None},
]
DESCRIBED = {"name": "田中太郎", "translation": "Tanaka Tarō", "description": "元医者", "notes": "第三章まで秘密"}
NOTHING: dict[str, Any] = {"aliases": [], "translation": None, "description": None, "notes": None}

BOOKS = Kind("book", "book", "id name contextLimit", {"name": "砂の道", "contextLimit": 25}, {"contextLimit": 10})
CHARACTERS = Kind(
    "character",
    "char",
    "id name aliases { name translation revealedInChapter } translation description gender speakingStyle notes",
    DESCRIBED | {"aliases": ALIASES, "gender": "男", "speakingStyle": "丁寧"},
    NOTHING | {"gender": None, "speakingStyle": None},
)
TERMS = Kind(
    "term",
    "term",
    "id name aliases { name translation revealedInChapter } translation description notes",
    DESCRIBED | {"aliases": ALIASES},
    NOTHING,
)
CHAPTERS = Kind("chapter", "chap", "id name number", {"name": "海へ", "number": 5}, {})

KINDS = [BOOKS, CHARACTERS, TERMS, CHAPTERS]
OWNED = [CHARACTERS, TERMS, CHAPTERS]

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.field)
every_owned_kind = pytest.mark.parametrize("kind", OWNED, ids=lambda kind: kind.field)


def needed(kind: Kind) -> dict[str, Any]:
    """The least that must be said to create one in the book."""
    fields: dict[str, Any] = {} if kind is BOOKS else {"bookId": BOOK}
    return fields | {"name": "無名"} | ({"number": 1} if kind is CHAPTERS else {})


def create(client: Client, kind: Kind, **fields: Any) -> Any:
    return client.mutate(kind.create, f"{kind.field} {{ {kind.selection} }}", **needed(kind) | fields)


def update(client: Client, kind: Kind, **fields: Any) -> Any:
    return client.mutate(kind.update, f"{kind.field} {{ {kind.selection} }}", **fields)


def refused(kind: Kind, code: str, message: str, *path: str) -> dict[str, Any]:
    return {kind.field: None, "problems": [{"code": code, "message": message, "path": list(path)}]}


# Creating


@pytest.mark.usefixtures("book")
@every_kind
def test_every_field_comes_back_as_it_was_given(client: Client, kind: Kind) -> None:
    payload = create(client, kind, id="given_1", **kind.full)

    assert payload == {kind.field: {"id": "given_1", **kind.full}, "problems": []}
    assert kind.look_up(client, "given_1") == {"id": "given_1", **kind.full}


@pytest.mark.usefixtures("book")
@every_kind
def test_only_what_is_needed_must_be_given(client: Client, kind: Kind) -> None:
    create(client, kind, id="given_1")

    number = {"number": 1} if kind is CHAPTERS else {}
    assert kind.look_up(client, "given_1") == {"id": "given_1", "name": "無名"} | number | kind.bare


@pytest.mark.usefixtures("book")
@every_owned_kind
def test_entity_knows_its_type_and_its_book(client: Client, kind: Kind) -> None:
    create(client, kind, id="given_1")

    answer = client.ask(f'{{ {kind.field}(id: "given_1") {{ type book {{ type id name }} }} }}')

    assert answer[kind.field] == {
        "type": kind.field.upper(),
        "book": {"type": "BOOK", "id": BOOK, "name": "砂の道"},
    }


@pytest.mark.usefixtures("book")
@every_kind
def test_blanks_around_a_name_are_dropped(client: Client, kind: Kind) -> None:
    created = create(client, kind, id="given_1", name="\u3000 田中 太郎\t\n")
    changed = update(client, kind, id="given_1", name="  鈴木 ")

    assert created[kind.field]["name"] == "田中 太郎"
    assert changed[kind.field]["name"] == "鈴木"


@pytest.mark.usefixtures("book")
@every_kind
def test_ids_are_made_with_a_prefix_and_later_ones_sort_later(client: Client, kind: Kind) -> None:
    numbered: list[dict[str, Any]] = [{"number": number} if kind is CHAPTERS else {} for number in range(20)]

    made = [create(client, kind, **fields)[kind.field]["id"] for fields in numbered]

    assert all(re.fullmatch(rf"{kind.prefix}_[0-9a-z]{{26}}", id_) for id_ in made)
    assert sorted(set(made)) == made


def test_ids_of_memories_are_made_with_a_prefix_and_later_ones_sort_later(client: Client, book: str) -> None:
    payload = client.mutate(
        "importMemories", "memories { id }", bookId=book, memories=[{"content": "全文", "summary": "要点"}] * 100
    )
    last = a_memory(client, book, None)

    made = [memory["id"] for memory in payload["memories"]] + [last]
    assert all(re.fullmatch(r"mem_[0-9a-z]{26}", id_) for id_ in made)
    assert sorted(set(made)) == made


@pytest.mark.usefixtures("book")
@every_kind
def test_second_use_of_an_id_is_a_conflict(client: Client, kind: Kind) -> None:
    create(client, kind, id="given_1", **kind.full)
    before = everything(client)

    payload = create(client, kind, id="given_1", name="別人", **({"number": 9} if kind is CHAPTERS else {}))

    message = "id: the id 'given_1' is taken; choose another or leave it out."
    assert payload == refused(kind, "CONFLICT", message, "id")
    assert everything(client) == before


@every_owned_kind
def test_id_taken_in_one_book_is_taken_in_every_book(client: Client, book: str, kind: Kind) -> None:
    create(client, kind, id="given_1")
    other = a_book(client, "book_2")
    before = everything(client)

    payload = create(client, kind, id="given_1", bookId=other)

    message = "id: the id 'given_1' is taken; choose another or leave it out."
    assert payload == refused(kind, "CONFLICT", message, "id")
    assert everything(client) == before


def test_second_use_of_the_id_of_a_memory_is_a_conflict(client: Client, book: str) -> None:
    a_memory(client, book, "mem_1")
    before = everything(client)

    payload = client.mutate("createMemory", "memory { id }", id="mem_1", bookId=book, content="別", summary="別")

    assert payload["memory"] is None
    assert [(each["code"], each["path"]) for each in payload["problems"]] == [("CONFLICT", ["id"])]
    assert everything(client) == before


def test_same_id_may_be_used_for_different_types(client: Client) -> None:
    a_book(client, "same", name="本")
    a_character(client, "same", "same", name="人")
    a_term(client, "same", "same", name="語")
    a_chapter(client, "same", "same", name="章")
    a_memory(client, "same", "same", summary="記憶")

    answer = client.ask(
        """{ book(id: "same") { name } character(id: "same") { name } term(id: "same") { name }
             chapter(id: "same") { name } memory(id: "same") { summary } }"""
    )

    assert answer == {
        "book": {"name": "本"},
        "character": {"name": "人"},
        "term": {"name": "語"},
        "chapter": {"name": "章"},
        "memory": {"summary": "記憶"},
    }


@pytest.mark.usefixtures("book")
@every_owned_kind
def test_entity_of_an_unknown_book_is_refused(client: Client, kind: Kind) -> None:
    before = everything(client)

    payload = create(client, kind, id="given_1", bookId="book_missing")

    assert payload == refused(kind, "NOT_FOUND", "bookId: there is no book 'book_missing' here.", "bookId")
    assert everything(client) == before
    assert kind.look_up(client, "given_1") is None


@pytest.mark.parametrize("kind", [BOOKS, CHARACTERS, TERMS, CHAPTERS], ids=lambda kind: kind.field)
def test_unknown_look_up_answers_null(client: Client, kind: Kind) -> None:
    assert kind.look_up(client, "missing") is None


def test_unknown_memory_answers_null(client: Client) -> None:
    assert client.ask('{ memory(id: "missing") { id } }') == {"memory": None}


# Changing


@pytest.mark.usefixtures("book")
@every_kind
def test_update_without_fields_leaves_all(client: Client, kind: Kind) -> None:
    create(client, kind, id="given_1", **kind.full)

    payload = update(client, kind, id="given_1")

    assert payload == {kind.field: {"id": "given_1", **kind.full}, "problems": []}
    assert kind.look_up(client, "given_1") == {"id": "given_1", **kind.full}


CHANGES: list[tuple[Kind, str, Any]] = [
    (BOOKS, "name", "海の道"),
    (BOOKS, "contextLimit", 100),
    (CHARACTERS, "name", "田中次郎"),
    (CHARACTERS, "aliases", [{"name": "ジロー", "translation": None, "revealedInChapter": 0}]),
    (CHARACTERS, "aliases", []),
    (CHARACTERS, "translation", "Tanaka Jirō"),
    (CHARACTERS, "description", "漁師"),
    (CHARACTERS, "gender", ""),
    (CHARACTERS, "speakingStyle", "ぶっきらぼう"),
    (CHARACTERS, "notes", "一行目\n二行目"),
    (TERMS, "name", "魔石"),
    (TERMS, "aliases", [{"name": "石", "translation": "stone", "revealedInChapter": 1_000_000}]),
    (TERMS, "translation", "magic stone"),
    (TERMS, "description", "光る石"),
    (TERMS, "notes", "高価"),
    (CHAPTERS, "name", "山へ"),
    (CHAPTERS, "number", 0),
]


@pytest.mark.usefixtures("book")
@pytest.mark.parametrize(("kind", "field", "value"), CHANGES)
def test_update_changes_the_named_field_alone(client: Client, kind: Kind, field: str, value: object) -> None:
    create(client, kind, id="given_1", **kind.full)
    create(client, kind, id="given_2", **kind.full | ({"number": 9} if kind is CHAPTERS else {}))
    bystander = kind.look_up(client, "given_2")

    payload = update(client, kind, id="given_1", **{field: value})

    changed = {"id": "given_1"} | kind.full | {field: value}
    assert payload == {kind.field: changed, "problems": []}
    assert kind.look_up(client, "given_1") == changed
    assert kind.look_up(client, "given_2") == bystander


@pytest.mark.usefixtures("book")
@every_kind
def test_null_clears_what_need_not_be_there(client: Client, kind: Kind) -> None:
    create(client, kind, id="given_1", **kind.full)

    payload = update(client, kind, id="given_1", **dict.fromkeys(kind.bare))

    cleared = {"id": "given_1"} | kind.full | kind.bare
    assert payload == {kind.field: cleared, "problems": []}
    assert kind.look_up(client, "given_1") == cleared


@pytest.mark.usefixtures("book")
@pytest.mark.parametrize("name", [None, "", "   ", "\u3000\n"])
@every_kind
def test_name_cannot_be_taken_away(client: Client, kind: Kind, name: str | None) -> None:
    create(client, kind, id="given_1", **kind.full)
    before = everything(client)

    payload = update(client, kind, id="given_1", name=name)

    assert payload == refused(kind, "BAD_INPUT", "name must not be empty.", "name")
    assert everything(client) == before


@pytest.mark.usefixtures("book")
def test_number_of_a_chapter_cannot_be_taken_away(client: Client) -> None:
    create(client, CHAPTERS, id="given_1", number=5)
    before = everything(client)

    payload = update(client, CHAPTERS, id="given_1", number=None)

    assert payload == refused(CHAPTERS, "BAD_INPUT", "number must not be empty.", "number")
    assert everything(client) == before


@pytest.mark.usefixtures("book")
@every_kind
def test_update_of_what_is_not_there_is_not_found(client: Client, kind: Kind) -> None:
    before = everything(client)

    payload = update(client, kind, id="missing", name="名")

    assert payload == refused(kind, "NOT_FOUND", f"id: there is no {kind.field} 'missing' here.", "id")
    assert everything(client) == before


def test_update_of_a_memory_changes_what_is_named_and_null_clears(client: Client, book: str) -> None:
    a_memory(client, book, "mem_1", isPinned=True, validFromChapter=2, validUntilChapter=9)
    selection = "memory { content summary isPinned validFromChapter validUntilChapter }"

    changed = client.mutate("updateMemory", selection, id="mem_1", content="新しい全文", validUntilChapter=2)
    cleared = client.mutate(
        "updateMemory", selection, id="mem_1", isPinned=None, validFromChapter=None, validUntilChapter=None
    )

    text = {"content": "新しい全文", "summary": "要点"}
    assert changed["memory"] == text | {"isPinned": True, "validFromChapter": 2, "validUntilChapter": 2}
    assert cleared["memory"] == text | {"isPinned": False, "validFromChapter": None, "validUntilChapter": None}


@pytest.mark.parametrize("field", ["content", "summary"])
@pytest.mark.parametrize("text", [None, "", " \n"])
def test_text_of_a_memory_cannot_be_taken_away(client: Client, book: str, field: str, text: str | None) -> None:
    a_memory(client, book, "mem_1")
    before = everything(client)

    payload = client.mutate("updateMemory", "memory { id }", id="mem_1", **{field: text})

    problem = {"code": "BAD_INPUT", "message": f"{field} must not be empty.", "path": [field]}
    assert payload == {"memory": None, "problems": [problem]}
    assert everything(client) == before


# Numbers of chapters


def test_chapter_numbers_are_unique_within_a_book(client: Client, book: str) -> None:
    a_chapter(client, book, "chap_1", number=5)
    before = everything(client)

    payload = create(client, CHAPTERS, id="chap_2", number=5)

    message = "number: chapter number 5 is taken by 'chap_1'; numbers are unique within a book."
    assert payload == refused(CHAPTERS, "CONFLICT", message, "number")
    assert everything(client) == before


def test_chapter_cannot_move_to_a_taken_number(client: Client, book: str) -> None:
    a_chapter(client, book, "chap_1", number=5)
    a_chapter(client, book, "chap_2", number=6)
    before = everything(client)

    payload = update(client, CHAPTERS, id="chap_2", number=5, name="新しい題")

    message = "number: chapter number 5 is taken by 'chap_1'; numbers are unique within a book."
    assert payload == refused(CHAPTERS, "CONFLICT", message, "number")
    assert everything(client) == before


def test_chapter_may_keep_its_number_and_use_one_that_was_given_up(client: Client, book: str) -> None:
    a_chapter(client, book, "chap_1", number=5)
    a_chapter(client, book, "chap_2", number=6)

    kept = update(client, CHAPTERS, id="chap_1", number=5, name="新しい題")
    moved = update(client, CHAPTERS, id="chap_1", number=7)
    taken_over = update(client, CHAPTERS, id="chap_2", number=5)

    assert kept == {"chapter": {"id": "chap_1", "name": "新しい題", "number": 5}, "problems": []}
    assert moved == {"chapter": {"id": "chap_1", "name": "新しい題", "number": 7}, "problems": []}
    assert taken_over == {"chapter": {"id": "chap_2", "name": "海へ", "number": 5}, "problems": []}


def test_chapter_number_is_free_in_another_book(client: Client, book: str) -> None:
    a_chapter(client, book, "chap_1", number=5)
    other = a_book(client, "book_2")

    payload = create(client, CHAPTERS, id="chap_2", bookId=other, number=5)

    assert payload == {"chapter": {"id": "chap_2", "name": "無名", "number": 5}, "problems": []}


# Deleting


@pytest.mark.usefixtures("book")
@every_kind
def test_deleted_entity_is_gone_and_its_id_is_free(client: Client, kind: Kind) -> None:
    create(client, kind, id="given_1", **kind.full)
    without = everything(client)["totalCount"] - (kind is BOOKS)

    payload = client.delete(kind.delete, "given_1")

    assert payload == {"deletedId": "given_1", "problems": []}
    assert kind.look_up(client, "given_1") is None
    assert everything(client)["totalCount"] == without
    assert create(client, kind, id="given_1", **kind.full)["problems"] == []


@pytest.mark.usefixtures("book")
@pytest.mark.parametrize("field", ["book", "character", "term", "chapter", "memory"])
def test_deleting_what_is_not_there_is_not_found(client: Client, field: str) -> None:
    before = everything(client)

    payload = client.delete(f"delete{field.capitalize()}", "missing")

    problem = {"code": "NOT_FOUND", "message": f"id: there is no {field} 'missing' here.", "path": ["id"]}
    assert payload == {"deletedId": None, "problems": [problem]}
    assert everything(client) == before


def fill(client: Client, book: str) -> None:
    """One of everything, with ids that end like the book's."""
    tail = book.removeprefix("book_")
    a_character(client, book, f"char_{tail}", aliases=ALIASES)
    a_term(client, book, f"term_{tail}")
    a_chapter(client, book, f"chap_{tail}")
    refs = [ref("CHARACTER", f"char_{tail}"), ref("TERM", f"term_{tail}"), ref("CHAPTER", f"chap_{tail}")]
    import_memories(client, book, {"id": f"mem_{tail}", "attachedTo": refs}, {"id": f"mem_{tail}_on_book"})


def test_deleting_a_book_deletes_all_it_owns_and_nothing_else(client: Client, book: str) -> None:
    other = a_book(client, "book_2")
    fill(client, other)
    without = everything(client)["nodes"][1]
    fill(client, book)

    payload = client.delete("deleteBook", book)

    assert payload == {"deletedId": book, "problems": []}
    assert everything(client)["nodes"] == [without]
    gone = """{ book(id: "book_1") { id } character(id: "char_1") { id } term(id: "term_1") { id }
                chapter(id: "chap_1") { id } memory(id: "mem_1") { id } on_book: memory(id: "mem_1_on_book") { id } }"""
    assert set(client.ask(gone).values()) == {None}


def test_book_created_again_is_empty(client: Client, book: str) -> None:
    fill(client, book)
    client.delete("deleteBook", book)

    a_book(client, book)

    (again,) = everything(client)["nodes"]
    nothing = {"totalCount": 0, "nodes": []}
    lists = {"characters": nothing, "terms": nothing, "chapters": nothing, "memories": nothing}
    assert again == {"id": book, "name": "砂の道", "contextLimit": 10} | lists


# Finding by name

NAMED = """query($needle: String) {
  book(id: "book_1") {
    characters(nameContains: $needle) { totalCount nodes { name } }
    terms(nameContains: $needle) { totalCount nodes { name } }
  }
}"""


@pytest.fixture
def named(client: Client, book: str) -> None:
    """Two of each kind, so that both lists must answer alike."""
    for make in (a_character, a_term):
        make(client, book, name="Ann Ｓｍｉｔｈ", aliases=[{"name": "タロー"}, {"name": "100%_本気"}])
        make(client, book, name="田中太郎", aliases=[{"name": "Straße"}])


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize(
    ("needle", "names"),
    [
        (None, ["Ann Ｓｍｉｔｈ", "田中太郎"]),
        ("", ["Ann Ｓｍｉｔｈ", "田中太郎"]),
        ("ann", ["Ann Ｓｍｉｔｈ"]),
        ("NN S", ["Ann Ｓｍｉｔｈ"]),
        ("smith", ["Ann Ｓｍｉｔｈ"]),
        ("ＳＭＩＴＨ", ["Ann Ｓｍｉｔｈ"]),
        ("ﾀﾛｰ", ["Ann Ｓｍｉｔｈ"]),
        ("ロ", ["Ann Ｓｍｉｔｈ"]),
        ("中太", ["田中太郎"]),
        ("STRASSE", ["田中太郎"]),
        ("a", ["Ann Ｓｍｉｔｈ", "田中太郎"]),
        ("%", ["Ann Ｓｍｉｔｈ"]),
        ("0%_", ["Ann Ｓｍｉｔｈ"]),
        ("_", ["Ann Ｓｍｉｔｈ"]),
        ("A_n", []),
        ("%太郎", []),
        ("*", []),
        ("'", []),
        ("太郎\nStra", []),
        ("\n", []),
        ("\x00", []),
    ],
)
def test_entities_are_found_by_part_of_a_name_or_alias(client: Client, needle: str | None, names: list[str]) -> None:
    answer = client.ask(NAMED, needle=needle)["book"]

    found = {"totalCount": len(names), "nodes": [{"name": name} for name in names]}
    assert answer == {"characters": found, "terms": found}


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize("kind", [CHARACTERS, TERMS], ids=lambda kind: kind.field)
def test_name_that_was_changed_is_found_and_the_old_one_is_not(client: Client, kind: Kind) -> None:
    create(client, kind, id="given_1", name="旧名", aliases=[{"name": "旧別名"}])
    update(client, kind, id="given_1", name="新名", aliases=[{"name": "新別名"}])

    counts = [client.ask(NAMED, needle=needle)["book"][f"{kind.field}s"]["totalCount"] for needle in ("旧", "新")]

    assert counts == [0, 1]
