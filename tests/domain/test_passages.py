"""How a Markdown file is cut into the passages that search finds."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.notebook import Passage, passages

# A quarter of the most a file may have: what is not linear shows as well, in a fraction of the time.
MUCH = 250_000


def test_list_item_is_a_passage_with_its_line_and_headings() -> None:
    text = "# Memory\n\n## Preferences\n\n- tea\n- coffee\n\n## Work\n\n- Python\n"

    assert passages(text) == (
        Passage("tea", 5, ("Memory", "Preferences")),
        Passage("coffee", 6, ("Memory", "Preferences")),
        Passage("Python", 10, ("Memory", "Work")),
    )


def test_nested_items_are_passages_of_their_own() -> None:
    text = "- a\n  more\n  - b\n    1. c\n\n  after b\n- d\n"

    assert passages(text) == (Passage("a\nmore\nafter b", 1), Passage("b", 3), Passage("c", 4), Passage("d", 7))


def test_paragraph_code_table_and_quote_are_passages() -> None:
    text = (
        "A paragraph\nof two lines.\n\n```python\nx = 1\n\ny = 2\n```\n\n    indented\n\n"
        "| name | word |\n|---|:-:|\n| 田中 | Tanaka |\n\n> quoted\n>\n> > and again\n"
    )

    assert passages(text) == (
        Passage("A paragraph\nof two lines.", 1),
        Passage("x = 1\n\ny = 2", 4),
        Passage("indented", 10),
        Passage("| name | word |\n| 田中 | Tanaka |", 12),
        Passage("quoted", 16),
        Passage("and again", 18),
    )


def test_what_stands_in_an_item_belongs_to_it() -> None:
    text = "- first\n\n  second\n\n  ```\n  code\n  ```\n  > quote\n- next\n"

    assert passages(text) == (Passage("first\nsecond\ncode\nquote", 1), Passage("next", 9))


def test_table_within_an_item_is_a_passage_of_its_own() -> None:
    assert passages("- a\n\n  | b | c |\n  |---|---|\n") == (Passage("a", 1), Passage("| b | c |", 3))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n \n",
        "\ufeff",
        "# Heading\n\n## Another\n",
        "Heading\n=======\n",
        "---\ntitle: x\n---\n",
        "\ufeff---\r\ntitle: x\r\n...\r\n",
        "<!-- a comment -->\n",
        "<!--\n\n- not an item\n\n-->\n",
        "<!-- never ends\n\n- not an item\n",
        "- <!-- todo -->\n-\n- \n",
        "***\n",
        "<br>\n",
        "```\n```\n",
    ],
)
def test_front_matter_comments_headings_and_nothing_are_none(text: str) -> None:
    assert passages(text) == ()


def test_comment_within_a_text_is_left_out() -> None:
    assert passages("- tea <!-- since 2024 --> or coffee\n") == (Passage("tea  or coffee", 1),)


def test_comment_mark_that_opens_nothing_is_text() -> None:
    assert passages("- `<!--` begins a comment\n") == (Passage("`<!--` begins a comment", 1),)


def test_comment_in_code_is_code() -> None:
    assert passages("```\n<!-- x -->\n```\n") == (Passage("<!-- x -->", 1),)


def test_words_in_html_are_a_passage() -> None:
    assert passages("<details>\n<summary>Who</summary>\n田中\n</details>\n") == (Passage("Who 田中", 1),)


def test_dashes_that_are_never_closed_are_no_front_matter() -> None:
    assert passages("---\ntitle: x\n") == (Passage("title: x", 2),)


def test_what_looks_like_a_link_definition_is_a_fact() -> None:
    assert passages("- [Tanaka]: a doctor\n") == (Passage("[Tanaka]: a doctor", 1),)


def test_heading_ends_those_below_and_beside_it() -> None:
    text = "# A\n### B\nb\n## C\nc\n##\nd\n# E\ne\n"

    assert [passage.headings for passage in passages(text)] == [("A", "B"), ("A", "C"), ("A",), ("E",)]


def test_heading_in_an_item_is_text_of_the_item() -> None:
    assert passages("# A\n- # B\n  c\n\nd\n") == (Passage("B\nc", 2, ("A",)), Passage("d", 5, ("A",)))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_whatever_ends_them(end: str) -> None:
    text = end.join(("\ufeff---", "x: 1", "---", "", "- a\u2028b\x0cc", "- d", ""))

    assert passages(text) == (Passage("a\u2028b\x0cc", 5), Passage("d", 6))


def test_nothing_is_lost_below_deep_nesting() -> None:
    deep = "".join(f"{'  ' * level}- {level}\n" for level in range(60))

    found = passages(f"{deep}\n# After\n\n- still here\n")

    text = "\n".join(passage.text for passage in found)
    assert all(str(level) in text for level in range(60))
    assert found[-1] == Passage("still here", 64, ("After",))


def test_nothing_is_lost_below_deep_quotes() -> None:
    found = passages(f"{'> ' * 60}deep\n\n- still here\n")

    assert found[0].text.endswith("deep")
    assert found[-1] == Passage("still here", 3)


@given(st.text())
def test_any_text_is_cut(text: str) -> None:
    count = len(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))

    found = passages(text)

    assert all(passage.text.strip() and 1 <= passage.line <= count for passage in found)
    assert [passage.line for passage in found] == sorted(passage.line for passage in found)


@given(st.text(alphabet="#->*`~<!=+1. \n\r\t|a:[]_&;\\", max_size=200))
def test_any_marks_are_cut(text: str) -> None:
    assert all(passage.text.strip() for passage in passages(text))


def rubbish(seed: int) -> str:
    chance = random.Random(seed)
    return "".join(chance.choice("#->*`~<|=+1. \n\n\t[]!a&;:_") for _ in range(MUCH))


# A parser that reads its text again for every level or mark would never come to an end with these.
HOSTILE = {
    "one word": "a" * MUCH,
    "one line": "字 " * (MUCH // 2),
    "quotes in quotes": ">" * MUCH,
    "quotes in quotes on every line": (">" * 100 + "a\n") * (MUCH // 102),
    "lines that go on a deep quote": "> " * 40 + "a\n" + "b\n" * 10_000,
    "lists in lists": "- " * (MUCH // 2),
    "lists in quotes in lists": "> - " * (MUCH // 4),
    "ever deeper lists": "".join("  " * level + "- a\n" for level in range(990)),
    "deep lists again and again": "".join("  " * (line % 100) + "- a\n" for line in range(9_000)),
    "brackets": "[" * MUCH,
    "marks of code": "`" * MUCH,
    "lines of one mark": "`\n" * 20_000,
    "code that is never closed": "```\n" + "x\n" * (MUCH // 2),
    "comments that are never closed": "<!-- " * (MUCH // 5),
    "comment after comment": "<!-- x --> <!-- " * (MUCH // 16),
    "tags that are never closed": "<div>\n" + "<a " * (MUCH // 3),
    "pipes": "|" * MUCH,
    "a wide table": "|a" * 3_000 + "|\n" + "|-" * 3_000 + "|\n" + "|b\n" * 20_000,
    "spaces before a heading's end": "# a" + " " * MUCH + "#b",
    "nothing but blank lines": "\n" * MUCH,
    "front matter that is never closed": "---\n" + "x: 1\n" * (MUCH // 5),
    "rubbish": rubbish(1),
    "more rubbish": rubbish(2),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_much_of_anything_is_cut(text: str) -> None:
    assert all(passage.text.strip() for passage in passages(text))


def test_a_megabyte_of_facts_is_cut() -> None:
    text = "# Facts\n\n" + "".join(f"- 田中は{number}番目の猫を飼っている\n" for number in range(25_000))

    found = passages(text)

    assert len(found) == 25_000
    assert found[-1] == Passage("田中は24999番目の猫を飼っている", 25_002, ("Facts",))
