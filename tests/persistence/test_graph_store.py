"""What the graph in SQLite promises beyond what a client of the service sees."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from domain.entities import Alias, Book, Chapter, Character, Entity, EntityRef, EntityType, Term
from domain.memories import Memory
from domain.paging import Cursor, Page, PageRequest
from domain.ports import GraphWriter, Listing
from persistence import graph_queries
from persistence.engine import Engine
from persistence.graph_store import SqliteGraphStore

NOON = datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC)
NOON_IN_MICROSECONDS = 1_769_860_800_123_456
MINUTE = timedelta(minutes=1)
FIRST_TEN = PageRequest(10)

BOOK = Book("book_1", "砂の道", context_limit=7)
TANAKA = Character(
    "char_1", "book_1", "田中太郎", (Alias("タロー", "Taro", 3),), "田中太郎", "主人公", "男", "丁寧", "注意"
)
STONE = Term("term_1", "book_1", "魔石", (Alias("石"),), "魔石", "光る", "注意")
SEA = Chapter("chap_1", "book_1", "海へ", 1)
NOBODY = EntityRef(EntityType.CHARACTER, "nobody")


@pytest.fixture
def graph(engine: Engine) -> SqliteGraphStore:
    return SqliteGraphStore(engine, "local")


def a_memory(id: str = "mem_1", at: datetime = NOON, *, is_pinned: bool = False, book_id: str = "book_1") -> Memory:
    return Memory(id, book_id, "全文", "要点", is_pinned, None, 9, NOON, NOON, at, 0)


async def store(
    graph: SqliteGraphStore,
    entities: Collection[Entity] = (),
    memories: Mapping[Memory, Collection[EntityRef]] | None = None,
) -> None:
    async def work(writer: GraphWriter) -> None:
        for entity in entities:
            await writer.add_entity(entity)
        await writer.add_memories(list(memories or {}))
        await writer.attach({memory.id: refs for memory, refs in (memories or {}).items()})

    await graph.write(work)


def behind(page: Page[Memory]) -> Cursor:
    return Cursor(page.positions[-1], page.items[-1].id)


async def sort_keys(engine: Engine) -> list[tuple[object, ...]]:
    return list(
        await engine.fetch(
            "SELECT memory_id, entity_type, is_pinned, last_accessed_at FROM attachment ORDER BY memory_id, entity_type"
        )
    )


async def test_entities_come_back_as_they_were_stored(graph: SqliteGraphStore) -> None:
    everything: tuple[Entity, ...] = (BOOK, TANAKA, STONE, SEA)

    await store(graph, everything)

    assert await graph.entities([entity.ref for entity in everything]) == {entity.ref: entity for entity in everything}


async def test_a_memory_comes_back_to_the_microsecond(graph: SqliteGraphStore) -> None:
    old = Memory(
        "mem_1",
        "book_1",
        "全文\n二行目",
        "要点 🐙",
        is_pinned=True,
        valid_from_chapter=0,
        valid_until_chapter=None,
        created_at=datetime(1899, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        updated_at=datetime(1970, 1, 1, tzinfo=UTC),
        last_accessed_at=datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        access_count=2**31 - 1,
    )

    await store(graph, [BOOK], {old: [BOOK.ref]})

    assert await graph.memories(["mem_1"]) == {"mem_1": old}


async def test_no_text_is_changed_on_its_way_through_a_page(graph: SqliteGraphStore) -> None:
    odd = '"引用" \\ \\u0041 \x01\x1f\x7f\r\n\t \u2028\ufeff\uffff 🐙 👨\u200d👩\u200d👧 [null] {}'
    memory = replace(a_memory(), content=odd, summary=odd)
    character = Character("char_1", "book_1", odd, (Alias(odd, odd, 0),), odd, odd, odd, odd, odd)
    await store(graph, [BOOK, character], {memory: [BOOK.ref]})

    of_book = await graph.attached_to([BOOK.ref], FIRST_TEN)
    listed = await graph.entities_of(["book_1"], Listing(EntityType.CHARACTER), FIRST_TEN)

    assert of_book[BOOK.ref].items == (memory,)
    assert (await graph.memories_of(["book_1"], FIRST_TEN))["book_1"].items == (memory,)
    assert listed["book_1"].items == (character,)


async def test_attachments_carry_the_sort_keys_of_their_memory(graph: SqliteGraphStore, engine: Engine) -> None:
    await store(graph, [BOOK, TANAKA], {a_memory(): [BOOK.ref, TANAKA.ref], a_memory("mem_2"): [BOOK.ref]})

    changed = a_memory(at=NOON + MINUTE, is_pinned=True)
    await graph.write(lambda writer: writer.replace_memory(changed))

    assert await sort_keys(engine) == [
        ("mem_1", "book", 1, NOON_IN_MICROSECONDS + 60_000_000),
        ("mem_1", "character", 1, NOON_IN_MICROSECONDS + 60_000_000),
        ("mem_2", "book", 0, NOON_IN_MICROSECONDS),
    ]


async def test_a_later_attachment_takes_the_present_sort_keys(graph: SqliteGraphStore, engine: Engine) -> None:
    await store(graph, [BOOK, TANAKA], {a_memory(): [BOOK.ref]})
    changed = a_memory(at=NOON + MINUTE, is_pinned=True)

    async def work(writer: GraphWriter) -> None:
        await writer.replace_memory(changed)
        await writer.attach({"mem_1": [TANAKA.ref]})
        await writer.detach(["mem_1"], [BOOK.ref, TANAKA.ref])

    await graph.write(work)

    assert await sort_keys(engine) == [("mem_1", "book", 1, NOON_IN_MICROSECONDS + 60_000_000)]


async def test_attaching_twice_keeps_one_attachment_in_its_place(graph: SqliteGraphStore) -> None:
    await store(graph, [BOOK, TANAKA, STONE], {a_memory(): [TANAKA.ref, STONE.ref]})

    await graph.write(lambda writer: writer.attach({"mem_1": [STONE.ref, BOOK.ref, TANAKA.ref]}))

    assert await graph.attachments(["mem_1"]) == {"mem_1": (TANAKA.ref, STONE.ref, BOOK.ref)}


async def test_what_is_unknown_is_absent_from_every_answer(graph: SqliteGraphStore) -> None:
    await store(graph, [BOOK, TANAKA], {a_memory(): [TANAKA.ref]})
    characters = Listing(EntityType.CHARACTER)

    assert list(await graph.entities([TANAKA.ref, NOBODY])) == [TANAKA.ref]
    assert list(await graph.memories(["mem_1", "unknown"])) == ["mem_1"]
    assert list(await graph.attachments(["mem_1", "unknown"])) == ["mem_1"]
    assert list(await graph.attached_to([NOBODY, TANAKA.ref], FIRST_TEN)) == [TANAKA.ref]
    assert list((await graph.foremost_attached([NOBODY, TANAKA.ref], 5)).memories) == [TANAKA.ref]
    assert list(await graph.memories_of(["unknown", "book_1"], FIRST_TEN)) == ["book_1"]
    assert list(await graph.entities_of(["unknown", "book_1"], characters, FIRST_TEN)) == ["book_1"]
    assert await graph.count_entities_of(["unknown", "book_1"], characters) == {"book_1": 1}
    assert await graph.count_memories_of(["unknown", "book_1"]) == {"book_1": 1}
    assert (await graph.attached_to_any("book_1", [NOBODY], FIRST_TEN)).items == ()
    assert await graph.count_attached_to_any("book_1", [NOBODY]) == 0


async def test_nothing_asked_is_nothing_answered(graph: SqliteGraphStore) -> None:
    await store(graph, [BOOK], {a_memory(): [BOOK.ref]})

    assert await graph.entities([]) == {}
    assert await graph.memories([]) == {}
    assert await graph.attached_to([], FIRST_TEN) == {}
    assert (await graph.attached_to_any("book_1", [], FIRST_TEN)).items == ()


async def test_pages_of_several_entities_are_each_their_own(graph: SqliteGraphStore) -> None:
    memories = {a_memory(f"mem_{number}", NOON + number * MINUTE): [BOOK.ref] for number in range(5)}
    tanakas = a_memory("mem_tanaka", NOON - MINUTE)
    await store(graph, [BOOK, TANAKA], {**memories, tanakas: [TANAKA.ref]})

    first = await graph.attached_to([TANAKA.ref, BOOK.ref], PageRequest(2))

    of_book, of_tanaka = first[BOOK.ref], first[TANAKA.ref]
    assert [memory.id for memory in of_book.items] == ["mem_4", "mem_3"]
    assert of_book.positions == (NOON_IN_MICROSECONDS + 240_000_000, NOON_IN_MICROSECONDS + 180_000_000)
    assert (of_book.has_next, of_tanaka.items, of_tanaka.has_next) == (True, (tanakas,), False)
    rest = (await graph.attached_to([BOOK.ref], PageRequest(10, behind(of_book))))[BOOK.ref]
    assert [memory.id for memory in rest.items] == ["mem_2", "mem_1", "mem_0"]
    assert rest.has_next is False


async def test_memories_accessed_at_the_same_time_are_paged_by_id_without_loss(graph: SqliteGraphStore) -> None:
    memories = {a_memory(f"mem_{number}"): [BOOK.ref] for number in range(7)}
    await store(graph, [BOOK], memories)

    walked: list[str] = []
    after: Cursor | None = None
    for _ in range(4):
        page = (await graph.attached_to([BOOK.ref], PageRequest(2, after)))[BOOK.ref]
        walked += [memory.id for memory in page.items]
        after = behind(page)

    assert walked == ["mem_6", "mem_5", "mem_4", "mem_3", "mem_2", "mem_1", "mem_0"]


async def test_pinned_memories_are_the_most_relevant_however_old(graph: SqliteGraphStore) -> None:
    newer = {a_memory(f"mem_{number}", NOON + number * MINUTE): [BOOK.ref] for number in range(5)}
    pinned = a_memory("mem_pinned", NOON - MINUTE, is_pinned=True)
    await store(graph, [BOOK], {**newer, pinned: [BOOK.ref]})

    found = (await graph.foremost_attached([BOOK.ref], 3)).memories

    assert [memory.id for memory in found[BOOK.ref]] == ["mem_pinned", "mem_4", "mem_3"]


async def test_a_memory_shared_by_several_entities_is_listed_once(graph: SqliteGraphStore) -> None:
    shared, last = a_memory(), a_memory("mem_0", NOON - MINUTE)
    await store(graph, [BOOK, TANAKA, STONE], {shared: [TANAKA.ref, STONE.ref], last: [STONE.ref]})

    page = await graph.attached_to_any("book_1", [TANAKA.ref, STONE.ref], FIRST_TEN)

    assert page.items == (shared, last)
    assert await graph.count_attached_to_any("book_1", [TANAKA.ref, STONE.ref]) == 2


async def test_deleting_a_book_leaves_no_row_of_it_behind(graph: SqliteGraphStore, engine: Engine) -> None:
    other = Book("book_2", "海の道")
    kept = a_memory("mem_2", book_id="book_2")
    await store(
        graph,
        [BOOK, TANAKA, STONE, SEA, other],
        {a_memory(): [BOOK.ref, TANAKA.ref, STONE.ref, SEA.ref], a_memory("mem_1b"): [TANAKA.ref], kept: [other.ref]},
    )

    await graph.write(lambda writer: writer.delete_entity(BOOK.ref))

    left = {table: await engine.fetch(f"SELECT id FROM {table}") for table in ("character", "term", "chapter")}
    assert left == {"character": [], "term": [], "chapter": []}
    assert await engine.fetch("SELECT id FROM book") == [("book_2",)]
    assert await engine.fetch("SELECT id FROM memory") == [("mem_2",)]
    assert await engine.fetch("SELECT memory_id, entity_type, entity_id FROM attachment") == [
        ("mem_2", "book", "book_2")
    ]


async def test_deleting_an_entity_leaves_its_memories_on_the_book(graph: SqliteGraphStore, engine: Engine) -> None:
    await store(graph, [BOOK, TANAKA, STONE], {a_memory(): [TANAKA.ref], a_memory("mem_2"): [TANAKA.ref, STONE.ref]})

    await graph.write(lambda writer: writer.delete_entity(TANAKA.ref))

    assert await graph.attachments(["mem_1", "mem_2"]) == {"mem_1": (BOOK.ref,), "mem_2": (STONE.ref,)}
    assert await graph.entities([TANAKA.ref]) == {}


async def test_entities_of_different_types_with_one_id_are_apart(graph: SqliteGraphStore) -> None:
    character, term = Character("same", "book_1", "田中"), Term("same", "book_1", "魔石")
    await store(graph, [BOOK, character, term], {a_memory("mem_c"): [character.ref], a_memory("mem_t"): [term.ref]})

    await graph.write(lambda writer: writer.delete_entity(character.ref))

    assert await graph.entities([character.ref, term.ref]) == {term.ref: term}
    assert await graph.attachments(["mem_c", "mem_t"]) == {"mem_c": (BOOK.ref,), "mem_t": (term.ref,)}


async def test_owners_with_the_same_ids_do_not_see_or_touch_each_other(engine: Engine) -> None:
    ann, bob = SqliteGraphStore(engine, "ann"), SqliteGraphStore(engine, "bob")
    anns, bobs = a_memory(at=NOON), a_memory(at=NOON + MINUTE)
    await store(ann, [BOOK, TANAKA], {anns: [TANAKA.ref]})
    await store(bob, [Book("book_1", "Bob's"), TANAKA], {bobs: [TANAKA.ref]})

    async def work(writer: GraphWriter) -> None:
        await writer.replace_memory(a_memory(at=NOON + 2 * MINUTE, is_pinned=True))
        await writer.detach(["mem_1"], [TANAKA.ref])
        await writer.delete_entity(TANAKA.ref)

    await bob.write(work)

    assert (await ann.attached_to([TANAKA.ref], FIRST_TEN))[TANAKA.ref].items == (anns,)
    assert await ann.entities([BOOK.ref, TANAKA.ref]) == {BOOK.ref: BOOK, TANAKA.ref: TANAKA}
    await bob.write(lambda writer: writer.delete_entity(BOOK.ref))
    assert await ann.memories(["mem_1"]) == {"mem_1": anns}
    assert await bob.memories(["mem_1"]) == {}
    assert (await ann.count_books(), await bob.count_books()) == (1, 0)


PAGED = {
    "attached to an entity": graph_queries.ATTACHED_TO,
    "attached to any entity": graph_queries.ATTACHED_TO_ANY,
    "memories of a book": graph_queries.MEMORIES_OF,
    "foremost": graph_queries.FOREMOST_ATTACHED,
    **{f"{entity_type}s of a book": sql for entity_type, sql in graph_queries.ENTITIES_OF.items()},
}
PARAMETERS = {
    "owner": "local",
    "book_id": "book_1",
    "book_ids": '["book_1"]',
    "refs": '[["book", "book_1"]]',
    "needle": "",
    "position": 1,
    "id": "x",
    "limit": 3,
    "chapter": None,
}


@pytest.mark.parametrize("sql", PAGED.values(), ids=PAGED.keys())
async def test_a_page_walks_an_index_and_sorts_no_more_than_itself(engine: Engine, sql: str) -> None:
    plan = await engine.fetch(f"EXPLAIN QUERY PLAN {sql}", PARAMETERS)

    steps = [(parent, str(detail)) for _, parent, _, detail in plan]
    walks = {parent for parent, detail in steps if parent != 0 and detail.startswith("SEARCH")}
    scanned = {detail.split()[1] for _, detail in steps if detail.startswith("SCAN")}
    assert walks
    assert [detail for parent, detail in steps if parent in walks and "TEMP B-TREE" in detail] == []
    assert scanned & {"book", "character", "term", "chapter", "memory", "attachment"} == set()
