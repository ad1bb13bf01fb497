"""The part of a text in which a query is found, with the found words marked."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from domain.mentions import Span
from domain.segmentation import QueryTerms, found_spans
from domain.text import fold_with_map

SNIPPET_LENGTH = 160
# Room before the first match, so that it is read in its sentence.
LEAD = 40
MARK = "**"
CUT = "…"

_BREAKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Snippet:
    """`text` has the matches between marks; `highlights` say where they stand in the whole text."""

    text: str
    highlights: tuple[Span, ...]


def snippet(text: str, terms: QueryTerms) -> Snippet:
    """Around the place where most of the query stands together; the beginning where nothing of it does."""
    folded = fold_with_map(text)
    spans = [folded.original_span(start, end) for start, end in found_spans(folded.text, terms)]
    spans = _united(spans)
    start = _window(spans, len(text))
    end = min(len(text), start + SNIPPET_LENGTH)
    shown = [(max(begin, start), min(finish, end)) for begin, finish in spans if finish > start and begin < end]
    parts = [CUT] if start else []
    position = start
    for begin, finish in shown:
        parts += [text[position:begin], MARK, text[begin:finish], MARK]
        position = finish
    parts += [text[position:end], CUT if end < len(text) else ""]
    highlights = tuple(Span(begin, finish, text[begin:finish]) for begin, finish in spans)
    return Snippet(_BREAKS.sub(" ", "".join(parts)).strip(), highlights)


def _united(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Neighbouring and overlapping matches are one: bigrams of a word mark the word."""
    united: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if united and start <= united[-1][1]:
            united[-1] = united[-1][0], max(end, united[-1][1])
        else:
            united.append((start, end))
    return united


def _window(spans: Sequence[tuple[int, int]], length: int) -> int:
    if not spans or length <= SNIPPET_LENGTH:
        return 0
    best, most, first = 0, 0, 0
    covered = 0
    for last, (begin, finish) in enumerate(spans):
        covered += finish - begin
        while spans[first][0] < finish - (SNIPPET_LENGTH - LEAD) and first < last:
            covered -= spans[first][1] - spans[first][0]
            first += 1
        if covered > most:
            best, most = spans[first][0], covered
    return max(0, min(best - LEAD, length - SNIPPET_LENGTH))
