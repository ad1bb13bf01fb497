"""The Notebook: Markdown files of one owner that people edit too. Every byte they wrote stays where it is."""

import hashlib
import re
from codecs import BOM_UTF8
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from typing import Final

from domain import markdown
from domain.markdown import Heading, Outline
from domain.text import fold

MEMORY: Final = "MEMORY.md"
DAILY: Final = "daily"
DEFAULT_CATEGORY: Final = "General"
YEARS: Final = (1900, 2999)

_VERSION_BYTES: Final = 16
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
# A heading may end in marks of its own, if a space parts them from the text: they are no part of it.
_CLOSING_MARKS: Final = re.compile(r"(?:^|(?<=\s))(#+)$")


@dataclass(frozen=True, slots=True)
class NotebookFile:
    """`path` is relative to the notebook; bytes that are no UTF-8 are shown as replacement characters."""

    path: str
    content: str
    version: str

    @property
    def id(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class KeptVersion:
    """What stood in a file until it was replaced."""

    path: str
    version: str
    replaced_at: datetime

    @property
    def id(self) -> str:
        return self.version


@dataclass(frozen=True, slots=True)
class Comparison:
    path: str
    from_version: str
    to_version: str
    diff: str


@dataclass(frozen=True, slots=True)
class Insertion:
    """`text` goes in before the byte `offset`; nothing else changes."""

    offset: int
    text: bytes

    def into(self, raw: bytes) -> bytes:
        return raw[: self.offset] + self.text + raw[self.offset :]


@dataclass(frozen=True, slots=True)
class Passage:
    """A list item with its own text, a paragraph, a code block or a table.

    `line` counts from 1; `headings` are those it stands under, the outermost first.
    """

    text: str
    line: int
    headings: tuple[str, ...] = ()


def notebook_file(path: str, raw: bytes) -> NotebookFile:
    return NotebookFile(path, raw.decode("utf-8", "replace"), version_of(raw))


def version_of(raw: bytes) -> str:
    return hashlib.blake2b(raw, digest_size=_VERSION_BYTES).hexdigest()


EMPTY_VERSION: Final = version_of(b"")


def daily_path(day: date) -> str:
    return f"{DAILY}/{day.isoformat()}.md"


def day_of(path: str) -> date | None:
    """The day whose log the path names; None for any other path."""
    folder, _, name = path.partition("/")
    return parse_day(name.removesuffix(".md")) if folder == DAILY and name.endswith(".md") else None


def parse_day(text: str) -> date | None:
    """YYYY-MM-DD of a year that can be a day of ours; `date.fromisoformat` alone also reads weeks."""
    if not _DAY.fullmatch(text):
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if YEARS[0] <= day.year <= YEARS[1] else None


def is_notebook_path(path: str) -> bool:
    return path == MEMORY or day_of(path) is not None


def calendar_day(now: datetime, zone: tzinfo | None) -> date:
    """The day it is now in the zone; None is the zone of this machine, with its summer time."""
    return now.astimezone(zone).date()


def place_fact(raw: bytes, fact: str, category: str | None = None) -> Insertion:
    """`- fact` at the end of what stands under the heading of its category; without one, under a new one at the end."""
    body = raw.removeprefix(BOM_UTF8)
    outline = markdown.outline(body.decode("utf-8", "surrogateescape"))
    wanted = " ".join((category or "").split()) or DEFAULT_CATEGORY
    fact = " ".join(fact.split())
    found = next((each for each in outline.headings if _is_of(each, wanted)), None)
    inserted = _into_section(outline, found, fact) if found else _in_new_section(outline, wanted, fact)
    return Insertion(len(raw) - len(body) + inserted.offset, inserted.text)


def place_entry(raw: bytes, entry: str) -> Insertion:
    """One list item at the very end, whatever stands there; its further lines are indented to stay in it."""
    first, *others = _LINE_END.split(entry.strip())
    item = [f"- {first}", *("" if _is_blank(line) else f"  {line}" for line in others)]
    lines = markdown.split_lines(raw.removeprefix(BOM_UTF8).decode("utf-8", "surrogateescape"))
    end = _line_end(lines, len(lines))
    text = _unfinished(lines, len(lines), end) + end.join(item) + end
    return Insertion(len(raw), text.encode("utf-8", "replace"))


def passages(content: str) -> tuple[Passage, ...]:
    """In the order of their lines; front matter, comments and headings are none."""
    found: list[Passage] = []
    above: list[tuple[int, str]] = []
    headings: tuple[str, ...] = ()
    for block in markdown.blocks(content):
        if not block.level:
            found.append(Passage(block.text, block.line + 1, headings))
            continue
        above = [(level, text) for level, text in above if level < block.level]
        above.append((block.level, block.text))
        headings = tuple(text for _, text in above if text)
    return tuple(found)


def _is_of(heading: Heading, category: str) -> bool:
    return fold(category) in {fold(" ".join(name.split())) for name in heading.names}


def _into_section(outline: Outline, heading: Heading, fact: str) -> Insertion:
    following = next((each for each in outline.headings if each.start >= heading.end), None)
    limits = (following.start if following else None, outline.open_from, len(outline.lines))
    position = min(limit for limit in limits if limit is not None)
    while position > heading.end and _is_blank(outline.lines[position - 1]):
        position -= 1
    end = _line_end(outline.lines, position)
    before = _unfinished(outline.lines, position, end)
    # HTML that a blank line ends would take the item in.
    before += end if position in outline.ends_with_blank else ""
    # A heading that is underlined would become part of the item.
    is_at_heading = following is not None and following.is_underlined and following.start == position
    item = _item(outline.lines, position, fact)
    return _insertion(outline.lines, position, before + item + end + (end if is_at_heading else ""))


def _in_new_section(outline: Outline, category: str, fact: str) -> Insertion:
    position = len(outline.lines) if outline.open_from is None else outline.open_from
    end = _line_end(outline.lines, position)
    before = _unfinished(outline.lines, position, end)
    if position and not _is_blank(outline.lines[position - 1]):
        before += end
    title = f"## {_CLOSING_MARKS.sub(_escaped, category)}"
    item = _item(outline.lines, position, fact)
    return _insertion(outline.lines, position, before + end.join((title, "", item, "")))


def _item(lines: Sequence[str], position: int, fact: str) -> str:
    """What follows with two or three spaces before it belongs to an item, unless the item's text begins further on."""
    following = next((line for line in lines[position:] if not _is_blank(line)), "")
    return f"-   {fact}" if following.startswith("  ") else f"- {fact}"


def _escaped(marks: re.Match[str]) -> str:
    return f"\\{marks[1]}"


def _is_blank(line: str) -> bool:
    return not line.strip(" \t\r\n")


def _unfinished(lines: Sequence[str], position: int, end: str) -> str:
    """The end that the line before the position lacks, if it does."""
    line = lines[position - 1] if position else ""
    return end if line and line[-1] not in "\r\n" else ""


def _line_end(lines: Sequence[str], position: int) -> str:
    """How the line before the position ends, or else the first of the file that ends at all."""
    for line in (*lines[max(position - 1, 0) : position], *lines):
        if found := _LINE_END.search(line):
            return found[0]
    return "\n"


def _insertion(lines: Sequence[str], position: int, text: str) -> Insertion:
    before = "".join(lines[:position]).encode("utf-8", "surrogateescape")
    return Insertion(len(before), text.encode("utf-8", "replace"))
