"""What a name is in running text: where it may be parted, and where it stands as a whole word."""

import unicodedata
from enum import Enum
from functools import lru_cache

# After folding: ・ · ‧ • ＝ ゠ and spaces part a name such as シャーロック・ホームズ.
INLINE_SEPARATORS = frozenset(" ・·‧•=゠")
# A name of several Latin words may also be parted by the end of a line.
SEPARATORS = INLINE_SEPARATORS | frozenset("\n\r\t")

# Scripts written without spaces, or with particles glued to names: any place may be a word's edge.
_WORDLESS = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR", "IDEOGRAPHIC")


class Script(Enum):
    """Scripts in which a run of letters is one word, so that a name must not be cut out of it."""

    LATIN = 1
    KATAKANA = 2


def stands_whole(folded_text: str, start: int, end: int) -> bool:
    """False where the match is cut out of a longer Latin or katakana word."""
    return not (_is_joined(folded_text, start) or _is_joined(folded_text, end))


@lru_cache(maxsize=16384)
def script_of(character: str) -> Script | None:
    if ("\u30a1" <= character <= "\u30ff" and character != "・") or "\u31f0" <= character <= "\u31ff":
        return Script.KATAKANA
    if character < "\u0250" or not unicodedata.name(character, "").startswith(_WORDLESS):
        return Script.LATIN if character.isalnum() or unicodedata.category(character)[0] == "M" else None
    return None


def _is_joined(text: str, boundary: int) -> bool:
    if not 0 < boundary < len(text):
        return False
    before, after = script_of(text[boundary - 1]), script_of(text[boundary])
    return before is not None and before is after
