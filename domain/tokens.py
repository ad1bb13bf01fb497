"""How many tokens a text will cost a model, estimated without any model's tokenizer.

Chinese characters, kana and Hangul count one each, other letters one for every four of a word, digits one for every
three, punctuation one each, spaces nothing. Against the tokenizers of large models this errs on the high side for
Chinese and Japanese and is close for English, so a budget is kept rather than broken.
"""

import re
from collections.abc import Callable

TokenCounter = Callable[[str], int]

_LETTERS_PER_TOKEN = 4
_DIGITS_PER_TOKEN = 3

_WIDE = (
    r"\u1100-\u11ff\u2e80-\u2fff\u3001-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U00020000-\U0003ffff"
)
_PIECE = re.compile(rf"(?P<wide>[{_WIDE}])|(?P<digits>\d+)|(?P<word>[^\W\d_{_WIDE}]+)|(?P<other>\S)")


def estimate_tokens(text: str) -> int:
    return sum(map(_tokens_of, _PIECE.finditer(text)))


def _tokens_of(piece: re.Match[str]) -> int:
    length = piece.end() - piece.start()
    match piece.lastgroup:
        case "digits":
            return -(-length // _DIGITS_PER_TOKEN)
        case "word":
            return -(-length // _LETTERS_PER_TOKEN)
        case _:
            return 1
