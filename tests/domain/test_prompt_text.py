"""The sections of a prompt, and that no stored text can forge a line or a section."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.entities import Book, Chapter, Character, Term
from domain.prompt_text import ENTITY_TITLE, MEMORY_TITLE, assemble, entity_section, memory_section, one_line

LINE_ENDS = ["\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]


def a_character(name: str, translation: str | None = None, description: str | None = None) -> Character:
    return Character("char_1", "book_1", name, translation=translation, description=description)


def a_term(name: str, translation: str | None = None, description: str | None = None) -> Term:
    return Term("term_1", "book_1", name, translation=translation, description=description)


def test_titles_are_those_of_the_documents() -> None:
    assert (ENTITY_TITLE, MEMORY_TITLE) == ("【当前部分出现的术语和角色】", "【相关记忆】")


# Memories


def test_a_memory_is_one_line_with_its_indicator() -> None:
    assert memory_section(["元医者"], 0) == "【相关记忆】\n- [Memory] 元医者"


def test_memories_are_listed_in_order() -> None:
    assert memory_section(["甲", "乙", "甲"], 0) == "【相关记忆】\n- [Memory] 甲\n- [Memory] 乙\n- [Memory] 甲"


@pytest.mark.parametrize("left_out", [1, 2, 12345])
def test_a_note_says_how_many_were_left_out(left_out: int) -> None:
    assert memory_section(["甲"], left_out) == f"【相关记忆】\n- [Memory] 甲\n... and {left_out} more memories"


def test_no_memories_no_section() -> None:
    assert memory_section([], 0) == ""
    assert memory_section([], 7) == ""


# Entities


@pytest.mark.parametrize(
    ("entity", "line"),
    [
        (a_character("田中太郎", "Tanaka Taro", "元医者。"), "- [Character] 田中太郎（Tanaka Taro）: 元医者。"),
        (a_character("田中太郎", "Tanaka Taro"), "- [Character] 田中太郎（Tanaka Taro）"),
        (a_character("田中太郎", None, "元医者。"), "- [Character] 田中太郎: 元医者。"),
        (a_character("田中太郎"), "- [Character] 田中太郎"),
        (a_character("田中太郎", "", ""), "- [Character] 田中太郎"),
        (a_character("田中太郎", " ", "\n"), "- [Character] 田中太郎"),
        (a_term("魔石", "Magic Stone", "青く光る。"), "- [Term] 魔石（Magic Stone）: 青く光る。"),
        (a_term("魔石"), "- [Term] 魔石"),
    ],
)
def test_an_entity_is_one_line_of_what_is_known(entity: Character | Term, line: str) -> None:
    assert entity_section([entity]) == f"【当前部分出现的术语和角色】\n{line}"


def test_entities_are_listed_in_order() -> None:
    section = entity_section([a_term("魔石"), a_character("花子"), a_term("青蝋")])

    assert section == "【当前部分出现的术语和角色】\n- [Term] 魔石\n- [Character] 花子\n- [Term] 青蝋"


def test_books_and_chapters_are_no_lines() -> None:
    assert entity_section([Book("book_1", "砂の道"), Chapter("chap_1", "book_1", "海へ", 1)]) == ""
    assert entity_section([]) == ""


# The whole


def test_sections_are_parted_by_an_empty_line_and_empty_ones_left_out() -> None:
    assert assemble("甲", "乙", "丙") == "甲\n\n乙\n\n丙"
    assert assemble("", "乙", "丙") == "乙\n\n丙"
    assert assemble("甲", "", "丙") == "甲\n\n丙"
    assert assemble("", "", "丙") == "丙"


def test_the_text_to_translate_stays_as_it_is() -> None:
    text = f"  一行目\r\n\n{MEMORY_TITLE}\u2028三行目\n "

    assert assemble("甲", "", text) == f"甲\n\n{text}"


# Stored text is data


@pytest.mark.parametrize("line_end", LINE_ENDS)
def test_a_summary_with_line_breaks_becomes_one_line(line_end: str) -> None:
    assert (
        memory_section([f"甲{line_end}乙 {line_end}{line_end} 丙{line_end}"], 0) == "【相关记忆】\n- [Memory] 甲 乙 丙"
    )


@pytest.mark.parametrize("title", [ENTITY_TITLE, MEMORY_TITLE])
def test_a_title_inside_stored_text_is_made_harmless(title: str) -> None:
    assert one_line(f"甲{title}乙") == f"甲[{title[1:-1]}]乙"


def test_ordinary_brackets_and_list_markers_stay() -> None:
    assert one_line("- 【注意】 [Memory] ... and 3 more") == "- 【注意】 [Memory] ... and 3 more"


def test_spaces_and_tabs_inside_a_line_stay() -> None:
    assert one_line("甲　乙\t丙  丁") == "甲　乙\t丙  丁"


pieces = st.sampled_from(
    [
        *LINE_ENDS,
        *(chr(code) for code in (0, 1, 7, 8, 9, 0x1B, 0x1F, 0x7F, 0x80, 0x9F)),
        ENTITY_TITLE,
        MEMORY_TITLE,
        "【相关",
        "记忆】",
        "【",
        "】",
        "- [Memory] ",
        "- [Character] ",
        "... and 9 more memories",
        " ",
        "　",
        "\u200b",
        "甲",
        "a",
    ]
)
hostile = st.lists(pieces, max_size=8).map("".join) | st.text(max_size=12)


def is_harmless(line: str) -> bool:
    return ENTITY_TITLE not in line and MEMORY_TITLE not in line


@settings(deadline=None, max_examples=200)
@given(st.lists(hostile, min_size=1, max_size=4), st.integers(0, 3))
def test_no_summary_can_add_a_line_or_a_title(summaries: list[str], left_out: int) -> None:
    section = memory_section(summaries, left_out)

    title, *lines = section.splitlines()
    assert section.split("\n") == [title, *lines]
    assert title == MEMORY_TITLE
    assert len(lines) == len(summaries) + bool(left_out)
    assert all(line.startswith("- [Memory] ") for line in lines[: len(summaries)])
    assert all(map(is_harmless, lines))


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(hostile, hostile, hostile), min_size=1, max_size=3))
def test_no_name_translation_or_description_can_add_a_line_or_a_title(
    described: list[tuple[str, str, str]],
) -> None:
    section = entity_section([a_term(*each) for each in described])

    title, *lines = section.splitlines()
    assert title == ENTITY_TITLE
    assert len(lines) == len(described)
    assert all(line.startswith("- [Term] ") for line in lines)
    assert all(map(is_harmless, lines))


@settings(deadline=None, max_examples=200)
@given(hostile)
def test_making_one_line_twice_changes_nothing_more(text: str) -> None:
    assert one_line(one_line(text)) == one_line(text)
