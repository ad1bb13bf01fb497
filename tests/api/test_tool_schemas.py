"""The schemas that models are offered, and how arguments are read by them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from api.tools.answers import hit_as_json
from api.tools.arguments import read_arguments
from api.tools.registry import TOOLS
from api.tools.tool import CallRefusedError, Tool
from domain import limits
from domain.entities import EntityType
from domain.search import SearchSource
from domain.usecases.search import SearchHit
from schema.problems import Problem, ProblemCode

# What OpenAI takes of each; Anthropic takes more.
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
MAX_DESCRIPTION = 1024

# Everything the reader of arguments knows; beyond it, providers differ.
KEYWORDS = {
    "object": {"type", "properties", "required", "additionalProperties"},
    "array": {"type", "items", "maxItems", "description"},
    "integer": {"type", "minimum", "maximum", "description"},
    "boolean": {"type", "description"},
    "string": {"type", "minLength", "description"},
}
OPTIONAL = {"string": {"maxLength"}}
CHOICE = {"type", "enum", "description"}

MEMORY = {"book_id": "book_1", "content": "全文", "summary": "要点"}
TANAKA = {"type": "character", "id": "char_1"}

every_tool = pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS.keys())


def schemas(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The schema and all within it."""
    yield schema
    for each in schema.get("properties", {}).values():
        yield from schemas(each)
    if "items" in schema:
        yield from schemas(schema["items"])


def refused(tool: str, given: object) -> Problem:
    with pytest.raises(CallRefusedError) as refusal:
        read_arguments(TOOLS[tool], given)
    assert refusal.value.problem.code is ProblemCode.BAD_INPUT
    return refusal.value.problem


# What is offered


def test_these_tools_take_these_arguments() -> None:
    assert {name: (list(tool.properties), list(tool.required)) for name, tool in TOOLS.items()} == {
        "read_memory": ([], []),
        "append_memory": (["fact", "category"], ["fact"]),
        "search_memory": (["query"], ["query"]),
        "append_daily_log": (["entry"], ["entry"]),
        "create_memory": (
            ["book_id", "content", "summary", "attached_to", "is_pinned"],
            ["book_id", "content", "summary"],
        ),
        "update_memory": (["id", "content", "summary", "attached_to", "is_pinned"], ["id"]),
        "get_character": (["id", "book_id", "name"], []),
        "get_term": (["id", "book_id", "name"], []),
        "get_chapter": (["id", "book_id", "number"], []),
        "get_book": (["id"], ["id"]),
    }


@every_tool
def test_name_and_description_fit_every_provider(tool: Tool) -> None:
    assert NAME.fullmatch(tool.name)
    assert 100 < len(tool.description) <= MAX_DESCRIPTION
    assert tool.description.endswith(".")


@every_tool
def test_every_argument_is_described(tool: Tool) -> None:
    described = [each for each in schemas(tool.parameters) if each["type"] != "object"]

    assert [each for each in described if len(each["description"]) < 10 or each["description"][-1] != "."] == []


@every_tool
def test_schema_uses_what_providers_and_the_reader_of_arguments_understand(tool: Tool) -> None:
    for schema in schemas(tool.parameters):
        kind, keywords = schema["type"], schema.keys()
        if "enum" in schema:
            assert keywords == CHOICE
        else:
            assert keywords - OPTIONAL.get(kind, set()) == KEYWORDS[kind]


@every_tool
def test_objects_take_what_they_name_and_nothing_else(tool: Tool) -> None:
    for schema in schemas(tool.parameters):
        if schema["type"] == "object":
            assert set(schema["required"]) <= schema["properties"].keys()
            assert schema["additionalProperties"] is False


@every_tool
def test_alternatives_are_arguments_that_the_description_names(tool: Tool) -> None:
    for group in tool.alternatives:
        assert set(group) <= tool.properties.keys() - set(tool.required)
        assert all(name in tool.description for name in group)


@every_tool
def test_example_is_right(tool: Tool) -> None:
    assert read_arguments(tool, tool.example) == tool.example


def test_schemas_and_rules_of_the_domain_agree() -> None:
    attached_to = TOOLS["create_memory"].properties["attached_to"]
    number = TOOLS["get_chapter"].properties["number"]
    ids = [tool.properties[name] for tool in TOOLS.values() for name in ("id", "book_id") if name in tool.properties]

    assert attached_to["maxItems"] == limits.MAX_ATTACHMENTS
    assert set(attached_to["items"]["properties"]["type"]["enum"]) == {each.value for each in EntityType}
    assert (number["minimum"], number["maximum"]) == limits.CHAPTER_NUMBERS
    assert {each["maxLength"] for each in ids} == {limits.MAX_ID_LENGTH}


@pytest.mark.parametrize(
    ("tool", "guidance"),
    [
        ("create_memory", "Attach it to every character and every term it is about, and to the chapter as well"),
        ("create_memory", "Prefer them to the book"),
        ("create_memory", "One fact per call"),
        ("create_memory", "Search first"),
        ("create_memory", "Do not store passwords, keys or other secrets, one-off remarks"),
        ("update_memory", "attached_to replaces the whole list"),
        ("append_memory", "One fact per call"),
        ("append_memory", "Do not store passwords, keys or other secrets, nor one-off remarks"),
        ("append_memory", "Look with search_memory or read_memory first"),
        ("append_daily_log", "Do not store passwords, keys or other secrets"),
        ("get_character", "attach it with update_memory"),
    ],
)
def test_description_guides_the_model(tool: str, guidance: str) -> None:
    assert guidance in TOOLS[tool].description


@pytest.mark.parametrize("tool", ["create_memory", "update_memory"])
def test_summary_is_asked_for_in_one_line_of_as_many_characters_as_are_kept(tool: str) -> None:
    described = TOOLS[tool].properties["summary"]["description"]

    assert f"one line of at most {limits.Limits().summary} characters" in described


# What has one possible meaning is taken for it


@pytest.mark.parametrize(
    "given",
    [
        [TANAKA],
        TANAKA,
        [{"type": "CHARACTER", "id": "char_1"}],
        [{"type": "Character", "id": "char_1"}],
        '[{"type": "character", "id": "char_1"}]',
        '{"type": "CHARACTER", "id": "char_1"}',
        ['{"type": "character", "id": "char_1"}'],
    ],
)
def test_attachments_are_read_however_a_model_writes_them(given: object) -> None:
    assert read_arguments(TOOLS["create_memory"], MEMORY | {"attached_to": given})["attached_to"] == [TANAKA]


@pytest.mark.parametrize("given", [[], "[]", " [ ] "])
def test_no_attachments_are_an_empty_list(given: object) -> None:
    assert read_arguments(TOOLS["update_memory"], {"id": "mem_1", "attached_to": given})["attached_to"] == []


@pytest.mark.parametrize(("given", "meant"), [(True, True), ("true", True), ("False", False), (" TRUE ", True)])
def test_truth_in_a_text_is_read(given: object, meant: bool) -> None:  # noqa: FBT001
    assert read_arguments(TOOLS["create_memory"], MEMORY | {"is_pinned": given})["is_pinned"] is meant


@pytest.mark.parametrize(("given", "meant"), [(3, 3), ("3", 3), (" 03 ", 3), (3.0, 3), (0, 0)])
def test_whole_number_in_a_text_is_read(given: object, meant: int) -> None:
    assert read_arguments(TOOLS["get_chapter"], {"book_id": "book_1", "number": given})["number"] == meant


def test_null_is_an_argument_left_out() -> None:
    given = {"id": "mem_1", "content": None, "summary": "要点", "attached_to": None, "is_pinned": None}

    assert read_arguments(TOOLS["update_memory"], given) == {"id": "mem_1", "summary": "要点"}


@pytest.mark.parametrize("content", ['{"type": "character"}', "[]", "true", "3", "null"])
def test_text_that_looks_like_json_stays_a_text(content: str) -> None:
    assert read_arguments(TOOLS["create_memory"], MEMORY | {"content": content})["content"] == content


# What is wrong is said so that a model can mend it


@pytest.mark.parametrize(
    ("tool", "given", "path", "said"),
    [
        ("create_memory", {"content": "全文", "summary": "要点"}, ["book_id"], "book_id is missing"),
        ("create_memory", MEMORY | {"summary": None}, ["summary"], "summary must be a text, not null"),
        ("create_memory", MEMORY | {"content": 12}, ["content"], "content must be a text, not 12"),
        ("create_memory", MEMORY | {"content": ["全文"]}, ["content"], "content must be a text, not a list"),
        ("create_memory", MEMORY | {"content": TANAKA}, ["content"], "content must be a text, not an object"),
        ("create_memory", MEMORY | {"summary": " \n"}, ["summary"], "summary is empty"),
        ("create_memory", MEMORY | {"book_id": "b" * 129}, ["book_id"], "book_id has 129 characters; at most 128"),
        (
            "create_memory",
            MEMORY | {"is_pinned": "yes"},
            ["is_pinned"],
            'is_pinned must be true or false, not the text "yes"',
        ),
        ("create_memory", MEMORY | {"is_pinned": 1}, ["is_pinned"], "is_pinned must be true or false, not 1"),
        (
            "create_memory",
            MEMORY | {"attached_to": "char_1"},
            ["attached_to"],
            'attached_to must be a list, not the text "char_1"',
        ),
        (
            "create_memory",
            MEMORY | {"attached_to": ["char_1"]},
            ["attached_to", "0"],
            'attached_to[0] must be an object, not the text "char_1"',
        ),
        (
            "create_memory",
            MEMORY | {"attached_to": [TANAKA, {"type": "person", "id": "char_1"}]},
            ["attached_to", "1", "type"],
            'attached_to[1].type must be one of character, term, chapter, book, not the text "person"',
        ),
        (
            "create_memory",
            MEMORY | {"attached_to": [{"type": "character"}]},
            ["attached_to", "0", "id"],
            "attached_to[0].id is missing",
        ),
        (
            "create_memory",
            MEMORY | {"attached_to": [TANAKA | {"name": "x"}]},
            ["attached_to", "0", "name"],
            "attached_to[0]: 'name' is not an argument (known here: type, id)",
        ),
        ("create_memory", MEMORY | {"attached_to": [TANAKA] * 101}, ["attached_to"], "attached_to has 101 items"),
        ("get_chapter", {"book_id": "b", "number": 1.5}, ["number"], "number must be a whole number, not 1.5"),
        ("get_chapter", {"book_id": "b", "number": True}, ["number"], "number must be a whole number, not true"),
        ("get_chapter", {"book_id": "b", "number": "three"}, ["number"], 'whole number, not the text "three"'),
        ("get_chapter", {"book_id": "b", "number": -1}, ["number"], "number must be from 0 to 1000000, not -1"),
        ("get_chapter", {"book_id": "b", "number": "9" * 400}, ["number"], "must be a whole number"),
        ("get_chapter", {"book_id": "b"}, [], "give id, or book_id and number"),
        ("get_character", {"name": "田中太郎"}, [], "give id, or book_id and name"),
        ("get_character", {}, [], "give id, or book_id and name"),
        ("update_memory", {"id": "m"}, [], "give content, or summary, or attached_to, or is_pinned"),
        ("read_memory", {"path": "MEMORY.md"}, ["path"], "'path' is not an argument (there are none)"),
    ],
)
def test_wrong_argument_is_named_with_what_is_expected(tool: str, given: object, path: list[str], said: str) -> None:
    problem = refused(tool, given)

    assert problem.path == path
    assert problem.message.startswith(f"{tool}: ")
    assert said in problem.message


@pytest.mark.parametrize(
    ("tool", "wrong", "right"),
    [
        ("create_memory", "bookId", "book_id"),
        ("create_memory", "attachedTo", "attached_to"),
        ("create_memory", "attached", "attached_to"),
        ("create_memory", "CONTENT", "content"),
        ("create_memory", "pinned", "is_pinned"),
        ("append_memory", "facts", "fact"),
        ("search_memory", "querry", "query"),
        ("append_daily_log", "entries", "entry"),
        ("get_character", "names", "name"),
        ("get_chapter", "chapter_number", "number"),
    ],
)
def test_unknown_argument_is_answered_with_the_nearest_right_name(tool: str, wrong: str, right: str) -> None:
    problem = refused(tool, {wrong: "x"})

    assert problem.path == [wrong]
    assert f"'{wrong}' is not an argument; did you mean {right}?" in problem.message


@pytest.mark.parametrize("given", [None, [], [MEMORY], "text", '{"query": "x"}', 3, True])
def test_arguments_are_an_object(given: object) -> None:
    assert "the arguments must be a JSON object, not" in refused("search_memory", given).message


@every_tool
def test_every_refusal_shows_what_is_required_and_an_example(tool: Tool) -> None:
    message = refused(tool.name, {"nonsense": 1}).message

    assert ("Required: " + ", ".join(tool.required) if tool.required else "Example: ") in message
    assert all(f'"{name}":' in message for name in tool.example)


def test_long_values_are_not_repeated_whole() -> None:
    long_text, long_name = "x" * 1_000_000, "y" * 1_000_000

    assert len(refused("create_memory", MEMORY | {"is_pinned": long_text}).message) < 1_000
    assert len(str(refused("create_memory", {long_name: 1}))) < 1_500


# Answers


def test_fact_that_is_found_shows_its_text() -> None:
    hit = SearchHit(SearchSource.FACT, "fact_1", "drink: tea", "drink: **tea**", (), 0.5, None, 0.5)

    assert hit_as_json(hit, {}) == {
        "source": "fact",
        "id": "fact_1",
        "text": "drink: tea",
        "snippet": "drink: **tea**",
        "score": 0.5,
    }
