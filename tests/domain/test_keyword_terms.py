"""What a message is about: its words without grammar, and without those who speak."""

import pytest

from domain.segmentation import MAX_QUERY_TERMS, QueryTerms, keyword_terms, stands_in


def about(text: str) -> set[str]:
    found = keyword_terms(text)
    assert len(set(found.terms)) == len(found.terms)
    return set(found.terms)


def test_keywords_of_a_mixed_sentence_are_its_words_without_stop_words() -> None:
    assert about("我喜欢用 Python 写代码") == {"python", "代码", "喜欢"}


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("我爱喝什么茶", {"爱喝", "茶"}),
        ("用户喜欢绿茶", {"喜欢", "绿茶"}),
        ("他住在京都", {"住", "京都"}),
        ("我们去北京吧", {"北京"}),
        ("R语言 和 C++", {"r", "语言", "c++"}),
        ("What do I like to drink?", {"like", "drink"}),
        ("I'm allergic to peanuts", {"allerg", "peanut"}),
        ("likes LIKE liking", {"like"}),
        ("私は何が好きですか", {"好き"}),
        ("彼女は猫が好きです", {"猫", "好き"}),
        ("ユーザーはコーヒーを飲む", {"コー", "ーヒ", "ヒー", "飲む"}),
        ("東京でPythonを勉強した", {"東京", "python", "勉強"}),
    ],
)
def test_keywords_are_found_in_chinese_english_and_japanese(text: str, terms: set[str]) -> None:
    assert about(text) == terms


@pytest.mark.parametrize("text", ["我你他", "您好", "user", "the user", "用户", "ユーザー", "私", "彼女", "他们是谁"])
def test_whoever_speaks_or_is_spoken_of_is_no_keyword(text: str) -> None:
    assert keyword_terms(text) == QueryTerms(())


@pytest.mark.parametrize("text", ["", " \t\n", "。？！", "😀👍", "的了吗", "the of and", "\x00", "*", "* *"])
def test_a_text_that_says_nothing_has_no_keywords(text: str) -> None:
    assert not keyword_terms(text)


def test_a_word_that_ends_with_a_star_is_a_prefix() -> None:
    assert keyword_terms("Pyth* code") == QueryTerms(("code",), ("pyth",))


@pytest.mark.parametrize("text", ["pyth**", "(pyth*)", "*pyth", "pyth *"])
def test_a_star_anywhere_else_is_no_prefix(text: str) -> None:
    assert keyword_terms(text) == QueryTerms(("pyth",))


def test_width_and_case_do_not_count() -> None:
    assert keyword_terms("Ｐｙｔｈｏｎ PYTHON python") == QueryTerms(("python",))


def test_a_nul_parts_words() -> None:
    assert about("\x00tea\x00house") == {"tea", "hous"}


def test_keywords_are_bounded() -> None:
    text = " ".join(f"word{number} start{number}*" for number in range(2 * MAX_QUERY_TERMS))

    found = keyword_terms(text)

    assert (len(found.terms), len(found.prefixes)) == (MAX_QUERY_TERMS, MAX_QUERY_TERMS)


@pytest.mark.parametrize(
    ("topic", "text"),
    [
        ("茶", "favourite drink: 绿茶"),
        ("Tea houses", "teahouse or TEA"),
        ("travelling", "likes to travel"),
        ("编程", "language: 编程语言"),
        ("Pyth*", "language: Python"),
    ],
)
def test_a_topic_stands_in_a_text_that_has_one_of_its_keywords(topic: str, text: str) -> None:
    assert stands_in(keyword_terms(topic), text)


@pytest.mark.parametrize(("topic", "text"), [("tea", "steam"), ("北京", "南京"), ("我", "我喜欢茶"), ("", "anything")])
def test_a_topic_does_not_stand_in_a_text_without_its_keywords(topic: str, text: str) -> None:
    assert not stands_in(keyword_terms(topic), text)
