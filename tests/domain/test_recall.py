"""The score of a recalled fact, part by part, and the order it leads to."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import isclose, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.facts import Fact, FactCategory, FactSource
from domain.recall import FactScore, Occasion, best, expresses_preference, frequency, recency, score
from domain.segmentation import QueryTerms, keyword_terms

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOTHING = QueryTerms(())
SMALL_TALK = Occasion(is_about_preferences=False, topic=NOTHING, now=NOON)
ABOUT_LIKES = Occasion(is_about_preferences=True, topic=NOTHING, now=NOON)

parts = st.floats(0, 1)


def a_fact(id: str = "fact_1", category: FactCategory = FactCategory.FACT, **fields: object) -> Fact:
    fact = Fact(id, None, category, "drink", "green tea", 0.9, FactSource.USER_STATED, NOON, NOON)
    return replace(fact, **fields)  # type: ignore[arg-type]


# The parts


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        (timedelta(), 1.0),
        (timedelta(days=7), 0.5),
        (timedelta(days=14), 0.25),
        (timedelta(days=3.5), 0.5**0.5),
        (timedelta(days=70), 0.5**10),
        (timedelta(days=-1), 1.0),
    ],
)
def test_recency_halves_in_seven_days(age: timedelta, expected: float) -> None:
    assert isclose(recency(NOON - age, NOON), expected)


@pytest.mark.parametrize(
    ("count", "expected"), [(0, 0.0), (1, log(2) / log(101)), (9, log(10) / log(101)), (100, 1.0), (10_000, 1.0)]
)
def test_frequency_grows_with_the_logarithm_up_to_one(count: int, expected: float) -> None:
    assert isclose(frequency(count), expected)


def test_a_score_is_the_weighed_sum_of_its_parts() -> None:
    parts = FactScore(keyword=1, category=1.5, recency=0.5, frequency=0.25, confidence=0.8, topic_boost=1)

    assert isclose(parts.total, 0.4 + 0.3 + 0.075 + 0.025 + 0.12)
    assert isclose(replace(parts, topic_boost=1.3).total, 1.3 * parts.total)


@given(
    st.builds(
        FactScore, parts, st.sampled_from([1.0, 1.5]), parts, parts, parts, topic_boost=st.sampled_from([1.0, 1.3])
    )
)
def test_every_score_is_the_formula_of_the_specification(parts: FactScore) -> None:
    by_hand = (
        parts.keyword * 0.4
        + parts.category * 0.2
        + parts.recency * 0.15
        + parts.frequency * 0.1
        + parts.confidence * 0.15
    )

    assert isclose(parts.total, by_hand * parts.topic_boost, abs_tol=1e-12)


def test_a_fact_is_scored_by_what_it_is_and_when_it_was_used() -> None:
    fact = a_fact(confidence=0.7, last_accessed_at=NOON - timedelta(days=7), access_count=9)

    assert score(fact, 0.6, SMALL_TALK) == FactScore(
        keyword=0.6, category=1.0, recency=0.5, frequency=frequency(9), confidence=0.7, topic_boost=1.0
    )


@pytest.mark.parametrize(
    ("occasion", "category", "boost"),
    [
        (ABOUT_LIKES, FactCategory.PREFERENCE, 1.5),
        (ABOUT_LIKES, FactCategory.FACT, 1.0),
        (ABOUT_LIKES, FactCategory.PATTERN, 1.0),
        (SMALL_TALK, FactCategory.PREFERENCE, 1.0),
    ],
)
def test_only_a_preference_is_boosted_and_only_where_one_is_expressed(
    occasion: Occasion, category: FactCategory, boost: float
) -> None:
    assert score(a_fact(category=category), 0, occasion).category == boost


@pytest.mark.parametrize(("topic", "boost"), [("tea ceremony", 1.3), ("drinking", 1.3), ("coffee", 1.0), ("", 1.0)])
def test_a_fact_in_which_the_topic_stands_is_boosted(topic: str, boost: float) -> None:
    occasion = replace(SMALL_TALK, topic=keyword_terms(topic))

    assert score(a_fact(), 0, occasion).topic_boost == boost


# Preference wording


@pytest.mark.parametrize(
    "message",
    [
        "我喜欢喝茶",
        "我最喜歡的顏色",
        "你知道我讨厌什么吗",
        "我偏好深色模式",
        "我爱吃辣",
        "推荐适合我口味的菜",
        "I like tea",
        "What do I prefer?",
        "my FAVORITE song",
        "my favourites",
        "She hates mornings",
        "I can't stand noise",
        "I am fond of cats",
        "お茶が好きです",
        "コーヒーは嫌い",
        "私の好みは？",
        "お気に入りの店",
        "辛いものが苦手",
    ],
)
def test_wording_of_preference_is_known_in_three_languages(message: str) -> None:
    assert expresses_preference(message)


@pytest.mark.parametrize(
    "message",
    [
        "",
        "今天天气怎么样",
        "我住在京都",
        "What is the capital of France?",
        "It is likely to rain",
        "the glove compartment",
        "alike, unlike and lovely",
        "明日は晴れますか",
        "駅はどこですか",
    ],
)
def test_other_wording_expresses_no_preference(message: str) -> None:
    assert not expresses_preference(message)


# Order


def test_the_best_come_first_and_no_more_than_asked_for() -> None:
    facts = [a_fact("low", confidence=0.1), a_fact("high", confidence=1.0), a_fact("middle", confidence=0.5)]

    recalled = best(facts, {}, SMALL_TALK, 2)

    assert [each.fact.id for each in recalled] == ["high", "middle"]


def test_keyword_scores_are_those_given_and_nothing_where_none_is() -> None:
    recalled = best([a_fact("plain"), a_fact("matching")], {"matching": 0.75}, SMALL_TALK, 10)

    assert [(each.fact.id, each.score.keyword) for each in recalled] == [("matching", 0.75), ("plain", 0.0)]


def test_of_equals_the_newer_comes_first_and_then_the_smaller_id() -> None:
    older = NOON - timedelta(hours=1)
    facts = [
        a_fact("fact_a", created_at=older),
        a_fact("fact_c"),
        a_fact("fact_b"),
        a_fact("fact_d", created_at=older),
    ]

    orders = {tuple(each.fact.id for each in best(arranged, {}, SMALL_TALK, 10)) for arranged in (facts, facts[::-1])}

    assert orders == {("fact_b", "fact_c", "fact_a", "fact_d")}


def test_nothing_is_recalled_of_nothing() -> None:
    assert best([], {"gone": 1.0}, ABOUT_LIKES, 5) == ()
