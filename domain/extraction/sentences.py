"""What a message says in the user's own voice, sentence by sentence."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

# A longer message is pasted text, and a longer sentence is no plain statement.
MAX_MESSAGE_LENGTH: Final = 2_000
MAX_SENTENCE_LENGTH: Final = 200

_LINE_BREAK: Final = re.compile(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# Control characters, marks of direction and width zero, halves of characters, and what stands for quotes below.
_UNSEEN: Final = re.compile(
    r"[\x00-\x08\x0e-\x1b\x1f\x7f-\x9f\xad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ud800-\uf8ff]"
)
_APOSTROPHE: Final = re.compile(r"(?<=\w)[’‘＇](?=\w)")
_FENCE: Final = re.compile(r" {0,3}(```|~~~)")
_NOT_OWN_LINE: Final = re.compile(r" {0,3}[>＞]| {4}|\t")
_LIST_MARK: Final = re.compile(r"\s*(?:(?:[-*+•·#]+|\d{1,3}[.)、])\s+)*")

_CLOSING: Final = {"“": "”", "„": "“", "‘": "’", "「": "」", "『": "』", "«": "»", '"': '"', "＂": "＂", "`": "`"}
_QUOTE_MARK: Final = re.compile('[“”„‘’「」『』«»＂`"]')
# Behind a figure it means inches.
_OPENS: Final = re.compile('[“„‘「『«＂`]|(?<!\\d)"')
_SINGLE_QUOTED: Final = re.compile(r"(?<!\w)'(?=\S)(?:[^'\n]|(?<=\w)'(?=\w))*'(?!\w)")
_FIRST_STAND_IN: Final = 0xE000
_STAND_IN: Final = re.compile(r"[\ue000-\uf8ff]")

_ABBREVIATED: Final = "".join(
    rf"(?<!\b{short})" for short in ("[A-Za-z]", "St", "Mr", "Ms", "Dr", "Mt", "Ft", "Jr", "Sr", "vs", "Mrs", "Prof")
)
_EMOJI: Final = r"[\u2600-\u27bf\u2b50\u2b55\U0001f000-\U0001faff][\ufe0f\u200d]?"
_SENTENCE: Final = re.compile(
    rf"(?P<said>.*?)(?P<end>(?:[。！？!?…]|{_EMOJI}|(?<!\S)[:;]-?[()DP](?!\w)|{_ABBREVIATED}\.(?=\s|$))+"
    r"|(?<!\d)[:：](?!//)|[:：](?=\s|$)|$)"
)

# These announce the user's own words: a request to remember, or a word about oneself.
_ASKS_TO_REMEMBER: Final = re.compile(
    r"\b(?:remember|note|forget|in mind|future reference)\b"
    r"|记住|記住|记得|記得|记下|記下|记一下|記一下|别忘|別忘|不要忘|覚えて|忘れないで|記憶して|メモ",
    re.IGNORECASE,
)
_ABOUT_ONESELF: Final = re.compile(
    r"\b(?:about (?:me|myself)|fun fact|by the way|btw|fyi|ps|p\.s\.)\s*$"
    r"|关于我|關於我|自我介绍|自我介紹|自己紹介|私について|ちなみに",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """`text` has one stand-in for each quotation: what is quoted can be named, but it states nothing itself.

    `before` is the sentence before, which may tell whom this one speaks of.
    """

    text: str
    is_question: bool = False
    before: str = ""


@dataclass(frozen=True, slots=True)
class Spoken:
    """`text` is all of it, with stand-ins as in the sentences."""

    text: str
    sentences: tuple[Sentence, ...]
    quotations: tuple[str, ...]

    def with_quotations(self, text: str) -> str:
        return _STAND_IN.sub(lambda mark: self.quotations[ord(mark[0]) - _FIRST_STAND_IN], text)


def spoken_in(message: str) -> Spoken:
    """Without code, quoted lines, and texts that the user hands over behind a colon.

    A message has at most MAX_MESSAGE_LENGTH characters: there are stand-ins for all that it can quote.
    """
    plain = _APOSTROPHE.sub("'", _UNSEEN.sub("", _LINE_BREAK.sub("\n", message)))
    text, quotations = _without_quotations("\n".join(_own_lines(plain)))
    spoken = Spoken(text, (), quotations)
    sentences = tuple(
        sentence for sentence in _sentences(text) if len(spoken.with_quotations(sentence.text)) <= MAX_SENTENCE_LENGTH
    )
    return replace(spoken, sentences=sentences)


def _own_lines(text: str) -> Iterator[str]:
    fence = None
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark and fence in (None, mark[1]):
            fence = mark[1] if fence is None else None
        elif fence is None and not _NOT_OWN_LINE.match(line):
            yield _LIST_MARK.sub("", line, count=1)


def _without_quotations(text: str) -> tuple[str, tuple[str, ...]]:
    """The outermost quotations each give way to a stand-in; one that is left open goes to the end."""
    quotations: list[str] = []

    def stand_in(quotation: str) -> str:
        quotations.append(quotation)
        return chr(_FIRST_STAND_IN + len(quotations) - 1)

    text = _SINGLE_QUOTED.sub(lambda quoted: stand_in(quoted[0]), text)
    kept, at, awaited = [], 0, list[str]()
    for mark in _QUOTE_MARK.finditer(text):
        if awaited and mark[0] == awaited[-1]:
            awaited.pop()
            if not awaited:
                kept.append(stand_in(text[at : mark.end()]))
                at = mark.end()
        elif _OPENS.match(text, mark.start()):
            if not awaited:
                kept.append(text[at : mark.start()])
                at = mark.start()
            awaited.append(_CLOSING[mark[0]])
    kept.append(stand_in(text[at:]) if awaited else text[at:])
    # A quotation within single quotes was taken first, and may now stand within another.
    whole = Spoken("", (), tuple(quotations))
    return "".join(kept), tuple(map(whole.with_quotations, quotations))


def _sentences(text: str) -> Iterator[Sentence]:
    before = ""
    for line in text.split("\n"):
        request = ""
        for part in _SENTENCE.finditer(line):
            said, end = part["said"].strip(), part["end"]
            if not end.startswith((":", "：")) or len(end) > 1:
                if said:
                    yield Sentence(f"{request}{said}", "?" in end or "？" in end, before)
                    before = said
                request = ""
            elif _ASKS_TO_REMEMBER.search(said):
                request = f"{request}{said}: "
            elif not _ABOUT_ONESELF.search(said):
                if not line[part.end() :].strip():
                    return
                break
