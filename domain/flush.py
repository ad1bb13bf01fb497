"""When a session's messages are flushed to memory: once in each compaction cycle, before they are gone.

ARMED ──threshold reached, or compaction begins──▶ FLUSHING ──done──▶ FLUSHED
  ▲                                                   │                  │
  ├───────────────────────failed──────────────────────┘                  │
  └──the cycle ends: compaction complete, or use low again after it began┘
"""

from dataclasses import dataclass, replace
from enum import StrEnum


class Stage(StrEnum):
    ARMED = "armed"
    FLUSHING = "flushing"
    FLUSHED = "flushed"


@dataclass(frozen=True, slots=True)
class Flush:
    """Where a session is in its compaction cycle; cycles are counted, so that a flush that ends late ends its own."""

    stage: Stage = Stage.ARMED
    cycle: int = 0
    is_compacting: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """What an event led to; `reason` says why nothing begins, `was_due` that it would have but for that."""

    flush: Flush
    begins: bool = False
    reason: str | None = None
    was_due: bool = False


def usage_reported(flush: Flush, used: int, limit: int, threshold: float) -> Step:
    if limit <= 0:
        return Step(flush, reason="the token limit is not known")
    if used / limit >= threshold:
        return _due(flush)
    # What was compacted has made room: the next time it fills up is another cycle.
    return Step(_next_cycle(flush) if flush.is_compacting else flush, reason="the use is below the threshold")


def compaction_started(flush: Flush) -> Step:
    """The last chance: afterwards the messages are no longer whole."""
    return _due(replace(flush, is_compacting=True))


def compaction_completed(flush: Flush) -> Step:
    return Step(_next_cycle(flush))


def succeeded(flush: Flush, cycle: int) -> Flush:
    return replace(flush, stage=Stage.FLUSHED) if _is_running(flush, cycle) else flush


def failed(flush: Flush, cycle: int) -> Flush:
    """Armed again: the next event of the cycle tries once more."""
    return replace(flush, stage=Stage.ARMED) if _is_running(flush, cycle) else flush


def _due(flush: Flush) -> Step:
    match flush.stage:
        case Stage.ARMED:
            return Step(replace(flush, stage=Stage.FLUSHING), begins=True)
        case Stage.FLUSHING:
            return Step(flush, reason="a flush is running", was_due=True)
        case Stage.FLUSHED:
            return Step(flush, reason="this compaction cycle has been flushed", was_due=True)


def _next_cycle(flush: Flush) -> Flush:
    return Flush(cycle=flush.cycle + 1)


def _is_running(flush: Flush, cycle: int) -> bool:
    return flush.stage is Stage.FLUSHING and flush.cycle == cycle
