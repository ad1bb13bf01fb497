"""The structure of a Markdown text, line by line; the one module that knows markdown-it."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.common.utils import unescapeAll
from markdown_it.rules_block import StateBlock, blockquote, list_block
from markdown_it.token import Token

BOM: Final = "\ufeff"

# As markdown-it counts lines; `str.splitlines` would also part them at U+2028 and the like.
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")

# From here on lists and quotes within each other are plain text: every level reads the lines below it again, up to
# the end of Python's stack. Our own bound, because beyond markdown-it's all that follows is left out of the tokens.
# A list counts as two levels, itself and its item.
MAX_LIST_NESTING: Final = 40
MAX_QUOTE_NESTING: Final = 6

# Where nothing of this stands, every heading begins with # in the first column, and only headings do.
_UNUSUAL: Final = re.compile(r"^(?: {0,3}(?:```|~~~|<|=+[ \t]*$|[-|:][-|: \t]*$)| {1,3}#)", re.MULTILINE)
_PLAIN_HEADING: Final = re.compile(r"#{1,6}(?=[ \t]|$)")

# Such HTML ends with its own closing mark, any other with a blank line.
_CLOSES_ITSELF: Final = re.compile(r"<(?:[!?]|(?:script|pre|style|textarea)(?:[\s>]|$))", re.IGNORECASE)

_TAG: Final = re.compile(r"<[^<>]*>")
_TABLE_RULE: Final = re.compile(r"[|:\-\s]*")


@dataclass(frozen=True, slots=True)
class Heading:
    """From line `start` up to line `end`, both counted from 0; underlined ones take two lines or more."""

    text: str
    start: int
    end: int
    is_underlined: bool = False

    @property
    def names(self) -> frozenset[str]:
        """As it is written, and with the escapes of Markdown resolved."""
        return frozenset((self.text, unescapeAll(self.text), without_comments(self.text).strip()))


@dataclass(frozen=True, slots=True)
class Block:
    """A list item with its own text, a paragraph, a code block, a table; or, with a `level`, a heading of the page.

    `line` counts from 0.
    """

    text: str
    line: int
    level: int = 0


@dataclass(frozen=True, slots=True)
class Outline:
    """`open_from` is the line of a code block or comment that nobody closed: it takes in all that follows."""

    lines: tuple[str, ...]
    headings: tuple[Heading, ...]
    open_from: int | None = None
    ends_with_blank: frozenset[int] = frozenset()


def outline(text: str) -> Outline:
    """Headings within lists and quotes head no section."""
    lines = split_lines(text)
    body = _without_front_matter(lines)
    if not _UNUSUAL.search("".join(body).replace("\r", "\n")):
        return Outline(lines, _plain_headings(body))
    # A heading put at the end is found there, unless something before it was left open.
    tokens = _PARSER.parse("".join((*body, "\n\n#\n")))
    headings = [_heading(tokens, position) for position in _at_top(tokens, "heading_open")]
    is_closed = bool(headings) and headings[-1].start >= len(lines)
    html = [tokens[position] for position in _at_top(tokens, "html_block")]
    return Outline(
        lines,
        tuple(headings[:-1] if is_closed else headings),
        None if is_closed else _span(tokens[-1])[0],
        frozenset(_span(token)[1] for token in html if not _CLOSES_ITSELF.match(token.content.lstrip())),
    )


def split_lines(text: str) -> tuple[str, ...]:
    """With their ends."""
    return tuple(_LINE.findall(text))


def blocks(text: str) -> tuple[Block, ...]:
    """Neither front matter nor comments nor anything else without text."""
    lines = _without_front_matter(split_lines(text))
    gathering = _Gathering(lines)
    for token in _PARSER.parse("".join(lines)):
        gathering.take(token)
    return tuple(gathering.gathered())


def without_comments(text: str, *, is_open_end: bool = False) -> str:
    """Also without what follows a comment that never ends, where HTML would take it in."""
    first, *others = text.split("<!--")
    kept = [first]
    for other in others:
        _, end, behind = other.partition("-->")
        if end:
            kept.append(behind)
        elif not is_open_end:
            kept.append(f"<!--{other}")
    return "".join(kept)


@dataclass(slots=True)
class _Part:
    line: int
    level: int = 0
    texts: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Gathering:
    """What stands in a list item belongs to it, but for the items and tables within; other blocks stand alone."""

    lines: Sequence[str]
    parts: list[_Part] = field(default_factory=list)
    _items: list[_Part] = field(default_factory=list)
    _heading: _Part | None = None
    _is_in_table: bool = False

    def take(self, token: Token) -> None:
        match token.type:
            case "list_item_open":
                self._items.append(self._part(token))
            case "list_item_close":
                self._items.pop()
            case "heading_open" if token.level == 0:
                self._heading = self._part(token, level=int(token.tag[1:]))
            case "heading_close":
                self._heading = None
            case "table_open":
                self._is_in_table = True
                self._part(token).texts.append(_table(self.lines[slice(*_span(token))]))
            case "table_close":
                self._is_in_table = False
            case "inline" if not self._is_in_table:
                self._owner(token).texts.append(without_comments(token.content))
            case "fence" | "code_block":
                self._owner(token).texts.append(token.content.strip("\n"))
            case "html_block":
                self._owner(token).texts.append(_words_of_html(token.content))

    def gathered(self) -> Iterator[Block]:
        for part in self.parts:
            text = "\n".join(filter(None, part.texts)).strip()
            if text or part.level:
                yield Block(text, part.line, part.level)

    def _owner(self, token: Token) -> _Part:
        if self._heading is not None:
            return self._heading
        return self._items[-1] if self._items else self._part(token)

    def _part(self, token: Token, level: int = 0) -> _Part:
        part = _Part(_span(token)[0], level)
        self.parts.append(part)
        return part


def _table(lines: Iterable[str]) -> str:
    """Its rows as they are written, without the marks of quotes around them and the line below the head."""
    rows = (line.strip(" \t\r\n>") for line in lines)
    return "\n".join(row for row in rows if not _TABLE_RULE.fullmatch(row))


def _words_of_html(html: str) -> str:
    words = _TAG.sub(" ", without_comments(html, is_open_end=True))
    return " ".join(words.split())


def _without_front_matter(lines: Sequence[str]) -> tuple[str, ...]:
    """Blank lines in its place."""
    if not lines:
        return ()
    first = lines[0].removeprefix(BOM)
    if first.rstrip() == "---":
        for position, line in enumerate(lines[1:], start=1):
            if line.rstrip() in ("---", "..."):
                return ("\n",) * (position + 1) + tuple(lines[position + 1 :])
    return (first, *lines[1:])


def _plain_headings(lines: Sequence[str]) -> tuple[Heading, ...]:
    return tuple(
        Heading(_heading_text(line), position, position + 1)
        for position, line in enumerate(lines)
        if line.startswith("#") and _PLAIN_HEADING.match(line.rstrip("\r\n"))
    )


def _heading_text(line: str) -> str:
    """Without the marks before it, and after it when a space parts them from it."""
    text = line.rstrip("\r\n \t").lstrip("#")
    shorter = text.rstrip("#")
    return shorter.strip() if shorter[-1:] in (" ", "\t") else text.strip()


def _at_top(tokens: Sequence[Token], type_: str) -> list[int]:
    return [position for position, token in enumerate(tokens) if token.type == type_ and token.level == 0]


def _heading(tokens: Sequence[Token], position: int) -> Heading:
    opening, inline = tokens[position], tokens[position + 1]
    start, end = _span(opening)
    return Heading(inline.content, start, end, is_underlined=opening.markup in "=-")


def _span(token: Token) -> tuple[int, int]:
    start, end = token.map or (0, 0)
    return start, end


def _list(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - called by markdown-it
    return state.level < MAX_LIST_NESTING and list_block(state, start, end, silent)


def _blockquote(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 - called by markdown-it
    return state.level < MAX_QUOTE_NESTING and blockquote(state, start, end, silent)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_LIST_NESTING + 10})
    # What looks like the definition of a link, `- [Tanaka]: a doctor`, is a fact to us.
    parser.enable("table").disable("reference")
    parser.core.ruler.enableOnly(["normalize", "block"])
    parser.block.ruler.at("list", _list, {"alt": ["paragraph", "reference", "blockquote"]})
    parser.block.ruler.at("blockquote", _blockquote, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    return parser


_PARSER: Final = _parser()
