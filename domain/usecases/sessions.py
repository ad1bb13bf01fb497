"""Chat sessions as host applications report them: their turns, their events, and their end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from domain import errors, flush, limits
from domain.chat_ports import ChatStore, ChatWriter, RecordedTurn, Session
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
from domain.limits import check_count, check_id, check_length, check_text
from domain.memory_settings import MemorySettings
from domain.ports import Clock
from domain.secrets import holds_secret, without_secrets
from domain.sessions import Learning, Message, MessageRole, Wanted, WorkingMemory, why_not_yet
from domain.usecases.facts import write_fact
from domain.usecases.settings import Settings, evict
from domain.values import Json, check_json, merged, replace_texts

TOPIC_KEY = "topic"
ANALYSIS = ("analysis",)
MEMORY_UPDATE = ("analysis", "memory_update")


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


@dataclass(frozen=True, slots=True)
class Sessions:
    """`learn` begins, in the background, to learn from a session; False when that is under way."""

    store: ChatStore
    settings: Settings
    clock: Clock
    limits: limits.Limits
    new_fact_id: Callable[[], str]
    learn: Callable[[str], bool]

    async def working_memory(self, session_id: str) -> WorkingMemory | None:
        """None once it has ended, whether it was taken away yet or not."""
        memory = await self.store.working_memory(session_id)
        return None if memory is None or memory.has_ended(self.clock()) else memory

    async def record_turn(self, turn: Turn) -> TurnResult:
        """Starts or continues the working memory and keeps the messages; the same turn again changes nothing."""
        self._check(turn)
        now = self.clock()
        fact, refused = self._fact_of(turn, now)

        async def work(store: ChatWriter) -> TurnResult:
            if turn.id is not None and (known := await store.turn(turn.session_id, turn.id)):
                return await _as_recorded(store, turn.session_id, known, now)
            settings = await self.settings.within(store)
            before = await self._going_on(store, turn.session_id, settings, now)
            memory = self._after(before, turn, now)
            await store.put_working_memory(memory)
            if settings.enabled:
                await store.add_messages(turn.session_id, _worth_keeping(turn.messages))
            writes = () if fact is None else (await write_fact(store, fact, now),)
            if writes:
                await evict(store, settings)
            if turn.id is not None:
                await store.add_turn(turn.session_id, _recorded(turn.id, writes, now))
            return TurnResult(memory, writes, refused)

        return await self.store.write(work)

    async def report(self, event: SessionEvent) -> Reaction:
        check_id(event.session_id, ("session_id",))
        if event.type is SessionEventType.STREAM_IDLE:
            return await self._idle(event.session_id)
        return await self._flush(event)

    async def end(self, session_id: str) -> None:
        """Takes the working memory away once it has ended; what is left of its messages is learned from."""
        now = self.clock()

        async def work(store: ChatWriter) -> bool:
            memory = await store.working_memory(session_id)
            if memory is None or not memory.has_ended(now):
                return False
            return await self._close(store, memory, await self.settings.within(store), now)

        if await self.store.write(work):
            self.learn(session_id)

    async def _going_on(
        self, store: ChatWriter, session_id: str, settings: MemorySettings, now: datetime
    ) -> WorkingMemory | None:
        """What the turn goes on with; what has ended is closed first, as if it had been swept."""
        memory = await store.working_memory(session_id)
        if memory is not None and memory.has_ended(now):
            await self._close(store, memory, settings, now)
            return None
        return memory

    async def _close(self, store: ChatWriter, memory: WorkingMemory, settings: MemorySettings, now: datetime) -> bool:
        """Answers whether there is something left to learn."""
        if settings.archive_on_expiry:
            for fact in self._archived(memory, now):
                await write_fact(store, fact, now)
            await evict(store, settings)
        await store.delete_working_memory(memory.session_id)
        session = await store.session(memory.session_id)
        if not settings.enabled or not settings.auto_extract:
            # Nobody wants to have them learned, and there will be no other occasion.
            await store.delete_session(memory.session_id)
            return False
        if not await store.count_messages(memory.session_id):
            await store.delete_session(memory.session_id)
            return False
        learning = replace(session.learning, wanted=session.learning.wanted or Wanted.EXTRACTION)
        await store.put_session(replace(session, learning=learning))
        return True

    def _archived(self, memory: WorkingMemory, now: datetime) -> list[Fact]:
        said = [(FactCategory.FACT, name, value) for name, value in memory.context_variables.items()]
        if memory.current_topic:
            # A key for each topic: another one does not supersede it.
            said.append((FactCategory.PATTERN, f"{TOPIC_KEY}: {memory.current_topic}", memory.current_topic))
        return [
            Fact(
                self.new_fact_id(),
                memory.session_id,
                category,
                key,
                value,
                INFERRED_CONFIDENCE,
                FactSource.INFERRED,
                now,
                now,
            )
            for category, key, value in said
            if same_key(key) and not _is_secret(key, value)
        ]

    async def _idle(self, session_id: str) -> Reaction:
        now = self.clock()

        async def work(store: ChatWriter) -> str | None:
            settings = await self.settings.within(store)
            if not settings.enabled or not settings.auto_extract:
                return "automatic memory is off"
            session = await store.session(session_id)
            reason = why_not_yet(session.learning, await store.count_messages(session_id), settings, now)
            if reason is None:
                learning = replace(
                    session.learning, began_at=now, wanted=session.learning.wanted or Wanted.EXTRACTION, retry_at=None
                )
                await store.put_session(replace(session, learning=learning))
            return reason

        reason = await self.store.write(work)
        if reason is None and not self.learn(session_id):
            reason = "it is being learned from"
        action = SessionAction.EXTRACTION_SKIPPED if reason else SessionAction.EXTRACTION_STARTED
        return Reaction(action, reason)

    async def _flush(self, event: SessionEvent) -> Reaction:
        now = self.clock()

        async def work(store: ChatWriter) -> flush.Step:
            settings = await self.settings.within(store)
            session = await store.session(event.session_id)
            step = _step(session, event, settings)
            if not settings.enabled:
                return replace(step, begins=False, reason="memory is off")
            learning = session.learning
            if step.begins:
                learning = Learning(now, Wanted.FLUSH)
            await store.put_session(replace(session, flush=step.flush, learning=learning))
            return step

        step = await self.store.write(work)
        if step.begins:
            self.learn(event.session_id)
            return Reaction(SessionAction.FLUSH_STARTED)
        return Reaction(SessionAction.FLUSH_SKIPPED if step.was_due else SessionAction.NONE, step.reason)

    def _after(self, before: WorkingMemory | None, turn: Turn, now: datetime) -> WorkingMemory:
        memory = before or WorkingMemory(turn.session_id, None, {}, 0, None, now, now)
        analysis = turn.analysis
        is_turn = any(each.role is MessageRole.USER for each in turn.messages)
        variables = memory.context_variables
        if isinstance(analysis.context_variables, dict):
            changes = replace_texts(analysis.context_variables, without_secrets)
            variables = merged(variables, changes)  # type: ignore[arg-type]
            check_json(dict(variables), self.limits.text, at(ANALYSIS, "context_variables"))
        topic, emotion = analysis.current_topic, analysis.emotion
        return replace(
            memory,
            current_topic=memory.current_topic if topic is None else without_secrets(topic).strip() or None,
            context_variables=variables,
            last_emotion=memory.last_emotion if emotion is None else emotion.strip() or None,
            turn_count=memory.turn_count + is_turn,
            updated_at=now,
        )

    def _check(self, turn: Turn) -> None:
        check_id(turn.session_id, ("session_id",))
        if turn.id is not None:
            check_id(turn.id, ("turn_id",))
        if not turn.messages and turn.analysis == TurnAnalysis():
            raise errors.RequiredError(("messages",))
        check_count(turn.messages, limits.BULK_LIMIT, ("messages",))
        for position, message in enumerate(turn.messages):
            check_length(message.content, self.limits.text, at(("messages",), position, "content"))
        self._check_analysis(turn.analysis)

    def _check_analysis(self, analysis: TurnAnalysis) -> None:
        if analysis.current_topic is not None:
            check_length(analysis.current_topic, self.limits.summary, at(ANALYSIS, "current_topic"))
        if analysis.emotion is not None:
            check_length(analysis.emotion, self.limits.name, at(ANALYSIS, "emotion"))
        if analysis.context_variables is not None:
            path = at(ANALYSIS, "context_variables")
            if not isinstance(analysis.context_variables, dict):
                raise errors.NotAnObjectError(path)
            check_json(analysis.context_variables, self.limits.text, path)

    def _fact_of(self, turn: Turn, now: datetime) -> tuple[Fact | None, DomainError | None]:
        update = turn.analysis.memory_update
        if update is None or not update.should_store:
            return None, None
        check_text(update.key, self.limits.name, at(MEMORY_UPDATE, "key"))
        if update.value is None or not update.key or not same_key(update.key):
            missing = "value" if update.value is None else "key"
            raise errors.RequiredError(at(MEMORY_UPDATE, missing))
        check_json(update.value, self.limits.content, at(MEMORY_UPDATE, "value"))
        # Also false when it is NaN.
        if update.confidence is not None and not 0 <= update.confidence <= 1:
            raise errors.FractionError(at(MEMORY_UPDATE, "confidence"), update.confidence, 0, 1)
        if _is_secret(update.key, update.value):
            return None, errors.SecretRefusedError(at(MEMORY_UPDATE, "value"))
        source = update.source or FactSource.USER_STATED
        fact = Fact(
            self.new_fact_id(),
            turn.session_id,
            update.category or FactCategory.FACT,
            update.key.strip(),
            update.value,
            trusted(source, update.confidence),
            source,
            now,
            now,
        )
        return fact, None


def _step(session: Session, event: SessionEvent, settings: MemorySettings) -> flush.Step:
    match event.type:
        case SessionEventType.COMPACTION_START:
            return flush.compaction_started(session.flush)
        case SessionEventType.COMPACTION_COMPLETE:
            return flush.compaction_completed(session.flush)
    used = _tokens(event.used_tokens, ("used_tokens",))
    limit = _tokens(event.token_limit, ("token_limit",))
    return flush.usage_reported(session.flush, used, limit, settings.flush_threshold)


def _tokens(given: int | None, path: errors.Path) -> int:
    limits.check_range(given, (0, 2**53), path)
    return given or 0


def _worth_keeping(messages: Sequence[Message]) -> list[Message]:
    """Without secrets: these are kept nowhere, not even until they are learned from."""
    return [replace(each, content=without_secrets(each.content)) for each in messages if each.content.strip()]


def _is_secret(key: str, value: Json) -> bool:
    return holds_secret(f"{key}: {value_text(value)}") or any(map(holds_secret, texts_in(value)))


def _recorded(turn_id: str, writes: Sequence[FactWrite], now: datetime) -> RecordedTurn:
    if not writes:
        return RecordedTurn(turn_id, now)
    (write,) = writes
    supersedes = None if write.supersedes is None else write.supersedes.id
    return RecordedTurn(turn_id, now, write.outcome, write.fact.id, supersedes)


async def _as_recorded(store: ChatWriter, session_id: str, turn: RecordedTurn, now: datetime) -> TurnResult:
    memory = await store.working_memory(session_id)
    ids = [fact_id for fact_id in (turn.fact_id, turn.supersedes_id) if fact_id is not None]
    facts: Mapping[str, Fact] = await store.facts(ids)
    fact = facts.get(turn.fact_id or "")
    writes = (
        ()
        if fact is None or turn.outcome is None
        else (FactWrite(turn.outcome, fact, facts.get(turn.supersedes_id or "")),)
    )
    return TurnResult(None if memory is None or memory.has_ended(now) else memory, writes)
