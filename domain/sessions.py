"""A chat session: what was said in it, and its working memory."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from domain.memory_settings import MemorySettings
from domain.values import Json

IDLE_LIFETIME = timedelta(minutes=30)


class Wanted(StrEnum):
    """Why a session's messages are to be learned from."""

    EXTRACTION = "extraction"
    FLUSH = "flush"


class MessageRole(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Message:
    role: MessageRole
    content: str


@dataclass(frozen=True, slots=True)
class WorkingMemory:
    """The state of one live session."""

    session_id: str
    current_topic: str | None
    context_variables: Mapping[str, Json]
    turn_count: int
    last_emotion: str | None
    created_at: datetime
    updated_at: datetime

    def has_ended(self, now: datetime) -> bool:
        return now - self.updated_at >= IDLE_LIFETIME


@dataclass(frozen=True, slots=True)
class Learning:
    """What was said and not yet learned from is tried until it is: `wanted` says why, `retry_at` not before when."""

    began_at: datetime | None = None
    wanted: Wanted | None = None
    failures: int = 0
    retry_at: datetime | None = None


FIRST_RETRY = timedelta(seconds=30)
LONGEST_RETRY = timedelta(minutes=30)


def after_failure(learning: Learning, now: datetime) -> Learning:
    pause = min(FIRST_RETRY * 2 ** min(learning.failures, 10), LONGEST_RETRY)
    return replace(learning, failures=learning.failures + 1, retry_at=now + pause)


def why_not_yet(learning: Learning, messages: int, settings: MemorySettings, now: datetime) -> str | None:
    """Why an idle session is not learned from now; None when it is."""
    if messages < settings.extraction_min_messages:
        return f"{messages} of {settings.extraction_min_messages} new messages"
    since = (
        settings.extraction_interval_seconds if learning.began_at is None else (now - learning.began_at).total_seconds()
    )
    # After a clock was set back nothing would be learned for as long.
    if 0 <= since < settings.extraction_interval_seconds:
        return f"{since:.0f} of {settings.extraction_interval_seconds} s since the last time"
    return None


class SessionEventType(StrEnum):
    STREAM_IDLE = "stream_idle"
    USAGE_INFO = "usage_info"
    COMPACTION_START = "compaction_start"
    COMPACTION_COMPLETE = "compaction_complete"


class SessionAction(StrEnum):
    NONE = "none"
    EXTRACTION_STARTED = "extraction_started"
    EXTRACTION_SKIPPED = "extraction_skipped"
    FLUSH_STARTED = "flush_started"
    FLUSH_SKIPPED = "flush_skipped"


@dataclass(frozen=True, slots=True)
class SessionEvent:
    session_id: str
    type: SessionEventType
    used_tokens: int | None = None
    token_limit: int | None = None


@dataclass(frozen=True, slots=True)
class Reaction:
    action: SessionAction
    reason: str | None = None
