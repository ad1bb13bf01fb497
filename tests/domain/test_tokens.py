"""What a text is estimated to cost a model."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.tokens import estimate_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        (" \n\t　", 0),
        ("田中太郎", 4),
        ("たろう", 3),
        ("タロー", 3),
        ("ﾀﾛｰ", 3),
        ("김철수", 3),
        ("𠮷", 1),
        ("々", 1),
        ("a", 1),
        ("word", 1),
        ("words", 2),
        ("two words", 3),
        ("Ünïcödé", 2),
        ("Анна", 1),
        ("1", 1),
        ("123", 1),
        ("1234", 2),
        ("2026", 2),
        ("a1", 2),
        ("...", 3),
        ("a_b", 3),
        ("【相关记忆】", 6),
        ("- [Memory] 元医者", 8),
        ("🧙", 1),
        ("彼はAnnを", 4),
        ("Annは医者だった", 7),
        ("Chapter第3章", 5),
    ],
)
def test_tokens_of_a_text(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@settings(deadline=None)
@given(st.text())
def test_no_text_costs_more_than_its_characters_nor_less_than_nothing(text: str) -> None:
    assert 0 <= estimate_tokens(text) <= len(text)


@settings(deadline=None)
@given(st.text(), st.text())
def test_texts_on_lines_of_their_own_cost_their_sum(one: str, other: str) -> None:
    assert estimate_tokens(f"{one}\n{other}") == estimate_tokens(one) + estimate_tokens(other)


@settings(deadline=None)
@given(st.text(), st.text())
def test_a_longer_text_never_costs_less(text: str, more: str) -> None:
    assert estimate_tokens(text + more) >= estimate_tokens(text)
