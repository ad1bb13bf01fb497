"""Which memories a chunk gets, in which order, and as which text."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.chunk_context import Candidates, ChunkContext, Selection, build_chunk_context, choose, merge
from domain.entities import Character, Entity, EntityRef, Term
from domain.memories import Match, Memory, RelevantMemory
from domain.mentions import Matcher, Name
from domain.tokens import TokenCounter, estimate_tokens

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)

TANAKA = Character("char_tanaka", "book_1", "田中太郎", translation="Tanaka Taro", description="元医者")
HANAKO = Character("char_hanako", "book_1", "花子")
STONE = Term("term_stone", "book_1", "魔石")
ENTITIES: Mapping[EntityRef, Entity] = {each.ref: each for each in (TANAKA, HANAKO, STONE)}
MATCHER = Matcher(Name(each.ref, each.name) for each in (TANAKA, HANAKO, STONE))

Found = Mapping[EntityRef, Sequence[Memory]]


def a_memory(id: str, minutes: int = 0, *, summary: str = "要点", is_pinned: bool = False) -> Memory:
    return Memory(id, "book_1", "全文", summary, is_pinned, None, None, NOON, NOON, NOON + minutes * MINUTE, 0)


def candidates(
    attached: Found, matching: Found | None = None, *, refs: Sequence[EntityRef] = (), total: int | None = None
) -> Candidates:
    """Of all memories given; a memory is attached to those that list it as attached."""
    matching = matching or {}
    attachments: dict[str, list[EntityRef]] = {}
    for ref, memories in attached.items():
        for memory in memories:
            attachments.setdefault(memory.id, []).append(ref)
    ids = {memory.id for found in (*attached.values(), *matching.values()) for memory in found}
    return Candidates(
        tuple(refs) or tuple(dict.fromkeys((*attached, *matching))),
        attached,
        matching,
        attachments,
        {ref: {memory.id for memory in found} for ref, found in matching.items()},
        len(ids) if total is None else total,
    )


def build(
    found: Candidates,
    text: str = "田中太郎と魔石",
    *,
    limit: int = 10,
    selection: Selection = Selection.RECENT,
    token_budget: int | None = None,
    count_tokens: TokenCounter = estimate_tokens,
) -> ChunkContext:
    return build_chunk_context(
        text,
        MATCHER.mentions(text),
        ENTITIES,
        found,
        limit=limit,
        selection=selection,
        token_budget=token_budget,
        count_tokens=count_tokens,
    )


def ids(found: Sequence[RelevantMemory]) -> list[str]:
    return [each.memory.id for each in found]


# Order


def test_pinned_come_first_then_attached_then_keyword_then_the_newest_access_then_the_id() -> None:
    attached = {
        TANAKA.ref: [a_memory("attached_old", 1), a_memory("same_a", 2), a_memory("pinned", 0, is_pinned=True)],
        STONE.ref: [a_memory("same_b", 2)],
    }
    matching = {TANAKA.ref: [a_memory("keyword", 9), a_memory("keyword_pinned", 8, is_pinned=True)]}

    chosen = choose(candidates(attached, matching), 10, Selection.RECENT)

    assert ids(chosen) == ["pinned", "keyword_pinned", "same_b", "same_a", "attached_old", "keyword"]


def test_no_more_than_the_limit_are_chosen() -> None:
    attached = {TANAKA.ref: [a_memory(f"mem_{number}", number) for number in range(5)]}

    chosen = [ids(choose(candidates(attached), limit, Selection.RECENT)) for limit in (0, 1, 5, 9)]

    everyone = ["mem_4", "mem_3", "mem_2", "mem_1", "mem_0"]
    assert chosen == [[], ["mem_4"], everyone, everyone]


# Each memory once


def test_memory_shared_by_two_mentions_is_listed_once_with_both() -> None:
    shared = a_memory("shared")

    merged = merge(candidates({STONE.ref: [shared], TANAKA.ref: [shared]}))

    assert merged == {"shared": RelevantMemory(shared, Match.ATTACHED, (STONE.ref, TANAKA.ref))}


def test_memory_attached_to_one_and_naming_another_is_attached_via_both() -> None:
    shared = a_memory("shared")

    merged = merge(candidates({TANAKA.ref: [shared]}, {STONE.ref: [shared]}, refs=(STONE.ref, HANAKO.ref, TANAKA.ref)))

    assert merged == {"shared": RelevantMemory(shared, Match.ATTACHED, (STONE.ref, TANAKA.ref))}


def test_memory_that_names_two_has_both_via_in_the_order_of_the_chunk() -> None:
    shared = a_memory("shared")

    merged = merge(candidates({}, {TANAKA.ref: [shared], STONE.ref: [shared]}, refs=(STONE.ref, TANAKA.ref)))

    assert merged == {"shared": RelevantMemory(shared, Match.KEYWORD, (STONE.ref, TANAKA.ref))}


def test_attachments_outside_the_chunk_are_no_reason() -> None:
    elsewhere = a_memory("elsewhere")
    found = replace(candidates({}, {TANAKA.ref: [elsewhere]}), attachments={"elsewhere": (HANAKO.ref,)})

    assert merge(found) == {"elsewhere": RelevantMemory(elsewhere, Match.KEYWORD, (TANAKA.ref,))}


# The text


def test_prompt_is_the_entities_then_the_memories_then_the_text() -> None:
    context = build(candidates({TANAKA.ref: [a_memory("mem_1", summary="左利き")]}), "魔石と田中太郎。")

    assert context.entity_section == (
        "【当前部分出现的术语和角色】\n- [Term] 魔石\n- [Character] 田中太郎（Tanaka Taro）: 元医者"
    )
    assert context.memory_section == "【相关记忆】\n- [Memory] 左利き"
    assert context.prompt == f"{context.entity_section}\n\n{context.memory_section}\n\n魔石と田中太郎。"
    assert (context.omitted_count, context.over_budget) == (0, ())


def test_without_memories_there_is_no_section() -> None:
    context = build(candidates({}))

    assert (context.memories, context.memory_section, context.omitted_count) == ((), "", 0)
    assert context.prompt == f"{context.entity_section}\n\n田中太郎と魔石"


def test_without_mentions_and_memories_the_prompt_is_the_text() -> None:
    context = build(candidates({}), "静か")

    assert (context.entity_section, context.memory_section, context.prompt) == ("", "", "静か")


def test_what_the_limit_leaves_out_is_counted_in_a_note() -> None:
    attached = {TANAKA.ref: [a_memory(f"mem_{number}", number, summary=f"第{number}") for number in range(3)]}

    context = build(candidates(attached, total=25), limit=2)

    assert context.omitted_count == 23
    assert context.memory_section == "【相关记忆】\n- [Memory] 第2\n- [Memory] 第1\n... and 23 more memories"


def test_a_limit_of_nothing_leaves_no_section_but_the_count() -> None:
    context = build(candidates({TANAKA.ref: [a_memory("mem_1")]}), limit=0)

    assert (context.memories, context.memory_section, context.omitted_count) == ((), "", 1)


def test_etag_is_equal_exactly_when_the_prompt_is() -> None:
    one, other = a_memory("mem_1", summary="甲"), a_memory("mem_2", summary="乙")
    contexts = [
        build(found, text, limit=limit)
        for found in (
            candidates({}),
            candidates({TANAKA.ref: [one]}),
            candidates({STONE.ref: [one]}),
            candidates({TANAKA.ref: [replace(one, id="mem_9", content="別")]}),
            candidates({TANAKA.ref: [other]}),
            candidates({TANAKA.ref: [one, other]}),
            candidates({TANAKA.ref: [one]}, total=2),
        )
        for text in ("田中太郎", "田中太郎。")
        for limit in (0, 1, 10)
    ]

    for first, second in combinations(contexts, 2):
        assert (first.etag == second.etag) is (first.prompt == second.prompt)


# Balanced selection


def busy(count: int) -> list[Memory]:
    return [a_memory(f"busy_{number:02}", 100 + number) for number in reversed(range(count))]


def test_balanced_keeps_a_place_for_every_entity() -> None:
    found = candidates({TANAKA.ref: busy(9), STONE.ref: [a_memory("stone")], HANAKO.ref: [a_memory("hanako")]})

    assert ids(choose(found, 3, Selection.RECENT)) == ["busy_08", "busy_07", "busy_06"]
    assert ids(choose(found, 3, Selection.BALANCED)) == ["busy_08", "stone", "hanako"]


def test_balanced_fills_what_is_left_by_relevance() -> None:
    found = candidates({TANAKA.ref: busy(9), STONE.ref: [a_memory("stone")]})

    assert ids(choose(found, 5, Selection.BALANCED)) == ["busy_08", "busy_07", "busy_06", "busy_05", "stone"]


def test_balanced_shares_are_equal() -> None:
    of_stone = [a_memory(f"stone_{number}", number) for number in reversed(range(6))]
    found = candidates({TANAKA.ref: busy(9), STONE.ref: of_stone})

    assert ids(choose(found, 6, Selection.BALANCED)) == [
        "busy_08",
        "busy_07",
        "busy_06",
        "stone_5",
        "stone_4",
        "stone_3",
    ]


def test_balanced_gives_a_share_of_keyword_matches_too() -> None:
    found = candidates({TANAKA.ref: busy(9)}, {STONE.ref: [a_memory("names_stone")]})

    assert ids(choose(found, 2, Selection.BALANCED)) == ["busy_08", "names_stone"]


def test_balanced_with_fewer_places_than_entities_serves_those_mentioned_first() -> None:
    found = candidates({STONE.ref: [a_memory("stone")], TANAKA.ref: busy(3), HANAKO.ref: [a_memory("hanako")]})

    assert ids(choose(found, 2, Selection.BALANCED)) == ["busy_02", "stone"]


# Token budget


def test_a_memory_that_does_not_fit_is_passed_over_for_a_shorter_one() -> None:
    found = candidates({TANAKA.ref: [a_memory("long", 2, summary="長" * 99), a_memory("short", 1, summary="短")]})

    context = build(found, token_budget=40)

    assert ids(context.memories) == ["short"]
    assert [memory.id for memory in context.over_budget] == ["long"]
    assert context.omitted_count == 1
    assert context.memory_section == "【相关记忆】\n- [Memory] 短\n... and 1 more memories"


def test_the_note_counts_into_the_budget() -> None:
    found = candidates({TANAKA.ref: [a_memory("one", 2, summary="短"), a_memory("long", 1, summary="長" * 99)]})
    without_note = estimate_tokens("【相关记忆】\n- [Memory] 短")
    with_note = estimate_tokens("【相关记忆】\n- [Memory] 短\n... and 1 more memories")

    assert ids(build(found, token_budget=with_note).memories) == ["one"]
    assert ids(build(found, token_budget=with_note - 1).memories) == []
    assert without_note < with_note


def test_a_budget_that_fits_all_leaves_nothing_out() -> None:
    found = candidates({TANAKA.ref: [a_memory(f"mem_{number}", number) for number in range(4)]})
    whole = build(found)

    assert build(found, token_budget=estimate_tokens(whole.memory_section)) == whole


def test_the_counter_can_be_another() -> None:
    found = candidates({TANAKA.ref: [a_memory(f"mem_{number}", number) for number in range(4)]})

    context = build(found, token_budget=3, count_tokens=lambda section: section.count("[Memory]"))

    assert ids(context.memories) == ["mem_3", "mem_2", "mem_1"]


# For any memories

refs = (TANAKA.ref, STONE.ref, HANAKO.ref)
memories = st.builds(
    a_memory,
    st.sampled_from([f"mem_{number}" for number in range(12)]),
    st.integers(0, 3),
    summary=st.text("短い要点 long words\n123", max_size=30),
    is_pinned=st.booleans(),
)


@st.composite
def drawn_candidates(draw: st.DrawFn) -> Candidates:
    known = {memory.id: memory for memory in draw(st.lists(memories, max_size=12))}
    some = st.lists(st.sampled_from(sorted(known)), unique=True) if known else st.just([])
    attached = {ref: [known[each] for each in draw(some)] for ref in refs}
    matching = {ref: [known[each] for each in draw(some)] for ref in refs}
    return candidates(attached, matching, refs=refs)


@settings(deadline=None, max_examples=150)
@given(drawn_candidates(), st.integers(0, 14), st.sampled_from(Selection))
def test_no_memory_appears_twice_and_the_cap_holds(found: Candidates, limit: int, selection: Selection) -> None:
    context = build(found, limit=limit, selection=selection)

    shown = ids(context.memories)
    assert len(shown) == len(set(shown)) == min(limit, found.total)
    assert context.omitted_count == found.total - len(shown)
    ranked = ids(choose(found, 100, Selection.RECENT))
    assert shown == [each for each in ranked if each in shown]
    note = [f"... and {context.omitted_count} more memories"] if shown and context.omitted_count else []
    assert context.memory_section.splitlines()[len(shown) + 1 :] == note


@settings(deadline=None, max_examples=150)
@given(drawn_candidates(), st.integers(0, 14))
def test_balanced_leaves_no_entity_with_memories_out_while_there_is_room(found: Candidates, limit: int) -> None:
    everyone = choose(found, 100, Selection.RECENT)
    with_memories = [ref for ref in refs if any(ref in each.via for each in everyone)]

    chosen = choose(found, limit, Selection.BALANCED)

    served = [ref for ref in with_memories if any(ref in each.via for each in chosen)]
    assert len(served) >= min(limit, len(with_memories))


@settings(deadline=None, max_examples=150)
@given(drawn_candidates(), st.integers(0, 14), st.integers(0, 120), st.sampled_from(Selection))
def test_the_section_is_never_above_the_budget(
    found: Candidates, limit: int, budget: int, selection: Selection
) -> None:
    context = build(found, limit=limit, token_budget=budget, selection=selection)

    assert estimate_tokens(context.memory_section) <= budget
    chosen = ids(choose(found, limit, selection))
    passed_over = [memory.id for memory in context.over_budget]
    assert [each for each in chosen if each not in passed_over] == ids(context.memories)
    assert context.omitted_count == found.total - len(context.memories)


@settings(deadline=None, max_examples=100)
@given(drawn_candidates(), st.integers(0, 14), st.sampled_from(Selection))
def test_the_order_memories_are_found_in_does_not_matter(found: Candidates, limit: int, selection: Selection) -> None:
    turned = replace(
        found,
        attached={ref: found.attached[ref][::-1] for ref in reversed(refs)},
        matching={ref: found.matching[ref][::-1] for ref in reversed(refs)},
    )

    assert build(turned, limit=limit, selection=selection) == build(found, limit=limit, selection=selection)


@pytest.mark.parametrize("selection", Selection)
def test_a_limit_of_nothing_chooses_nothing(selection: Selection) -> None:
    assert choose(candidates({TANAKA.ref: busy(3)}), 0, selection) == []
