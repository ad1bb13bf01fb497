"""Chat sessions as host applications report them: their turns, their events, and their end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from domain import errors, flush, limits
from domain.chat_ports import ChatStore, ChatWriter, RecordedTurn, Session
from domain.facts import FactWrite
from domain.limits import check_id
from domain.memory_settings import MemorySettings
from domain.ports import Clock
from domain.sessions import (
    Learning,
    Reaction,
    SessionAction,
    SessionEvent,
    SessionEventType,
    Wanted,
    WorkingMemory,
    why_not_yet,
)
from domain.turns import Turn, TurnResult, after_turn, archived, check_turn, fact_of, worth_keeping
from domain.usecases.facts import write_fact
from domain.usecases.settings import Settings


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
        check_turn(turn, self.limits)
        now = self.clock()
        messages = worth_keeping(turn.messages)
        fact, refused = None, None
        try:
            fact = fact_of(turn, self.new_fact_id(), now)
        except errors.SecretRefusedError as error:
            refused = error

        async def work(store: ChatWriter) -> TurnResult:
            if turn.id is not None and (known := await store.turn(turn.session_id, turn.id)):
                return replace(await _as_recorded(store, turn.session_id, known, now), refused=refused)
            settings = await self.settings.within(store)
            before = await self._going_on(store, turn.session_id, settings, now)
            memory = after_turn(before, turn, self.limits, now)
            await store.put_working_memory(memory)
            if settings.enabled:
                await store.add_messages(turn.session_id, messages)
            writes = () if fact is None else (await write_fact(store, fact, now),)
            if writes:
                await self.settings.evict(store, settings)
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
            for fact in archived(memory, self.new_fact_id, now):
                await write_fact(store, fact, now)
            await self.settings.evict(store, settings)
        await store.delete_working_memory(memory.session_id)
        if not settings.enabled or not settings.auto_extract:
            # Nobody wants to have them learned, and there will be no other occasion.
            await store.delete_messages(memory.session_id)
        if not await store.count_messages(memory.session_id):
            return False
        session = await store.session(memory.session_id)
        learning = replace(session.learning, wanted=session.learning.wanted or Wanted.EXTRACTION)
        await store.put_session(replace(session, learning=learning), now)
        return True

    async def _idle(self, session_id: str) -> Reaction:
        now = self.clock()
        was_wanted = False

        async def work(store: ChatWriter) -> str | None:
            nonlocal was_wanted
            settings = await self.settings.within(store)
            if not settings.enabled or not settings.auto_extract:
                return "automatic memory is off"
            session = await store.session(session_id)
            reason = why_not_yet(session.learning, await store.count_messages(session_id), settings, now)
            if reason is None:
                was_wanted = session.learning.wanted is not None
                learning = replace(
                    session.learning, began_at=now, wanted=session.learning.wanted or Wanted.EXTRACTION, retry_at=None
                )
                await store.put_session(replace(session, learning=learning), now)
            return reason

        reason = await self.store.write(work)
        # One that was not wanted before is begun by this event, also where the background has seen it first.
        if reason is None and not self.learn(session_id) and was_wanted:
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
                # The cycle is followed all the same: it may end before memory is on again.
                followed = flush.failed(step.flush, step.flush.cycle) if step.begins else step.flush
                await store.put_session(replace(session, flush=followed), now)
                return replace(step, begins=False, reason="memory is off")
            learning = session.learning
            if step.begins:
                learning = Learning(now, Wanted.FLUSH)
            await store.put_session(replace(session, flush=step.flush, learning=learning), now)
            return step

        step = await self.store.write(work)
        if step.begins:
            self.learn(event.session_id)
            return Reaction(SessionAction.FLUSH_STARTED)
        return Reaction(SessionAction.FLUSH_SKIPPED if step.was_due else SessionAction.NONE, step.reason)


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


def _recorded(turn_id: str, writes: Sequence[FactWrite], now: datetime) -> RecordedTurn:
    if not writes:
        return RecordedTurn(turn_id, now)
    (write,) = writes
    supersedes = None if write.supersedes is None else write.supersedes.id
    return RecordedTurn(turn_id, now, write.outcome, write.fact.id, supersedes)


async def _as_recorded(store: ChatWriter, session_id: str, turn: RecordedTurn, now: datetime) -> TurnResult:
    memory = await store.working_memory(session_id)
    ids = [fact_id for fact_id in (turn.fact_id, turn.supersedes_id) if fact_id is not None]
    facts = await store.facts(ids)
    fact = facts.get(turn.fact_id or "")
    writes = (
        ()
        if fact is None or turn.outcome is None
        else (FactWrite(turn.outcome, fact, facts.get(turn.supersedes_id or "")),)
    )
    return TurnResult(None if memory is None or memory.has_ended(now) else memory, writes)
