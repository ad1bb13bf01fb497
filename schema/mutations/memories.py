"""Creating, importing, changing, attaching and deleting memories."""

from collections.abc import Iterable
from typing import Annotated

import strawberry

from domain import memories
from schema.context import Info
from schema.inputs import (
    AttachMatchingInput,
    AttachMemoriesInput,
    CreateMemoryInput,
    ImportMemoriesInput,
    UpdateMemoryInput,
)
from schema.payloads import DeletePayload, Given, MemoriesPayload, MemoryPayload, mutation
from schema.types.memories import Memory


@strawberry.type
class MemoryMutations:
    @mutation(MemoryPayload, "Create a memory; without targets it is attached to its book.")
    async def create_memory(self, info: Info, input: Given[CreateMemoryInput]) -> MemoryPayload:
        memory = await info.context.use_cases.memories.create(input.to_domain(info.context.new_id))
        return MemoryPayload(memory=Memory.from_domain(memory))

    @mutation(MemoryPayload, "Change a memory: absent leaves, null clears; `attachedTo` replaces the whole list.")
    async def update_memory(self, info: Info, input: Given[UpdateMemoryInput]) -> MemoryPayload:
        memory = await info.context.use_cases.memories.update(str(input.id), input.changes(), input.new_attachments())
        return MemoryPayload(memory=Memory.from_domain(memory))

    @mutation(DeletePayload, "Delete a memory.")
    async def delete_memory(
        self, info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="Which memory.")]
    ) -> DeletePayload:
        await info.context.use_cases.memories.delete(str(id))
        return DeletePayload(deleted_id=id)

    @mutation(MemoriesPayload, "Attach many memories to many entities: all of it or nothing.")
    async def attach_memories(self, info: Info, input: Given[AttachMemoriesInput]) -> MemoriesPayload:
        refs = [ref.to_domain() for ref in input.entities]
        attached = await info.context.use_cases.attachments.attach(str(input.book_id), input.memory_ids, refs)
        return _payload(attached)

    @mutation(MemoriesPayload, "Detach many memories from many entities; one left with none stays on its book.")
    async def detach_memories(self, info: Info, input: Given[AttachMemoriesInput]) -> MemoriesPayload:
        refs = [ref.to_domain() for ref in input.entities]
        detached = await info.context.use_cases.attachments.detach(str(input.book_id), input.memory_ids, refs)
        return _payload(detached)

    @mutation(MemoriesPayload, "Attach every memory of the book that matches a text.")
    async def attach_matching(self, info: Info, input: Given[AttachMatchingInput]) -> MemoriesPayload:
        refs = [ref.to_domain() for ref in input.entities]
        attached = await info.context.use_cases.attachments.attach_matching(str(input.book_id), input.query, refs)
        return _payload(attached)

    @mutation(MemoriesPayload, "Bring in memories of an older store: all of them or none.")
    async def import_memories(self, info: Info, input: Given[ImportMemoriesInput]) -> MemoriesPayload:
        drafts = [each.to_domain(str(input.book_id), info.context.new_id) for each in input.memories]
        return _payload(await info.context.use_cases.memories.import_all(drafts))


def _payload(touched: Iterable[memories.Memory]) -> MemoriesPayload:
    return MemoriesPayload(memories=[Memory.from_domain(memory) for memory in touched])
