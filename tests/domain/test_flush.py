"""When a session is flushed: every way that events can follow each other, and the edges of the threshold."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import pytest

from domain.flush import (
    Flush,
    Stage,
    Step,
    compaction_completed,
    compaction_started,
    failed,
    succeeded,
    usage_reported,
)

THRESHOLD = 0.75
LONGEST = 6


def full(flush: Flush) -> Step:
    return usage_reported(flush, 80, 100, THRESHOLD)


def low(flush: Flush) -> Step:
    return usage_reported(flush, 20, 100, THRESHOLD)


def done(flush: Flush) -> Step:
    return Step(succeeded(flush, flush.cycle))


def broken(flush: Flush) -> Step:
    return Step(failed(flush, flush.cycle))


DUE = (full, compaction_started)
HOST_EVENTS = (full, low, compaction_started, compaction_completed)
SEED_EVENTS = (full, low, compaction_started)
EVENTS = (*HOST_EVENTS, done, broken)

Event = Callable[[Flush], Step]


@dataclass
class Cycle:
    """What was seen of one compaction cycle, told apart by the specification's rule alone."""

    was_due: int = 0
    starts: int = 0
    failures: int = 0
    is_compacting: bool = False
    is_running: bool = False


def cycles_of(events: tuple[Event, ...]) -> Iterator[Cycle]:
    flush, cycle = Flush(), Cycle()
    for event in events:
        step = event(flush)
        flush = step.flush
        cycle.was_due += event in DUE
        cycle.starts += step.begins
        if event is broken:
            cycle.failures += cycle.is_running
        cycle.is_running = (cycle.is_running or step.begins) and event not in (done, broken)
        cycle.is_compacting = cycle.is_compacting or event is compaction_started
        if event is compaction_completed or (event is low and cycle.is_compacting):
            yield cycle
            cycle = Cycle()
    yield cycle


def every_sequence(events: tuple[Event, ...]) -> Iterator[tuple[Event, ...]]:
    for length in range(LONGEST + 1):
        yield from product(events, repeat=length)


# Every sequence of events


def test_a_cycle_starts_a_second_flush_only_after_the_first_has_failed() -> None:
    for events in every_sequence(EVENTS):
        for cycle in cycles_of(events):
            assert cycle.starts <= 1 + cycle.failures, events


def test_a_cycle_that_was_due_and_did_not_fail_starts_exactly_one_flush() -> None:
    for events in every_sequence(EVENTS):
        for cycle in cycles_of(events):
            if not cycle.failures:
                assert cycle.starts == bool(cycle.was_due), events


def test_whenever_a_flush_is_due_it_is_started_running_or_done() -> None:
    for events in every_sequence(EVENTS):
        flush = Flush()
        for event in events:
            step = event(flush)
            if event in DUE:
                assert step.flush.stage is not Stage.ARMED, events
                assert step.begins == (flush.stage is Stage.ARMED), events
            flush = step.flush


def test_nothing_begins_that_is_not_due() -> None:
    for events in every_sequence(EVENTS):
        flush = Flush()
        for event in events:
            step = event(flush)
            assert event in DUE or not step.begins, events
            flush = step.flush


def test_an_event_that_begins_nothing_says_why_when_one_was_due() -> None:
    for events in every_sequence(EVENTS):
        flush = Flush()
        for event in events:
            step = event(flush)
            assert step.was_due == (event in DUE and not step.begins), events
            assert not step.was_due or step.reason, events
            flush = step.flush


def test_hosts_that_send_only_the_three_events_are_flushed_once_in_each_cycle() -> None:
    for events in every_sequence(SEED_EVENTS):
        for cycle in cycles_of(events):
            assert cycle.starts == bool(cycle.was_due), events


def test_a_flush_that_ends_late_leaves_the_next_cycle_alone() -> None:
    for events in every_sequence(HOST_EVENTS):
        flush = Flush()
        for event in events:
            flush = event(flush).flush
        for earlier in range(flush.cycle):
            assert succeeded(flush, earlier) == failed(flush, earlier) == flush, events


# The threshold


@pytest.mark.parametrize(
    ("used", "limit", "is_due"),
    [
        (75, 100, True),
        (749, 1000, False),
        (96_000, 128_000, True),
        (95_999, 128_000, False),
        (3, 4, True),
        (100, 100, True),
        (250, 100, True),
        (2**53, 2**53, True),
        (2**53, 1, True),
        (0, 100, False),
        (1, 2**53, False),
    ],
)
def test_three_quarters_of_the_context_and_more_are_flushed(used: int, limit: int, is_due: bool) -> None:  # noqa: FBT001
    assert usage_reported(Flush(), used, limit, THRESHOLD).begins is is_due


@pytest.mark.parametrize("percent", range(1, 101))
def test_use_that_is_exactly_the_threshold_is_flushed(percent: int) -> None:
    threshold = percent / 100

    assert usage_reported(Flush(), percent, 100, threshold).begins
    assert not usage_reported(Flush(), percent * 10 - 1, 1000, threshold).begins


@pytest.mark.parametrize("used", [0, 1, 100])
def test_use_of_an_unknown_limit_changes_nothing(used: int) -> None:
    for flush in (Flush(), Flush(Stage.FLUSHED, 3, is_compacting=True)):
        assert usage_reported(flush, used, 0, THRESHOLD) == Step(flush, reason="the token limit is not known")


# One after the other


def test_use_above_the_threshold_begins_a_flush() -> None:
    assert full(Flush()) == Step(Flush(Stage.FLUSHING), begins=True)


def test_use_below_the_threshold_says_so() -> None:
    assert low(Flush()) == Step(Flush(), reason="the use is below the threshold")


def test_compaction_that_begins_is_the_last_chance() -> None:
    assert compaction_started(Flush()) == Step(Flush(Stage.FLUSHING, is_compacting=True), begins=True)


def test_compaction_that_begins_while_a_flush_runs_begins_none() -> None:
    step = compaction_started(Flush(Stage.FLUSHING))

    assert step == Step(Flush(Stage.FLUSHING, is_compacting=True), reason="a flush is running", was_due=True)


def test_compaction_that_begins_twice_begins_one_flush() -> None:
    flushed = succeeded(compaction_started(Flush()).flush, 0)

    step = compaction_started(flushed)

    assert step == Step(flushed, reason="this compaction cycle has been flushed", was_due=True)


def test_completion_without_a_beginning_is_another_cycle() -> None:
    assert compaction_completed(Flush(Stage.FLUSHED)) == Step(Flush(cycle=1))


def test_low_use_ends_no_cycle_before_compaction_began() -> None:
    assert low(Flush(Stage.FLUSHED)).flush == Flush(Stage.FLUSHED)


def test_low_use_after_compaction_began_ends_the_cycle() -> None:
    assert low(Flush(Stage.FLUSHED, is_compacting=True)).flush == Flush(cycle=1)


def test_high_use_after_compaction_began_is_still_the_same_cycle() -> None:
    flushed = Flush(Stage.FLUSHED, is_compacting=True)

    assert full(flushed) == Step(flushed, reason="this compaction cycle has been flushed", was_due=True)


def test_a_flush_that_failed_is_begun_again_by_the_next_event_of_its_cycle() -> None:
    again = failed(full(Flush()).flush, 0)

    assert again == Flush()
    assert full(again).begins
    assert compaction_started(again).begins


def test_the_end_of_a_flush_that_does_not_run_changes_nothing() -> None:
    for flush in (Flush(), Flush(Stage.FLUSHED)):
        assert succeeded(flush, 0) == failed(flush, 0) == flush
