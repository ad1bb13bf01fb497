"""What changed from one text to another, as a unified diff."""

import re

from hypothesis import given
from hypothesis import strategies as st

from domain.text_diff import unified_diff

TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "字\n", "d", "\u2028\n"]), max_size=15).map("".join)
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n")


def diff(old: str, new: str) -> list[str]:
    return unified_diff(old, new, "old", "new").splitlines()


def lines_of(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def patched(old: str, changes: str) -> str:
    """What the changes make of the old text, when they fit it exactly."""
    before, made, position = lines_of(old), "", 0
    for line in lines_of(changes.replace("\n\\ No newline at end of file\n", "\0\n"))[2:]:
        if hunk := HUNK.fullmatch(line):
            start = int(hunk[1]) - (hunk[2] != "0")
            made += "".join(before[position:start])
            position = start
            continue
        mark, text = line[0], line[1:].replace("\0\n", "")
        if mark in " -":
            assert before[position] == text
            position += 1
        if mark in " +":
            made += text
    return made + "".join(before[position:])


def test_change_is_shown_with_three_lines_around_it() -> None:
    old = "".join(f"{number}\n" for number in range(20))

    shown = diff(old, old.replace("10\n", "ten\n"))

    assert shown == ["--- old", "+++ new", "@@ -8,7 +8,7 @@", *(" 7", " 8", " 9", "-10", "+ten", " 11", " 12", " 13")]


def test_changes_far_apart_are_shown_apart() -> None:
    old = "".join(f"{number}\n" for number in range(100))

    shown = diff(old, old.replace("10\n", "ten\n").replace("90\n", ""))

    assert [line for line in shown if line[0] in "@+-"][2:] == [
        "@@ -8,7 +8,7 @@",
        "-10",
        "+ten",
        "@@ -88,7 +88,6 @@",
        "-90",
    ]


def test_equal_texts_have_no_diff() -> None:
    assert unified_diff("a\nb", "a\nb", "old", "new") == ""


def test_missing_end_of_the_last_line_is_told() -> None:
    assert diff("a", "a\n") == ["--- old", "+++ new", "@@ -1 +1 @@", "-a", "\\ No newline at end of file", "+a"]


def test_new_and_emptied_texts_are_shown_whole() -> None:
    assert diff("", "a\nb\n") == ["--- old", "+++ new", "@@ -0,0 +1,2 @@", "+a", "+b"]
    assert diff("a\nb\n", "") == ["--- old", "+++ new", "@@ -1,2 +0,0 @@", "-a", "-b"]


@given(TEXTS, TEXTS)
def test_diff_makes_the_new_text_of_the_old(old: str, new: str) -> None:
    assert patched(old, unified_diff(old, new, "old", "new")) == new


def test_huge_texts_with_nothing_in_common_are_compared() -> None:
    old, new = ("".join(f"{side} {number % 1000}\n" for number in range(50_000)) for side in ("old", "new"))

    shown = diff(old, new)

    assert shown[:3] == ["--- old", "+++ new", "@@ -1,50000 +1,50000 @@"]
    assert len(shown) == 3 + 100_000


def test_huge_texts_that_repeat_themselves_are_compared() -> None:
    old = "a\nb\n" * 100_000
    new = "b\na\n" * 100_000

    assert patched(old, unified_diff(old, new, "old", "new")) == new


def test_one_change_in_a_huge_text_is_shown_alone() -> None:
    old = "".join(f"{number % 7}\n" for number in range(200_000))

    shown = diff(old, f"{old[:200_000]}new\n{old[200_000:]}")

    assert [line for line in shown if line[0] in "+-"][2:] == ["+new"]
