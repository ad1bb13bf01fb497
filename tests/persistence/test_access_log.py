"""Accesses are gathered, added up and written; nothing else about a memory changes."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from domain.entities import Book, EntityRef
from domain.memories import MemoryDraft, new_memory
from domain.ports import GraphWriter
from persistence.access_log import AccessJournal
from persistence.engine import Engine
from persistence.graph_store import SqliteGraphStore

NOON = datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture
async def graph(engine: Engine) -> SqliteGraphStore:
    """Memory mem_1, created at noon."""
    graph = SqliteGraphStore(engine, "local")

    async def work(writer: GraphWriter) -> None:
        await writer.add_entity(Book("book_1", "砂の道"))
        await writer.add_memories([new_memory(MemoryDraft("mem_1", "book_1", "全文", "要点"), NOON)])
        await writer.attach({"mem_1": [EntityRef.book("book_1")]})

    await graph.write(work)
    return graph


async def access_of(graph: SqliteGraphStore, memory_id: str = "mem_1") -> tuple[int, datetime]:
    memory = (await graph.memories([memory_id]))[memory_id]
    return memory.access_count, memory.last_accessed_at


async def test_accesses_add_up_within_a_flush_and_over_flushes(engine: Engine, graph: SqliteGraphStore) -> None:
    journal = AccessJournal(engine)
    log = journal.of("local")

    for minutes in (1, 2, 3):
        log.record("mem_1", NOON + minutes * MINUTE)
    await journal.flush()
    log.record("mem_1", NOON + 4 * MINUTE)
    await journal.flush()

    assert await access_of(graph) == (4, NOON + 4 * MINUTE)
    await journal.close()


async def test_an_access_moves_nothing_but_count_and_time(engine: Engine, graph: SqliteGraphStore) -> None:
    before = (await graph.memories(["mem_1"]))["mem_1"]
    journal = AccessJournal(engine)

    journal.of("local").record("mem_1", NOON + MINUTE)
    await journal.close()

    after = (await graph.memories(["mem_1"]))["mem_1"]
    assert (after.content, after.summary, after.created_at, after.updated_at, after.is_pinned) == (
        before.content,
        before.summary,
        NOON,
        NOON,
        False,
    )


async def test_a_clock_that_jumped_back_does_not_make_a_memory_older(engine: Engine, graph: SqliteGraphStore) -> None:
    journal = AccessJournal(engine)
    log = journal.of("local")

    log.record("mem_1", NOON + 2 * MINUTE)
    log.record("mem_1", NOON + MINUTE)
    await journal.flush()
    log.record("mem_1", NOON - MINUTE)
    await journal.flush()

    assert await access_of(graph) == (3, NOON + 2 * MINUTE)
    await journal.close()


async def test_an_unknown_or_deleted_memory_is_harmless(engine: Engine, graph: SqliteGraphStore) -> None:
    journal = AccessJournal(engine)
    log = journal.of("local")

    log.record("never there", NOON + MINUTE)
    log.record("mem_1", NOON + MINUTE)
    await graph.write(lambda writer: writer.delete_memory("mem_1"))
    await journal.flush()

    assert await graph.memories(["mem_1", "never there"]) == {}
    await journal.close()


async def test_an_access_of_one_owner_does_not_touch_the_memory_of_another(
    engine: Engine, graph: SqliteGraphStore
) -> None:
    journal = AccessJournal(engine)

    journal.of("someone_else").record("mem_1", NOON + MINUTE)
    await journal.close()

    assert await access_of(graph) == (0, NOON)


async def test_closing_writes_what_is_still_pending(engine: Engine, graph: SqliteGraphStore) -> None:
    journal = AccessJournal(engine)
    journal.of("local").record("mem_1", NOON + MINUTE)

    await journal.close()

    assert await access_of(graph) == (1, NOON + MINUTE)


async def test_accesses_are_written_without_being_asked(engine: Engine, graph: SqliteGraphStore) -> None:
    journal = AccessJournal(engine)
    journal.of("local").record("mem_1", NOON + MINUTE)
    flushing = journal._flushing

    assert flushing is not None
    await flushing

    assert await access_of(graph) == (1, NOON + MINUTE)
    await journal.close()


async def test_a_flush_that_cannot_be_written_stops_nothing(database: Path) -> None:
    engine = await Engine.open(database)
    journal = AccessJournal(engine)
    journal.of("local").record("mem_1", NOON)
    await engine.close()
    flushing = journal._flushing

    assert flushing is not None
    await flushing

    assert flushing.exception() is None
