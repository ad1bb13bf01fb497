"""The sets that count what hangs on entities or names them follow every change, whoever made it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from domain.entities import Book, Character, EntityRef
from domain.memories import Memory
from domain.ports import GraphWriter, Related
from persistence import related_sets
from persistence.engine import Engine
from persistence.graph_store import SqliteGraphStore
from persistence.related_sets import Bound, Members, RelatedSets, Source

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
BOOK = Book("book_1", "砂の道")
TANAKA = Character("char_1", "book_1", "田中")
SATO = Character("char_2", "book_1", "佐藤")
GROUPS = [Related((TANAKA.ref, SATO.ref)), Related((SATO.ref,)), Related(())]

Change = Callable[[GraphWriter], Awaitable[None]]


def a_memory(id: str, valid_from: int | None = None, valid_until: int | None = None) -> Memory:
    is_pinned = False
    return Memory(id, "book_1", "全文", "要点", is_pinned, valid_from, valid_until, NOON, NOON, NOON, 0)


@dataclass
class Named:
    """Who is named where, as an index would tell it, and how often it was asked for whom."""

    members: Mapping[EntityRef, Members]
    asked: list[Sequence[EntityRef]] = field(default_factory=list)

    def at(self, version: str) -> Source:
        return Source("named", version, self._read)

    async def _read(self, refs: Sequence[EntityRef]) -> Mapping[EntityRef, Members]:
        self.asked.append(refs)
        return {ref: self.members[ref] for ref in refs if ref in self.members}


@pytest.fixture
async def graph(engine: Engine) -> SqliteGraphStore:
    """田中 has a, b (from chapter 3) and c (until 5); 佐藤 has c."""
    graph = SqliteGraphStore(engine, "local")

    async def work(writer: GraphWriter) -> None:
        for entity in (BOOK, TANAKA, SATO):
            await writer.add_entity(entity)
        await writer.add_memories([a_memory("a"), a_memory("b", valid_from=3), a_memory("c", valid_until=5)])
        await writer.attach({"a": [TANAKA.ref], "b": [TANAKA.ref], "c": [TANAKA.ref, SATO.ref]})

    await graph.write(work)
    return graph


@pytest.fixture
def sets(engine: Engine) -> RelatedSets:
    return RelatedSets(engine, "local")


async def counts(graph: SqliteGraphStore, sets: RelatedSets, chapter_number: int | None = None) -> tuple[int, ...]:
    frame = await graph.chunk_frame("book_1", None)
    assert frame is not None
    return await sets.count(GROUPS, sets.attached(frame.links_version), None, chapter_number)


async def test_a_memory_on_two_entities_of_a_group_counts_once(graph: SqliteGraphStore, sets: RelatedSets) -> None:
    assert await counts(graph, sets) == (3, 1, 0)


@pytest.mark.parametrize(("chapter", "counted"), [(2, (2, 1, 0)), (3, (3, 1, 0)), (5, (3, 1, 0)), (6, (2, 0, 0))])
async def test_what_may_not_be_told_in_the_chapter_is_not_counted(
    graph: SqliteGraphStore, sets: RelatedSets, chapter: int, counted: tuple[int, ...]
) -> None:
    assert await counts(graph, sets, chapter) == counted


async def attach(writer: GraphWriter) -> None:
    await writer.attach({"a": [SATO.ref]})


async def detach(writer: GraphWriter) -> None:
    await writer.detach(["c"], [SATO.ref])


async def reattach(writer: GraphWriter) -> None:
    await writer.reattach("c", [EntityRef.book("book_1")])


async def delete_memory(writer: GraphWriter) -> None:
    await writer.delete_memory("c")


async def delete_entity(writer: GraphWriter) -> None:
    await writer.delete_entity(SATO.ref)


async def add_memory(writer: GraphWriter) -> None:
    await writer.add_memories([a_memory("d")])
    await writer.attach({"d": [SATO.ref]})


async def end_validity(writer: GraphWriter) -> None:
    await writer.replace_memory(replace(a_memory("c"), valid_until_chapter=1))


CHANGES: dict[str, tuple[Change, tuple[int, ...]]] = {
    "attached": (attach, (3, 2, 0)),
    "detached": (detach, (3, 0, 0)),
    "attached anew": (reattach, (2, 0, 0)),
    "memory deleted": (delete_memory, (2, 0, 0)),
    "entity deleted": (delete_entity, (3, 0, 0)),
    "memory added": (add_memory, (4, 2, 0)),
    "validity ended": (end_validity, (2, 0, 0)),
}


@pytest.mark.parametrize(("change", "counted"), CHANGES.values(), ids=CHANGES.keys())
async def test_a_change_is_followed(
    graph: SqliteGraphStore, sets: RelatedSets, change: Change, counted: tuple[int, ...]
) -> None:
    assert await counts(graph, sets, 4) == (3, 1, 0)

    await graph.write(change)

    assert await counts(graph, sets, 4) == counted


async def test_a_change_by_another_process_is_followed(
    graph: SqliteGraphStore, sets: RelatedSets, database: Path
) -> None:
    assert await counts(graph, sets) == (3, 1, 0)
    other = await Engine.open(database)

    await SqliteGraphStore(other, "local").write(add_memory)

    assert await counts(graph, sets) == (4, 2, 0)
    await other.close()


async def test_another_owner_has_sets_of_their_own(graph: SqliteGraphStore, engine: Engine) -> None:
    sets = RelatedSets(engine, "ann")

    members = await sets.members(sets.attached("1"), [TANAKA.ref])

    assert members == {TANAKA.ref: Members()}


async def test_members_tell_the_bounds_of_those_that_have_any(graph: SqliteGraphStore, sets: RelatedSets) -> None:
    members = await sets.members(sets.attached("1"), [TANAKA.ref, SATO.ref])

    assert {ref: (sorted(each.memory_ids), sorted(each.bounds)) for ref, each in members.items()} == {
        TANAKA.ref: (["a", "b", "c"], [Bound("b", 0, 3, None), Bound("c", 0, None, 5)]),
        SATO.ref: (["c"], [Bound("c", 0, None, 5)]),
    }


async def test_attached_and_named_count_each_memory_once(graph: SqliteGraphStore, sets: RelatedSets) -> None:
    named = Named({TANAKA.ref: Members(frozenset({"a", "x"})), SATO.ref: Members(frozenset({"x", "y"}))})
    groups = [Related((TANAKA.ref,), (TANAKA.ref,)), Related((SATO.ref,), (TANAKA.ref, SATO.ref)), Related((SATO.ref,))]

    assert await sets.count(groups, sets.attached("1"), named.at("1"), None) == (4, 4, 1)


async def test_a_name_not_yet_known_hides_a_memory_from_that_name_alone(
    graph: SqliteGraphStore, sets: RelatedSets
) -> None:
    named = Named({TANAKA.ref: Members(frozenset({"a", "x"}), [Bound("a", 4, None, None), Bound("x", 4, None, None)])})
    groups = [Related((TANAKA.ref,), (TANAKA.ref,)), Related((), (TANAKA.ref,))]

    assert await sets.count(groups, sets.attached("1"), named.at("1"), 3) == (3, 0)
    assert await sets.count(groups, sets.attached("1"), named.at("1"), 4) == (4, 2)


async def test_a_memory_not_valid_in_the_chapter_is_hidden_however_it_was_found(
    graph: SqliteGraphStore, sets: RelatedSets
) -> None:
    named = Named({SATO.ref: Members(frozenset({"b"}), [Bound("b", 0, 3, None)])})
    groups = [Related((TANAKA.ref,), (SATO.ref,))]

    assert await sets.count(groups, sets.attached("1"), named.at("1"), 2) == (2,)
    assert await sets.count(groups, sets.attached("1"), named.at("1"), 3) == (3,)


async def test_what_is_known_is_read_again_only_at_another_version(sets: RelatedSets) -> None:
    named = Named({TANAKA.ref: Members(frozenset({"a"}))})
    groups = [Related((), (TANAKA.ref, SATO.ref))]
    assert await sets.count(groups, sets.attached("1"), named.at("1"), None) == (1,)
    assert await sets.count(groups, sets.attached("1"), named.at("1"), None) == (1,)
    assert [set(refs) for refs in named.asked] == [{TANAKA.ref, SATO.ref}]

    named.members = {TANAKA.ref: Members(frozenset({"b", "c"}))}

    assert await sets.count(groups, sets.attached("1"), named.at("2"), None) == (2,)
    assert len(named.asked) == 2


async def test_no_more_sets_are_kept_than_there_is_room_for(sets: RelatedSets) -> None:
    named = Named({})
    refs = [EntityRef.book(f"book_{number}") for number in range(related_sets.KEPT_SETS + 1)]
    await sets.members(named.at("1"), refs)
    named.members = {TANAKA.ref: Members(frozenset({"a"}))}

    assert await sets.count([Related((), (TANAKA.ref,))], sets.attached("1"), named.at("1"), None) == (1,)
    await sets.members(named.at("1"), refs[:1])

    assert named.asked[-1] == refs[:1]
