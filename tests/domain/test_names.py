"""When a name stands in a text as a whole word, by the rules of B1."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.names import stands_whole
from domain.text import fold


def stands_in(text: str, name: str) -> bool:
    """Somewhere in the text the name is a word of its own."""
    folded_text, folded_name = fold(text), fold(name)
    starts = [at for at in range(len(folded_text)) if folded_text.startswith(folded_name, at)]
    return any(stands_whole(folded_text, start, start + len(folded_name)) for start in starts)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Ann", "Ann"),
        ("Ann went home.", "Ann"),
        ("went with ANN", "Ann"),
        ("Ann's hat", "Ann"),
        ("Mary-Ann", "Ann"),
        ("(Ann)", "Ann"),
        ("Anna met Ann", "Ann"),
        ("Mary  Sue and Mary Sue", "Mary Sue"),
        ("彼はAnnを見た", "Ann"),
        ("彼はＡＮＮを見た", "Ann"),
        ("アンAnnアン", "Ann"),
        ("第3章", "3"),
        ("José!", "José"),
        ("Jose\u0301!", "José"),
        ("Ну, Анна, идём", "Анна"),
        ("ο Σίσυφος γελά", "ΣΊΣΥΦΟΣ"),
    ],
)
def test_a_name_that_stands_as_a_word_is_found_in_any_case_and_width(text: str, name: str) -> None:
    assert stands_in(text, name)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Anna", "Ann"),
        ("Joann", "Ann"),
        ("Bananna", "Ann"),
        ("彼はAnnaを見た", "Ann"),
        ("Ann2", "Ann"),
        ("2Ann", "Ann"),
        ("123", "12"),
        ("Ａｎｎａ", "Ann"),
        ("Année", "Ann"),
        ("José", "Jos"),
        ("José", "Jose"),
        ("Ann\u0308", "Ann"),
        ("Аннам", "Анна"),
        ("Σισύφου", "Σισύ"),
        ("Mary Suez", "Mary Sue"),
        ("", "Ann"),
    ],
)
def test_a_name_is_not_cut_out_of_a_longer_word(text: str, name: str) -> None:
    assert not stands_in(text, name)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("アンは来た", "アン"),
        ("彼女アンが", "アン"),
        ("ジョン・スミス", "スミス"),
        ("ジョン・スミス", "ジョン"),
        ("ｼﾞｮﾝ･ｽﾐｽ", "スミス"),
        ("ジョン゠スミス", "スミス"),
        ("「タロー」", "タロー"),
        ("アンナとアン", "アン"),
        ("Annアン", "アン"),
        ("らーめん", "めん"),
    ],
)
def test_a_katakana_name_is_found_where_its_word_ends(text: str, name: str) -> None:
    assert stands_in(text, name)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("アンナ", "アン"),
        ("ジョアン", "アン"),
        ("ジョアンナ", "アン"),
        ("アンー", "アン"),
        ("タロー", "タロ"),
        ("ｱﾝﾅ", "アン"),
        ("アンヽ", "アン"),
        ("アンㇺ", "アン"),
    ],
)
def test_a_katakana_name_is_not_cut_out_of_a_longer_katakana_word(text: str, name: str) -> None:
    assert not stands_in(text, name)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("田中太郎は", "田中"),
        ("小田中", "田中"),
        ("佐々木さん", "佐々木"),
        ("これはたぬきです", "たぬき"),
        ("かれらがきた", "がき"),
        ("김철수는", "김철수"),
        ("T細胞", "細胞"),
        ("田中1号", "田中"),
    ],
)
def test_kanji_kana_and_hangul_need_no_space_around_a_name(text: str, name: str) -> None:
    assert stands_in(text, name)


words = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=8)


@settings(deadline=None)
@given(words, st.text())
def test_a_name_between_spaces_is_always_found(name: str, text: str) -> None:
    assert stands_in(f"{text} {name} {text}", name)


@settings(deadline=None)
@given(st.text("abcdefghij", min_size=1, max_size=5), st.text("abcdefghij", min_size=1, max_size=5))
def test_no_part_of_a_latin_word_is_a_name(part: str, rest: str) -> None:
    assert not stands_in(part + rest, part)
    assert not stands_in(rest + part, part)
