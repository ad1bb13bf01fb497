"""How texts and queries are cut into what search counts."""

import string

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from domain.segmentation import (
    MAX_QUERY_TERMS,
    QueryTerms,
    Terms,
    document_terms,
    found_spans,
    grams_within,
    keywords,
    query_terms,
    stem,
)
from domain.text import fold

# What joins its neighbours, is folded into several or none, or stands between two scripts.
ODD = "ｶｷﾞﾟがか\u3099\u309a々〆ー・ァヶ한국\u1112\u1161\u11abⅣ㍿①ßİﬁ’'+#_-*"
ODD += "\u0301\u200d\u200fקあア田中太郎甲乙丙𠮷２Ａ az09。 \n"

texts = st.one_of(st.text(max_size=40), st.text(st.sampled_from(ODD), max_size=40))


def all_terms(text: str) -> set[str]:
    terms = document_terms(text)
    return {*terms.characters, *terms.pairs, *terms.words}


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", Terms((), (), ())),
        ("田", Terms(("田",), (), ())),
        ("田中", Terms(("田", "中"), ("田中",), ())),
        ("田中太郎", Terms(("田", "中", "太", "郎"), ("田中", "中太", "太郎"), ())),
        ("田中。太郎", Terms(("田", "中", "太", "郎"), ("田中", "太郎"), ())),
        ("行く", Terms(("行", "く"), ("行く",), ())),
        ("ねこ", Terms(("こ",), ("ねこ",), ())),
        ("𠮷野家", Terms(("𠮷", "野", "家"), ("𠮷野", "野家"), ())),
        ("人々", Terms(("人", "々"), ("人々",), ())),
        ("重跑gen-itgc后", Terms(("重", "跑", "后"), ("重跑",), ("gen", "itgc"))),
        ("C++とC#", Terms(("と",), (), ("c++", "c#"))),
        ("Preferences prefer", Terms((), (), ("prefer", "preferences", "prefer"))),
        ("don't", Terms((), (), ("dont",))),
        ("the dog’s bone", Terms((), (), ("the", "dog", "bone"))),
        ("snake_case", Terms((), (), ("snake", "case"))),
        ("Ｐｙｔｈｏｎ３", Terms((), (), ("python3",))),
        ("ﾊﾟｿｺﾝ", Terms(("ン",), ("パソ", "ソコ", "コン"), ())),
        ("한국어", Terms(("어",), ("한국", "국어"), ())),
        ("Анна", Terms((), (), ("анна",))),
        ("!?。、…「」", Terms((), (), ())),
    ],
)
def test_a_text_is_found_by_han_characters_pairs_words_and_stems(text: str, terms: Terms) -> None:
    assert document_terms(text) == terms


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("", QueryTerms(())),
        (" \t\n", QueryTerms(())),
        ("?!。「」", QueryTerms(())),
        ("*", QueryTerms(())),
        ("* * *", QueryTerms(())),
        ("\x00", QueryTerms(())),
        ("Python", QueryTerms(("python",))),
        ("python PYTHON Ｐｙｔｈｏｎ", QueryTerms(("python",))),
        ("Pyth*", QueryTerms((), ("pyth",))),
        ("Pyth* code", QueryTerms(("code",), ("pyth",))),
        ("a*b", QueryTerms(("b",))),
        ("*python", QueryTerms(("python",))),
        ("python *", QueryTerms(("python",))),
        ("pyth**", QueryTerms(("pyth",))),
        ("(pyth*)", QueryTerms(("pyth",))),
        ("田", QueryTerms(("田",))),
        ("田中", QueryTerms(("田", "中", "田中"))),
        ("か", QueryTerms((), ("か",))),
        ("猫 か", QueryTerms(("猫",), ("か",))),
        ("ねこ", QueryTerms(("ねこ",))),
        ("猫は", QueryTerms(("猫", "猫は"))),
        ("the and of", QueryTerms(("the", "and", "of"))),
        ("what is the magic stone", QueryTerms(("magic", "stone"))),
        ("什么", QueryTerms(("什", "么", "什么"))),
        ("什锦", QueryTerms(("锦", "什锦"))),
        ("你喜欢什么", QueryTerms(("喜", "欢", "你喜", "喜欢", "欢什"))),
        ("魔石です", QueryTerms(("魔", "石", "魔石", "石で"))),
        ("a\x00python", QueryTerms(("python",))),
    ],
)
def test_a_query_is_read_as_words_without_grammar(query: str, terms: QueryTerms) -> None:
    assert query_terms(query) == terms


@pytest.mark.parametrize("operator", ["AND", "OR", "NOT", "NEAR"])
def test_operators_of_the_index_are_words(operator: str) -> None:
    said = query_terms(f"stone {operator} magic")

    assert {*said.terms} - {"near"} == {"stone", "magic"}
    assert said.prefixes == ()


def test_a_query_without_terms_is_false() -> None:
    assert not query_terms("。")
    assert query_terms("か")
    assert query_terms("石")


def test_a_query_of_many_different_words_is_cut() -> None:
    query = " ".join(f"word{number}" for number in range(2 * MAX_QUERY_TERMS))

    assert query_terms(query).terms == tuple(f"word{number}" for number in range(MAX_QUERY_TERMS))


def test_a_query_of_many_different_prefixes_is_cut() -> None:
    query = " ".join(f"word{number}*" for number in range(2 * MAX_QUERY_TERMS))

    assert query_terms(query) == QueryTerms((), tuple(f"word{number}" for number in range(MAX_QUERY_TERMS)))


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("preferences", "preferred"),
        ("running", "runs"),
        ("memories", "memory"),
        ("endings", "ending"),
    ],
)
def test_forms_of_one_word_are_one_term(written: str, same: str) -> None:
    assert stem(written) == stem(same)
    assert {*query_terms(written).terms} <= {*document_terms(same).words}


@settings(deadline=None)
@given(st.text(st.sampled_from("aeinorstylgmp"), min_size=1, max_size=12), st.data())
def test_every_beginning_of_a_word_is_a_prefix_of_one_of_its_terms(word: str, data: st.DataObject) -> None:
    beginning = word[: data.draw(st.integers(1, len(word)))]

    (prefix,) = query_terms(f"{beginning}*").prefixes

    assert any(term.startswith(prefix) for term in document_terms(word).words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("我喜欢用 Python 写代码", ("喜欢", "python", "代码")),
        ("", ()),
        ("的", ("的",)),
        ("我", ("我",)),
        ("the", ("the",)),
        ("代码 代码 CODE code", ("代码", "code")),
        ("a\x00b代码", ("b", "代码")),
        ("。！", ()),
    ],
)
def test_keywords_are_dictionary_words_without_grammar(text: str, words: tuple[str, ...]) -> None:
    assert keywords(text) == words


@settings(deadline=None, max_examples=400)
@given(texts)
def test_every_term_is_one_token_of_the_index(text: str) -> None:
    """FTS5 cuts at every ASCII character that is no letter, digit, + or #, and reads none of these as syntax."""
    allowed = {*string.ascii_lowercase, *string.digits, "+", "#"}

    terms = [*all_terms(text), *query_terms(text).terms, *query_terms(text).prefixes, *grams_within(text)]

    assert [term for term in terms if not term or any(each.isascii() and each not in allowed for each in term)] == []


@settings(deadline=None, max_examples=400)
@given(texts)
def test_a_text_has_every_term_of_itself_as_a_query(text: str) -> None:
    assert {*query_terms(text).terms} <= all_terms(text.replace("\x00", " "))


@settings(deadline=None, max_examples=400)
@given(texts)
def test_a_text_with_letters_says_something_as_a_query(text: str) -> None:
    assert bool(query_terms(text)) == bool(all_terms(text.replace("\x00", " ")))


@settings(deadline=None, max_examples=600)
@given(texts, st.data())
@example("が", None)
def test_a_text_has_all_grams_of_what_stands_in_it(text: str, data: st.DataObject | None) -> None:
    folded = fold(text)
    if data is None:
        needle = "か"
    else:
        start = data.draw(st.integers(0, len(text)), label="start")
        needle = text[start : data.draw(st.integers(start, len(text)), label="end")]
    assume(fold(needle) in folded)

    terms = document_terms(text)

    assert {*grams_within(needle)} <= {*terms.characters, *terms.pairs}


@settings(deadline=None, max_examples=600)
@given(texts, texts, texts)
def test_grams_do_not_depend_on_what_stands_around(before: str, needle: str, after: str) -> None:
    text = before + needle + after
    assume(fold(needle) in fold(text))

    terms = document_terms(text)

    assert {*grams_within(needle)} <= {*terms.characters, *terms.pairs}


@settings(deadline=None, max_examples=400)
@given(texts, texts)
def test_terms_are_found_exactly_where_a_text_has_them(text: str, query: str) -> None:
    folded = fold(text)
    terms = query_terms(query)

    spans = found_spans(folded, terms)

    assert all(0 <= start < end <= len(folded) for start, end in spans)
    assert bool(spans) >= bool(all_terms(text) & {*terms.terms})


@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        ("magic stones", "stone", ["stones"]),
        ("magic stones", "sto*", ["stones"]),
        ("magic stones", "sto", []),
        ("魔石の力", "魔石", ["魔", "石", "魔石"]),
        ("ばかだね", "か", ["か"]),
        ("ばかだね", "ね", ["ね"]),
        ("重跑gen-itgc后", "gen-itgc", ["gen", "itgc"]),
        ("a b", "", []),
    ],
)
def test_found_spans_hold_what_was_looked_for(text: str, query: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in found_spans(text, query_terms(query))] == found


def test_ten_thousand_characters_are_cut_at_once() -> None:
    """No regular expression runs away with any of them."""
    for character in ("a", "'", "*", "田", "か", " ", "\u0301", "a'", "+", "a*", "’s"):
        query = character * (10_000 // len(character))

        assert len(query_terms(query).terms) <= MAX_QUERY_TERMS
        assert len(grams_within(query)) <= MAX_QUERY_TERMS
