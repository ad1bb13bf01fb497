"""The gate that a new fact passes, how far it is trusted, and how it is told."""

from datetime import UTC, datetime

import pytest

from domain.facts import (
    Fact,
    FactCategory,
    FactSource,
    WriteOutcome,
    fact_text,
    judge,
    same_key,
    texts_in,
    trusted,
    value_text,
)
from domain.values import Json

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def a_fact(value: Json, key: str = "favourite_drink") -> Fact:
    return Fact("fact_1", None, FactCategory.FACT, key, value, 0.9, FactSource.USER_STATED, NOON, NOON)


# Trust


@pytest.mark.parametrize(
    ("source", "given", "confidence"),
    [
        (FactSource.USER_STATED, None, 0.9),
        (FactSource.USER_STATED, 0.0, 0.9),
        (FactSource.USER_STATED, 0.5, 0.9),
        (FactSource.USER_STATED, 0.95, 0.95),
        (FactSource.USER_STATED, 1.0, 1.0),
        (FactSource.INFERRED, None, 0.6),
        (FactSource.INFERRED, 0.0, 0.0),
        (FactSource.INFERRED, 0.3, 0.3),
        (FactSource.INFERRED, 1.0, 1.0),
        (FactSource.SYSTEM, None, 0.9),
        (FactSource.SYSTEM, 0.2, 0.2),
    ],
)
def test_what_the_user_stated_is_trusted_to_nine_tenths_at_least(
    source: FactSource, given: float | None, confidence: float
) -> None:
    assert trusted(source, given) == confidence


# Keys


@pytest.mark.parametrize(
    "spelling",
    [
        "favourite_drink",
        "Favourite Drink",
        "FAVOURITE-DRINK",
        " favourite  drink ",
        "ｆａｖｏｕｒｉｔｅ＿ｄｒｉｎｋ",
        "favourite\tdrink_",
    ],
)
def test_a_key_is_one_however_it_is_spelled(spelling: str) -> None:
    assert same_key(spelling) == "favourite_drink"


@pytest.mark.parametrize(
    "other", ["favourite_drinks", "favouritedrink", "favourite", "favorite_drink", "drink", "喜欢的饮料"]
)
def test_a_similar_key_is_another_one(other: str) -> None:
    assert same_key(other) != "favourite_drink"


@pytest.mark.parametrize("empty", ["", " ", "_", "- _", "\t\n"])
def test_a_key_of_nothing_is_empty(empty: str) -> None:
    assert not same_key(empty)


# The gate


def test_first_fact_of_a_key_is_added() -> None:
    assert judge(None, a_fact("tea")) is WriteOutcome.ADDED


@pytest.mark.parametrize(
    ("holding", "again"),
    [
        ("green tea", "Green Tea"),
        ("green tea", "  green   tea. "),
        ("green tea", "ｇｒｅｅｎ　ｔｅａ！"),
        ("绿茶", "绿茶。"),
        ("ﾊﾟﾝ", "パン"),
        ({"a": 1, "b": [2, "X"]}, {"b": [2, "x."], "a": 1}),
        (1, 1.0),
        ([], []),
        ({}, {}),
        (False, False),
        ("", " "),
    ],
)
def test_a_value_that_says_the_same_is_a_duplicate(holding: Json, again: Json) -> None:
    assert judge(a_fact(holding), a_fact(again)) is WriteOutcome.DUPLICATE


@pytest.mark.parametrize(
    ("holding", "new"),
    [
        ("green tea", "green teas"),
        ("绿茶", "红茶"),
        ("1", 1),
        (1, True),
        (0, False),
        (0, ""),
        ([], {}),
        (["a", "b"], ["b", "a"]),
        (["a"], "a"),
        (["a"], ["a", "a"]),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1}, {"a": "1"}),
        ({"a": 1}, {"A": 1}),
        ("greentea", "green tea"),
        ("C", "C++"),
        ("C#", "C"),
        ("5", "-5"),
        ("5", ".5"),
        ("net", ".net"),
        ("!", "?"),
        ("😀", "😢"),
    ],
)
def test_any_other_value_supersedes(holding: Json, new: Json) -> None:
    assert judge(a_fact(holding), a_fact(new)) is WriteOutcome.SUPERSEDED


# Words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("tea", "tea"),
        (3, "3"),
        (1.5, "1.5"),
        (True, "yes"),
        (False, "no"),
        (None, "none"),
        ([], ""),
        (["a", "b"], "a, b"),
        ({"city": "Kyoto", "years": [2019, 2024]}, "city Kyoto, years 2019, 2024"),
    ],
)
def test_a_value_is_told_in_words(value: Json, text: str) -> None:
    assert value_text(value) == text


def test_a_fact_is_told_by_its_key_and_value() -> None:
    assert fact_text(a_fact("绿茶", key=" favourite_drink-now ")) == "favourite drink now: 绿茶"


def test_texts_in_a_value_stand_behind_the_name_of_their_field() -> None:
    value = {"a": ["b", 1, {"c": "d"}], "e": {"f": True}, "g": []}

    assert list(texts_in(value)) == ["a: b", "a: 1", "c: d", "f: yes"]
    assert list(texts_in(["b", "c"])) == ["b", "c"]
