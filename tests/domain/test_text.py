"""Folding: what counts as the same text when names and words are looked for."""

import sys
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.text import fold

# Unicode has seventeen of them, with so many characters each.
PLANE = 0x10000


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        ("ＡＮＮ", "ann"),
        ("Ann", "ann"),
        ("ﾀﾛｰ", "タロー"),
        ("ｶﾞ", "ガ"),
        ("か\u3099", "が"),
        ("２０２６", "2026"),
        ("Ⅳ", "iv"),
        ("①", "1"),
        ("㍿", "株式会社"),
        ("ﬁn", "fin"),
        ("e\u0301", "é"),
        ("Straße", "strasse"),
        ("ΣΊΣΥΦΟΣ", "σίσυφοσ"),
        ("Анна", "анна"),
        ("田中太郎", "田中太郎"),
        ("", ""),
    ],
)
def test_width_case_and_compatibility_forms_are_equal(written: str, folded: str) -> None:
    assert fold(written) == folded


def test_accents_and_kana_stay_apart() -> None:
    assert fold("José") != fold("Jose")
    assert fold("タロー") != fold("たろー")
    assert fold("か") != fold("が")


@pytest.mark.parametrize("plane", range(0, sys.maxunicode + 1, PLANE), ids=hex)
def test_every_character_folds_to_something_that_stays_as_it_is(plane: int) -> None:
    characters = [chr(code) for code in range(plane, plane + PLANE) if not 0xD800 <= code <= 0xDFFF]

    changed = {folded for character in characters if (folded := fold(character)) != character}

    assert [folded for folded in changed if fold(folded) != folded] == []


@settings(deadline=None)
@given(st.text())
def test_folding_twice_changes_nothing_more(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@settings(deadline=None)
@given(st.text(st.characters(categories=("L", "N"))))
def test_words_that_differ_in_normal_form_alone_fold_alike(word: str) -> None:
    forms = {unicodedata.normalize(form, word) for form in ("NFC", "NFD")}

    assert {fold(form) for form in forms} == {fold(word)}


# Marks that combine with their neighbours in many ways are rare in random text.
marks = st.text(st.sampled_from("αΑιΙΐΰᾳᾼ\u0345\u0301\u0308\u0300sSßẞiİı\u0307ﾞﾟカはＫKÅΩ"), max_size=6)


@settings(deadline=None, max_examples=500)
@given(marks)
def test_folding_twice_changes_nothing_more_where_marks_pile_up(text: str) -> None:
    assert fold(fold(text)) == fold(text)
