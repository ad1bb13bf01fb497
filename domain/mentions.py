"""Who and what a text mentions: all names of a book in one pass."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import ahocorasick

from domain.entities import EntityRef
from domain.names import INLINE_SEPARATORS, SEPARATORS, Script, script_of, stands_whole
from domain.text import Folded, fold, fold_with_map

# More than this between two parts of a name is a gap, not a separator.
MAX_SEPARATORS = 3

# The reading of a word in brackets, as in 鵜（う）飼; after folding, （） are ().
_BRACKET = re.compile(r"[(《〈\[〔]")
_FURIGANA = re.compile(r"[(《〈\[〔][\u3041-\u309f\u30a1-\u30ff]{1,30}[)》〉\]〕]")


_GAP = re.compile(f"[{re.escape(''.join(sorted(SEPARATORS)))}]+")


@dataclass(frozen=True, slots=True)
class Name:
    """One name of one entity; before chapter `revealed_in` it is not matched."""

    ref: EntityRef
    text: str
    revealed_in: int | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """Code points of the text as it was sent."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Mention:
    """`names[i]` is the name that stands at `spans[i]`."""

    ref: EntityRef
    spans: tuple[Span, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A name as it is looked for: its letters, and before which of them it is parted."""

    name: Name
    letters: str
    parted_before: frozenset[int]


class _Letters:
    """A folded text without its gaps; `position(i)` is where letter i stands in the folded text."""

    def __init__(self, folded_text: str, gaps: Sequence[tuple[int, int]]) -> None:
        parts, self._gaps_at, self._removed = [], [], [0]
        kept_from = 0
        for start, end in gaps:
            parts.append(folded_text[kept_from:start])
            self._gaps_at.append(start - self._removed[-1])
            self._removed.append(self._removed[-1] + end - start)
            kept_from = end
        self.text = "".join(parts) + folded_text[kept_from:] if gaps else folded_text

    def position(self, letter: int) -> int:
        return letter + self._removed[bisect_right(self._gaps_at, letter)]


class Matcher:
    """The names of one book, ready to be found in any text."""

    def __init__(self, names: Iterable[Name]) -> None:
        patterns: dict[str, list[_Pattern]] = defaultdict(list)
        for name in names:
            pattern = _pattern(name)
            if pattern.letters:
                patterns[pattern.letters].append(pattern)
        self._automaton: Any = ahocorasick.Automaton()
        for letters, each in patterns.items():
            self._automaton.add_word(letters, tuple(each))
        self._automaton.make_automaton()
        self._is_empty = not patterns
        self._revealed_in = _revealed_in(patterns.values())
        self._longest = max(map(len, patterns), default=0)
        self._beginning = _beginning(patterns)

    def mentions(self, text: str, chapter_number: int | None = None) -> tuple[Mention, ...]:
        """In the order of first appearance; of names that overlap the longest stands, then the leftmost."""
        if self._is_empty:
            return ()
        found: dict[tuple[int, int], dict[EntityRef, str]] = defaultdict(dict)
        for start, end, name in self._matches(text):
            if chapter_number is None or name.revealed_in is None or name.revealed_in <= chapter_number:
                found[start, end].setdefault(name.ref, name.text)
        return _mentions(text, [(span, found[span]) for span in _longest(found, len(text))])

    def revealed_in(self, ref: EntityRef, name: str) -> int:
        """The chapter from which the name is known, however its entity writes it; 0 from the beginning."""
        return self._revealed_in[ref, name]

    def _matches(self, text: str) -> Iterator[tuple[int, int, Name]]:
        folded = fold_with_map(text)
        gaps = [match.span() for match in _GAP.finditer(folded.text)]
        yield from self._matches_past(folded, gaps)
        # A reading may itself be a name, as in （たろう）: it is looked for, and looked past.
        readings = [match.span() for match in _FURIGANA.finditer(folded.text)] if _BRACKET.search(folded.text) else []
        if readings:
            yield from self._matches_past(folded, _united(gaps, readings))

    def _occurrences(self, letters: str) -> Iterator[tuple[int, tuple[_Pattern, ...]]]:
        """The automaton is slow where many names begin differently, so it reads only where one may begin."""
        start = end = 0
        for candidate in self._beginning.finditer(letters):
            position = candidate.start()
            if position > end:
                for last, patterns in self._automaton.iter(letters[start:end]):
                    yield start + last, patterns
                start = position
            end = position + self._longest
        for last, patterns in self._automaton.iter(letters[start : min(end, len(letters))]):
            yield start + last, patterns

    def _matches_past(self, folded: Folded, gaps: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, Name]]:
        letters = _Letters(folded.text, gaps)
        for last, patterns in self._occurrences(letters.text):
            end = letters.position(last) + 1
            for pattern in patterns:
                first = last + 1 - len(pattern.letters)
                start = letters.position(first)
                if stands_whole(folded.text, start, end) and _is_parted_as_allowed(
                    folded.text, letters, first, pattern
                ):
                    yield *folded.original_span(start, end), pattern.name


def _revealed_in(patterns: Iterable[Sequence[_Pattern]]) -> dict[tuple[EntityRef, str], int]:
    revealed_in = {}
    for alike in patterns:
        for pattern in alike:
            ref = pattern.name.ref
            first = min(each.name.revealed_in or 0 for each in alike if each.name.ref == ref)
            revealed_in[ref, pattern.name.text] = first
    return revealed_in


def _beginning(words: Iterable[str]) -> re.Pattern[str]:
    """Matches where the first two letters of some word may stand."""
    firsts, seconds, alone = set(), set(), set()
    for word in words:
        if len(word) == 1:
            alone.add(word)
        else:
            firsts.add(word[0])
            seconds.add(word[1])
    return re.compile(f"{_one_of(alone)}|{_one_of(firsts)}(?={_one_of(seconds)})")


def _one_of(letters: set[str]) -> str:
    return f"[{re.escape(''.join(sorted(letters)))}]" if letters else "(?!)"


def _pattern(name: Name) -> _Pattern:
    letters: list[str] = []
    parted_before: set[int] = set()
    for character in fold(name.text):
        if character in SEPARATORS:
            parted_before.add(len(letters))
        else:
            letters.append(character)
    return _Pattern(name, "".join(letters), frozenset(parted_before - {0, len(letters)}))


def _united(gaps: Sequence[tuple[int, int]], readings: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Both, in order; a gap within a reading goes with it."""
    united: list[tuple[int, int]] = []
    for span in sorted([*gaps, *readings]):
        if not united or span[0] >= united[-1][1]:
            united.append(span)
    return united


def _is_parted_as_allowed(folded_text: str, letters: _Letters, first: int, pattern: _Pattern) -> bool:
    """Between two Latin letters a name is parted where it is written so, and only there."""
    length = len(pattern.letters)
    start = letters.position(first)
    if not pattern.parted_before and letters.position(first + length - 1) - start == length - 1:
        return True
    before = start
    for index in range(1, length):
        after = letters.position(first + index)
        is_written_so = index in pattern.parted_before
        is_parted = after > before + 1
        is_latin = script_of(folded_text[before]) is script_of(folded_text[after]) is Script.LATIN
        if is_parted and not _is_separator(folded_text[before + 1 : after], may_end_line=is_latin):
            return False
        if is_latin and is_parted is not is_written_so:
            return False
        before = after
    return True


def _is_separator(gap: str, *, may_end_line: bool) -> bool:
    rest = _FURIGANA.sub("", gap)
    return len(rest) <= MAX_SEPARATORS and (SEPARATORS if may_end_line else INLINE_SEPARATORS).issuperset(rest)


def _longest(spans: Iterable[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    taken = bytearray(length)
    kept = []
    for start, end in sorted(spans, key=lambda span: (span[0] - span[1], span[0])):
        # Those kept before are at least as long, so one that overlaps covers an end of this one.
        if not taken[start] and not taken[end - 1]:
            taken[start:end] = b"\x01" * (end - start)
            kept.append((start, end))
    return sorted(kept)


def _mentions(text: str, found: Iterable[tuple[tuple[int, int], dict[EntityRef, str]]]) -> tuple[Mention, ...]:
    spans_of: dict[EntityRef, list[tuple[Span, str]]] = defaultdict(list)
    for (start, end), names in found:
        span = Span(start, end, text[start:end])
        for ref, name in names.items():
            spans_of[ref].append((span, name))
    return tuple(
        Mention(ref, tuple(span for span, _ in each), tuple(name for _, name in each)) for ref, each in spans_of.items()
    )
