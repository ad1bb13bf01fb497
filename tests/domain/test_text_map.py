"""The way back from folded text to where it stood."""

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from domain.text import Folded, fold, fold_with_map


def original(text: str, part: str) -> str:
    """What stood in the text where its folded form first has this part."""
    folded = fold_with_map(text)
    start = folded.text.index(part)
    begin, end = folded.original_span(start, start + len(part))
    return text[begin:end]


@pytest.mark.parametrize(
    ("text", "part", "expected"),
    [
        ("田中太郎", "太郎", "太郎"),
        ("彼はＡＮＮを", "ann", "ＡＮＮ"),
        ("㍿田中", "田中", "田中"),
        ("㍿田中", "株式会社", "㍿"),
        ("㍿田中", "会", "㍿"),
        ("㍿田中", "社田", "㍿田"),
        ("田ﾊﾞｶ中", "バカ", "ﾊﾞｶ"),
        ("ﾊﾞｶ田中", "田中", "田中"),
        ("か\u3099田", "が", "か\u3099"),
        ("か\u3099田", "田", "田"),
        ("Straße田", "strasse", "Straße"),
        ("Straße田", "s", "S"),
        ("ﬁn", "n", "n"),
        ("Zoe\u0308!", "zoë", "Zoe\u0308"),
        ("𠮷ＡＢ🧙", "ab", "ＡＢ"),
        ("ß…田", "…", "…"),
        ("각田", "각", "각"),
        ("辻\U000e0100さん", "辻", "辻\U000e0100"),
    ],
)
def test_a_part_of_the_folded_text_is_found_in_the_original(text: str, part: str, expected: str) -> None:
    assert original(text, part) == expected


def test_a_text_that_keeps_its_length_needs_no_map() -> None:
    assert fold_with_map("彼はＡＮＮを、田中…") == Folded("彼はannを、田中…", None, 10)


def test_a_text_that_changes_its_length_has_a_place_for_every_letter() -> None:
    assert fold_with_map("aßか\u3099b") == Folded("assがb", (0, 1, 1, 2, 4), 5)


def test_an_empty_text_is_empty() -> None:
    assert fold_with_map("").text == ""


@pytest.mark.parametrize("text", ["…", "田中…", "……", "ß…", "か\u3099…", "‥", "⁈", "‼"])
def test_signs_that_would_become_several_stay_one_character(text: str) -> None:
    sign = text[-1]

    assert fold(text)[-1] == sign
    assert original(text, sign) == sign


@pytest.mark.parametrize("wide", ["，", "！", "？", "：", "；", "　", "（", "）"])
@pytest.mark.parametrize("unusual", ["", "ß", "か\u3099"])
def test_wide_punctuation_is_folded_whatever_stands_beside_it(wide: str, unusual: str) -> None:
    assert fold(unusual + wide) == fold(unusual) + unicodedata.normalize("NFKC", wide)


# For any text


def clusters(text: str) -> list[str]:
    """Each character with the marks that follow it."""
    found: list[str] = []
    for character in text:
        is_mark = unicodedata.category(character)[0] == "M" or character in "ﾞﾟ" or "\u1160" <= character <= "\u11ff"
        if is_mark and found:
            found[-1] += character
        else:
            found.append(character)
    return found


def fold_apart(cluster: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", cluster).casefold()).lower()
    return cluster if len(folded) > len(cluster) and not any(map(str.isalnum, folded)) else folded


def test_every_character_is_folded_alike_alone_and_beside_what_needs_care() -> None:
    # Beyond these planes are kanji that fold to themselves.
    codes = [*range(0xD800), *range(0xE000, 0x20000), *range(0x2F800, 0x2FA20)]
    characters = [each for each in map(chr, codes) if len(clusters(f"a{each}")) == 2]

    # ß becomes two letters, so a text with it is folded with a map.
    differing = [each for each in characters if fold(f"{each}ß") != f"{fold(each)}ss"]

    assert differing == []


unusual = st.sampled_from(
    "田ＡａAaé…‥‼㍿ﬁßİıſΣςｶﾞﾊﾟか\u3099\u0301\u0308각\u1100\u1161\u11a8𠮷🧙\U000e0100\u2011\u2024Ⅳ①，　・･"
)
texts = st.text(unusual, max_size=12) | st.text(max_size=20)


@settings(deadline=None, max_examples=200)
@given(texts)
@example("a\u2011b")
def test_folding_is_that_of_the_clusters_one_by_one(text: str) -> None:
    assert fold(text) == "".join(map(fold_apart, clusters(text)))


@settings(deadline=None, max_examples=200)
@given(texts)
def test_every_span_lies_in_the_text_and_is_not_empty(text: str) -> None:
    folded = fold_with_map(text)

    for start in range(len(folded.text)):
        for end in range(start + 1, len(folded.text) + 1):
            begin, stop = folded.original_span(start, end)
            assert 0 <= begin < stop <= len(text)


@settings(deadline=None, max_examples=200)
@given(texts)
def test_the_whole_folded_text_is_the_whole_original(text: str) -> None:
    folded = fold_with_map(text)

    if folded.text:
        assert folded.original_span(0, len(folded.text)) == (0, len(text))


@settings(deadline=None, max_examples=200)
@given(texts)
def test_what_stood_at_a_letter_folds_to_something_with_that_letter(text: str) -> None:
    folded = fold_with_map(text)

    for position, letter in enumerate(folded.text):
        begin, end = folded.original_span(position, position + 1)
        assert letter in fold(text[begin:end])


@settings(deadline=None, max_examples=200)
@given(texts)
def test_spans_of_the_letters_follow_each_other(text: str) -> None:
    folded = fold_with_map(text)

    spans = [folded.original_span(position, position + 1) for position in range(len(folded.text))]

    assert spans == sorted(spans)
    assert len(text) == sum(end - begin for begin, end in dict.fromkeys(spans))


plain = st.text(
    st.characters(min_codepoint=0x20, max_codepoint=0x7E) | st.sampled_from("田中太郎たろうタロー、。「」…🧙𠮷")
)


@settings(deadline=None, max_examples=200)
@given(plain)
def test_plain_text_keeps_its_offsets(text: str) -> None:
    folded = fold_with_map(text)

    assert folded == Folded(text.lower(), None, len(text))
    for start in range(len(text)):
        assert folded.original_span(start, start + 1) == (start, start + 1)
