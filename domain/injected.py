"""Which parts of a text this service put into a prompt, so that it never learns them again."""

import re
from collections.abc import Iterator
from typing import Final

from domain.prompt_text import ENTITY_TITLE, MEMORY_TITLE
from domain.system_prompt import EXPLANATION, LESS_THAN, LONG_TERM_TITLE, MARKER_NAME, RELEVANT_TITLE

# What a host puts before a line, and what it may put between any two characters of a heading or sentence.
_QUOTE: Final = r"(?:[ \t>]|&gt;)*+"
_GAP: Final = r"(?:[\s>]|&gt;)*+"
# A marker is wrapped at one line break, never at two: what remains on both sides of a removed part is joined by an
# empty line, and so cannot become a marker.
_WRAP: Final = r"[ \t]*+(?:\r?\n[ \t>]*+)?+"


def _wrapped(text: str, gap: str) -> str:
    return gap.join(re.escape(character) for character in text if character != " ")


_NAME_TO_END: Final = rf"{_wrapped(MARKER_NAME, _WRAP)}(?:[ \t]*+(?:>|&(?:amp;)*+gt;))?+"
_OPENING: Final = rf"{LESS_THAN}{_WRAP}{_NAME_TO_END}"
_CLOSING: Final = rf"{LESS_THAN}{_WRAP}/{_WRAP}{_NAME_TO_END}"
_HEADING: Final = "|".join(_wrapped(f"## {title}", _GAP) for title in (LONG_TERM_TITLE, RELEVANT_TITLE))
_BLOCK: Final = rf"(?:(?:{_HEADING}){_GAP})?(?:{_wrapped(EXPLANATION, _GAP)}{_GAP})?{_OPENING}"

_TITLE: Final = f"(?:{ENTITY_TITLE}|{MEMORY_TITLE})"
_ITEM: Final = rf"(?P<quote>{_QUOTE})- \[(?:Memory|Character|Term)\]"
_SECTION: Final = rf"{_TITLE}[ \t]*+(?=\r?\n{_ITEM})"

_INJECTED: Final = re.compile(rf"(?P<block>{_BLOCK})|(?P<section>{_SECTION})|{_CLOSING}")
_BLOCK_END: Final = re.compile(_CLOSING)
_LINE: Final = re.compile(r"\n([^\n]*)")
_SECTION_ITEM: Final = re.compile(_ITEM)
_SECTION_NOTE: Final = re.compile(
    rf"{_QUOTE}{_wrapped('... and', _WRAP)}{_WRAP}\d+{_WRAP}{_wrapped('more memories', _WRAP)}"
)
_NO_LINE_OF_SECTION: Final = re.compile(rf"\A{_GAP}\Z|{_TITLE}|{_OPENING}|{_CLOSING}")
_BLANK: Final = re.compile(_GAP)


def without_injected(text: str) -> str:
    """What others wrote, its parts with an empty line between them; a text without anything injected as it is."""
    spans = list(_injected_spans(text))
    if not spans:
        return text
    starts, ends = zip(*spans, strict=True)
    parts = (text[start:end] for start, end in zip((0, *ends), (*starts, len(text)), strict=True))
    return "\n\n".join(filter(None, map(_without_blank_edges, parts)))


def _injected_spans(text: str) -> Iterator[tuple[int, int]]:
    position = 0
    while found := _INJECTED.search(text, position):
        position = _end(text, found)
        yield found.start(), position


def _end(text: str, found: re.Match[str]) -> int:
    if found["block"]:
        closing = _BLOCK_END.search(text, found.end())
        return closing.end() if closing else len(text)
    return _section_end(text, found.end()) if found["section"] else found.end()


def _section_end(text: str, title_end: int) -> int:
    """Behind the last of its lines before an empty one; what stands between two of them is the rest of a wrapped one.

    Below the last, only what is indented as the rest of a list item belongs to it.
    """
    end, hanging = title_end, ""
    for line in _LINE.finditer(text, title_end):
        if note := _SECTION_NOTE.match(text, line.start(1)):
            return note.end()
        if item := _SECTION_ITEM.match(line[1]):
            end, hanging = line.end(), f"{item['quote']}  "
        elif _NO_LINE_OF_SECTION.search(line[1]):
            break
        elif line[1].startswith(hanging):
            end = line.end()
    return end


def _without_blank_edges(part: str) -> str:
    lines = part.split("\n")
    written = [number for number, line in enumerate(lines) if not _BLANK.fullmatch(line)]
    return "\n".join(lines[written[0] : written[-1] + 1]).removesuffix("\r") if written else ""
