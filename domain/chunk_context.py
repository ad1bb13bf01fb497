"""What a translator's prompt gets for one chunk: which memories, in which order, and as which text."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from domain.entities import Entity, EntityRef
from domain.memories import Match, Memory, RelevantMemory, relevance
from domain.mentions import Mention
from domain.prompt_text import assemble, entity_section, memory_section
from domain.story_time import OmissionReason
from domain.tokens import TokenCounter

MAX_MEMORIES = 100


class Selection(StrEnum):
    """RECENT takes by last access alone; BALANCED gives every mentioned entity its share first."""

    RECENT = "recent"
    BALANCED = "balanced"


@dataclass(frozen=True, slots=True)
class Candidates:
    """What the entities of a chunk bring up. `total` counts all that could be shown, these are the foremost.

    For all of these, `attachments` and `naming` tell every entity that brings them up.
    """

    refs: tuple[EntityRef, ...]
    attached: Mapping[EntityRef, Sequence[Memory]]
    matching: Mapping[EntityRef, Sequence[Memory]]
    attachments: Mapping[str, Sequence[EntityRef]]
    naming: Mapping[EntityRef, Collection[str]]
    total: int


@dataclass(frozen=True, slots=True)
class OmittedMemory:
    memory: Memory
    reason: OmissionReason


@dataclass(frozen=True, slots=True)
class ChunkContext:
    mentions: tuple[Mention, ...]
    entities: Mapping[EntityRef, Entity]
    refs: tuple[EntityRef, ...]
    memories: tuple[RelevantMemory, ...]
    over_budget: tuple[Memory, ...]
    omitted_count: int
    entity_section: str
    memory_section: str
    prompt: str

    @property
    def etag(self) -> str:
        """Changes exactly when the text would."""
        return hashlib.blake2b(self.prompt.encode(), digest_size=16).hexdigest()


def build_chunk_context(
    text: str,
    mentions: Sequence[Mention],
    entities: Mapping[EntityRef, Entity],
    candidates: Candidates,
    *,
    limit: int,
    selection: Selection,
    token_budget: int | None,
    count_tokens: TokenCounter,
) -> ChunkContext:
    chosen = choose(candidates, limit, selection)
    kept = chosen if token_budget is None else _within_budget(chosen, candidates.total, token_budget, count_tokens)
    left_out = candidates.total - len(kept)
    entity_text = entity_section(entities[mention.ref] for mention in mentions)
    memory_text = memory_section([each.memory.summary for each in kept], left_out)
    return ChunkContext(
        mentions=tuple(mentions),
        entities=entities,
        refs=candidates.refs,
        memories=tuple(kept),
        over_budget=tuple(each.memory for each in chosen if each not in kept),
        omitted_count=left_out,
        entity_section=entity_text,
        memory_section=memory_text,
        prompt=assemble(entity_text, memory_text, text),
    )


def choose(candidates: Candidates, limit: int, selection: Selection) -> list[RelevantMemory]:
    """Pinned first, then attached before keyword, then most recently accessed; each memory once."""
    ranked = sorted(merge(candidates).values(), key=relevance, reverse=True)
    if selection is Selection.RECENT:
        return ranked[:limit]
    shared = _fair_shares(ranked, candidates.refs, limit)
    rest = [each for each in ranked if each.memory.id not in shared]
    chosen = shared | {each.memory.id for each in rest[: limit - len(shared)]}
    return [each for each in ranked if each.memory.id in chosen]


def merge(candidates: Candidates) -> dict[str, RelevantMemory]:
    """Each memory once, with every entity of the chunk that brings it up."""
    found = (*candidates.attached.values(), *candidates.matching.values())
    memories = {memory.id: memory for each in found for memory in each}
    merged = {}
    for memory_id, memory in memories.items():
        attached_to = set(candidates.attachments.get(memory_id, ())).intersection(candidates.refs)
        via = tuple(ref for ref in candidates.refs if ref in attached_to or memory_id in candidates.naming.get(ref, ()))
        merged[memory_id] = RelevantMemory(memory, Match.ATTACHED if attached_to else Match.KEYWORD, via)
    return merged


def _fair_shares(ranked: Sequence[RelevantMemory], refs: Sequence[EntityRef], limit: int) -> set[str]:
    """In turns, every entity takes the best of its own that is left, up to an equal part of the limit."""
    queues = {ref: [each.memory.id for each in ranked if ref in each.via] for ref in refs}
    queues = {ref: queue for ref, queue in queues.items() if queue}
    taken: dict[str, None] = {}
    for _ in range(max(1, limit // max(1, len(queues)))):
        for queue in queues.values():
            best = next((memory_id for memory_id in queue if memory_id not in taken), None)
            if best is not None and len(taken) < limit:
                taken[best] = None
    return set(taken)


def _within_budget(
    chosen: Sequence[RelevantMemory], total: int, budget: int, count_tokens: TokenCounter
) -> list[RelevantMemory]:
    """Greedily in order: one that does not fit is passed over for a shorter one behind it."""

    def fits(memories: Sequence[RelevantMemory]) -> bool:
        section = memory_section([each.memory.summary for each in memories], total - len(memories))
        return count_tokens(section) <= budget

    # All of them may fit where some of them and the note that others were left out would not.
    if fits(chosen):
        return list(chosen)
    kept: list[RelevantMemory] = []
    for each in chosen:
        if fits([*kept, each]):
            kept.append(each)
    return kept
