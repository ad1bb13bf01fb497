"""The part of a text in which a query is found."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.mentions import Span
from domain.segmentation import query_terms
from domain.snippets import CUT, LEAD, MARK, SNIPPET_LENGTH, Snippet, snippet

# Without the marks themselves, so that they can be taken out again.
letters = "ab stone 魔石のﾊﾟｶﾞ㍿①한국 \n\t\u3000。ßİé\u0301か\u3099Ⅳ田中"
texts = st.text(st.sampled_from(letters), max_size=500)
queries = st.text(st.sampled_from(letters + "*"), max_size=12)


def of(text: str, query: str) -> Snippet:
    return snippet(text, query_terms(query))


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("", "stone", ""),
        ("A magic stone.", "", "A magic stone."),
        ("A magic stone.", "castle", "A magic stone."),
        ("A magic stone.", "stones", "A magic **stone**."),
        ("A magic Stone.", "MAGIC ston*", "A **magic** **Stone**."),
        ("魔石の力", "魔石", "**魔石**の力"),
        ("魔石の力", "石", "魔**石**の力"),
        ("田中太郎です", "太郎 田中", "**田中太郎**です"),
        ("重跑gen-itgc后", "itgc", "重跑gen-**itgc**后"),
        ("重跑gen-itgc后", "重跑gen", "**重跑gen**-itgc后"),
        ("ﾊﾟｿｺﾝ教室", "パソコン", "**ﾊﾟｿｺﾝ**教室"),
        ("㍿田中", "株式会社", "**㍿**田中"),
        ("cafe\u0301 bar", "café", "**cafe\u0301** bar"),
        ("ばかだね", "か", "ば**か**だね"),
        ("  two\n\n lines \t here ", "lines", "two **lines** here"),
        ("don't", "dont", "**don't**"),
        ("the stone", "the stone", "the **stone**"),
    ],
)
def test_matches_stand_between_marks(text: str, query: str, marked: str) -> None:
    assert of(text, query).text == marked


def test_highlights_say_where_in_the_whole_text() -> None:
    text = "😀 A magic stone, two stones and ㍿魔石"

    assert of(text, "stone 株式会社魔石").highlights == (
        Span(10, 15, "stone"),
        Span(21, 27, "stones"),
        Span(32, 35, "㍿魔石"),
    )


def test_a_long_text_is_cut_around_its_match() -> None:
    text = "x " * 500 + "stone" + " y" * 500

    shown = of(text, "stone")

    assert shown.text.startswith(f"{CUT}x ")
    assert shown.text.endswith(CUT)
    assert "x **stone** y" in shown.text
    assert len(shown.text) <= SNIPPET_LENGTH + 2 * len(MARK) + 2 * len(CUT)


def test_a_match_at_the_end_of_a_long_text_is_shown() -> None:
    shown = of("x " * 500 + "stone", "stone")

    assert shown.text.startswith(CUT)
    assert shown.text.endswith("x **stone**")


def test_a_match_at_the_beginning_of_a_long_text_is_shown() -> None:
    shown = of("stone" + " y" * 500, "stone")

    assert shown.text.startswith("**stone** y")
    assert shown.text.endswith(CUT)


def test_a_long_text_without_a_match_is_shown_from_its_beginning() -> None:
    text = "甲" * 1000

    assert of(text, "stone") == Snippet("甲" * SNIPPET_LENGTH + CUT, ())


def test_the_place_where_most_of_the_query_stands_is_shown() -> None:
    text = "a stone " + "x " * 300 + "the magic stone of the castle " + "y " * 300 + "a castle"

    shown = of(text, "magic stone castle")

    assert "the **magic** **stone** of the **castle** y" in shown.text
    assert len(shown.highlights) == 5


def test_there_is_room_before_the_match() -> None:
    text = "前" * 300 + "石" + "後" * 300

    assert of(text, "石").text == f"{CUT}{'前' * LEAD}**石**{'後' * (SNIPPET_LENGTH - LEAD - 1)}{CUT}"


def test_a_match_longer_than_a_snippet_is_cut_inside_its_marks() -> None:
    text = "魔石" * 300

    shown = of(text, "魔石")

    assert shown == Snippet(f"**{text[:SNIPPET_LENGTH]}**{CUT}", (Span(0, 600, text),))


@settings(deadline=None, max_examples=500)
@given(texts, queries)
def test_without_its_marks_a_snippet_is_a_part_of_the_text(text: str, query: str) -> None:
    shown = of(text, query).text.replace(MARK, "").replace(CUT, "")

    assert "".join(shown.split()) in "".join(text.split())


@settings(deadline=None, max_examples=500)
@given(texts, queries)
def test_a_snippet_is_short_and_its_marks_are_closed(text: str, query: str) -> None:
    shown = of(text, query)

    assert shown.text.count(MARK) % 2 == 0
    assert len(shown.text.replace(MARK, "")) <= SNIPPET_LENGTH + 2 * len(CUT)
    assert (MARK in shown.text) == bool(shown.highlights)
    assert shown.text == " ".join(shown.text.split())


@settings(deadline=None, max_examples=500)
@given(st.one_of(texts, st.text(max_size=300)), st.one_of(queries, st.text(max_size=10)))
def test_every_highlight_is_the_text_between_its_ends(text: str, query: str) -> None:
    highlights = of(text, query).highlights

    assert [each.text for each in highlights] == [text[each.start : each.end] for each in highlights]
    assert all(each.start < each.end for each in highlights)
    assert all(one.end < other.start for one, other in pairwise(highlights))
