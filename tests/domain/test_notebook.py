"""Where a fact or a note goes in a Markdown file, and that nothing a person wrote is touched."""

from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from domain import markdown
from domain.notebook import (
    EMPTY_VERSION,
    NotebookFile,
    Passage,
    calendar_day,
    daily_path,
    day_of,
    is_notebook_path,
    notebook_file,
    passages,
    place_entry,
    place_fact,
    version_of,
)
from domain.text import fold


def with_fact(text: str, fact: str, category: str | None = None) -> str:
    raw = text.encode()
    return place_fact(raw, fact, category).into(raw).decode()


def with_entry(text: str, entry: str) -> str:
    raw = text.encode()
    return place_entry(raw, entry).into(raw).decode()


# Files and their versions


def test_version_is_that_of_the_bytes() -> None:
    assert version_of(b"- tea\n") == "01758851c6215dd23e3944b9ea4574e5"
    assert version_of(b"- tea\r\n") != version_of(b"- tea\n")
    assert notebook_file("MEMORY.md", b"") == NotebookFile("MEMORY.md", "", EMPTY_VERSION)


def test_bytes_that_are_no_text_are_shown_as_replacement_characters() -> None:
    raw = b"- caf\xe9\n"

    file = notebook_file("MEMORY.md", raw)

    assert file == NotebookFile("MEMORY.md", "- caf\ufffd\n", version_of(raw))


def test_daily_log_is_named_by_its_day() -> None:
    assert daily_path(date(2026, 1, 31)) == "daily/2026-01-31.md"
    assert day_of("daily/2026-01-31.md") == date(2026, 1, 31)
    assert is_notebook_path("daily/2024-02-29.md")
    assert is_notebook_path("MEMORY.md")


@pytest.mark.parametrize(
    "path",
    [
        "",
        "memory.md",
        "MEMORY.md/",
        "./MEMORY.md",
        "../MEMORY.md",
        "daily",
        "daily/",
        "daily/2026-02-30.md",
        "daily/2026-2-3.md",
        "daily/20260131.md",
        "daily/2026-W05-6.md",
        "daily/２０２６-01-31.md",
        "daily/2026-01-31.md\n",
        "daily/2026-01-31.txt",
        "daily/1899-12-31.md",
        "daily/3000-01-01.md",
        "daily/../MEMORY.md",
        "daily/../../x.md",
        "daily//2026-01-31.md",
        "/daily/2026-01-31.md",
        "daily\\2026-01-31.md",
        "DAILY/2026-01-31.md",
    ],
)
def test_no_other_path_is_of_the_notebook(path: str) -> None:
    assert day_of(path) is None
    assert not is_notebook_path(path)


# Which day it is

NEW_YEAR_IN_UTC = datetime(2026, 1, 1, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("now", "zone", "day"),
    [
        (NEW_YEAR_IN_UTC, UTC, date(2026, 1, 1)),
        (NEW_YEAR_IN_UTC - timedelta(microseconds=1), UTC, date(2025, 12, 31)),
        # UTC+8: midnight is at 16:00 UTC.
        (datetime(2025, 12, 31, 15, 59, 59, 999_999, UTC), ZoneInfo("Asia/Taipei"), date(2025, 12, 31)),
        (datetime(2025, 12, 31, 16, 0, tzinfo=UTC), ZoneInfo("Asia/Taipei"), date(2026, 1, 1)),
        # UTC−8: midnight is at 08:00 UTC.
        (datetime(2026, 1, 1, 7, 59, 59, 999_999, UTC), ZoneInfo("America/Los_Angeles"), date(2025, 12, 31)),
        (datetime(2026, 1, 1, 8, 0, tzinfo=UTC), ZoneInfo("America/Los_Angeles"), date(2026, 1, 1)),
        # The same hour of UTC is on another day in summer.
        (datetime(2026, 7, 1, 7, 30, tzinfo=UTC), ZoneInfo("America/Los_Angeles"), date(2026, 7, 1)),
        (datetime(2026, 1, 1, 0, 0, tzinfo=timezone(timedelta(hours=14))), UTC, date(2025, 12, 31)),
    ],
)
def test_day_is_that_of_the_zone(now: datetime, zone: ZoneInfo, day: date) -> None:
    assert calendar_day(now, zone) == day


def test_without_a_zone_the_day_is_that_of_this_machine() -> None:
    assert calendar_day(NEW_YEAR_IN_UTC, None) == NEW_YEAR_IN_UTC.astimezone().date()


# Facts


def test_fact_goes_to_the_end_of_its_category() -> None:
    text = "# Memory\n\n## Preferences\n\n- tea\n\n## Work\n\n- writes Python\n"

    assert with_fact(text, "coffee", "Preferences") == (
        "# Memory\n\n## Preferences\n\n- tea\n- coffee\n\n## Work\n\n- writes Python\n"
    )


def test_first_fact_makes_its_category() -> None:
    assert with_fact("", "tea", "Preferences") == "## Preferences\n\n- tea\n"


def test_new_category_comes_last() -> None:
    assert with_fact("## Work\n\n- Python\n", "tea", "Preferences") == (
        "## Work\n\n- Python\n\n## Preferences\n\n- tea\n"
    )


@pytest.mark.parametrize("category", [None, "", " \t\u3000", "general", " General "])
def test_fact_without_a_category_is_a_general_one(category: str | None) -> None:
    assert with_fact("## General\n\n- a\n\n## Work\n", "b", category) == "## General\n\n- a\n- b\n\n## Work\n"
    assert with_fact("", "b", None) == "## General\n\n- b\n"


@pytest.mark.parametrize(
    "heading",
    [
        "# 偏好 A",
        "###### 偏好 A",
        "## 偏好 A ##",
        "##   偏好   A   ",
        "## 偏好\u3000ａ",
        "  ## 偏好 A",
        "偏好 A\n====",
        "偏好 A\n----",
        "## 偏好 A <!-- of the user -->",
    ],
)
def test_heading_of_any_kind_is_that_of_its_category(heading: str) -> None:
    text = f"intro\n\n{heading}\n\n- a\n\n# Next\n"

    assert with_fact(text, "b", "偏好 a") == f"intro\n\n{heading}\n\n- a\n- b\n\n# Next\n"


@pytest.mark.parametrize(
    "text",
    [
        "```\n## Work\n```\n",
        "~~~~\n```\n## Work\n~~~~\n",
        "    ## Work\n",
        "<!--\n## Work\n-->\n",
        "<div>\n## Work\n</div>\n",
        "<pre>\n\n## Work\n</pre>\n",
        "---\n## Work\n---\n",
        "---\n## Work\n...\n",
        "- item\n\n  ## Work\n",
        "> ## Work\n",
        "#Work\n",
        "####### Work\n",
        "\\## Work\n",
        "Work\n",
    ],
)
def test_what_only_looks_like_a_heading_is_none(text: str) -> None:
    assert with_fact(text, "a", "Work") == f"{text}\n## Work\n\n- a\n"


def test_first_of_two_equal_headings_is_taken() -> None:
    assert with_fact("## A\n- a\n## B\n## a\n", "b", "A") == "## A\n- a\n- b\n## B\n## a\n"


def test_fact_stands_before_what_is_below_a_lower_heading() -> None:
    assert with_fact("# A\n\ntext\n\n## Details\n\nmore\n", "b", "A") == "# A\n\ntext\n- b\n\n## Details\n\nmore\n"


def test_fact_goes_into_an_empty_section() -> None:
    assert with_fact("## A\n\n\n## B\n", "a", "A") == "## A\n- a\n\n\n## B\n"
    assert with_fact("## A", "a", "A") == "## A\n- a\n"


@pytest.mark.parametrize("spaces", ["\n", " ", "\r\n\r\n", "\t\n ", "\u2028", "\x0b", "\x85"])
def test_fact_is_one_line(spaces: str) -> None:
    assert with_fact("", f" likes{spaces}tea{spaces}", "A") == "## A\n\n- likes tea\n"


def test_fact_can_end_no_section() -> None:
    text = with_fact("## A\n", "x\n\n# B\n\n- y", "A")

    assert text == "## A\n- x # B - y\n"


@pytest.mark.parametrize("category", ["#", "##", "C #", "C#", "\\#", "*A*", "A | B", "[x]: y", "- a", "<!-- a", "`a`"])
def test_category_is_found_again_whatever_its_name(category: str) -> None:
    once = with_fact("intro\n", "a", category)

    twice = with_fact(once, "b", category)

    assert twice == f"{once}- b\n"


def test_line_ends_of_the_file_are_used() -> None:
    assert with_fact("## A\r\n- a\r\n\r\n## B\r\n", "b", "A") == "## A\r\n- a\r\n- b\r\n\r\n## B\r\n"
    assert with_fact("## A\r\n- a", "b", "A") == "## A\r\n- a\r\n- b\r\n"
    assert with_fact("x\r\n", "b", "A") == "x\r\n\r\n## A\r\n\r\n- b\r\n"


def test_byte_order_mark_stays_first() -> None:
    assert with_fact("\ufeff", "a", "A") == "\ufeff## A\n\n- a\n"
    assert with_fact("\ufeff## A\n", "a", "A") == "\ufeff## A\n- a\n"
    assert with_fact("\ufeff---\nx: 1\n---\n## A\n", "a", "A") == "\ufeff---\nx: 1\n---\n## A\n- a\n"


def test_last_line_without_an_end_gets_one() -> None:
    assert with_fact("## A\n- a", "b", "A") == "## A\n- a\n- b\n"
    assert with_fact("text", "b", "A") == "text\n\n## A\n\n- b\n"


def test_bytes_that_are_no_text_stay_as_they_are() -> None:
    raw = b"\xff\xfe\n## A\n- caf\xe9\n## B\xe9\n"

    assert place_fact(raw, "b", "A").into(raw) == b"\xff\xfe\n## A\n- caf\xe9\n- b\n## B\xe9\n"


@pytest.mark.parametrize("opened", ["```\ncode\n", "~~~\n", "<!-- note\n\ntext\n", "  ```\n# no heading\n", "<pre>\n"])
def test_fact_is_not_lost_in_a_block_that_nobody_closed(opened: str) -> None:
    text = f"## A\n\ntext\n\n{opened}"

    assert passages(with_fact(text, "b", "A"))[1] == Passage("b", 4, ("A",))
    assert passages(with_fact(text, "b", "New"))[1] == Passage("b", 7, ("New",))


def test_fact_is_not_taken_in_by_html() -> None:
    assert with_fact("## A\n<div>\nx\n", "b", "A") == "## A\n<div>\nx\n\n- b\n"
    assert with_fact("## A\n<!-- facts -->\n", "b", "A") == "## A\n<!-- facts -->\n- b\n"


def test_fact_takes_in_no_heading_that_follows() -> None:
    assert with_fact("# A\nNext\n====\n", "b", "A") == "# A\n- b\n\nNext\n====\n"
    assert with_fact("# A\n\n  ## B\n", "b", "A") == "# A\n-   b\n\n  ## B\n"


# Notes of a day


def test_entry_is_a_list_item_at_the_end() -> None:
    assert with_entry("", "met Tanaka") == "- met Tanaka\n"
    assert with_entry("- a\n", " b \n") == "- a\n- b\n"
    assert with_entry("# My day\n\ntext", "b") == "# My day\n\ntext\n- b\n"


def test_entry_of_several_lines_stays_one_item() -> None:
    text = with_entry("- a\n", "first\n\n  second  \r\n# third\rfourth\n")

    assert text == "- a\n- first\n\n    second  \n  # third\n  fourth\n"
    assert [passage.line for passage in passages(text)] == [1, 2]


def test_entry_uses_the_line_ends_of_the_file() -> None:
    assert with_entry("- a\r\n", "b\nc") == "- a\r\n- b\r\n  c\r\n"
    assert with_entry("\ufeff", "b") == "\ufeff- b\n"


@given(st.binary(max_size=60), st.text(min_size=1).filter(str.strip))
def test_entry_changes_nothing_before_it(raw: bytes, entry: str) -> None:
    inserted = place_entry(raw, entry)

    assert inserted.offset == len(raw)
    assert inserted.text.endswith((b"\n", b"\r"))


# Whatever a person wrote

PIECES = [
    *(
        "# A",
        "## A",
        "  ## B",
        "   # C",
        "Title\n===",
        "Sub\n---",
        "A\nB\n==",
        "# A #",
        "## \\#",
        "#",
        "#x",
        "\u2028# x",
    ),
    *("- item", "  - nested", "* star", "1. one", "- ```", "- <!--", "- # h", "- \n\n  x", "+", "-", "[x]: y"),
    *("para", "two\nlines", "    code", "\tcode", "> quote", "> # q", "", "", "   ", "---", "***", "==="),
    *("```", "~~~", "```py\ncode\n```", "  ```", "| a | b |\n|---|---|\n| 1 | 2 |", "a|b\n-|-"),
    *("<!-- c -->", "<!--", "-->", "<div>", "</div>", "<pre>", "</pre>", "   <!--", "😀 ｱ", "\x0c# A"),
]
BODIES = st.builds(
    lambda pieces, end, is_ended: end.join(pieces).replace("\n", end) + end * is_ended,
    st.lists(st.sampled_from(PIECES), max_size=14),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
)
DOCUMENTS = st.one_of(
    BODIES,
    BODIES.map(lambda body: f"\ufeff{body}"),
    BODIES.map(lambda body: f"---\ntags: # A\n---\n{body}"),
    st.text(alphabet="#->*`~<!=+1. \n\r\t|a:", max_size=60),
)
CATEGORIES = st.sampled_from(["A", "B", "C", "Title", "Sub", "#", "New", "General", "x #", "q"])


@given(DOCUMENTS, CATEGORIES)
@example("\ufeff  ```\n# A", "A")
@example("# A\n\n  ## B", "A")
def test_whatever_a_person_wrote_stays_byte_for_byte(text: str, category: str) -> None:
    raw = text.encode()

    inserted = place_fact(raw, "the new\n fact", category)

    after = inserted.into(raw)
    added = inserted.text.decode().splitlines()
    assert after[: inserted.offset] + after[inserted.offset + len(inserted.text) :] == raw
    assert [line for line in added if line and not line.startswith("## ")] in (["- the new fact"], ["-   the new fact"])
    assert len([line for line in added if line.startswith("## ")]) <= 1


@given(DOCUMENTS, CATEGORIES)
@example("\ufeff<!--\n# A", "A")
@example("# A\nNext\n===", "A")
def test_appending_moves_nothing_a_person_wrote_to_another_place(text: str, category: str) -> None:
    after = with_fact(text, "the new fact", category)

    old, new = passages(text), passages(after)
    (mine,) = (passage for passage in new if passage.text == "the new fact")
    old_headings = [heading.text for heading in markdown.outline(text).headings]
    new_headings = [heading.text for heading in markdown.outline(after).headings]
    is_new_section = len(new_headings) > len(old_headings)
    assert [passage.text for passage in new if passage is not mine] == [passage.text for passage in old]
    assert fold(mine.headings[-1].replace("\\", "")) == fold(category)
    assert len(new_headings) == len(old_headings) + is_new_section
    assert is_new_section or new_headings == old_headings


@given(DOCUMENTS)
def test_headings_of_plain_texts_are_found_the_short_way_and_the_long_way_alike(text: str) -> None:
    outline = markdown.outline(text)

    # A code block makes the text one that must be parsed.
    parsed = markdown.outline(f"{text}\n\n```\n```\n")

    assert outline.open_from is not None or outline.headings == parsed.headings
