"""Memories, and the rules of what they are attached to and how they are ordered."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from domain.entities import EntityRef, EntityType


@dataclass(frozen=True, slots=True)
class Memory:
    id: str
    book_id: str
    content: str
    summary: str
    is_pinned: bool
    valid_from_chapter: int | None
    valid_until_chapter: int | None
    created_at: datetime
    updated_at: datetime
    last_accessed_at: datetime
    access_count: int


@dataclass(frozen=True, slots=True)
class MemoryDraft:
    """A memory on its way in; times and count are given only for one from an older store."""

    id: str
    book_id: str
    content: str
    summary: str
    attached_to: tuple[EntityRef, ...] = ()
    is_pinned: bool = False
    valid_from_chapter: int | None = None
    valid_until_chapter: int | None = None
    created_at: datetime | None = None
    last_accessed_at: datetime | None = None
    access_count: int = 0


class Retrieval(StrEnum):
    MERGE = "merge"
    FALLBACK = "fallback"
    ATTACHED = "attached"


class Match(StrEnum):
    ATTACHED = "attached"
    KEYWORD = "keyword"


@dataclass(frozen=True, slots=True)
class RelevantMemory:
    memory: Memory
    match: Match
    via: tuple[EntityRef, ...]


def new_memory(draft: MemoryDraft, now: datetime) -> Memory:
    """A new memory counts as accessed when it was created."""
    created_at = draft.created_at or now
    return Memory(
        id=draft.id,
        book_id=draft.book_id,
        content=draft.content,
        summary=draft.summary,
        is_pinned=draft.is_pinned,
        valid_from_chapter=draft.valid_from_chapter,
        valid_until_chapter=draft.valid_until_chapter,
        created_at=created_at,
        updated_at=created_at,
        last_accessed_at=draft.last_accessed_at or created_at,
        access_count=draft.access_count,
    )


def attach_or_default(refs: Iterable[EntityRef], book_id: str) -> tuple[EntityRef, ...]:
    """Each entity once; without any, the book: a memory is never without an attachment."""
    return tuple(dict.fromkeys(refs)) or (EntityRef.book(book_id),)


def refs_to_match(
    refs: Collection[EntityRef], attached: Mapping[EntityRef, Sequence[Memory]], retrieval: Retrieval
) -> list[EntityRef]:
    """The entities whose names are looked for; only characters and terms are found by name."""
    if retrieval is Retrieval.ATTACHED:
        return []
    named = [ref for ref in refs if ref.type in (EntityType.CHARACTER, EntityType.TERM)]
    if retrieval is Retrieval.FALLBACK:
        return [ref for ref in named if not attached.get(ref)]
    return named


def merge_relevant(
    attached: Sequence[Memory], matching: Sequence[Memory], ref: EntityRef, limit: int
) -> tuple[RelevantMemory, ...]:
    """Pinned first, then attached before keyword, then most recently accessed; each memory once."""
    found = {memory.id: RelevantMemory(memory, Match.ATTACHED, (ref,)) for memory in attached}
    for memory in matching:
        found.setdefault(memory.id, RelevantMemory(memory, Match.KEYWORD, (ref,)))
    return tuple(sorted(found.values(), key=relevance, reverse=True)[:limit])


def relevance(found: RelevantMemory) -> tuple[bool, bool, datetime, str]:
    """The larger, the earlier."""
    memory = found.memory
    return memory.is_pinned, found.match is Match.ATTACHED, memory.last_accessed_at, memory.id


def recency(memory: Memory) -> tuple[bool, datetime, str]:
    return memory.is_pinned, memory.last_accessed_at, memory.id
