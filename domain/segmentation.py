"""Text cut into what search counts. The one module that imports the segmenters.

Han characters, pairs of CJK characters and stemmed words: on questions in Chinese, Japanese and English that ranked
better than dictionary words, which part names and new words wrongly (tests/bench/results.md).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import metadata
from itertools import chain, pairwise
from typing import Final

import Stemmer

from domain.stop_words import EMPTY_VERBS, is_speaker, is_stop_word
from domain.text import NUL, fold

# The index is built anew when this changes: raise RULES whenever the same text would be cut differently.
RULES: Final = 1
IDENTITY: Final = f"rules {RULES}, snowball {metadata.version('pystemmer')}"

# A query has said everything long before it has so many different terms.
MAX_QUERY_TERMS: Final = 512

_HAN: Final = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA: Final = "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
_HANGUL: Final = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
_CJK: Final = f"{_HAN}{_KANA}{_HANGUL}"

# Any other script is written with spaces; C++ and C# are words, and don't is one.
_RUN: Final = re.compile(rf"(?P<cjk>[{_CJK}]+)|(?P<word>[^\W_{_CJK}]+(?:['’][^\W_{_CJK}]+)*(?:\+\+|#)?)")
_IS_HAN: Final = re.compile(f"[{_HAN}]")
_POSSESSIVE: Final = re.compile("['’]s$")
_APOSTROPHE: Final = re.compile("['’]")
_SCRIPTS: Final = re.compile(
    rf"(?P<han>[{_HAN}]+)|(?P<hiragana>[\u3041-\u309f]{{2,}})|[\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff]{{2,}}|[{_HANGUL}]{{2,}}"
)
_PARTICLES: Final = "はがをにへともので"
# A longer run of hiragana is not one word.
_LONGEST_HIRAGANA: Final = 4
_PRONOUNS: Final = "我你您他她它"
# What jieba tags as pronoun, preposition, particle, conjunction, interjection, adverb, numeral or measure.
_GRAMMAR: Final = ("r", "p", "u", "c", "y", "e", "o", "d", "m", "q")
_PREFIX: Final = re.compile(r"\S\*(?=\s|$)")


@dataclass(frozen=True, slots=True)
class Terms:
    """What a text is found by: CJK characters, pairs of them, and words with their stems."""

    characters: tuple[str, ...]
    pairs: tuple[str, ...]
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """Each once; a prefix stands for every word that begins with it. `written` are words with all their letters."""

    terms: tuple[str, ...]
    prefixes: tuple[str, ...] = ()
    written: tuple[str, ...] = field(default=(), compare=False)

    def __bool__(self) -> bool:
        return bool(self.terms or self.prefixes)

    def joined(self, other: "QueryTerms") -> "QueryTerms":
        return QueryTerms(
            _each_once(self.terms, other.terms),
            _each_once(self.prefixes, other.prefixes),
            _each_once(self.written, other.written),
        )


@dataclass(frozen=True, slots=True)
class _Token:
    """`word` is as it is written, `term` as it is counted; where it stands is in folded characters."""

    word: str
    term: str
    start: int
    end: int
    is_gram: bool
    is_prefix: bool = False
    is_tail: bool = False


def document_terms(text: str) -> Terms:
    """As `_tokens` cuts it, without a value for every one: four to seven times as fast."""
    characters: list[str] = []
    pairs: list[str] = []
    words: list[str] = []
    for run in _RUN.finditer(fold(text)):
        cjk = run["cjk"]
        if not cjk:
            # As it is written as well: a prefix may go on where the stem ends, as `Alice*` does behind alic.
            word = _word(run["word"])
            words += dict.fromkeys((stem(word), word))
            continue
        characters += _IS_HAN.findall(cjk)
        if not _IS_HAN.match(cjk[-1]):
            characters.append(cjk[-1])
        pairs += map("".join, pairwise(cjk))
    return Terms(tuple(characters), tuple(pairs), tuple(words))


def query_terms(text: str) -> QueryTerms:
    """Without stop words, unless there is nothing else."""
    folded = fold(text.replace(NUL, " "))
    tokens = [token for token in _tokens(folded) if token.is_prefix or not token.is_tail]
    prefixes = dict.fromkeys(token.word for token in tokens if token.is_prefix)
    said = [token for token in tokens if not token.is_prefix]
    kept = [token for token in said if not is_stop_word(token.word)]
    terms = dict.fromkeys(token.term for token in (kept or ([] if prefixes else said)))
    return QueryTerms(tuple(terms)[:MAX_QUERY_TERMS], tuple(prefixes)[:MAX_QUERY_TERMS])


def grams_within(text: str) -> tuple[str, ...]:
    """Those that every text has in which this one stands, whatever stands around it."""
    grams = dict.fromkeys(token.term for token in _tokens(fold(text)) if token.is_gram and not token.is_tail)
    return tuple(grams)[:MAX_QUERY_TERMS]


def found_spans(folded_text: str, terms: QueryTerms) -> list[tuple[int, int]]:
    """Where the terms stand in a text that is already folded."""
    wanted = frozenset(terms.terms)
    if not terms.prefixes:
        return [span for run in _RUN.finditer(folded_text) for span in _spans_in(run, wanted)]
    spans = []
    for token in _tokens(folded_text):
        if token.term in wanted:
            spans.append((token.start, token.end))
        elif terms.prefixes and token.word.startswith(terms.prefixes):
            # Of a pair only the character that was looked for.
            spans.append((token.start, token.start + 1 if token.is_gram else token.end))
    return spans


def _spans_in(run: re.Match[str], wanted: frozenset[str]) -> list[tuple[int, int]]:
    start, cjk = run.start(), run["cjk"]
    if not cjk:
        return [run.span()] if stem(_word(run["word"])) in wanted else []
    last = len(cjk) - 1
    single = [
        (start + at, start + at + 1)
        for at, character in enumerate(cjk)
        if character in wanted and (at == last or _IS_HAN.match(character))
    ]
    pairs = map("".join, pairwise(cjk))
    return single + [(start + at, start + at + 2) for at, pair in enumerate(pairs) if pair in wanted]


def _word(run: str) -> str:
    return _APOSTROPHE.sub("", _POSSESSIVE.sub("", run))


def keywords(text: str) -> tuple[str, ...]:
    """Dictionary words without stop words, each once; all of them when there is nothing else."""
    words: dict[str, None] = {}
    for run in _RUN.finditer(fold(text.replace(NUL, " "))):
        words.update(dict.fromkeys(_dictionary_words(run["cjk"]) if run["cjk"] else [run["word"]]))
    kept = [word for word in words if not is_stop_word(word) and (len(word) > 1 or not _IS_HAN.match(word))]
    return tuple(kept or words)


def keyword_terms(text: str) -> QueryTerms:
    """What a text is about: the terms of its words, without those of grammar and those for the speakers.

    "我喜欢用 Python 写代码" is about 喜欢, python and 代码. Nothing is left of a text that says nothing.
    """
    written: dict[str, None] = {}
    prefixes: dict[str, None] = {}
    folded = fold(text.replace(NUL, " "))
    for run in _RUN.finditer(folded):
        word = _word(run["word"] or "")
        if not word:
            written.update(dict.fromkeys(_terms_of_run(run["cjk"])))
        elif _PREFIX.match(folded, run.end() - 1):
            prefixes[word] = None
        elif not is_stop_word(word) and not is_speaker(word):
            written[word] = None
    said = tuple(written)[:MAX_QUERY_TERMS]
    return QueryTerms(_each_once(map(stem, said)), tuple(prefixes)[:MAX_QUERY_TERMS], said)


def _each_once(*several: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(several)))[:MAX_QUERY_TERMS]


def stands_in(terms: QueryTerms, text: str) -> bool:
    return bool(terms) and bool(found_spans(fold(text), terms))


def _terms_of_run(run: str) -> Iterator[str]:
    for part in _SCRIPTS.finditer(run):
        if part["han"]:
            following = run[part.end() : part.end() + 1]
            yield from _terms_of_han(part["han"], following)
        elif part["hiragana"]:
            yield from _terms_of_hiragana(
                part[0], is_behind_han=bool(_IS_HAN.match(run[part.start() - 1 : part.start()]))
            )
        elif not is_speaker(part[0]):
            yield from map("".join, pairwise(part[0]))


def _terms_of_han(run: str, following: str) -> Iterator[str]:
    if len(run) == 1 and following:
        # 猫が is a noun and its particle, 好き one word.
        if not is_speaker(run):
            yield run if following in _PARTICLES else run + following
        return
    for tagged, kind in _tagged_words(run):
        # A pronoun is easily taken for the beginning of a name: 我养.
        word = tagged.lstrip(_PRONOUNS)
        if kind.startswith(_GRAMMAR) or is_stop_word(word) or is_speaker(word):
            continue
        if len(word) > 1:
            # The pairs of a longer one: 喝咖啡 is also about 咖啡.
            yield from map("".join, pairwise(word))
            if kind.startswith("v"):
                yield from _noun_beside_verb(word)
        elif kind.startswith(("n", "v")) and word not in EMPTY_VERBS:
            yield word


def _terms_of_hiragana(run: str, *, is_behind_han: bool) -> Iterator[str]:
    """すし of 私はすしが; most hiragana are grammar, or the ending of a word that begins with Han."""
    pairs = list(map("".join, pairwise(run.strip(_PARTICLES))))
    is_ending = is_behind_han and run[0] not in _PARTICLES
    if not is_ending and 0 < len(pairs) < _LONGEST_HIRAGANA and not any(map(is_stop_word, pairs)):
        yield from pairs


def _noun_beside_verb(word: str) -> Iterator[str]:
    """喝茶 is about 茶."""
    kinds = [_tagged_words(character)[0][1] for character in word]
    nouns = [character for character, kind in zip(word, kinds, strict=True) if kind == "n"]
    if len(nouns) == 1 and any(kind.startswith("v") for kind in kinds):
        yield from nouns


def _dictionary_words(run: str) -> list[str]:
    return [word for word, _ in _tagged_words(run)]


def _tagged_words(run: str) -> list[tuple[str, str]]:
    """Each with its kind: n for nouns, v for verbs, and so on."""
    # Its dictionary takes a tenth of a second to load, and most processes never need it.
    import rjieba  # noqa: PLC0415

    return list(rjieba.tag(run))


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """`preferences` and `preferred` are one word."""
    return str(_stemmer().stemWord(word)) if word.isascii() else word


def _tokens(folded_text: str) -> Iterator[_Token]:
    for run in _RUN.finditer(folded_text):
        start, end = run.span()
        if run["cjk"]:
            yield from _grams(run["cjk"], start)
        else:
            word = _APOSTROPHE.sub("", _POSSESSIVE.sub("", run["word"]))
            # A star is read as one only where a word ends with it: `Pyth*`, but not `a*b`.
            is_prefix = bool(_PREFIX.match(folded_text, end - 1))
            yield _Token(word, stem(word), start, end, is_gram=False, is_prefix=is_prefix)


def _grams(run: str, start: int) -> Iterator[_Token]:
    """Single Han characters for words of one, pairs for all longer ones.

    Kana and hangul say nothing alone: one of them is looked for as the beginning of a pair, or as the end of a run.
    """
    for position, character in enumerate(run):
        is_han = _IS_HAN.match(character) is not None
        is_last = position == len(run) - 1
        if is_han or is_last:
            yield _Token(
                character,
                character,
                start + position,
                start + position + 1,
                is_gram=True,
                is_prefix=not is_han and len(run) == 1,
                is_tail=not is_han,
            )
    for position in range(len(run) - 1):
        pair = run[position : position + 2]
        yield _Token(pair, pair, start + position, start + position + 2, is_gram=True)


@lru_cache(maxsize=1)
def _stemmer() -> Stemmer.Stemmer:
    return Stemmer.Stemmer("english")
