"""How text is folded for matching: width, case and compatibility forms are equal."""

import unicodedata

NUL = "\x00"


def fold(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
