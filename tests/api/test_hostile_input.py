"""Whatever is sent: no failure of the server, an answer that says what is wrong, and nothing written."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInputType,
    get_named_type,
    get_nullable_type,
    is_list_type,
    is_non_null_type,
)

from api.settings import Settings
from domain.notebook import EMPTY_VERSION
from schema import build_schema
from schema.problems import ProblemCode
from tests.api.building import Owners, a_book, a_chapter, a_character, a_memory, a_term, everything, ref, serving_owners
from tests.serving import Client, running

BOOK = "book_1"
CODES = {code.value for code in ProblemCode} - {ProblemCode.INTERNAL.value}
QUICKLY_SECONDS = 3.0

Fields = dict[str, Any]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """One server for all: whatever these tests send, what is stored must stay as it is."""
    with running(Settings(data_dir=tmp_path_factory.mktemp("data"))) as server, server.client() as client:
        a_book(client, BOOK)
        a_character(client, BOOK, "char_1")
        a_term(client, BOOK, "term_1")
        a_chapter(client, BOOK, "chap_1", number=1)
        a_chapter(client, BOOK, "chap_2", number=2)
        a_memory(client, BOOK, "mem_1", validFromChapter=5, validUntilChapter=9)
        yield client


@dataclass(frozen=True)
class Refusal:
    code: str
    message: str


def refused(client: Client, send: Callable[[], httpx.Response]) -> Refusal:
    """The one error or problem of an answer that changed nothing and is no failure of the server."""
    before = everything(client)
    response = send()
    assert response.status_code < 500, response.text
    (refusal,) = refusals(response.json())
    assert refusal.code in CODES
    assert everything(client) == before
    return refusal


def refused_inputs(client: Client, mutation: str, inputs: Sequence[Fields]) -> list[str]:
    """The code of each, in order; none of them changed anything."""
    before = everything(client)
    found = [refusals(mutate(client, mutation, fields).json()) for fields in inputs]
    assert everything(client) == before
    return [refusal.code for each in found for refusal in each]


def refusals(body: Any) -> list[Refusal]:
    errors = [Refusal(error["extensions"]["code"], error["message"]) for error in body.get("errors", ())]
    payloads = [payload for payload in (body.get("data") or {}).values() if isinstance(payload, dict)]
    problems = [
        Refusal(problem["code"], problem["message"]) for payload in payloads for problem in payload.get("problems", ())
    ]
    return errors + problems


def mutate(client: Client, mutation: str, fields: Any) -> httpx.Response:
    input_type = INPUT_TYPES[mutation]
    document = f"mutation($input: {input_type}!) {{ {mutation}(input: $input) {{ problems {{ code message }} }} }}"
    return client.post(document, input=fields)


def refused_input(client: Client, mutation: str, fields: Any) -> Refusal:
    return refused(client, lambda: mutate(client, mutation, fields))


def send_raw(client: Client, body: bytes, content_type: str | None = "application/json") -> httpx.Response:
    headers = {} if content_type is None else {"content-type": content_type}
    return client.http.post("/graphql", content=body, headers=headers)


# Wrong types, field by field, as the schema itself lists them

TEXT = {"content": "全文", "summary": "要点"}
REFS = [ref("CHARACTER", "char_1")]
VALID: dict[str, Fields] = {
    "createBook": {"name": "名"},
    "createCharacter": {"bookId": BOOK, "name": "名"},
    "createTerm": {"bookId": BOOK, "name": "名"},
    "createChapter": {"bookId": BOOK, "name": "名", "number": 3},
    "updateBook": {"id": BOOK},
    "updateCharacter": {"id": "char_1"},
    "updateTerm": {"id": "term_1"},
    "updateChapter": {"id": "chap_1"},
    "createMemory": {"bookId": BOOK, **TEXT},
    "updateMemory": {"id": "mem_1"},
    "attachMemories": {"bookId": BOOK, "memoryIds": ["mem_1"], "entities": REFS},
    "detachMemories": {"bookId": BOOK, "memoryIds": ["mem_1"], "entities": REFS},
    "attachMatching": {"bookId": BOOK, "query": "要点", "entities": REFS},
    "importMemories": {"bookId": BOOK, "memories": [TEXT]},
    "appendMemory": {"fact": "事実"},
    "appendDailyLog": {"entry": "記録"},
    "writeNotebook": {"content": "全部", "expectedVersion": EMPTY_VERSION},
    "writeDailyLog": {"date": "2026-01-31", "content": "全部"},
    "restoreNotebookVersion": {"version": EMPTY_VERSION},
    "recordTurn": {"sessionId": "s_1", "messages": [{"role": "USER", "content": "言葉"}]},
    "reportSessionEvent": {"sessionId": "s_1", "type": "COMPACTION_COMPLETE"},
    "updateMemorySettings": {},
}
# Of those within others.
VALID_PARTS: dict[str, Fields] = {
    "AliasInput": {"name": "名"},
    "EntityRefInput": REFS[0],
    "ImportMemoryInput": TEXT,
    "MessageInput": {"role": "USER", "content": "言葉"},
    "TurnAnalysisInput": {},
    "MemoryUpdateInput": {"shouldStore": True, "key": "鍵", "value": "値"},
}

WRONG: dict[str, list[Any]] = {
    "String": [5, 1.5, True, {}, ["x"], []],
    "ID": [1.5, True, {}, ["x"], []],
    "Int": ["5", 1.5, True, {}, 2**31, -(2**31) - 1, 2**63, 10**30, 1e300],
    "Float": ["0.5", True, {}, [], "NaN"],
    "Boolean": ["true", 1, {}, [True]],
    "JSON": [],
    "DateTime": [5, True, {}, "", "yesterday", "2026-13-01", "2026-01-32", "25:00", "0001-01-01T00:00:00+23:59"],
    "Date": [5, True, {}, [], "", "today", "2026-02-30", "2026-1-31", "20260131", "2026-W05-6", "2026-01-31T00:00"],
}
WRONG_LIST_ITEMS = [[None], "x", 5, [5], [[]]]


def input_types() -> dict[str, GraphQLInputObjectType]:
    """By mutation."""
    mutations = build_schema()._schema.mutation_type
    assert mutations is not None
    given = {name: each.args["input"].type for name, each in mutations.fields.items() if "input" in each.args}
    found = {name: get_named_type(type_) for name, type_ in given.items()}
    return {name: type_ for name, type_ in found.items() if isinstance(type_, GraphQLInputObjectType)}


def wrong_values(type_: GraphQLInputType) -> list[Any]:
    named = get_named_type(type_)
    nothing = [None] if is_non_null_type(type_) else []
    if is_list_type(get_nullable_type(type_)):
        # One thing where a list may stand is read as a list of one, and an ID may be a number.
        return nothing + [items for items in WRONG_LIST_ITEMS if named.name != "ID" or items in ([None], [[]])]
    if isinstance(named, GraphQLEnumType):
        return [*nothing, "NOPE", "character", 5, True, {}, []]
    if isinstance(named, GraphQLInputObjectType):
        return [*nothing, "x", 5, True, []]
    return nothing + WRONG[named.name]


def wrong_inputs(mutation: str, input_type: GraphQLInputObjectType, name: str) -> list[Fields]:
    """Inputs that are right but for the field of this name."""
    type_ = input_type.fields[name].type
    values = wrong_values(type_)
    inner = get_named_type(type_)
    if isinstance(inner, GraphQLInputObjectType):
        is_list = is_list_type(get_nullable_type(type_))
        values += [[item] if is_list else item for item in wrong_items(inner)]
    return [VALID[mutation] | {name: value} for value in values]


def wrong_items(input_type: GraphQLInputObjectType) -> Iterator[Fields]:
    valid = VALID_PARTS[input_type.name]
    for name, field in input_type.fields.items():
        yield from (valid | {name: value} for value in wrong_values(field.type))
        inner = get_named_type(field.type)
        if isinstance(inner, GraphQLInputObjectType):
            yield from (valid | {name: item} for item in wrong_items(inner))
    yield valid | {"unknown": "x"}


INPUT_TYPES = {mutation: type_.name for mutation, type_ in input_types().items()}
WRONG_INPUTS = {
    f"{mutation}.{name}": (mutation, wrong_inputs(mutation, input_type, name))
    for mutation, input_type in input_types().items()
    for name in input_type.fields
}


def test_every_mutation_with_an_input_is_tried() -> None:
    assert set(INPUT_TYPES) == set(VALID)


@pytest.mark.parametrize(("mutation", "inputs"), WRONG_INPUTS.values(), ids=WRONG_INPUTS.keys())
def test_value_of_the_wrong_type_is_refused(client: Client, mutation: str, inputs: list[Fields]) -> None:
    assert refused_inputs(client, mutation, inputs) == ["BAD_INPUT"] * len(inputs)


@pytest.mark.parametrize("mutation", VALID)
def test_input_that_is_no_object_is_refused(client: Client, mutation: str) -> None:
    inputs: list[Any] = [None, "x", 5, True, [], [VALID[mutation]], [None]]

    assert refused_inputs(client, mutation, inputs) == ["BAD_INPUT"] * len(inputs)


@pytest.mark.parametrize("mutation", VALID)
def test_input_without_what_is_needed_is_refused(client: Client, mutation: str) -> None:
    needed = [
        {name: value for name, value in VALID[mutation].items() if name != left_out} for left_out in VALID[mutation]
    ]

    assert refused_inputs(client, mutation, needed) == ["BAD_INPUT"] * len(needed)


@pytest.mark.parametrize("mutation", VALID)
def test_unknown_field_of_an_input_is_refused(client: Client, mutation: str) -> None:
    refusal = refused_input(client, mutation, VALID[mutation] | {"unknown": "x"})

    assert refusal.code == "BAD_INPUT"
    assert "unknown" in refusal.message


# Names, texts and their limits


@dataclass(frozen=True)
class Text:
    """A text field of a mutation, how many characters it takes, and how it is called in messages."""

    mutation: str
    field: str
    limit: int
    shown: str = ""

    def given(self, text: str) -> Fields:
        value: Any = {
            "aliases": [{"name": text}],
            "memories": [TEXT, TEXT | {self.shown.rpartition(".")[2]: text}],
        }.get(self.field, text)
        if self.shown == "aliases[0].translation":
            value = [{"name": "名", "translation": text}]
        return VALID[self.mutation] | {self.field: value}

    @property
    def spoken(self) -> str:
        return self.shown or self.field


REQUIRED = [
    *(
        Text(f"{verb}{kind}", "name", 200)
        for verb in ("create", "update")
        for kind in ("Book", "Character", "Term", "Chapter")
    ),
    *(
        Text(mutation, "aliases", 200, "aliases[0].name")
        for mutation in ("createCharacter", "updateCharacter", "createTerm", "updateTerm")
    ),
    *(Text(mutation, "summary", 500) for mutation in ("createMemory", "updateMemory")),
    *(Text(mutation, "content", 20_000) for mutation in ("createMemory", "updateMemory")),
    Text("importMemories", "memories", 500, "memories[1].summary"),
    Text("importMemories", "memories", 20_000, "memories[1].content"),
    Text("attachMatching", "query", 5_000),
    Text("appendMemory", "fact", 5_000),
    Text("appendDailyLog", "entry", 20_000),
]
OPTIONAL = [
    *(
        Text(f"{verb}{kind}", field, limit)
        for verb in ("create", "update")
        for kind in ("Character", "Term")
        for field, limit in (("translation", 200), ("description", 5_000), ("notes", 5_000))
    ),
    *(
        Text(f"{verb}Character", field, limit)
        for verb in ("create", "update")
        for field, limit in (("gender", 200), ("speakingStyle", 5_000))
    ),
    Text("createCharacter", "aliases", 200, "aliases[0].translation"),
    Text("appendMemory", "category", 200),
    Text("writeNotebook", "content", 1_000_000),
    Text("writeDailyLog", "content", 1_000_000),
]
NAMES = [text for text in REQUIRED if text.limit == 200]


@pytest.mark.parametrize("blank", ["", " ", "\u3000\n\t\xa0"], ids=ascii)
@pytest.mark.parametrize("text", REQUIRED, ids=str)
def test_empty_and_blank_text_is_refused(client: Client, text: Text, blank: str) -> None:
    refusal = refused_input(client, text.mutation, text.given(blank))

    assert refusal == Refusal("BAD_INPUT", f"{text.spoken} must not be empty.")


@pytest.mark.parametrize("character", ["字", "𠮷"])
@pytest.mark.parametrize("text", REQUIRED + OPTIONAL, ids=str)
def test_text_over_its_limit_is_refused_with_the_limit(client: Client, text: Text, character: str) -> None:
    refusal = refused_input(client, text.mutation, text.given(character * (text.limit + 1)))

    message = f"{text.spoken} has {text.limit + 1} characters; the limit is {text.limit}."
    assert refusal == Refusal("BAD_INPUT", message)


@pytest.mark.parametrize("mutation", ["createMemory", "updateMemory"])
def test_ten_megabytes_of_content_are_refused(client: Client, mutation: str) -> None:
    refusal = refused_input(client, mutation, VALID[mutation] | {"content": "x" * 10_000_000})

    assert refusal == Refusal("BAD_INPUT", "content has 10000000 characters; the limit is 20000.")


@pytest.mark.parametrize("character", ["\x00", "\x01", "\t", "\n", "\r", "\x1b", "\x1f", "\x7f", "\x85"], ids=ascii)
@pytest.mark.parametrize("text", NAMES, ids=str)
def test_control_character_in_a_name_is_refused(client: Client, text: Text, character: str) -> None:
    refusal = refused_input(client, text.mutation, text.given(f"田中{character}太郎"))

    message = f"{text.spoken} must not contain the control character {character!a} (at position 2)."
    assert refusal == Refusal("BAD_INPUT", message)


@pytest.mark.parametrize("text", REQUIRED + OPTIONAL, ids=str)
def test_nul_is_refused_in_any_text(client: Client, text: Text) -> None:
    refusal = refused_input(client, text.mutation, text.given("全\x00文"))

    message = f"{text.spoken} must not contain the control character '\\x00' (at position 1)."
    assert refusal == Refusal("BAD_INPUT", message)


@pytest.mark.parametrize(
    "id_", ["", " ", "two words", "tab\there", "new\nline", "nul\x00", "\x7f", "x" * 129], ids=ascii
)
@pytest.mark.parametrize("mutation", ["createBook", "createCharacter", "createTerm", "createChapter", "createMemory"])
def test_what_is_no_id_is_refused(client: Client, mutation: str, id_: str) -> None:
    refusal = refused_input(client, mutation, VALID[mutation] | {"id": id_})

    advice = "is not an id; use 1 to 128 characters without spaces or control characters."
    assert refusal == Refusal("BAD_INPUT", f"id: {id_!r} {advice}")


def test_more_than_two_hundred_aliases_are_refused(client: Client) -> None:
    aliases = [{"name": f"名{number}"} for number in range(201)]

    refusal = refused_input(client, "updateCharacter", {"id": "char_1", "aliases": aliases})

    assert refusal.code == "BAD_INPUT"
    assert refusal.message == "aliases: 201 items are too many for one request; the limit is 200."


# Numbers


@pytest.mark.parametrize(
    ("mutation", "fields", "message"),
    [
        ("createBook", {"contextLimit": 0}, "contextLimit must be from 1 to 100, not 0."),
        ("createBook", {"contextLimit": 101}, "contextLimit must be from 1 to 100, not 101."),
        ("updateBook", {"contextLimit": -1}, "contextLimit must be from 1 to 100, not -1."),
        ("createChapter", {"number": -1}, "number must be from 0 to 1000000, not -1."),
        ("updateChapter", {"number": 1_000_001}, "number must be from 0 to 1000000, not 1000001."),
        ("updateChapter", {"number": -(2**31)}, "number must be from 0 to 1000000, not -2147483648."),
        (
            "createTerm",
            {"aliases": [{"name": "名", "revealedInChapter": -1}]},
            "aliases[0].revealedInChapter must be from 0 to 1000000, not -1.",
        ),
        ("createMemory", {"validFromChapter": -1}, "validFromChapter must be from 0 to 1000000, not -1."),
        (
            "updateMemory",
            {"validUntilChapter": 2**31 - 1},
            "validUntilChapter must be from 0 to 1000000, not 2147483647.",
        ),
        (
            "createMemory",
            {"validFromChapter": 3, "validUntilChapter": 2},
            "validUntilChapter is 2, before the start 3.",
        ),
        ("updateMemory", {"validUntilChapter": 4}, "validUntilChapter is 4, before the start 5."),
        ("updateMemory", {"validFromChapter": 10}, "validUntilChapter is 9, before the start 10."),
        (
            "importMemories",
            {"memories": [TEXT | {"accessCount": -1}]},
            "memories[0].accessCount must be from 0 to 2147483647, not -1.",
        ),
    ],
)
def test_number_out_of_range_is_refused_with_the_range(
    client: Client, mutation: str, fields: Fields, message: str
) -> None:
    assert refused_input(client, mutation, VALID[mutation] | fields) == Refusal("BAD_INPUT", message)


@pytest.mark.parametrize("number", ["1" * 20, "1" * 5_000, "-" + "1" * 5_000, "1e999", "0x10", "1.0"], ids=len)
@pytest.mark.parametrize(
    "document",
    [
        "{ books(first: %s) { totalCount } }",
        "query($first: Int! = %s) { books(first: $first) { totalCount } }",
        'mutation { updateChapter(input: {id: "chap_1", number: %s}) { problems { code message } } }',
    ],
)
def test_number_that_is_none_of_ours_is_refused_in_a_document(client: Client, document: str, number: str) -> None:
    refusal = refused(client, lambda: client.post(document % number))

    assert refusal.code in {"BAD_INPUT", "TOO_COSTLY"}


# Ids that name nothing

STRANGE_IDS = [
    "missing",
    "",
    " ",
    "\x00",
    "mem_1\x00",
    "' OR 1=1 --",
    '"',
    "%",
    "🧙‍♀️",
    "x" * 10_000,
    "BOOK_1",
    "chap_1 ",
]


@pytest.mark.parametrize("field", ["book", "character", "term", "chapter", "memory"])
def test_strange_id_looks_up_nothing(client: Client, field: str) -> None:
    answers = [client.ask(f"query($id: ID!) {{ {field}(id: $id) {{ id }} }}", id=id_) for id_ in STRANGE_IDS]

    assert answers == [{field: None}] * len(STRANGE_IDS)


@pytest.mark.parametrize(
    ("mutation", "fields"),
    [
        *((f"update{kind}", lambda id_: {"id": id_}) for kind in ("Book", "Character", "Term", "Chapter", "Memory")),
        *((f"create{kind}", lambda id_: {"bookId": id_}) for kind in ("Character", "Term", "Chapter", "Memory")),
        ("createMemory", lambda id_: {"attachedTo": [ref("TERM", id_)]}),
        ("updateMemory", lambda id_: {"attachedTo": [ref("BOOK", id_)]}),
        ("attachMemories", lambda id_: {"bookId": id_}),
        ("attachMemories", lambda id_: {"memoryIds": ["mem_1", id_]}),
        ("attachMemories", lambda id_: {"entities": [ref("CHAPTER", id_)]}),
        ("detachMemories", lambda id_: {"bookId": id_}),
        ("detachMemories", lambda id_: {"memoryIds": [id_]}),
        ("attachMatching", lambda id_: {"bookId": id_}),
        ("attachMatching", lambda id_: {"entities": [ref("CHARACTER", id_)]}),
        ("importMemories", lambda id_: {"bookId": id_}),
        ("importMemories", lambda id_: {"memories": [TEXT | {"attachedTo": [ref("TERM", id_)]}]}),
    ],
)
def test_strange_id_is_not_found(client: Client, mutation: str, fields: Callable[[str], Fields]) -> None:
    inputs = [VALID[mutation] | fields(id_) for id_ in STRANGE_IDS]

    assert refused_inputs(client, mutation, inputs) == ["NOT_FOUND"] * len(inputs)


@pytest.mark.parametrize("kind", ["Book", "Character", "Term", "Chapter", "Memory"])
def test_strange_id_deletes_nothing(client: Client, kind: str) -> None:
    before = everything(client)

    answers = [client.delete(f"delete{kind}", id_) for id_ in STRANGE_IDS]

    codes = [[problem["code"] for problem in answer["problems"]] for answer in answers]
    assert codes == [["NOT_FOUND"]] * len(STRANGE_IDS)
    assert everything(client) == before


@pytest.mark.parametrize(
    "arguments",
    [
        "first: null",
        'first: "7"',
        "first: 7.5",
        "first: true",
        "first: [7]",
        "after: 5",
        "after: {}",
        "unknown: 5",
        "first: 5, first: 6",
        "first: $missing",
    ],
)
def test_argument_of_the_wrong_type_is_refused(client: Client, arguments: str) -> None:
    assert refused(client, lambda: client.post(f"{{ books({arguments}) {{ totalCount }} }}")).code == "BAD_INPUT"


# Texts that must come back as they are

TEXTS = {
    "rare Han": "𠮷野家の𩸽",
    "Han extension I": "\U0002ebf0\U0002ee5d",
    "Han extension H": "\U00031350",
    "compatibility ideograph": "\ufa19\U0002f800",
    "variation selector": "葛\U000e0100城",
    "emoji sequence": "🧙‍♀️👨‍👩‍👧‍👦🏴‍☠️🇯🇵👍🏽",
    "not composed": "e\u0301 か\u3099",
    "full and half width": "ＡＢＣ ｱｲｳ　①㍿",
    "right to left": "\u202eabc\u202c שלום",
    "zero width": "a\u200bb\u200dc\ufeffd",
    "line separators": "a\u2028b\u2029c",
    "noncharacters": "\ufffe\uffff\U0010ffff",
    "private use": "\ue000\U000f0000",
    "SQL": 'Robert\'); DROP TABLE book;-- " OR ""="',
    "GraphQL": '"}) { id } } mutation { deleteBook(id: "book_1") { deletedId } } #',
    "HTML": "<script>alert('x')</script>&amp;",
    "format strings": "%s %(x)s {0} {field} ${x} {{x}}",
    "escapes": r"\u0000 \n \\ \x00 \ud800",
    "JSON": '{"a": [null, true]}',
    "words that are values": "null",
    "wildcards": "%_*?",
}


@pytest.fixture(scope="module")
def owners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owners]:
    with serving_owners(tmp_path_factory.mktemp("owners")) as owners:
        yield owners


@pytest.fixture
def newcomer(owners: Owners) -> Iterator[Client]:
    """A client whose owner has nothing yet."""
    with owners.next_client() as client:
        yield client


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_text_is_stored_as_it_is(newcomer: Client, text: str) -> None:
    described: Fields = {"name": text, "translation": text, "description": text, "notes": text}
    alias = {"name": text, "translation": text, "revealedInChapter": None}
    character = described | {"id": "char_1", "aliases": [alias], "gender": text, "speakingStyle": text}
    term = described | {"id": "term_1", "aliases": [alias]}
    chapter: Fields = {"id": "chap_1", "name": text, "number": 1}
    memory = {"id": "mem_1", "content": text, "summary": text}

    a_book(newcomer, BOOK, name=text)
    a_character(newcomer, BOOK, **character)
    a_term(newcomer, BOOK, **term)
    a_chapter(newcomer, BOOK, **chapter)
    a_memory(newcomer, BOOK, **memory)

    (book,) = everything(newcomer)["nodes"]
    assert book["name"] == text
    assert book["characters"]["nodes"] == [character]
    assert book["terms"]["nodes"] == [term]
    assert book["chapters"]["nodes"] == [chapter]
    assert book["memories"]["nodes"] == [book["memories"]["nodes"][0] | memory]


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_text_is_noted_as_it_is(newcomer: Client, text: str) -> None:
    newcomer.mutate("writeNotebook", "file { path }", content=text, expectedVersion=EMPTY_VERSION)
    newcomer.mutate("appendDailyLog", "file { path }", entry=text, date="2026-01-31")
    newcomer.mutate("appendDailyLog", "file { path }", entry=text, date="2026-01-31")

    answer = newcomer.ask('{ notebook { content } dailyLog(date: "2026-01-31") { content } }')

    assert answer == {"notebook": {"content": text}, "dailyLog": {"content": f"- {text}\n" * 2}}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_text_is_found_as_it_is(newcomer: Client, text: str) -> None:
    a_book(newcomer, BOOK)
    a_character(newcomer, BOOK, "char_1", aliases=[{"name": text}])
    a_memory(newcomer, BOOK, "mem_1", content=text)

    matched = newcomer.mutate("attachMatching", "memories { id }", bookId=BOOK, query=text, entities=REFS)
    named = newcomer.ask(
        'query($text: String!) { book(id: "book_1") { characters(nameContains: $text) { nodes { id } } } }', text=text
    )

    assert matched == {"memories": [{"id": "mem_1"}], "problems": []}
    assert named["book"]["characters"]["nodes"] == [{"id": "char_1"}]


@pytest.mark.parametrize("id_", ["𠮷", "🧙‍♀️", "'", '";--', "a/b?c#d", "%00", "{}", "\u202e", "x" * 128, "null", "0"])
def test_id_is_stored_as_it_is(newcomer: Client, id_: str) -> None:
    a_book(newcomer, id_)
    a_character(newcomer, id_, id_)
    a_memory(newcomer, id_, id_, ref("CHARACTER", id_))

    answer = newcomer.ask(
        """query($id: ID!) {
          memory(id: $id) { id book { id } attachedTo { id attachedMemories { nodes { id } } } }
        }""",
        id=id_,
    )

    attached = {"id": id_, "attachedMemories": {"nodes": [{"id": id_}]}}
    assert answer == {"memory": {"id": id_, "book": {"id": id_}, "attachedTo": [attached]}}


# Bodies that are no request

CREATE = b'{"query": "mutation { createBook(input: {name: \\"x\\"}) { problems { code message } } }"'
BODIES = {
    "nothing": b"",
    "blank": b" ",
    "null": b"null",
    "list": b"[]",
    "list of null": b"[null]",
    "batch": b"[" + CREATE + b"}]",
    "text": b'"x"',
    "number": b"5",
    "true": b"true",
    "empty object": b"{}",
    "query null": b'{"query": null}',
    "query a number": b'{"query": 5}',
    "query a list": b'{"query": ["{ books { totalCount } }"]}',
    "query an object": b'{"query": {}}',
    "query empty": b'{"query": ""}',
    "query blank": b'{"query": "  "}',
    "variables a list": CREATE + b', "variables": []}',
    "variables a text": CREATE + b', "variables": "{}"}',
    "variables a number": CREATE + b', "variables": 5}',
    "operationName a number": CREATE + b', "operationName": 5}',
    "operationName an object": CREATE + b', "operationName": {}}',
    "extensions a list": CREATE + b', "extensions": []}',
    "cut off": CREATE,
    "trailing comma": CREATE + b",}",
    "two objects": CREATE + b"}" + CREATE + b"}",
    "no JSON": b"query { books { totalCount } }",
    "single quotes": b"{'query': '{ books { totalCount } }'}",
    "NaN": CREATE + b', "variables": {"x": NaN}}',
    "lone surrogate": CREATE + b', "variables": {"x": "\\ud800"}}',
    "lone low surrogate": b'{"query": "{ book(id: \\"\\udfff\\") { id } }"}',
    "not UTF-8": CREATE + b', "variables": {"x": "\xff\xfe"}}',
    "surrogate in UTF-8": CREATE + b', "variables": {"x": "\xed\xa0\x80"}}',
    "UTF-16": (CREATE + b"}").decode().encode("utf-16"),
    "NUL": b"\x00" * 100,
    "deep list": b"[" * 100_000 + b"]" * 100_000,
    "deep object": b'{"query":' * 100_000,
    "deep variables": CREATE + b', "variables": {"x": ' + b"[" * 5_000 + b"]" * 5_000 + b"}}",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_body_that_is_no_request_is_refused(client: Client, body: bytes) -> None:
    before = everything(client)

    response = send_raw(client, body)

    assert response.status_code == 400
    assert [refusal.code for refusal in refusals(response.json())] == ["BAD_INPUT"]
    assert "data" not in response.json()
    assert everything(client) == before


@pytest.mark.parametrize(
    "literal",
    [r"\uD800", r"\uDFFF", r"\uDFFF\uD800", r"\u{D800}", r"\u{110000}", r"\u12", r"\x00", "\x07", "\n"],
    ids=ascii,
)
def test_text_that_is_no_text_is_refused_in_a_document(client: Client, literal: str) -> None:
    document = f'mutation {{ createBook(input: {{name: "x{literal}x"}}) {{ problems {{ code message }} }} }}'

    assert refused(client, lambda: client.post(document)).code == "BAD_INPUT"


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "text/plain",
        "application/graphql",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonx",
        "text/json",
        "application/graphql-response+json",
    ],
)
def test_body_of_another_type_is_refused(client: Client, content_type: str | None) -> None:
    before = everything(client)

    response = send_raw(client, CREATE + b"}", content_type)

    assert response.status_code == 415
    assert refusals(response.json()) == [Refusal("BAD_INPUT", "Send the request as application/json.")]
    assert everything(client) == before


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(client: Client, method: str) -> None:
    before = everything(client)

    response = client.http.request(method, "/graphql", json={"query": "{ books { totalCount } }"})

    assert (response.status_code, response.headers["allow"]) == (405, "GET, POST")
    assert [refusal.code for refusal in refusals(response.json())] == ["BAD_INPUT"]
    assert everything(client) == before


@pytest.mark.parametrize(
    "parameters",
    [
        {"query": 'mutation { deleteBook(id: "book_1") { deletedId } }'},
        {"query": 'mutation A { deleteBook(id: "book_1") { deletedId } }', "operationName": "A"},
        {
            "query": 'query A { books { totalCount } } mutation B { deleteBook(id: "book_1") { deletedId } }',
            "operationName": "B",
        },
    ],
)
def test_mutation_over_get_is_refused(client: Client, parameters: dict[str, str]) -> None:
    before = everything(client)

    response = client.http.get("/graphql", params=parameters)

    assert (response.status_code, response.headers["allow"]) == (405, "POST")
    assert [refusal.code for refusal in refusals(response.json())] == ["BAD_INPUT"]
    assert everything(client) == before


@pytest.mark.parametrize(
    "parameters",
    [
        "",
        "query=",
        "query=%20",
        "variables={}",
        "query={books{totalCount}}&variables=[]",
        "query={books{totalCount}}&variables=5",
        "query={books{totalCount}}&variables={",
        'query={books{totalCount}}&variables={"x":"\\ud800"}',
        "query={books{totalCount}}&extensions=[]",
        "query=%ff",
        "query=%00",
    ],
)
def test_parameters_that_are_no_request_are_refused(client: Client, parameters: str) -> None:
    response = client.http.get(f"/graphql?{parameters}")

    assert response.status_code in {200, 400}
    assert [refusal.code for refusal in refusals(response.json())] == ["BAD_INPUT"]
    assert "data" not in response.json()


@pytest.mark.parametrize("length", ["declared", "chunked"])
def test_body_over_the_limit_is_refused(tmp_path: Path, length: str) -> None:
    settings = Settings(data_dir=tmp_path / "data", max_body_bytes=10_000)
    head, tail = b'{"query": "mutation { createBook(input: {name: \\"x\\"}) { problems { code message } } }', b'"}'

    def body(size: int) -> bytes | Iterator[bytes]:
        whole = head + b" " * (size - len(head) - len(tail)) + tail
        return whole if length == "declared" else iter([whole[:5_000], whole[5_000:]])

    with running(settings) as server, server.client() as client:
        headers = {"content-type": "application/json"}
        over = client.http.post("/graphql", content=body(10_001), headers=headers)
        after_refusal = everything(client)["totalCount"]
        within = client.http.post("/graphql", content=body(10_000), headers=headers)

    assert over.status_code == 413
    assert [refusal.code for refusal in refusals(over.json())] == ["TOO_COSTLY"]
    assert "10,000 bytes" in over.json()["errors"][0]["message"]
    assert after_refusal == 0
    assert (within.status_code, within.json()) == (200, {"data": {"createBook": {"problems": []}}})


# Documents that ask too much


def of_entities(levels: int) -> str:
    """From a book through its memories to the book they are attached to, again and again."""
    inner = "id"
    for _ in range(levels):
        inner = f"memories(first: 100) {{ nodes {{ attachedTo {{ ... on Book {{ {inner} }} }} }} }}"
    return f'{{ book(id: "book_1") {{ {inner} }} }}'


def of_named_fragments(levels: int) -> str:
    fragments = [
        f"fragment F{level} on Book {{ memories(first: 100) {{ nodes {{ attachedTo {{ ...F{level + 1} }} }} }} }}"
        for level in range(levels)
    ]
    return f'{{ book(id: "book_1") {{ ...F0 }} }} {" ".join(fragments)} fragment F{levels} on Book {{ id }}'


def doubling(levels: int) -> str:
    page = "memories {{ nodes {{ book {{ ...F{} }} }} }}"
    fragments = [
        f"fragment F{level} on Book {{ a: {page.format(level + 1)} b: {page.format(level + 1)} }}"
        for level in range(levels)
    ]
    return f'{{ book(id: "book_1") {{ ...F0 }} }} {" ".join(fragments)} fragment F{levels} on Book {{ name }}'


def dense(count: int) -> str:
    fragments = [
        f"fragment F{number} on Book {{ {' '.join(f'...F{later}' for later in range(number + 1, count))} }}"
        for number in range(count - 1)
    ]
    return f'{{ book(id: "book_1") {{ ...F0 }} }} {" ".join(fragments)} fragment F{count - 1} on Book {{ name }}'


def chained(count: int) -> str:
    fragments = [f"fragment F{number} on Query {{ ...F{number + 1} }}" for number in range(count)]
    spreads = " ".join(f"...F{number}" for number in range(count))
    return f"{{ {spreads} }} {' '.join(fragments)} fragment F{count} on Query {{ __typename }}"


SIZED = (
    "books(first: $n) { nodes { characters(first: $n) { nodes { attachedMemories(first: $n) { nodes { id } } } } } }"
)
PAGES = "memories { nodes { book { memories { nodes { book { memories { nodes { id } } } } } } } }"

CHUNKS = """query($texts: [String!]!) { chunkContexts(bookId: "book_1", texts: $texts) {
  memories { memory { attachedTo { attachedMemories(first: 100) { nodes { id } } } } }
} }"""

BOMBS: dict[str, tuple[str, Fields]] = {
    "25 levels": ("{ " + "a { " * 24 + "b" + " }" * 25, {}),
    "100 levels": ("{ " + "book { " * 100 + "id" + " }" * 101, {}),
    "5,000 levels": ("{ " + "book { " * 5_000 + "id" + " }" * 5_001, {}),
    "5,000 inline fragments deep": ("{ " + "... { " * 5_000 + "id" + " }" * 5_001, {}),
    "list in list, 5,000 deep": (f"{{ book(id: {'[' * 5_000}{']' * 5_000}) {{ id }} }}", {}),
    "object in object, 3,000 deep": (f"{{ book(id: {'{a:' * 3_000}1{'}' * 3_000}) {{ id }} }}", {}),
    "2,001 fields": ('{ book(id: "x") { ' + " ".join(f"f{number}" for number in range(2_001)) + " } }", {}),
    "201 aliases": ('{ book(id: "x") { ' + " ".join(f"a{number}: name" for number in range(201)) + " } }", {}),
    "51 root fields": ("{ " + " ".join(f'a{number}: book(id: "x") {{ id }}' for number in range(51)) + " }", {}),
    "51 mutations": (
        "mutation { "
        + " ".join(f'a{n}: createBook(input: {{name: "x"}}) {{ book {{ id }} }}' for n in range(51))
        + " }",
        {},
    ),
    "51 times the same": ("{ " + 'book(id: "x") { id } ' * 51 + "}", {}),
    "20,001 tokens": ("{ " + "a " * 20_001 + "}", {}),
    "200,001 characters": ("{ books { totalCount } } #" + "x" * 200_001, {}),
    "lists in lists": (f"{{ {SIZED.replace('$n', '100')} }}", {}),
    "lists in lists by variable": (f"query($n: Int!) {{ {SIZED} }}", {"n": 100}),
    "lists in lists by a whole fraction": (f"query($n: Int!) {{ {SIZED} }}", {"n": 100.0}),
    "lists in lists by default": (f"query($n: Int! = 100) {{ {SIZED} }}", {}),
    "lists in lists of unsaid size": (f'{{ book(id: "x") {{ memories {{ nodes {{ book {{ {PAGES} }} }} }} }} }}', {}),
    "lists in lists for each of 200 chunks": (CHUNKS, {"texts": ["田中太郎"] * 200}),
    "lists in lists on one kind of entity": (of_entities(4), {}),
    "lists in lists by named fragments": (of_named_fragments(4), {}),
    "fragments that double": (doubling(6), {}),
    "fragments that double deeply": (doubling(40), {}),
    "fragment within itself": (
        '{ book(id: "x") { ...F } } fragment F on Book { memories { nodes { book { ...F } } } }',
        {},
    ),
    "90 fragments, all in all": (dense(90), {}),
    "300 fragments in a chain": (chained(300), {}),
    "1,500 fragments in a chain": (chained(1_500), {}),
    "unused fragment that repeats": ("{ books { totalCount } } fragment F on Book { " + "name " * 10_000 + "}", {}),
    "unused fragment that repeats lists": (
        "{ books { totalCount } } fragment F on Book { " + f"{PAGES} " * 700 + "}",
        {},
    ),
}


@pytest.mark.parametrize(("document", "variables"), BOMBS.values(), ids=BOMBS.keys())
def test_document_that_asks_too_much_is_refused_quickly(client: Client, document: str, variables: Fields) -> None:
    started = time.monotonic()

    refusal = refused(client, lambda: client.post(document, **variables))

    assert refusal.code == "TOO_COSTLY"
    assert time.monotonic() - started < QUICKLY_SECONDS


def test_size_counts_for_each_request_anew(client: Client) -> None:
    document = f"query($n: Int!) {{ {SIZED} }}"

    answers = [client.post(document, n=n).json() for n in (1, 100, 1)]

    assert [[refusal.code for refusal in refusals(answer)] for answer in answers] == [[], ["TOO_COSTLY"], []]


@pytest.mark.parametrize("levels", [3, 6])
def test_introspection_without_end_is_refused_quickly(client: Client, levels: int) -> None:
    document = "{ __schema { types " + "{ fields { type { ofType " * levels + "{ name }" + " } } }" * levels + " } }"
    started = time.monotonic()

    refusal = refused(client, lambda: client.post(document))

    assert refusal.code in {"BAD_INPUT", "TOO_COSTLY"}
    assert time.monotonic() - started < QUICKLY_SECONDS


def test_server_answers_as_before_after_all_that(client: Client) -> None:
    for document, variables in BOMBS.values():
        client.post(document, **variables)

    health = client.http.get("/health")

    assert health.json()["status"] == "ok"
    assert client.ask("{ books { totalCount } }") == {"books": {"totalCount": 1}}
