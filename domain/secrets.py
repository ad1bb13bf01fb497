"""Keys, passwords and card numbers in a text: they are to be kept nowhere."""

import re
from collections.abc import Iterator
from typing import Final

SECRET_MARK: Final = "[secret]"  # noqa: S105
MOST_PASSES: Final = 8

# Every repetition that can fail is bounded or cannot be entered twice: time grows with the text and no faster.
_PEM: Final = re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z ]{1,40}-----|\Z)")

# What no ordinary word looks like, whatever stands around it.
_TOKEN: Final = re.compile(
    r"""(?<![A-Za-z0-9])(?:
        sk-[A-Za-z0-9_-]{16,}
      | [sr]k_(?:live|test)_[A-Za-z0-9]{10,}
      | gh[pousr]_[A-Za-z0-9]{20,}
      | github_pat_[A-Za-z0-9_]{20,}
      | glpat-[A-Za-z0-9_-]{16,}
      | hf_[A-Za-z0-9]{20,}
      | npm_[A-Za-z0-9]{30,}
      | pypi-[A-Za-z0-9_-]{30,}
      | xox[a-z]-[A-Za-z0-9-]{10,}
      | (?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])
      | AIza[A-Za-z0-9_-]{30,}
      | ya29\.[A-Za-z0-9_-]{20,}
    )""",
    re.VERBOSE,
)
_JWT: Final = re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?")
_BEARER: Final = re.compile(r"\b(?i:bearer)[ \t]{1,4}(?P<value>(?=[A-Za-z._~+/-]{0,80}\d)[A-Za-z0-9._~+/-]{12,}=*)")
_URL_LOGIN: Final = re.compile(r"://(?P<value>[^\s/@:?#]{0,100}:[^\s/@]{1,200})@")

# What stands between the word for a secret and the secret, as in "is:", 是： and は.
_LINK: Final = r"[\s\"']{0,3}(?:[:：=＝→]|(?:\bis\b|\bwas\b|是|为|為|は)[ \t　]{0,2}[:：]?)[\s　]{0,3}[\"'`“‘「『]?"

# A long run of letters and digits is a secret behind one of these words, and a commit or an id elsewhere.
_KEY: Final = re.compile(
    r"(?:(?<![A-Za-z])(?i:[a-z]{0,20}[ _-]?(?:key|token|secret|credentials?))|密钥|密鑰|秘钥|令牌|トークン|キー|秘密鍵)"
    rf"(?:{_LINK}|[ \t]{{1,3}})(?P<value>(?=[A-Za-z_/+.-]{{0,80}}\d)[A-Za-z0-9_/+.-]{{16,}}=*)"
)
_WORD_FOR_IT: Final = (
    r"(?:(?<![A-Za-z])(?i:pass(?:word|code|phrase|wd)|pwd|pw|pass(?=[ ]?[:=]))(?![A-Za-z])"
    r"|密码|密碼|口令|パスワード|合言葉)"
)
_OF_WHAT: Final = r"(?:[ ](?:for|to|of|on)(?:[ ][^\s:：=]{1,30}){1,4}?)?"
_ENDS_HERE: Final = r"[\"'.,;:?)]*(?:$|\s*[^\s\w]|[^!-~\s]| (?:and|but|please)\b)"
_PASSWORD: Final = re.compile(
    rf"{_WORD_FOR_IT}{_OF_WHAT}(?P<link>{_LINK})(?P<value>[!-~]{{3,}}(?<![.,;:?)\"']))(?P<is_last>{_ENDS_HERE})?",
    re.MULTILINE,
)
_PIN: Final = re.compile(
    rf"(?:(?<![A-Za-z])(?:(?i:pin(?:[ ](?:code|number))?){_LINK}|PIN[ ])|暗証番号{_LINK})(?P<value>\d{{4,8}})(?!\d)"
)
_CARD_CODE: Final = re.compile(
    r"(?:(?<![A-Za-z])(?i:cvv2?|cvc2?|security code)(?![A-Za-z])|安全码|安全碼|セキュリティコード)"
    rf"(?:{_LINK}|[ \t]{{0,3}})(?P<value>\d{{3,4}})(?!\d)"
)
_SSN: Final = re.compile(
    r"(?<![\d-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\d-])"
    rf"|\b(?i:ssn|social security number)(?:{_LINK}| )\d{{3}} ?\d{{2}} ?\d{{4}}(?!\d)"
)
_SEED_PHRASE: Final = re.compile(
    r"(?:(?i:(?:seed|recovery|mnemonic)[ ]phrase)|助记词|助記詞|リカバリーフレーズ)"
    rf"{_LINK}(?P<value>[a-z]{{3,8}}(?:[ ,]{{1,2}}[a-z]{{3,8}}){{11,23}})"
)
_PATTERNS: Final = (_PEM, _TOKEN, _JWT, _BEARER, _URL_LOGIN, _KEY, _PIN, _CARD_CODE, _SSN, _SEED_PHRASE)

# As one number that is no part of a longer one, or in the groups that are printed on cards, with anything behind them.
_GAP: Final = r"[ 　\-‐–－]"
_CARDS: Final = (
    re.compile(rf"(?<![\d+])(?<!\d[ .\-])\d(?:{_GAP}?\d){{12,18}}(?!{_GAP}?\d)"),
    re.compile(rf"(?<![\d+])\d{{4}}{_GAP}(?:\d{{4}}{_GAP}\d{{4}}{_GAP}\d{{4}}|\d{{6}}{_GAP}\d{{4,5}})(?!\d)"),
)
# Those of banks; with 1 begin times in milliseconds, with 9 the numbers of books.
_CARD_STARTS: Final = range(2, 7)

# "The password is wrong" tells no password.
_NO_PASSWORD: Final = re.compile(
    r"broken|changed|compromised|correct|different|easy|empty|encrypted|expired|forgotten|gone|good|hard|hashed|hidden"
    r"|important|incorrect|invalid|kept|leaked|long|lost|missing|needed|not|optional|protected|required|reset|safe"
    r"|saved|secret|secure|sensitive|set|short|simple|stored|strong|that|there|this|too|unknown|unsafe|used|visible"
    r"|weak|what|where|which|wrong",
    re.IGNORECASE,
)


def without_secrets(text: str) -> str:
    """Each secret gives way to a mark; all else stays as it is."""
    # What stood behind a secret may be one itself, now that the mark stands before it.
    for _ in range(MOST_PASSES):
        text, before = _marked(text), text
        if text == before:
            break
    return text


def _marked(text: str) -> str:
    kept, at = [], 0
    for start, end in sorted(_spans(text)):
        if start >= at:
            kept += [text[at:start], SECRET_MARK]
        at = max(at, end)
    return "".join((*kept, text[at:]))


def holds_secret(text: str) -> bool:
    return any(True for _ in _spans(text))


def _spans(text: str) -> Iterator[tuple[int, int]]:
    for pattern in _PATTERNS:
        for found in pattern.finditer(text):
            yield found.span("value" if "value" in pattern.groupindex else 0)
    for found in _PASSWORD.finditer(text):
        if _is_password(found):
            yield found.span("value")
    for pattern in _CARDS:
        for found in pattern.finditer(text):
            if _is_card_number(found[0]):
                yield found.span()


def _is_password(found: re.Match[str]) -> bool:
    """Behind "is", a plain word that others follow goes on with the sentence."""
    value = found["value"]
    if SECRET_MARK in value or _NO_PASSWORD.fullmatch(value):
        return False
    is_told = not found["link"].strip().lower().startswith(("is", "was"))
    return is_told or not value.isalpha() or found["is_last"] is not None


def _is_card_number(written: str) -> bool:
    digits = [int(character) for character in written if character.isdecimal()]
    return digits[0] in _CARD_STARTS and _has_check_digit(digits)


def _has_check_digit(digits: list[int]) -> bool:
    """By the formula of Luhn, which nine in ten numbers of any other kind do not satisfy."""
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]  # noqa: PLR2004
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
