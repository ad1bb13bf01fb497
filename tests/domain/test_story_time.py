"""What may be told in which chapter."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.memories import Memory
from domain.story_time import OmissionReason, hidden_because

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
NOT_YET, OVER = OmissionReason.NOT_YET_REVEALED, OmissionReason.NO_LONGER_VALID


def a_memory(start: int | None, end: int | None) -> Memory:
    return Memory("mem_1", "book_1", "全文", "要点", False, start, end, NOON, NOON, NOON, 0)  # noqa: FBT003 - is_pinned


@pytest.mark.parametrize(
    ("start", "end", "chapter", "reason"),
    [
        (None, None, 3, None),
        (4, None, 3, NOT_YET),
        (4, None, 4, None),
        (4, None, 5, None),
        (None, 2, 1, None),
        (None, 2, 2, None),
        (None, 2, 3, OVER),
        (2, 4, 1, NOT_YET),
        (2, 4, 2, None),
        (2, 4, 4, None),
        (2, 4, 5, OVER),
        (3, 3, 2, NOT_YET),
        (3, 3, 3, None),
        (3, 3, 4, OVER),
        (0, None, 0, None),
        (1, None, 0, NOT_YET),
        (None, 0, 1, OVER),
        (None, 0, 0, None),
    ],
)
def test_a_memory_is_told_from_its_first_chapter_to_its_last(
    start: int | None, end: int | None, chapter: int, reason: OmissionReason | None
) -> None:
    assert hidden_because(a_memory(start, end), chapter) is reason


numbers = st.none() | st.integers(0, 20)


@settings(deadline=None)
@given(numbers, numbers)
def test_without_a_chapter_nothing_is_hidden(start: int | None, end: int | None) -> None:
    assert hidden_because(a_memory(start, end), None) is None


@settings(deadline=None)
@given(numbers, numbers, st.integers(0, 20))
def test_a_memory_is_hidden_exactly_outside_its_chapters(start: int | None, end: int | None, chapter: int) -> None:
    is_told = (start is None or start <= chapter) and (end is None or chapter <= end)

    assert (hidden_because(a_memory(start, end), chapter) is None) is is_told
