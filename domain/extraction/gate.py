"""Whether something that was learned is said already, whoever said it and in which words."""

import re
from collections.abc import Iterator
from typing import Final

from domain.facts import Fact, FactCategory, fact_text, value_text
from domain.segmentation import keyword_terms
from domain.stop_words import CHINESE_CHARACTERS
from domain.text import fold

# It does not hold, or no longer.
_DENIED: Final = re.compile(
    r"\b(?:not|no|never|without|dislikes?|hates?|cannot|used to|formerly)\b|n['’]t\b"
    r"|[不没沒无無未曾]|(?<!特)[别別]|讨厌|討厭|以前|ない|ません|嫌い|苦手|なく|昔"
)
# The segmenter takes them for grammar or takes them apart, but 三月五日 is not 五月三日, nor 1.5 what 5.1 is.
_DIGITS: Final = r"[\d〇零一二三四五六七八九十百千万亿億两兩]+"
_NUMERALS: Final = re.compile(rf"{_DIGITS}(?:[.,:/年月-]{_DIGITS})*")
# What is told of two things is another matter when they change places.
_RELATING: Final = re.compile(r"\b(?:to|from|than|over|before|after)\b|[比从從到给給]|胜过|勝過|超过|超過|より|から")

# Small words that turn what is said, where others such as `the` and `is` do not.
_TURNING: Final = re.compile(
    r"\b(?:about|after|all|before|down|for|from|had|into|less|more|most|off|only|other|out|over|some|than|through"
    r"|under|until|up|was|were|will|with)\b"
)
# Who it is said of, and how much.
_EMPTY: Final = re.compile("用户|用戶|使用者|利用者|[私僕俺]|非常|特别|特別|十分|比较|比較|真的")
_HAN: Final = re.compile("[\u3400-\u9fff]")
_HIRAGANA: Final = re.compile("[\u3041-\u309f]+")
_ENDING: Final = re.compile("(?:です|(?<!ん)だ|である|ます|る)$")
_PARTICLES: Final = tuple("はがをにへともの")
_SHORTEST_WORD: Final = 2

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
    """By the words that carry meaning, in any order unless that matters; and by all that turns it."""
    one, other = fold(one), fold(other)
    if one.split() == other.split():
        return True
    if _is_denied(one) != _is_denied(other) or _turns(one) != _turns(other):
        return False
    terms, others = _terms(one), _terms(other)
    has_order = _RELATING.search(one) or _RELATING.search(other)
    is_same = terms == others if has_order else frozenset(terms) == frozenset(others)
    return is_same and bool(terms or _turns(one))


def is_said_by(fact: Fact, learned: str) -> bool:
    """All of the value is in what was learned, and what else there is of it is in the key."""
    text, told = fold(fact_text(fact)), fold(value_text(fact.value))
    learned = fold(learned)
    if says_the_same(learned, text):
        return True
    terms, value = frozenset(_terms(learned)), frozenset(_terms(told))
    is_told = value <= terms and frozenset(_turns(told)) <= frozenset(_turns(learned))
    if not value or not is_told or _is_denied(learned) != _is_denied(text):
        return False
    known = frozenset(_terms(fold(fact.key))) | (_LIKING if fact.category is FactCategory.PREFERENCE else frozenset())
    return all(any(_is_alike(term, each) for each in known) for term in terms - value)


def _terms(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*keyword_terms(text).terms, *_NUMERALS.findall(text), *_hiragana_words(text))))


def _is_denied(text: str) -> bool:
    """One who does not hate something is not denied it."""
    return len(_DENIED.findall(text)) % 2 == 1


def _turns(text: str) -> tuple[str, ...]:
    """What the segmenter takes for grammar: small words, and characters such as 高 and 矮 alone."""
    characters = _HAN.findall(_EMPTY.sub("", text))
    turning = [character for character in characters if character not in CHINESE_CHARACTERS]
    return tuple(sorted((*_TURNING.findall(text), *turning)))


def _hiragana_words(text: str) -> Iterator[str]:
    """りんご of はりんごが; an ending counts as a word too, but for those that are only polite."""
    for run in _HIRAGANA.findall(text):
        word = _ENDING.sub("", run)
        if word.endswith(_PARTICLES):
            word = word[:-1]
        if word.startswith(_PARTICLES) and len(word) > _SHORTEST_WORD:
            word = word[1:]
        if len(word) >= _SHORTEST_WORD:
            yield word


def _is_alike(one: str, other: str) -> bool:
    beginning = one[:_SAME_BEGINNING]
    return one == other or (len(beginning) == _SAME_BEGINNING and other.startswith(beginning))
