"""What chat memory in SQLite promises beyond what a client of the service sees."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from operator import methodcaller
from typing import Any

import pytest

from domain.chat_ports import ChatWriter, KeptMessage, RecordedTurn, Session
from domain.facts import Fact, FactCategory, FactSource, WriteOutcome
from domain.flush import Flush, Stage
from domain.paging import Cursor, PageRequest
from domain.sessions import Learning, Message, MessageRole, Wanted, WorkingMemory
from domain.values import Json
from persistence import chat_store
from persistence.chat_store import SqliteChatStore
from persistence.engine import Engine

NOON = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
HOUR = timedelta(hours=1)
FIRST_TEN = PageRequest(10)
TEA = Fact("fact_1", "s1", FactCategory.PREFERENCE, "Favourite Drink", "tea", 0.9, FactSource.USER_STATED, NOON, NOON)


@pytest.fixture
def chat(engine: Engine) -> SqliteChatStore:
    return SqliteChatStore(engine, "local")


@pytest.fixture
def others(engine: Engine) -> SqliteChatStore:
    return SqliteChatStore(engine, "somebody else")


def a_fact(id: str, **fields: object) -> Fact:
    """With a key of its own."""
    return replace(TEA, **{"id": id, "key": f"key of {id}"} | fields)  # type: ignore[arg-type]


async def add(chat: SqliteChatStore, *facts: Fact) -> None:
    async def work(store: ChatWriter) -> None:
        for fact in facts:
            await store.add_fact(fact)

    await chat.write(work)


async def do(chat: SqliteChatStore, work: Callable[[ChatWriter], Awaitable[Any]]) -> Any:
    return await chat.write(work)


def ids(facts: Sequence[Fact]) -> list[str]:
    return [fact.id for fact in facts]


# Facts


@pytest.mark.parametrize(
    "value", ["", "緑茶 😀", 0, -1.5, 2**53, True, False, [], {}, {"b": [1, {"a": None}], "a": "二"}, None], ids=repr
)
async def test_a_fact_comes_back_as_it_was_stored(chat: SqliteChatStore, value: Json) -> None:
    fact = replace(
        TEA, value=value, session_id=None, last_accessed_at=NOON + HOUR, access_count=7, superseded_at=NOON + 2 * HOUR
    )

    await add(chat, fact)

    kept = (await chat.facts(["fact_1"]))["fact_1"]
    assert kept == fact
    assert type(kept.value) is type(value)


async def test_facts_that_are_not_there_are_absent(chat: SqliteChatStore) -> None:
    await add(chat, TEA)

    assert await chat.facts(["fact_1", "fact_2", ""]) == {"fact_1": TEA}
    assert await chat.facts([]) == {}


async def test_one_fact_holds_for_a_key_and_the_others_are_its_history(chat: SqliteChatStore) -> None:
    versions = [replace(TEA, id=f"fact_{number}", value=number) for number in range(4)]
    for version in versions[:-1]:
        await add(chat, replace(version, superseded_at=NOON))
    await add(chat, versions[-1])

    assert await chat.holding("favourite_drink") == versions[-1]
    assert ids(await chat.history("favourite_drink")) == ["fact_2", "fact_1", "fact_0"]
    assert (await chat.holding("drink"), await chat.history("drink")) == (None, ())


async def test_two_facts_can_never_hold_for_one_key(chat: SqliteChatStore) -> None:
    await add(chat, TEA)

    with pytest.raises(Exception, match="UNIQUE"):
        await add(chat, replace(TEA, id="fact_2", key="favourite-drink"))

    assert await chat.count_facts() == 1


async def test_what_is_superseded_no_longer_holds(chat: SqliteChatStore) -> None:
    await add(chat, TEA)

    await do(chat, lambda store: store.supersede("fact_1", NOON + HOUR))

    assert await chat.holding("favourite_drink") is None
    assert await chat.history("favourite_drink") == (replace(TEA, superseded_at=NOON + HOUR),)
    assert await chat.count_facts() == 0


async def test_facts_are_listed_newest_first_by_page_and_by_place(chat: SqliteChatStore) -> None:
    await add(chat, *(a_fact(f"fact_{number}") for number in range(5)))

    first = await chat.list_facts(None, PageRequest(2))
    rest = await chat.list_facts(None, PageRequest(10, Cursor(first.positions[-1], first.items[-1].id)))

    assert (ids(first.items), first.has_next) == (["fact_4", "fact_3"], True)
    assert (ids(rest.items), rest.has_next) == (["fact_2", "fact_1", "fact_0"], False)
    assert ids(await chat.facts_from(None, 1, 2)) == ["fact_3", "fact_2"]
    assert ids(await chat.facts_from(None, 9, 2)) == []


async def test_facts_of_a_category_are_listed_and_counted_alone(chat: SqliteChatStore) -> None:
    await add(chat, *(a_fact(f"fact_{number}", category=list(FactCategory)[number % 3]) for number in range(7)))

    assert ids((await chat.list_facts(FactCategory.PREFERENCE, FIRST_TEN)).items) == ["fact_6", "fact_3", "fact_0"]
    assert ids(await chat.facts_from(FactCategory.FACT, 1, 9)) == ["fact_1"]
    assert [await chat.count_facts(each) for each in (None, *FactCategory)] == [7, 3, 2, 2]


async def test_foremost_preferences_are_the_last_the_most_and_the_most_trusted(chat: SqliteChatStore) -> None:
    await add(
        chat,
        a_fact("fresh", last_accessed_at=NOON + HOUR, confidence=0.1),
        a_fact("frequent", access_count=9, confidence=0.1),
        a_fact("trusted", confidence=1.0),
        a_fact("ordinary", confidence=0.1),
        a_fact("no_preference", category=FactCategory.FACT, confidence=1.0, access_count=99),
        a_fact("superseded", superseded_at=NOON, confidence=1.0, access_count=99),
    )

    assert set(ids(await chat.foremost_preferences(1))) == {"fresh", "frequent", "trusted"}
    assert set(ids(await chat.foremost_preferences(9))) == {"fresh", "frequent", "trusted", "ordinary"}


async def test_a_key_is_deleted_with_its_history_and_a_fact_alone(chat: SqliteChatStore) -> None:
    old = [replace(TEA, id=f"old_{number}", superseded_at=NOON) for number in range(2)]
    await add(chat, *old, TEA, a_fact("fact_2"))

    await do(chat, lambda store: store.delete_fact("old_0"))
    assert ids(await chat.history("favourite_drink")) == ["old_1"]
    await do(chat, lambda store: store.delete_key("favourite_drink"))

    assert set(await chat.facts(["old_0", "old_1", "fact_1", "fact_2"])) == {"fact_2"}


async def test_all_facts_are_deleted_and_counted_with_their_history(chat: SqliteChatStore) -> None:
    await add(chat, replace(TEA, id="old", superseded_at=NOON), TEA, a_fact("fact_2"))

    assert await do(chat, lambda store: store.delete_facts()) == 3
    assert await do(chat, lambda store: store.delete_facts()) == 0


async def test_eviction_goes_by_confidence_then_access_and_takes_history_along(chat: SqliteChatStore) -> None:
    await add(
        chat,
        a_fact("low", confidence=0.1),
        a_fact("high", confidence=0.9),
        a_fact("unused", confidence=0.5, last_accessed_at=NOON - HOUR),
        a_fact("used", confidence=0.5, last_accessed_at=NOON + HOUR),
        a_fact("old_low", key="key of low", superseded_at=NOON, confidence=1.0),
    )

    evicted = [await do(chat, methodcaller("evict", keep)) for keep in (9, 4, 3, 2, 1)]
    left = ids((await chat.list_facts(None, FIRST_TEN)).items)

    assert (evicted, left) == ([0, 0, 1, 1, 1], ["high"])
    assert set(await chat.facts(["low", "old_low", "unused", "used", "high"])) == {"high"}


async def test_of_equals_the_oldest_is_evicted(chat: SqliteChatStore) -> None:
    await add(chat, *(a_fact(f"fact_{number}") for number in range(4)))

    await do(chat, lambda store: store.evict(2))

    assert ids((await chat.list_facts(None, FIRST_TEN)).items) == ["fact_3", "fact_2"]


# Sessions


async def test_working_memory_comes_back_as_it_was_stored(chat: SqliteChatStore) -> None:
    memory = WorkingMemory("s1", "茶", {"city": "京都", "list": [1, {"a": None}]}, 3, "glad", NOON, NOON + HOUR)
    empty = WorkingMemory("s2", None, {}, 0, None, NOON, NOON)

    await do(chat, lambda store: store.put_working_memory(replace(memory, turn_count=1)))
    await do(chat, lambda store: store.put_working_memory(memory))
    await do(chat, lambda store: store.put_working_memory(empty))

    assert (await chat.working_memory("s1"), await chat.working_memory("s2")) == (memory, empty)
    await do(chat, lambda store: store.delete_working_memory("s1"))
    assert (await chat.working_memory("s1"), await chat.working_memory("s2")) == (None, empty)


async def test_a_session_comes_back_as_it_was_stored_and_is_new_before(chat: SqliteChatStore) -> None:
    session = Session("s1", Flush(Stage.FLUSHING, 3, is_compacting=True), Learning(NOON, Wanted.FLUSH, 2, NOON + HOUR))

    assert await chat.session("s1") == Session("s1")
    await do(chat, lambda store: store.put_session(session, NOON))

    assert await chat.session("s1") == session


async def test_messages_are_kept_in_order_until_they_are_deleted(chat: SqliteChatStore) -> None:
    said = [Message(role, f"{role} says 茶") for role in MessageRole]
    await do(chat, lambda store: store.add_messages("s1", said))
    await do(chat, lambda store: store.add_messages("s2", said[:1]))
    await do(chat, lambda store: store.add_messages("s1", said[:1]))

    kept = await chat.messages("s1", 10)

    assert [each.message for each in kept] == [*said, said[0]]
    assert [each.number for each in kept] == sorted({each.number for each in kept})
    assert await chat.messages("s1", 2) == kept[:2]
    await do(chat, lambda store: store.delete_messages("s1", kept[2].number))
    assert (await chat.messages("s1", 10), await chat.count_messages("s2")) == (kept[3:], 1)


async def test_numbers_of_messages_are_not_used_again(chat: SqliteChatStore) -> None:
    """What is deleted up to a number must not take a later message along."""
    (first,) = await _one_message(chat)
    await do(chat, lambda store: store.delete_all_messages())

    (second,) = await _one_message(chat)

    assert second.number > first.number


async def _one_message(chat: SqliteChatStore) -> Sequence[KeptMessage]:
    await do(chat, lambda store: store.add_messages("s1", [Message(MessageRole.USER, "hello")]))
    return await chat.messages("s1", 10)


async def test_messages_of_one_session_are_deleted_alone(chat: SqliteChatStore) -> None:
    for session_id in ("s1", "s2"):
        await do(chat, methodcaller("put_session", Session(session_id, Flush(Stage.FLUSHED, 1)), NOON))
        await do(chat, methodcaller("add_messages", session_id, [Message(MessageRole.USER, "hello")]))

    await do(chat, lambda store: store.delete_messages("s1"))

    assert [await chat.count_messages(session_id) for session_id in ("s1", "s2")] == [0, 1]
    assert await chat.session("s1") == Session("s1", Flush(Stage.FLUSHED, 1))


@pytest.mark.parametrize(
    "turn",
    [RecordedTurn("turn_1", NOON), RecordedTurn("turn_1", NOON, WriteOutcome.SUPERSEDED, "fact_2", "fact_1")],
    ids=["without a fact", "with a fact"],
)
async def test_a_turn_is_known_again_in_its_session(chat: SqliteChatStore, turn: RecordedTurn) -> None:
    await do(chat, lambda store: store.add_turn("s1", turn))

    assert await chat.turn("s1", "turn_1") == turn
    assert (await chat.turn("s2", "turn_1"), await chat.turn("s1", "turn_2")) == (None, None)


# Settings


async def test_settings_come_back_as_they_were_set_the_last_time(chat: SqliteChatStore) -> None:
    await do(chat, lambda store: store.put_settings({"enabled": False, "eviction_threshold": 3}))
    await do(chat, lambda store: store.put_settings({"eviction_threshold": None, "flush_threshold": 0.5}))

    assert await chat.settings() == {"enabled": False, "eviction_threshold": None, "flush_threshold": 0.5}


# Owners and transactions


async def test_owners_share_ids_and_keys_and_meet_nothing_of_each_other(
    chat: SqliteChatStore, others: SqliteChatStore
) -> None:
    theirs = replace(TEA, value="coffee")
    memory = WorkingMemory("s1", None, {}, 1, None, NOON, NOON)
    for store, fact in ((chat, TEA), (others, theirs)):
        await add(store, fact)
        await do(store, lambda writer: writer.put_working_memory(memory))
        await do(store, lambda writer: writer.put_session(Session("s1"), NOON))
        await do(store, lambda writer: writer.add_messages("s1", [Message(MessageRole.USER, "hello")]))
        await do(store, lambda writer: writer.add_turn("s1", RecordedTurn("turn_1", NOON)))
        await do(store, lambda writer: writer.put_settings({"enabled": False}))

    await do(chat, lambda store: store.supersede("fact_1", NOON))
    await do(chat, lambda store: store.delete_facts())
    await do(chat, lambda store: store.delete_all_messages())
    await do(chat, lambda store: store.delete_working_memory("s1"))
    await do(chat, lambda store: store.put_settings({"enabled": True}))

    assert (await chat.facts(["fact_1"]), await others.facts(["fact_1"])) == ({}, {"fact_1": theirs})
    assert (await others.holding("favourite_drink"), await others.count_messages("s1")) == (theirs, 1)
    assert await others.working_memory("s1") == memory
    assert (await others.settings(), await chat.settings()) == ({"enabled": False}, {"enabled": True})


async def test_nothing_is_kept_of_work_that_fails(chat: SqliteChatStore) -> None:
    async def work(store: ChatWriter) -> None:
        await store.add_fact(TEA)
        await store.put_settings({"enabled": False})
        assert await store.holding("favourite_drink") == TEA
        raise LookupError

    with pytest.raises(LookupError):
        await chat.write(work)

    assert (await chat.facts(["fact_1"]), await chat.settings()) == ({}, {})


# Along indexes


WALKS = {
    "holding": chat_store._HOLDING,
    "history": chat_store._HISTORY,
    "list": chat_store._LIST.format(of_category=""),
    "list of a category": chat_store._LIST.format(of_category=chat_store._OF_CATEGORY),
    "list from": chat_store._LIST_FROM.format(of_category=""),
    "count": chat_store._COUNT.format(of_category=""),
    "count of a category": chat_store._COUNT.format(of_category=chat_store._OF_CATEGORY),
    "evict": chat_store._EVICT,
    "delete a key": chat_store._DELETE_KEY,
    "messages": chat_store._MESSAGES,
    "count messages": chat_store._COUNT_MESSAGES,
}


async def plan_of(engine: Engine, sql: str) -> list[str]:
    parameters = dict.fromkeys(re.findall(r":(\w+)", sql), 1)
    return [str(row[3]) for row in await engine.fetch(f"EXPLAIN QUERY PLAN {sql}", parameters)]


@pytest.mark.parametrize("sql", WALKS.values(), ids=WALKS.keys())
async def test_no_statement_reads_a_whole_table_or_sorts_it(engine: Engine, sql: str) -> None:
    plan = await plan_of(engine, sql)

    assert plan
    assert not [step for step in plan if re.search(r"SCAN (fact|message)\b|USE TEMP B-TREE", step)]


async def test_foremost_preferences_are_read_from_the_end_of_an_index_each(engine: Engine) -> None:
    plan = await plan_of(engine, chat_store._FOREMOST)

    walked = {match[1] for step in plan if (match := re.fullmatch(r"SEARCH fact USING INDEX (\w+) \(owner=\?\)", step))}
    assert walked == {"preference_by_access", "preference_by_count", "preference_by_confidence"}
    assert not [step for step in plan if re.search(r"SCAN fact\b", step)]
