"""When a session ends, when an idle one is learned from, and when what failed is tried again."""

from datetime import UTC, datetime, timedelta

import pytest

from domain.memory_settings import MemorySettings
from domain.sessions import FIRST_RETRY, LONGEST_RETRY, Learning, Wanted, WorkingMemory, after_failure, why_not_yet

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SETTINGS = MemorySettings()
MANY = 1_000


def a_working_memory(updated_at: datetime) -> WorkingMemory:
    return WorkingMemory("s", None, {}, 1, None, NOW, updated_at)


def began(**ago: float) -> Learning:
    return Learning(began_at=NOW - timedelta(**ago))


# The end of a session


@pytest.mark.parametrize(
    ("idle", "has_ended"),
    [
        (timedelta(0), False),
        (timedelta(minutes=29, seconds=59), False),
        (timedelta(minutes=30) - timedelta(microseconds=1), False),
        (timedelta(minutes=30), True),
        (timedelta(days=365), True),
        (timedelta(days=-1), False),
    ],
)
def test_a_session_ends_when_thirty_minutes_have_passed(idle: timedelta, has_ended: bool) -> None:  # noqa: FBT001
    assert a_working_memory(NOW - idle).has_ended(NOW) is has_ended


# Learning from an idle session


@pytest.mark.parametrize("messages", [0, 1, 3])
def test_fewer_than_four_new_messages_are_not_learned_from(messages: int) -> None:
    assert why_not_yet(Learning(), messages, SETTINGS, NOW) == f"{messages} of 4 new messages"


@pytest.mark.parametrize("messages", [4, 5, MANY])
def test_four_new_messages_are_learned_from(messages: int) -> None:
    assert why_not_yet(Learning(), messages, SETTINGS, NOW) is None


@pytest.mark.parametrize("seconds", [0, 1, 59])
def test_less_than_sixty_seconds_after_the_last_time_nothing_is_learned(seconds: int) -> None:
    assert why_not_yet(began(seconds=seconds), MANY, SETTINGS, NOW) == f"{seconds} of 60 s since the last time"


@pytest.mark.parametrize("ago", [timedelta(seconds=60), timedelta(days=365)])
def test_sixty_seconds_after_the_last_time_it_is_learned_from_again(ago: timedelta) -> None:
    assert why_not_yet(Learning(began_at=NOW - ago), 4, SETTINGS, NOW) is None


def test_a_moment_before_the_sixty_seconds_are_over_they_are_not() -> None:
    assert why_not_yet(began(seconds=59.999999), MANY, SETTINGS, NOW) is not None


def test_a_clock_that_was_set_back_does_not_stop_learning() -> None:
    assert why_not_yet(began(days=-1), 4, SETTINGS, NOW) is None


def test_settings_say_how_many_messages_and_how_long_between() -> None:
    settings = MemorySettings(extraction_interval_seconds=10, extraction_min_messages=2)

    assert why_not_yet(began(seconds=10), 2, settings, NOW) is None
    assert why_not_yet(began(seconds=9), 2, settings, NOW) == "9 of 10 s since the last time"
    assert why_not_yet(began(seconds=10), 1, settings, NOW) == "1 of 2 new messages"


def test_an_interval_of_nothing_never_waits() -> None:
    assert why_not_yet(began(seconds=0), 4, MemorySettings(extraction_interval_seconds=0), NOW) is None


# Trying again


def test_what_failed_is_tried_again_after_pauses_that_double() -> None:
    learning = Learning(began_at=NOW, wanted=Wanted.FLUSH)
    pauses = []
    for _ in range(5):
        learning = after_failure(learning, NOW)
        assert learning.retry_at is not None
        pauses.append(learning.retry_at - NOW)

    assert pauses == [FIRST_RETRY * factor for factor in (1, 2, 4, 8, 16)]


def test_pauses_never_grow_beyond_the_longest() -> None:
    for failures in (6, 10, 100, 1_000_000):
        assert after_failure(Learning(failures=failures), NOW).retry_at == NOW + LONGEST_RETRY


def test_a_failure_forgets_neither_what_is_wanted_nor_when_it_began() -> None:
    learning = Learning(began_at=NOW - timedelta(minutes=5), wanted=Wanted.EXTRACTION, failures=2)

    after = after_failure(learning, NOW)

    assert after == Learning(NOW - timedelta(minutes=5), Wanted.EXTRACTION, 3, NOW + FIRST_RETRY * 4)
