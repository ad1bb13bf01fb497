"""Chat memory of one owner in SQLite: facts, sessions, their messages, and settings."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, Final, TypeVar, cast

import orjson

from domain.chat_ports import ChatReader, ChatStore, ChatWriter, KeptMessage, RecordedTurn, Session
from domain.facts import Fact, FactCategory, FactSource, WriteOutcome, same_key
from domain.flush import Flush, Stage
from domain.paging import Page, PageRequest
from domain.sessions import Learning, Message, MessageRole, Wanted, WorkingMemory
from domain.values import Json
from persistence.engine import Engine, Transaction
from persistence.mapping import from_microseconds, insert_into, json_of, to_microseconds
from persistence.sqlite import Row
from persistence.tables import FactRow

T = TypeVar("T")

Fetch = Callable[[str, Mapping[str, object]], Awaitable[Sequence[Row]]]

FACT_COLUMNS: Final = ", ".join(f"fact.{field.name}" for field in fields(Fact))
_OF_CATEGORY: Final = "AND category = :category"
_LAST: Final = 2**63 - 1

_FACTS: Final = f"""
    SELECT {FACT_COLUMNS} FROM json_each(:ids) AS wanted
    CROSS JOIN fact ON fact.owner = :owner AND fact.id = wanted.value"""
_HOLDING: Final = f"""
    SELECT {FACT_COLUMNS} FROM fact WHERE owner = :owner AND same_key = :same_key AND superseded_at IS NULL"""
_HISTORY: Final = f"""
    SELECT {FACT_COLUMNS} FROM fact WHERE owner = :owner AND same_key = :same_key AND superseded_at IS NOT NULL
    ORDER BY seq DESC"""
_LIST: Final = f"""
    SELECT seq, {FACT_COLUMNS} FROM fact
    WHERE owner = :owner AND superseded_at IS NULL {{of_category}} AND seq < :before ORDER BY seq DESC LIMIT :limit"""
_LIST_FROM: Final = f"""
    SELECT {FACT_COLUMNS} FROM fact
    WHERE owner = :owner AND superseded_at IS NULL {{of_category}} ORDER BY seq DESC LIMIT :limit OFFSET :offset"""
_COUNT: Final = "SELECT COUNT(*) FROM fact WHERE owner = :owner AND superseded_at IS NULL {of_category}"
_FOREMOST: Final = f"""
    SELECT {FACT_COLUMNS} FROM fact WHERE seq IN ({
    " UNION ".join(
        f'''SELECT * FROM (
            SELECT seq FROM fact WHERE owner = :owner AND superseded_at IS NULL AND category = 'preference'
            ORDER BY {order} DESC LIMIT :limit)'''
        for order in ("last_accessed_at", "access_count", "confidence")
    )
})"""

_INSERT_FACT: Final = insert_into(FactRow)
_SUPERSEDE: Final = "UPDATE fact SET superseded_at = :at WHERE owner = :owner AND id = :id"
_DELETE_KEY: Final = "DELETE FROM fact WHERE owner = :owner AND same_key = :same_key"
_DELETE_FACT: Final = "DELETE FROM fact WHERE owner = :owner AND id = :id"
_DELETE_FACTS: Final = "DELETE FROM fact WHERE owner = :owner RETURNING 1"
_EVICT: Final = """
    DELETE FROM fact WHERE owner = :owner AND same_key IN (
        SELECT same_key FROM fact WHERE owner = :owner AND superseded_at IS NULL
        ORDER BY confidence, last_accessed_at, seq LIMIT :excess)"""

_WORKING_MEMORY: Final = """
    SELECT session_id, current_topic, context_variables, turn_count, last_emotion, created_at, updated_at
    FROM working_memory WHERE owner = :owner AND session_id = :session_id"""
_PUT_WORKING_MEMORY: Final = """
    INSERT OR REPLACE INTO working_memory (
        owner, session_id, current_topic, context_variables, turn_count, last_emotion, created_at, updated_at)
    VALUES (:owner, :session_id, :current_topic, :context_variables, :turn_count, :last_emotion,
            :created_at, :updated_at)"""
_DELETE_WORKING_MEMORY: Final = "DELETE FROM working_memory WHERE owner = :owner AND session_id = :session_id"

_SESSION: Final = """
    SELECT flush_stage, flush_cycle, is_compacting, began_at, wanted, failures, retry_at
    FROM session WHERE owner = :owner AND id = :session_id"""
_PUT_SESSION: Final = """
    INSERT OR REPLACE INTO session (
        owner, id, flush_stage, flush_cycle, is_compacting, began_at, wanted, failures, retry_at, seen_at)
    VALUES (:owner, :session_id, :stage, :cycle, :is_compacting, :began_at, :wanted, :failures, :retry_at, :seen_at)"""

_MESSAGES: Final = """
    SELECT seq, role, content FROM message
    WHERE owner = :owner AND session_id = :session_id ORDER BY seq LIMIT :limit"""
_COUNT_MESSAGES: Final = "SELECT COUNT(*) FROM message WHERE owner = :owner AND session_id = :session_id"
_ADD_MESSAGE: Final = """
    INSERT INTO message (owner, session_id, role, content) VALUES (:owner, :session_id, :role, :content)"""
_DELETE_MESSAGES: Final = "DELETE FROM message WHERE owner = :owner AND session_id = :session_id AND seq <= :up_to"
_DELETE_ALL_MESSAGES: Final = "DELETE FROM message WHERE owner = :owner"

_TURN: Final = """
    SELECT recorded_at, outcome, fact_id, supersedes_id FROM turn
    WHERE owner = :owner AND session_id = :session_id AND id = :id"""
_ADD_TURN: Final = """
    INSERT INTO turn (owner, session_id, id, recorded_at, outcome, fact_id, supersedes_id)
    VALUES (:owner, :session_id, :id, :recorded_at, :outcome, :fact_id, :supersedes_id)"""

_SETTINGS: Final = "SELECT name, value FROM memory_setting WHERE owner = :owner"
_PUT_SETTING: Final = "INSERT OR REPLACE INTO memory_setting (owner, name, value) VALUES (:owner, :name, :value)"


class SqliteChatReader(ChatReader):
    """`read` is for statements that read no more than they answer, `fetch` for those that may read much."""

    def __init__(self, read: Fetch, fetch: Fetch, owner: str) -> None:
        self._read_rows = read
        self._fetch_rows = fetch
        self._owner = owner

    async def facts(self, fact_ids: Collection[str]) -> Mapping[str, Fact]:
        facts = map(fact_from_row, await self._fetch(_FACTS, ids=json_of(fact_ids)))
        return {fact.id: fact for fact in facts}

    async def holding(self, same_key: str) -> Fact | None:
        rows = await self._read(_HOLDING, same_key=same_key)
        return fact_from_row(rows[0]) if rows else None

    async def history(self, same_key: str) -> tuple[Fact, ...]:
        return tuple(map(fact_from_row, await self._fetch(_HISTORY, same_key=same_key)))

    async def list_facts(self, category: FactCategory | None, page: PageRequest) -> Page[Fact]:
        before = _LAST if page.after is None else page.after.position
        rows = await self._read(
            _LIST.format(of_category=_OF_CATEGORY if category else ""),
            category=category,
            before=before,
            limit=page.first + 1,
        )
        shown = rows[: page.first]
        facts = tuple(fact_from_row(row[1:]) for row in shown)
        return Page(facts, tuple(cast("int", row[0]) for row in shown), has_next=len(rows) > page.first)

    async def facts_from(self, category: FactCategory | None, offset: int, limit: int) -> tuple[Fact, ...]:
        sql = _LIST_FROM.format(of_category=_OF_CATEGORY if category else "")
        rows = await self._fetch(sql, category=category, offset=offset, limit=limit)
        return tuple(map(fact_from_row, rows))

    async def count_facts(self, category: FactCategory | None = None) -> int:
        sql = _COUNT.format(of_category=_OF_CATEGORY if category else "")
        return cast("int", (await self._fetch(sql, category=category))[0][0])

    async def foremost_preferences(self, limit: int) -> tuple[Fact, ...]:
        return tuple(map(fact_from_row, await self._fetch(_FOREMOST, limit=limit)))

    async def working_memory(self, session_id: str) -> WorkingMemory | None:
        rows = await self._read(_WORKING_MEMORY, session_id=session_id)
        return _working_memory(rows[0]) if rows else None

    async def session(self, session_id: str) -> Session:
        rows = await self._read(_SESSION, session_id=session_id)
        return _session(session_id, rows[0]) if rows else Session(session_id)

    async def messages(self, session_id: str, limit: int) -> Sequence[KeptMessage]:
        rows = await self._fetch(_MESSAGES, session_id=session_id, limit=limit)
        return [KeptMessage(number, Message(MessageRole(role), content)) for number, role, content in cast("Any", rows)]

    async def count_messages(self, session_id: str) -> int:
        return cast("int", (await self._read(_COUNT_MESSAGES, session_id=session_id))[0][0])

    async def turn(self, session_id: str, turn_id: str) -> RecordedTurn | None:
        rows = await self._read(_TURN, session_id=session_id, id=turn_id)
        if not rows:
            return None
        ((recorded_at, outcome, fact_id, supersedes_id),) = cast("Any", rows)
        known = None if outcome is None else WriteOutcome(outcome)
        return RecordedTurn(turn_id, from_microseconds(recorded_at), known, fact_id, supersedes_id)

    async def settings(self) -> Mapping[str, Json]:
        return {name: orjson.loads(value) for name, value in cast("Any", await self._read(_SETTINGS))}

    async def _read(self, sql: str, **parameters: object) -> Sequence[Row]:
        return await self._read_rows(sql, {"owner": self._owner, **parameters})

    async def _fetch(self, sql: str, **parameters: object) -> Sequence[Row]:
        return await self._fetch_rows(sql, {"owner": self._owner, **parameters})


class SqliteChatWriter(SqliteChatReader, ChatWriter):
    def __init__(self, transaction: Transaction, owner: str) -> None:
        super().__init__(transaction.fetch, transaction.fetch, owner)
        self._transaction = transaction

    async def add_fact(self, fact: Fact) -> None:
        await self._transaction.execute(_INSERT_FACT, fact_to_row(self._owner, fact))

    async def supersede(self, fact_id: str, at: datetime) -> None:
        await self._fetch(_SUPERSEDE, id=fact_id, at=to_microseconds(at))

    async def delete_key(self, same_key: str) -> None:
        await self._fetch(_DELETE_KEY, same_key=same_key)

    async def delete_fact(self, fact_id: str) -> None:
        await self._fetch(_DELETE_FACT, id=fact_id)

    async def delete_facts(self) -> int:
        return len(await self._fetch(_DELETE_FACTS))

    async def evict(self, keep: int) -> int:
        excess = max(0, await self.count_facts() - keep)
        if excess:
            await self._fetch(_EVICT, excess=excess)
        return excess

    async def put_working_memory(self, memory: WorkingMemory) -> None:
        await self._fetch(
            _PUT_WORKING_MEMORY,
            session_id=memory.session_id,
            current_topic=memory.current_topic,
            context_variables=orjson.dumps(memory.context_variables).decode(),
            turn_count=memory.turn_count,
            last_emotion=memory.last_emotion,
            created_at=to_microseconds(memory.created_at),
            updated_at=to_microseconds(memory.updated_at),
        )

    async def delete_working_memory(self, session_id: str) -> None:
        await self._fetch(_DELETE_WORKING_MEMORY, session_id=session_id)

    async def put_session(self, session: Session, seen_at: datetime) -> None:
        flush, learning = session.flush, session.learning
        await self._fetch(
            _PUT_SESSION,
            session_id=session.id,
            stage=flush.stage,
            cycle=flush.cycle,
            is_compacting=int(flush.is_compacting),
            began_at=_optional_microseconds(learning.began_at),
            wanted=learning.wanted,
            failures=learning.failures,
            retry_at=_optional_microseconds(learning.retry_at),
            seen_at=to_microseconds(seen_at),
        )

    async def add_messages(self, session_id: str, messages: Sequence[Message]) -> None:
        of_session = {"owner": self._owner, "session_id": session_id}
        rows = [{**of_session, "role": each.role, "content": each.content} for each in messages]
        await self._transaction.execute_many(_ADD_MESSAGE, rows)

    async def delete_messages(self, session_id: str, up_to: int | None = None) -> None:
        await self._fetch(_DELETE_MESSAGES, session_id=session_id, up_to=_LAST if up_to is None else up_to)

    async def delete_all_messages(self) -> None:
        await self._fetch(_DELETE_ALL_MESSAGES)

    async def add_turn(self, session_id: str, turn: RecordedTurn) -> None:
        await self._fetch(
            _ADD_TURN,
            session_id=session_id,
            id=turn.id,
            recorded_at=to_microseconds(turn.recorded_at),
            outcome=turn.outcome,
            fact_id=turn.fact_id,
            supersedes_id=turn.supersedes_id,
        )

    async def put_settings(self, settings: Mapping[str, Json]) -> None:
        for name, value in settings.items():
            await self._fetch(_PUT_SETTING, name=name, value=orjson.dumps(value).decode())


class SqliteChatStore(SqliteChatReader, ChatStore):
    def __init__(self, engine: Engine, owner: str) -> None:
        super().__init__(engine.read, engine.fetch, owner)
        self._engine = engine

    async def write(self, work: Callable[[ChatWriter], Awaitable[T]]) -> T:
        return await self._engine.write(lambda transaction: work(SqliteChatWriter(transaction, self._owner)))


def fact_to_row(owner: str, fact: Fact) -> Mapping[str, object]:
    return {
        "owner": owner,
        "id": fact.id,
        "session_id": fact.session_id,
        "category": fact.category,
        "key": fact.key,
        "same_key": same_key(fact.key),
        "value": orjson.dumps(fact.value).decode(),
        "confidence": fact.confidence,
        "source": fact.source,
        "created_at": to_microseconds(fact.created_at),
        "last_accessed_at": to_microseconds(fact.last_accessed_at),
        "access_count": fact.access_count,
        "superseded_at": _optional_microseconds(fact.superseded_at),
    }


def fact_from_row(row: Row) -> Fact:
    id_, session_id, category, key, value, confidence, source, created, accessed, count, superseded = cast("Any", row)
    created_at = from_microseconds(created)
    return Fact(
        id_,
        session_id,
        FactCategory(category),
        key,
        orjson.loads(value),
        confidence,
        FactSource(source),
        created_at,
        created_at if accessed == created else from_microseconds(accessed),
        count,
        _optional_time(superseded),
    )


def _working_memory(row: Row) -> WorkingMemory:
    session_id, topic, variables, turn_count, emotion, created, updated = cast("Any", row)
    created_at, updated_at = from_microseconds(created), from_microseconds(updated)
    return WorkingMemory(session_id, topic, orjson.loads(variables), turn_count, emotion, created_at, updated_at)


def _session(session_id: str, row: Row) -> Session:
    stage, cycle, is_compacting, began_at, wanted, failures, retry_at = cast("Any", row)
    return Session(
        session_id,
        Flush(Stage(stage), cycle, bool(is_compacting)),
        Learning(
            _optional_time(began_at), None if wanted is None else Wanted(wanted), failures, _optional_time(retry_at)
        ),
    )


def _optional_microseconds(at: datetime | None) -> int | None:
    return None if at is None else to_microseconds(at)


def _optional_time(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else from_microseconds(microseconds)
