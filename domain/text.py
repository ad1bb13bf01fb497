"""How text is folded for matching, with a way back to where each character stood."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

NUL = "\x00"

# Marks that are written as a character of their own but join the one before: ﾞ and ﾟ of half-width kana.
_HALFWIDTH_MARKS = "\uff9e\uff9f"
_HANGUL_MEDIALS = ("\u1160", "\u11ff")


@dataclass(frozen=True, slots=True)
class Folded:
    """`starts[i]` is where folded character i stood in the original; None when every one stayed in its place."""

    text: str
    starts: tuple[int, ...] | None
    original_length: int

    def original_span(self, start: int, end: int) -> tuple[int, int]:
        """Whole original characters: from the one that made `start` to the end of the one that made `end - 1`."""
        if self.starts is None:
            return start, end
        last = self.starts[end - 1]
        after = bisect_right(self.starts, last)
        return self.starts[start], self.starts[after] if after < len(self.starts) else self.original_length


def fold(text: str) -> str:
    """Width, case and compatibility forms are equal afterwards."""
    return fold_with_map(text).text


def fold_with_map(text: str) -> Folded:
    usual = text
    for wide, narrow in _WIDE_PUNCTUATION:
        usual = usual.replace(wide, narrow)
    folded = _UNUSUAL.sub(_fold_unusual, usual).lower()
    if len(folded) == len(text):
        return Folded(folded, None, len(text))
    characters: list[str] = []
    starts: list[int] = []
    for start, cluster in _clusters(text):
        for character in _fold_cluster(cluster):
            characters.append(character)
            starts.append(start)
    return Folded("".join(characters), tuple(starts), len(text))


# By far the most frequent of what must be folded; `replace` does not look at every character.
_WIDE_PUNCTUATION = tuple(zip("，！？：；　", ",!?:; ", strict=True))

# Most of any text needs nothing but `lower`, and a regular expression passes over it ten times faster
# than a look-up for every character would.
_UNUSUAL = re.compile(
    "[^\x00-\x9f\u2010\u2012-\u2016\u2018-\u2023\u3001-\u3029\u3041-\u3094\u30a1-\u30fe\u4e00-\u9fff]"
)


def _fold_unusual(match: re.Match[str]) -> str:
    return _fold_character(match[0])


@lru_cache(maxsize=65536)
def _fold_character(character: str) -> str:
    """What joins its neighbour is made longer: then the lengths differ, and the text goes the careful way."""
    return "  " if _joins(character) else _fold_cluster(character)


def _fold_cluster(cluster: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", cluster).casefold()).lower()
    # … would become three full stops: only what has letters or digits in it is taken apart.
    is_apart = len(folded) > len(cluster) and not any(map(str.isalnum, folded))
    return cluster if is_apart else folded


def _clusters(text: str) -> Iterator[tuple[int, str]]:
    """A character with the marks that join it."""
    start = 0
    for position in range(1, len(text) + 1):
        if position == len(text) or not _joins(text[position]):
            yield start, text[start:position]
            start = position


def _joins(character: str) -> bool:
    low, high = _HANGUL_MEDIALS
    return unicodedata.category(character)[0] == "M" or character in _HALFWIDTH_MARKS or low <= character <= high
