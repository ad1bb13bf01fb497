"""When a name stands in a text as a whole word."""

import unicodedata
from collections.abc import Iterable
from enum import Enum


class _Script(Enum):
    """Scripts in which a run of letters is one word, so that a name must not be cut out of it."""

    LATIN = 1
    KATAKANA = 2


def contains_any_name(folded_text: str, folded_names: Iterable[str]) -> bool:
    return any(contains_name(folded_text, name) for name in folded_names)


def contains_name(folded_text: str, folded_name: str) -> bool:
    start = folded_text.find(folded_name)
    while start >= 0:
        if stands_whole(folded_text, start, start + len(folded_name)):
            return True
        start = folded_text.find(folded_name, start + 1)
    return False


def stands_whole(folded_text: str, start: int, end: int) -> bool:
    """False where the match is cut out of a longer Latin or katakana word."""
    return not (_joined(folded_text, start) or _joined(folded_text, end))


def _joined(text: str, boundary: int) -> bool:
    if not 0 < boundary < len(text):
        return False
    before, after = _script(text[boundary - 1]), _script(text[boundary])
    return before is not None and before is after


def _script(character: str) -> _Script | None:
    if "\u30a1" <= character <= "\u30ff" and character != "・":
        return _Script.KATAKANA
    if character < "\u0250" or not unicodedata.name(character, "").startswith(_WORDLESS):
        return _Script.LATIN if character.isalnum() or unicodedata.combining(character) else None
    return None


# Scripts written without spaces, or with particles glued to names: any place may be a word's edge.
_WORDLESS = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR", "IDEOGRAPHIC")
