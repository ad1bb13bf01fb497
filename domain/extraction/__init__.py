"""Lasting facts taken from a conversation."""

import re
from dataclasses import dataclass
from typing import Final

# Of lists, headings and quotations, with the space after them: the notebook sets its own.
_MARKS: Final = re.compile(r"(?:(?:[-*+•·>]|#{1,6}|[0-9]{1,9}[.)])(?: |$))+")


@dataclass(frozen=True, slots=True)
class Learned:
    """One lasting fact as a line for the notebook, under the heading of its category."""

    fact: str
    category: str


def as_line(text: str) -> str:
    """What can stand in a list item: on one line, and with no mark of Markdown before it."""
    line = " ".join(text.split())
    marks = _MARKS.match(line)
    return line[marks.end() :] if marks else line
