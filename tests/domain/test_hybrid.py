"""How the two halves of a search become one score."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.hybrid import LEAST_COSINE, ScoredDocument, rank
from domain.search import Found, FoundDocument, SearchEngine, SearchSource

MEMORY, NOTEBOOK = SearchSource.MEMORY, SearchSource.NOTEBOOK
HYBRID, KEYWORD, LIKE = SearchEngine.HYBRID, SearchEngine.KEYWORD, SearchEngine.LIKE

bm25 = st.none() | st.floats(1e-9, 1e3)
cosines = st.none() | st.floats(-1.0000001, 1.0000001)
engines = st.sampled_from([HYBRID, KEYWORD])


@st.composite
def documents(draw: st.DrawFn) -> tuple[FoundDocument, ...]:
    ids = draw(st.lists(st.tuples(st.sampled_from(SearchSource), st.sampled_from("abcdef")), max_size=12, unique=True))
    return tuple(FoundDocument(source, id_, draw(bm25), draw(cosines)) for source, id_ in ids)


def a_document(id: str, keyword: float | None = None, cosine: float | None = None) -> FoundDocument:
    return FoundDocument(MEMORY, id, keyword, cosine)


def scores(ranked: Sequence[ScoredDocument]) -> dict[str, tuple[float, float | None, float | None]]:
    return {each.document.id: (each.score, each.vector_score, each.keyword_score) for each in ranked}


def test_nothing_found_is_nothing_ranked() -> None:
    assert rank(Found(HYBRID), 10) == ()


def test_score_is_seven_tenths_meaning_and_three_tenths_words() -> None:
    found = Found(HYBRID, (a_document("a", 4.0, 0.5), a_document("b", 1.0, 0.9)))

    assert scores(rank(found, 10)) == {
        "b": (0.7 * 0.9 + 0.3 * 0.25, 0.9, 0.25),
        "a": (0.7 * 0.5 + 0.3 * 1.0, 0.5, 1.0),
    }


def test_words_alone_score_by_their_part_of_the_best() -> None:
    found = Found(KEYWORD, (a_document("a", 2.0), a_document("b", 8.0), a_document("c")))

    assert scores(rank(found, 10)) == {"b": (1.0, None, 1.0), "a": (0.25, None, 0.25)}


def test_a_cosine_does_not_count_where_only_words_were_searched() -> None:
    found = Found(KEYWORD, (a_document("a", 2.0, 0.9), a_document("b", None, 0.9)))

    assert scores(rank(found, 10)) == {"a": (1.0, None, 1.0)}


def test_a_plain_look_through_all_texts_scores_by_the_part_of_keywords_found() -> None:
    found = Found(LIKE, (a_document("a", 0.25), a_document("b", 0.5)))

    assert scores(rank(found, 10)) == {"b": (0.5, None, 0.5), "a": (0.25, None, 0.25)}


@pytest.mark.parametrize("cosine", [None, -1.0, -0.2, 0.0, 0.05])
def test_a_hit_by_words_alone_survives(cosine: float | None) -> None:
    found = Found(HYBRID, (a_document("words", 3.0, cosine), a_document("meaning", None, 0.3)))

    expected = max(0.0, cosine or 0.0)
    assert scores(rank(found, 10))["words"] == (0.7 * expected + 0.3, expected, 1.0)


def test_the_exact_word_comes_before_a_hundred_that_are_only_somewhat_near() -> None:
    near = tuple(a_document(f"near_{number:03}", None, 0.4) for number in range(100))

    (first, *_) = rank(Found(HYBRID, (*near, a_document("exact", 0.001, 0.0))), 10)

    assert first.document.id == "exact"


@pytest.mark.parametrize(
    ("cosine", "is_hit"), [(LEAST_COSINE, True), (LEAST_COSINE - 1e-9, False), (0.0, False), (-1.0, False), (1.0, True)]
)
def test_what_shares_no_word_must_be_about_the_same(cosine: float, *, is_hit: bool) -> None:
    assert bool(rank(Found(HYBRID, (a_document("a", None, cosine),)), 10)) is is_hit


def test_equals_come_by_source_and_id() -> None:
    found = (
        FoundDocument(NOTEBOOK, "a", 1.0),
        FoundDocument(MEMORY, "b", 1.0),
        FoundDocument(MEMORY, "a", 1.0),
        FoundDocument(SearchSource.FACT, "c", 1.0),
    )

    ranked = rank(Found(KEYWORD, found), 10)

    assert [(each.document.source.value, each.document.id) for each in ranked] == [
        ("fact", "c"),
        ("memory", "a"),
        ("memory", "b"),
        ("notebook", "a"),
    ]


@given(documents(), st.sampled_from(SearchEngine))
def test_ranking_does_not_depend_on_the_order_of_finding(
    found: tuple[FoundDocument, ...], engine: SearchEngine
) -> None:
    assert rank(Found(engine, found), 20) == rank(Found(engine, found[::-1]), 20)


@given(documents(), engines)
def test_every_score_is_from_0_to_1_and_the_best_come_first(
    found: tuple[FoundDocument, ...], engine: SearchEngine
) -> None:
    ranked = rank(Found(engine, found), 20)

    parts = [
        part for each in ranked for part in (each.score, each.vector_score, each.keyword_score) if part is not None
    ]
    assert all(0 <= part <= 1 for part in parts)
    assert [each.score for each in ranked] == sorted((each.score for each in ranked), reverse=True)


@given(documents())
def test_the_parts_make_the_score(found: tuple[FoundDocument, ...]) -> None:
    for each in rank(Found(HYBRID, found), 20):
        assert each.vector_score is not None
        assert each.keyword_score is not None
        assert each.score == 0.7 * each.vector_score + 0.3 * each.keyword_score


@given(documents(), engines)
def test_whatever_has_a_word_in_it_is_a_hit(found: tuple[FoundDocument, ...], engine: SearchEngine) -> None:
    hits = {each.document for each in rank(Found(engine, found), 20)}

    assert {each for each in found if each.keyword is not None} <= hits
    if engine is KEYWORD:
        assert all(each.keyword is not None for each in hits)


@given(documents(), engines, st.integers(0, 14))
def test_a_limit_cuts_the_end_only(found: tuple[FoundDocument, ...], engine: SearchEngine, limit: int) -> None:
    assert rank(Found(engine, found), limit) == rank(Found(engine, found), 20)[:limit]


@given(st.floats(1e-9, 1e3), st.floats(1e-9, 1e3), cosines, engines)
def test_better_words_never_rank_lower(one: float, other: float, cosine: float | None, engine: SearchEngine) -> None:
    found = Found(engine, (a_document("one", one, cosine), a_document("other", other, cosine)))

    ranked = scores(rank(found, 2))

    assert (ranked["one"][0] >= ranked["other"][0]) or one < other
    assert (ranked["other"][0] >= ranked["one"][0]) or other < one
