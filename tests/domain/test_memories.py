"""What memories are attached to, and in which order they matter."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from domain.entities import EntityRef, EntityType
from domain.memories import Match, Memory, MemoryDraft, RelevantMemory, attach_or_default, merge_relevant, new_memory

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

BOOK = EntityRef.book("book_1")
TANAKA = EntityRef(EntityType.CHARACTER, "char_1")
STONE = EntityRef(EntityType.TERM, "term_1")


def a_memory(id: str, minutes: int = 0, *, is_pinned: bool = False) -> Memory:
    return Memory(id, "book_1", "全文", "要点", is_pinned, None, None, NOON, NOON, NOON + minutes * MINUTE, 0)


def merged_ids(attached: tuple[Memory, ...], matching: tuple[Memory, ...], limit: int = 10) -> list[str]:
    return [found.memory.id for found in merge_relevant(attached, matching, TANAKA, limit)]


def test_no_attachment_means_the_book() -> None:
    assert attach_or_default((), "book_1") == (BOOK,)


def test_given_attachments_are_kept_in_their_order_each_once() -> None:
    assert attach_or_default((STONE, TANAKA, STONE, TANAKA), "book_1") == (STONE, TANAKA)


def test_the_book_is_not_added_to_given_attachments() -> None:
    assert attach_or_default((TANAKA,), "book_1") == (TANAKA,)


refs = st.builds(EntityRef, st.sampled_from(EntityType), st.sampled_from(["a", "b", "c"]))


@settings(deadline=None)
@given(st.lists(refs))
def test_a_memory_is_never_without_an_attachment(given_refs: list[EntityRef]) -> None:
    attached = attach_or_default(given_refs, "book_1")

    assert len(attached) == len(set(attached)) >= 1
    assert set(attached) == (set(given_refs) or {BOOK})


def test_a_new_memory_counts_as_accessed_when_it_was_created() -> None:
    draft = MemoryDraft("mem_1", "book_1", "全文", "要点", (TANAKA,), valid_from_chapter=2, valid_until_chapter=5)

    memory = new_memory(replace(draft, is_pinned=True), NOON)

    assert memory == replace(a_memory("mem_1", is_pinned=True), valid_from_chapter=2, valid_until_chapter=5)
    assert (memory.created_at, memory.updated_at, memory.last_accessed_at, memory.access_count) == (NOON, NOON, NOON, 0)


def test_a_memory_of_an_older_store_keeps_its_times() -> None:
    created, accessed = NOON - 2 * MINUTE, NOON - MINUTE
    draft = MemoryDraft(
        "mem_1", "book_1", "全文", "要点", created_at=created, last_accessed_at=accessed, access_count=7
    )

    memory = new_memory(draft, NOON)

    assert (memory.created_at, memory.updated_at, memory.last_accessed_at) == (created, created, accessed)
    assert memory.access_count == 7


def test_a_memory_of_an_older_store_without_an_access_was_accessed_when_created() -> None:
    created = NOON - MINUTE
    draft = MemoryDraft("mem_1", "book_1", "全文", "要点", created_at=created)

    assert new_memory(draft, NOON).last_accessed_at == created


def test_pinned_come_first_then_attached_then_keyword_then_the_newest_access() -> None:
    attached = (
        a_memory("attached_old", 1),
        a_memory("attached_new", 2),
        a_memory("attached_pinned", 0, is_pinned=True),
    )
    matching = (a_memory("keyword_newest", 9), a_memory("keyword_pinned", 8, is_pinned=True))

    assert merged_ids(attached, matching) == [
        "attached_pinned",
        "keyword_pinned",
        "attached_new",
        "attached_old",
        "keyword_newest",
    ]


def test_memories_accessed_at_the_same_time_are_ordered_by_id_descending() -> None:
    assert merged_ids((a_memory("a"), a_memory("c"), a_memory("b")), ()) == ["c", "b", "a"]


def test_a_memory_found_both_ways_is_listed_once_as_attached() -> None:
    both = a_memory("both")

    found = merge_relevant((both,), (both, a_memory("keyword")), TANAKA, 10)

    assert found == (
        RelevantMemory(both, Match.ATTACHED, (TANAKA,)),
        RelevantMemory(a_memory("keyword"), Match.KEYWORD, (TANAKA,)),
    )


def test_no_more_than_the_limit_are_kept() -> None:
    attached = (a_memory("a", 1), a_memory("b", 2), a_memory("c", 3))

    assert merged_ids(attached, (a_memory("k", 9),), limit=2) == ["c", "b"]


memories = st.lists(
    st.builds(
        a_memory, st.sampled_from([f"mem_{number}" for number in range(12)]), st.integers(0, 3), is_pinned=st.booleans()
    ),
    max_size=8,
    unique_by=lambda memory: memory.id,
).map(tuple)


@settings(deadline=None)
@given(memories, memories, st.integers(1, 20))
def test_every_merge_holds_each_memory_once_and_attached_wins(
    attached: tuple[Memory, ...], matching: tuple[Memory, ...], limit: int
) -> None:
    found = merge_relevant(attached, matching, TANAKA, limit)

    ids, attached_ids = [each.memory.id for each in found], {memory.id for memory in attached}
    assert len(ids) == len(set(ids)) == min(limit, len(attached_ids | {memory.id for memory in matching}))
    assert all((each.match is Match.ATTACHED) == (each.memory.id in attached_ids) for each in found)


@settings(deadline=None)
@given(memories, memories, st.integers(1, 20))
def test_the_order_of_a_merge_does_not_depend_on_the_order_given(
    attached: tuple[Memory, ...], matching: tuple[Memory, ...], limit: int
) -> None:
    found = merge_relevant(attached, matching, TANAKA, limit)

    assert merge_relevant(attached[::-1], matching[::-1], TANAKA, limit) == found
    assert merge_relevant(attached, matching, TANAKA, 20)[:limit] == found
