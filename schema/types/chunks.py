"""What a chunk mentions, what its translator should know, and whether the translation kept to it."""

from collections.abc import Callable
from typing import Annotated

import strawberry

from domain import chunk_context, mentions, translation_check
from domain.usecases.chunks import ChunkRequest
from schema.context import Info
from schema.enums import OmissionReason, TermUse
from schema.types.entities import Entity, from_domain
from schema.types.memories import Memory, RelevantMemory

DEFAULT_OMITTED = 20


@strawberry.type(description="A place in a text.")
class Span:
    start: int = strawberry.field(description="Where it starts, counted from 0.")
    end: int = strawberry.field(description="Behind its last character.")
    text: str = strawberry.field(description="What stands there.")


@strawberry.type(description="A character or term and the places where it is named.")
class Mention:
    entity: Entity = strawberry.field(description="Who or what is mentioned.")
    spans: list[Span] = strawberry.field(description="Where, in the order of the text.")

    @classmethod
    def from_domain(cls, mention: mentions.Mention, entity: Entity, convert: Callable[[int], int]) -> "Mention":
        spans = [Span(start=convert(each.start), end=convert(each.end), text=each.text) for each in mention.spans]
        return cls(entity=entity, spans=spans)


@strawberry.type(description="A memory that was left out, and why.")
class OmittedMemory:
    memory: Memory = strawberry.field(description="The memory.")
    reason: OmissionReason = strawberry.field(description="Why it was left out.")

    @classmethod
    def from_domain(cls, omitted: chunk_context.OmittedMemory) -> "OmittedMemory":
        return cls(memory=Memory.from_domain(omitted.memory), reason=omitted.reason)


@strawberry.type(description="What a translator's prompt gets for one chunk of text.")
class ChunkContext:
    mentions: list[Mention] = strawberry.field(description="Who and what the chunk mentions, by first appearance.")
    memories: list[RelevantMemory] = strawberry.field(description="What matters here, in the order of the section.")
    omitted_count: int = strawberry.field(
        description="How many were left out for the limit or the token budget: the X of the note."
    )
    etag: str = strawberry.field(description="Changes exactly when the text would.")
    entity_section: str = strawberry.field(
        description="【当前部分出现的术语和角色】 and its lines; empty when nothing is mentioned."
    )
    memory_section: str = strawberry.field(description="【相关记忆】 and its lines; empty when there is no memory.")
    prompt: str = strawberry.field(description="Entity section, memory section, then the text to translate.")
    request: strawberry.Private[ChunkRequest]
    source: strawberry.Private[chunk_context.ChunkContext]

    @strawberry.field(description="Memories left out, each with its reason; those story time hides come last.")
    async def omitted(
        self,
        info: Info,
        first: Annotated[int, strawberry.argument(description="How many to answer, from 1 to 100.")] = DEFAULT_OMITTED,
    ) -> list[OmittedMemory]:
        found = await info.context.use_cases.chunks.omitted(self.request, self.source, first)
        return [OmittedMemory.from_domain(each) for each in found]

    @classmethod
    def from_domain(
        cls, context: chunk_context.ChunkContext, request: ChunkRequest, convert: Callable[[int], int]
    ) -> "ChunkContext":
        return cls(
            mentions=[
                Mention.from_domain(mention, from_domain(context.entities[mention.ref]), convert)
                for mention in context.mentions
            ],
            memories=[RelevantMemory.from_domain(each) for each in context.memories],
            omitted_count=context.omitted_count,
            etag=context.etag,
            entity_section=context.entity_section,
            memory_section=context.memory_section,
            prompt=context.prompt,
            request=request,
            source=context,
        )


@strawberry.type(description="Whether a translation used the name or term it should have.")
class TranslationCheck:
    entity: Entity = strawberry.field(description="Who or what the source mentions.")
    use: TermUse = strawberry.field(description="Whether it was applied.")
    expected: str = strawberry.field(
        description="The translation that should stand in the target; several forms by ` / `."
    )
    found: list[str] = strawberry.field(description="The entity's translations that do stand there.")

    @classmethod
    def from_domain(cls, check: translation_check.TranslationCheck, entity: Entity) -> "TranslationCheck":
        return cls(entity=entity, use=check.use, expected=check.expected, found=list(check.found))
