"""What changed from one text to another, as a unified diff."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, Literal

CONTEXT_LINES: Final = 3

# About half a second. Beyond it what lies between the first and the last change is shown as replaced as a whole.
MAX_STEPS: Final = 10_000_000

_NO_LINE_END: Final = "\\ No newline at end of file\n"

_Tag = Literal["replace", "delete", "insert", "equal"]
_Step = tuple[_Tag, int, int, int, int]


class _Steps(SequenceMatcher[str]):
    """Groups steps that were found elsewhere."""

    def __init__(self, steps: Iterable[_Step]) -> None:
        super().__init__()
        self.steps = list(steps)

    def get_opcodes(self) -> list[_Step]:
        return self.steps


def unified_diff(old: str, new: str, old_name: str, new_name: str) -> str:
    """Empty when nothing changed."""
    if old == new:
        return ""
    return "".join((f"--- {old_name}\n", f"+++ {new_name}\n", *_hunks(_lines(old), _lines(new))))


def _lines(text: str) -> list[str]:
    *whole, rest = text.split("\n")
    return [*(f"{line}\n" for line in whole), *([rest] if rest else [])]


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    for steps in _Steps(_steps(old, new)).get_grouped_opcodes(CONTEXT_LINES):
        (_, old_start, _, new_start, _), (_, _, old_end, _, new_end) = steps[0], steps[-1]
        yield f"@@ -{_range(old_start, old_end)} +{_range(new_start, new_end)} @@\n"
        for tag, old_from, old_to, new_from, new_to in steps:
            if tag == "equal":
                yield from (_line(" ", line) for line in old[old_from:old_to])
                continue
            yield from (_line("-", line) for line in old[old_from:old_to])
            yield from (_line("+", line) for line in new[new_from:new_to])


def _steps(old: Sequence[str], new: Sequence[str]) -> Iterator[_Step]:
    """Equal lines at either end are set aside first: mostly little remains."""
    shorter = min(len(old), len(new))
    start = next((place for place in range(shorter) if old[place] != new[place]), shorter)
    most = shorter - start
    ending = next((place for place in range(most) if old[-1 - place] != new[-1 - place]), most)
    old_end, new_end = len(old) - ending, len(new) - ending
    yield "equal", 0, start, 0, start
    for tag, old_from, old_to, new_from, new_to in _between(old[start:old_end], new[start:new_end]):
        yield tag, start + old_from, start + old_to, start + new_from, start + new_to
    yield "equal", old_end, len(old), new_end, len(new)


def _between(old: Sequence[str], new: Sequence[str]) -> Sequence[_Step]:
    if _steps_at_worst(old, new) > MAX_STEPS:
        return [("replace", 0, len(old), 0, len(new))]
    return SequenceMatcher(None, old, new).get_opcodes()


def _steps_at_worst(old: Sequence[str], new: Sequence[str]) -> int:
    """Every match found may make it look at all remaining pairs of equal lines again."""
    in_new = Counter(new)
    pairs = sum(in_new[line] for line in old)
    return (len(old) + pairs) * min(len(old), len(new), pairs)


def _range(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _line(mark: str, line: str) -> str:
    return f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n{_NO_LINE_END}"
