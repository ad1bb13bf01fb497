"""What is due in chat memory, by a clock that may jump: sessions that ended, those to learn from, and old turns."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from domain.chat_ports import RecordedTurn, Session, SessionKey
from domain.limits import Limits
from domain.memory_settings import MemorySettings
from domain.sessions import IDLE_LIFETIME, LONGEST_RETRY, Learning, Message, MessageRole, Wanted, WorkingMemory
from domain.turns import Turn
from domain.usecases.sessions import Sessions
from domain.usecases.settings import Settings
from persistence.chat_agenda import MOST, OLD, ChatAgenda
from persistence.chat_store import SqliteChatStore
from persistence.engine import Engine
from tests.clock import SettableClock

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
INSTANT = timedelta(microseconds=1)
OWNER = "local"


@pytest.fixture
def agenda(engine: Engine) -> ChatAgenda:
    return ChatAgenda(engine)


async def begin(engine: Engine, session_id: str, updated_at: datetime, owner: str = OWNER) -> None:
    memory = WorkingMemory(session_id, None, {}, 1, None, updated_at, updated_at)
    await SqliteChatStore(engine, owner).write(lambda store: store.put_working_memory(memory))


async def take_away(engine: Engine, session_id: str) -> None:
    await SqliteChatStore(engine, OWNER).write(lambda store: store.delete_working_memory(session_id))


async def want(
    engine: Engine, session_id: str, learning: Learning, owner: str = OWNER, seen_at: datetime = NOW
) -> None:
    session = Session(session_id, learning=learning)
    await SqliteChatStore(engine, owner).write(lambda store: store.put_session(session, seen_at))


async def tell(engine: Engine, turn_id: str, recorded_at: datetime, owner: str = OWNER) -> None:
    turn = RecordedTurn(turn_id, recorded_at)
    await SqliteChatStore(engine, owner).write(lambda store: store.add_turn("s", turn))


async def told(engine: Engine, *turn_ids: str, owner: str = OWNER) -> list[str]:
    store = SqliteChatStore(engine, owner)
    return [turn_id for turn_id in turn_ids if await store.turn("s", turn_id) is not None]


# Sessions that have ended


async def test_a_session_has_ended_thirty_minutes_after_its_last_activity(engine: Engine, agenda: ChatAgenda) -> None:
    await begin(engine, "older", NOW - timedelta(days=365))
    await begin(engine, "ended", NOW - IDLE_LIFETIME)
    await begin(engine, "alive", NOW - IDLE_LIFETIME + INSTANT)

    assert sorted(await agenda.ended(NOW)) == [SessionKey(OWNER, "ended"), SessionKey(OWNER, "older")]


async def test_the_agenda_agrees_with_the_working_memory_itself(engine: Engine, agenda: ChatAgenda) -> None:
    store = SqliteChatStore(engine, OWNER)
    await begin(engine, "s", NOW)
    for idle in (timedelta(0), IDLE_LIFETIME - INSTANT, IDLE_LIFETIME, IDLE_LIFETIME + INSTANT):
        memory = await store.working_memory("s")
        assert memory is not None
        assert bool(await agenda.ended(NOW + idle)) == memory.has_ended(NOW + idle)


async def test_sessions_of_all_owners_are_on_the_agenda(engine: Engine, agenda: ChatAgenda) -> None:
    for owner in ("anna", "ben"):
        await begin(engine, "s", NOW - IDLE_LIFETIME, owner)

    assert sorted(await agenda.ended(NOW)) == [SessionKey("anna", "s"), SessionKey("ben", "s")]


async def test_what_is_too_much_for_one_look_is_left_to_the_next(engine: Engine, agenda: ChatAgenda) -> None:
    ids = {f"s{number}" for number in range(MOST + 20)}
    for session_id in ids:
        await begin(engine, session_id, NOW - IDLE_LIFETIME)

    first = await agenda.ended(NOW)
    for _, session_id in first:
        await take_away(engine, session_id)
    second = await agenda.ended(NOW)

    assert (len(first), len(second)) == (MOST, 20)
    assert {session_id for _, session_id in (*first, *second)} == ids


async def test_a_session_from_the_future_ends_thirty_minutes_from_now(engine: Engine, agenda: ChatAgenda) -> None:
    store = SqliteChatStore(engine, OWNER)
    await begin(engine, "s", NOW + timedelta(days=1))

    assert await agenda.ended(NOW) == []

    memory = await store.working_memory("s")
    assert memory is not None
    assert memory.updated_at == NOW
    assert await agenda.ended(NOW + IDLE_LIFETIME - INSTANT) == []
    assert await agenda.ended(NOW + IDLE_LIFETIME) == [SessionKey(OWNER, "s")]


async def test_a_clock_set_back_leaves_sessions_of_the_past_alone(engine: Engine, agenda: ChatAgenda) -> None:
    store = SqliteChatStore(engine, OWNER)
    before = NOW - timedelta(minutes=10)
    await begin(engine, "past", before)
    await begin(engine, "future", NOW + timedelta(days=1))

    await agenda.ended(NOW)

    memory = await store.working_memory("past")
    assert memory is not None
    assert memory.updated_at == before


async def test_a_session_taken_up_again_after_the_look_is_kept(engine: Engine, agenda: ChatAgenda) -> None:
    clock = SettableClock(NOW)
    sessions = sessions_by(engine, clock)
    turn = Turn("s", [Message(MessageRole.USER, "hello")])
    await sessions.record_turn(turn)
    clock.move(minutes=30)
    ((_, found),) = await agenda.ended(clock())
    await sessions.record_turn(turn)

    await sessions.end(found)

    memory = await sessions.working_memory("s")
    assert memory is not None
    assert (memory.turn_count, memory.created_at) == (1, clock())


async def test_the_end_of_a_session_that_is_gone_changes_nothing(engine: Engine) -> None:
    sessions = sessions_by(engine, SettableClock(NOW))

    await sessions.end("nobody")

    assert await sessions.working_memory("nobody") is None


# Sessions to learn from


async def test_a_session_waits_when_learning_is_wanted(engine: Engine, agenda: ChatAgenda) -> None:
    await want(engine, "idle", Learning(NOW))
    await want(engine, "extract", Learning(NOW, Wanted.EXTRACTION))
    await want(engine, "flush", Learning(NOW, Wanted.FLUSH), "anna")

    assert sorted(await agenda.waiting(NOW)) == [SessionKey("anna", "flush"), SessionKey(OWNER, "extract")]


async def test_what_failed_waits_until_its_time_has_come(engine: Engine, agenda: ChatAgenda) -> None:
    later = NOW + timedelta(seconds=30)
    await want(engine, "s", Learning(NOW, Wanted.EXTRACTION, 1, later))

    assert await agenda.waiting(NOW) == []
    assert await agenda.waiting(later - INSTANT) == []
    assert await agenda.waiting(later) == [SessionKey(OWNER, "s")]


async def test_what_failed_before_the_clock_was_set_back_does_not_wait_for_its_return(
    engine: Engine, agenda: ChatAgenda
) -> None:
    await want(engine, "s", Learning(NOW, Wanted.EXTRACTION, 9, NOW + LONGEST_RETRY))

    assert await agenda.waiting(NOW) == []
    assert await agenda.waiting(NOW - INSTANT) == [SessionKey(OWNER, "s")]
    assert await agenda.waiting(NOW - timedelta(days=1)) == [SessionKey(OWNER, "s")]


async def test_no_more_sessions_are_told_than_one_look_may_take(engine: Engine, agenda: ChatAgenda) -> None:
    for number in range(MOST + 1):
        await want(engine, f"s{number}", Learning(NOW, Wanted.EXTRACTION))

    assert len(await agenda.waiting(NOW)) == MOST


async def test_a_session_that_is_settled_waits_no_more(engine: Engine, agenda: ChatAgenda) -> None:
    wanted = Learning(NOW, Wanted.FLUSH, 2, NOW)
    await want(engine, "s", wanted)
    await want(engine, "s", replace(wanted, wanted=None))

    assert await agenda.waiting(NOW) == []


# Old turns


async def test_turns_are_known_again_for_seven_days(engine: Engine, agenda: ChatAgenda) -> None:
    await tell(engine, "old", NOW - OLD - INSTANT)
    await tell(engine, "old", NOW - OLD - INSTANT, "anna")
    await tell(engine, "young", NOW - OLD)
    await tell(engine, "new", NOW)
    await tell(engine, "future", NOW + timedelta(days=1))

    await agenda.drop_old(NOW)

    assert await told(engine, "old", "young", "new", "future") == ["young", "new", "future"]
    assert await told(engine, "old", owner="anna") == []


async def test_what_is_left_of_a_session_goes_when_nobody_goes_on_with_it(engine: Engine, agenda: ChatAgenda) -> None:
    long_ago = NOW - OLD - INSTANT
    await want(engine, "old", Learning(NOW), seen_at=long_ago)
    await want(engine, "waits", Learning(NOW, Wanted.EXTRACTION), seen_at=long_ago)
    await want(engine, "alive", Learning(NOW), seen_at=long_ago)
    await begin(engine, "alive", NOW)
    await want(engine, "young", Learning(NOW), seen_at=NOW - OLD)

    await agenda.drop_old(NOW)

    store = SqliteChatStore(engine, OWNER)
    names = ("old", "waits", "alive", "young")
    assert [name for name in names if (await store.session(name)).learning.began_at] == ["waits", "alive", "young"]


def sessions_by(engine: Engine, clock: SettableClock) -> Sessions:
    """As they are wired for one owner, but for learning, which does not begin."""
    store = SqliteChatStore(engine, OWNER)
    numbers = count()
    settings = Settings(store, MemorySettings(), lambda: None)
    return Sessions(store, settings, clock, Limits(), lambda: f"fact_{next(numbers)}", lambda _: True)
