"""Memories, and why one is shown."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, cast

import strawberry

from domain import memories
from domain.entities import EntityRef
from schema.context import Info
from schema.enums import Match

if TYPE_CHECKING:
    from schema.types.entities import Book, Entity


@strawberry.type(description="A note about a book: what a translator should know, and of whom or what.")
class Memory:
    id: strawberry.ID = strawberry.field(description="Unique among its owner's memories.")
    content: str = strawberry.field(description="The whole note.")
    summary: str = strawberry.field(description="The note in one line, as a prompt shows it.")
    is_pinned: bool = strawberry.field(description="Pinned memories come first.")
    valid_from_chapter: int | None = strawberry.field(
        description="Not told to chunks of chapters before this number; null: from the start."
    )
    valid_until_chapter: int | None = strawberry.field(
        description="Not told to chunks of chapters after this number; null: to the end."
    )
    created_at: datetime = strawberry.field(description="When it was created.")
    updated_at: datetime = strawberry.field(description="When it was last changed.")
    last_accessed_at: datetime = strawberry.field(description="When it was last read by its id, or created.")
    access_count: int = strawberry.field(description="How often it was read by its id.")
    book_id: strawberry.Private[str]

    @strawberry.field(description="The book it belongs to.")
    async def book(self, info: Info) -> Annotated["Book", strawberry.lazy("schema.types.entities")]:
        (book,) = await _entities(info, [EntityRef.book(self.book_id)])
        return cast("Book", book)

    @strawberry.field(description="The entities it is attached to, in the order they were attached; never empty.")
    async def attached_to(self, info: Info) -> list[Annotated["Entity", strawberry.lazy("schema.types.entities")]]:
        return await _entities(info, await info.context.loaders.attachments.load(str(self.id)))

    @classmethod
    def from_domain(cls, memory: memories.Memory) -> "Memory":
        return cls(
            id=strawberry.ID(memory.id),
            book_id=memory.book_id,
            content=memory.content,
            summary=memory.summary,
            is_pinned=memory.is_pinned,
            valid_from_chapter=memory.valid_from_chapter,
            valid_until_chapter=memory.valid_until_chapter,
            created_at=memory.created_at,
            updated_at=memory.updated_at,
            last_accessed_at=memory.last_accessed_at,
            access_count=memory.access_count,
        )


@strawberry.type(description="A memory that matters here, and why.")
class RelevantMemory:
    memory: Memory = strawberry.field(description="The memory.")
    match: Match = strawberry.field(description="Attached, or found by a name standing in it.")
    refs: strawberry.Private[tuple[EntityRef, ...]]

    @strawberry.field(description="The entities that brought it up.")
    async def via(self, info: Info) -> list[Annotated["Entity", strawberry.lazy("schema.types.entities")]]:
        return await _entities(info, self.refs)

    @classmethod
    def from_domain(cls, found: memories.RelevantMemory) -> "RelevantMemory":
        return cls(memory=Memory.from_domain(found.memory), match=found.match, refs=found.via)


async def _entities(info: Info, refs: Sequence[EntityRef]) -> "list[Entity]":
    # The types of entities and of memories refer to each other.
    from schema.types.entities import load_entities  # noqa: PLC0415

    return await load_entities(info, refs)
