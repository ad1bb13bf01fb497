"""One turn of a session: what a host reports, what it makes of the working memory, and the fact it may hold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from domain import errors
from domain.errors import DomainError, at
from domain.facts import (
    INFERRED_CONFIDENCE,
    Fact,
    FactCategory,
    FactSource,
    FactWrite,
    same_key,
    texts_in,
    trusted,
    value_text,
)
from domain.limits import BULK_LIMIT, Limits, check_count, check_id, check_length, check_text
from domain.secrets import SECRET_MARK, holds_secret, without_secrets
from domain.sessions import Message, MessageRole, WorkingMemory
from domain.values import Json, check_json, merged

TOPIC_KEY = "topic"
ANALYSIS = ("analysis",)
VARIABLES = at(ANALYSIS, "context_variables")
MEMORY_UPDATE = at(ANALYSIS, "memory_update")


@dataclass(frozen=True, slots=True)
class MemoryUpdate:
    """What the host's model thinks worth keeping; None where it did not say."""

    should_store: bool
    category: FactCategory | None = None
    key: str | None = None
    value: Json = None
    confidence: float | None = None
    source: FactSource | None = None


@dataclass(frozen=True, slots=True)
class TurnAnalysis:
    """None leaves as it is."""

    current_topic: str | None = None
    context_variables: Json = None
    emotion: str | None = None
    memory_update: MemoryUpdate | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    session_id: str
    messages: Sequence[Message]
    id: str | None = None
    analysis: TurnAnalysis = TurnAnalysis()


@dataclass(frozen=True, slots=True)
class TurnResult:
    """`refused` says why a fact was not kept though the turn was."""

    working_memory: WorkingMemory | None
    fact_writes: tuple[FactWrite, ...] = ()
    refused: DomainError | None = None


def check_turn(turn: Turn, limits: Limits) -> None:
    check_id(turn.session_id, ("session_id",))
    if turn.id is not None:
        check_id(turn.id, ("turn_id",))
    if not turn.messages and turn.analysis == TurnAnalysis():
        raise errors.RequiredError(("messages",))
    check_count(turn.messages, BULK_LIMIT, ("messages",))
    for position, message in enumerate(turn.messages):
        check_length(message.content, limits.text, at(("messages",), position, "content"))
    _check_analysis(turn.analysis, limits)


def _check_analysis(analysis: TurnAnalysis, limits: Limits) -> None:
    if analysis.current_topic is not None:
        check_length(analysis.current_topic, limits.summary, at(ANALYSIS, "current_topic"))
    if analysis.emotion is not None:
        check_length(analysis.emotion, limits.name, at(ANALYSIS, "emotion"))
    if analysis.context_variables is not None:
        if not isinstance(analysis.context_variables, dict):
            raise errors.NotAnObjectError(VARIABLES)
        check_json(analysis.context_variables, limits.text, VARIABLES)
    if analysis.memory_update is not None and analysis.memory_update.should_store:
        _check_update(analysis.memory_update, limits)


def _check_update(update: MemoryUpdate, limits: Limits) -> None:
    check_text(update.key, limits.name, at(MEMORY_UPDATE, "key"))
    if not same_key(update.key or ""):
        raise errors.RequiredError(at(MEMORY_UPDATE, "key"))
    if update.value is None:
        raise errors.RequiredError(at(MEMORY_UPDATE, "value"))
    check_json(update.value, limits.content, at(MEMORY_UPDATE, "value"))
    # Also false when it is NaN.
    if update.confidence is not None and not 0 <= update.confidence <= 1:
        raise errors.FractionError(at(MEMORY_UPDATE, "confidence"), update.confidence, 0, 1)


def after_turn(before: WorkingMemory | None, turn: Turn, limits: Limits, now: datetime) -> WorkingMemory:
    """Begun by the first turn, counted and updated by every other."""
    memory = before or WorkingMemory(turn.session_id, None, {}, 0, None, now, now)
    analysis = turn.analysis
    variables = memory.context_variables
    if isinstance(analysis.context_variables, dict):
        given = analysis.context_variables.items()
        variables = merged(variables, {without_secrets(name): _cleaned(value, name) for name, value in given})
        check_json(dict(variables), limits.text, VARIABLES)
    topic, emotion = analysis.current_topic, analysis.emotion
    is_turn = any(each.role is MessageRole.USER for each in turn.messages)
    return replace(
        memory,
        current_topic=memory.current_topic if topic is None else without_secrets(topic).strip() or None,
        context_variables=variables,
        last_emotion=memory.last_emotion if emotion is None else without_secrets(emotion).strip() or None,
        turn_count=memory.turn_count + is_turn,
        updated_at=now,
    )


def fact_of(turn: Turn, fact_id: str, now: datetime) -> Fact | None:
    """What a checked turn wants kept; raises SecretRefusedError."""
    update = turn.analysis.memory_update
    if update is None or not update.should_store or update.key is None:
        return None
    if is_secret(update.key, update.value):
        raise errors.SecretRefusedError(at(MEMORY_UPDATE, "value"))
    source = update.source or FactSource.USER_STATED
    category = update.category or FactCategory.FACT
    confidence = trusted(source, update.confidence)
    return Fact(fact_id, turn.session_id, category, update.key.strip(), update.value, confidence, source, now, now)


def archived(memory: WorkingMemory, new_id: Callable[[], str], now: datetime) -> list[Fact]:
    """What a session that has ended leaves behind: its variables and its topic."""
    said: list[tuple[FactCategory, str, Json]] = [
        (FactCategory.FACT, name, value) for name, value in memory.context_variables.items()
    ]
    if memory.current_topic:
        # A key for each topic: another one does not supersede it.
        said.append((FactCategory.PATTERN, f"{TOPIC_KEY}: {memory.current_topic}", memory.current_topic))
    return [
        Fact(new_id(), memory.session_id, category, key, value, INFERRED_CONFIDENCE, FactSource.INFERRED, now, now)
        for category, key, value in said
        if same_key(key) and not is_secret(key, value) and SECRET_MARK not in f"{key}: {value_text(value)}"
    ]


def worth_keeping(messages: Sequence[Message]) -> list[Message]:
    """Without secrets: these are kept nowhere, not even until they are learned from."""
    return [replace(each, content=without_secrets(each.content)) for each in messages if each.content.strip()]


def is_secret(key: str, value: Json) -> bool:
    return holds_secret(f"{key}: {value_text(value)}") or any(map(holds_secret, texts_in(value)))


def _cleaned(value: Json, name: str) -> Json:
    """Without secrets: neither in names, nor where only the name of a field gives one away."""
    match value:
        case dict():
            return {without_secrets(field): _cleaned(each, field) for field, each in value.items()}
        case list():
            return [_cleaned(each, name) for each in value]
        case bool() | None:
            return value
        case str() if holds_secret(value):
            return without_secrets(value)
        case _:
            return SECRET_MARK if holds_secret(f"{name}: {value}") else value
