"""Whether something that was learned is said already, whoever said it and in which words."""

import re
from typing import Final

from domain.facts import Fact, FactCategory, fact_text, value_text
from domain.segmentation import keyword_terms
from domain.text import fold

# It does not hold, or no longer.
_DENIED: Final = re.compile(
    r"\b(?:not|no|never|without|dislikes?|hates?|cannot|used to|formerly)\b|n['’]t\b"
    r"|不|没|沒|无|無|讨厌|討厭|别|別|未|曾|以前|ない|ません|嫌い|苦手|なく|昔"
)
# The segmenter takes them for grammar, but 三月 is not 四月.
_NUMERALS: Final = re.compile("[〇零一二三四五六七八九十百千万亿億两兩]+")
# What a preference is told with, whatever its key.
_LIKING: Final = frozenset(
    [
        "like",
        "love",
        "prefer",
        "favorit",
        "favourit",
        "enjoy",
        "喜欢",
        "喜歡",
        "偏好",
        "最爱",
        "最愛",
        "爱喝",
        "爱吃",
        "好き",
        "好み",
    ]
)
# Of English words with one stem the endings differ: allergy, allergic.
_SAME_BEGINNING: Final = 5


def says_the_same(one: str, other: str) -> bool:
    """By the words that carry meaning, in any order; and by whether it is denied."""
    if _denies(one) != _denies(other):
        return False
    terms = _terms(one)
    return fold(one).split() == fold(other).split() or (bool(terms) and terms == _terms(other))


def is_said_by(fact: Fact, learned: str) -> bool:
    """All of the value is in what was learned, and what else there is of it is in the key."""
    text = fact_text(fact)
    if says_the_same(learned, text):
        return True
    terms, value = _terms(learned), _terms(value_text(fact.value))
    if not value or not value <= terms or _denies(learned) != _denies(text):
        return False
    known = _terms(fact.key) | (_LIKING if fact.category is FactCategory.PREFERENCE else frozenset())
    return all(any(_is_alike(term, each) for each in known) for term in terms - value)


def _terms(text: str) -> frozenset[str]:
    return frozenset((*keyword_terms(text).terms, *_NUMERALS.findall(text)))


def _denies(text: str) -> bool:
    return _DENIED.search(fold(text)) is not None


def _is_alike(one: str, other: str) -> bool:
    beginning = one[:_SAME_BEGINNING]
    return one == other or (len(beginning) == _SAME_BEGINNING and other.startswith(beginning))
