"""Asking for a chunk: mentions, context, and the check of a translation."""

from typing import Annotated

import strawberry

from domain.usecases.chunks import ChunkRequest
from schema.context import Info
from schema.enums import Retrieval, Selection
from schema.offsets import OffsetUnit, offset_converter
from schema.types.chunks import ChunkContext, Mention, TranslationCheck
from schema.types.entities import from_domain

BookId = Annotated[strawberry.ID, strawberry.argument(description="The book the text belongs to.")]
ChapterId = Annotated[
    strawberry.ID | None,
    strawberry.argument(description="The chapter it stands in: brings its memories, and hides what is not told yet."),
]
Text = Annotated[str, strawberry.argument(description="The text, up to 100,000 characters.")]
Offsets = Annotated[OffsetUnit, strawberry.argument(description="What the offsets of spans count.")]
Limit = Annotated[
    int | None,
    strawberry.argument(
        description="How many memories at the most, 0 to 100; the book's `contextLimit` when left out."
    ),
]
TokenBudget = Annotated[
    int | None,
    strawberry.argument(description="The most estimated tokens of the memory section; without `limit`, in its place."),
]
RetrievalArgument = Annotated[Retrieval, strawberry.argument(description="Whether keyword matches are wanted.")]
SelectionArgument = Annotated[Selection, strawberry.argument(description="Who goes first when there are too many.")]


@strawberry.type
class ChunkQueries:
    @strawberry.field(description="Every character and term a text names, by first appearance.")
    async def mentions(
        self,
        info: Info,
        book_id: BookId,
        text: Text,
        chapter_id: ChapterId = None,
        offsets: Offsets = OffsetUnit.CODE_POINT,
    ) -> list[Mention]:
        found = await info.context.use_cases.chunks.mentions(str(book_id), text, chapter_id)
        convert = offset_converter(text, offsets)
        return [
            Mention.from_domain(mention, from_domain(found.entities[mention.ref]), convert)
            for mention in found.mentions
        ]

    @strawberry.field(description="What a translator should know for this chunk, ready for the prompt.")
    async def chunk_context(
        self,
        info: Info,
        book_id: BookId,
        text: Text,
        chapter_id: ChapterId = None,
        limit: Limit = None,
        token_budget: TokenBudget = None,
        retrieval: RetrievalArgument = Retrieval.MERGE,
        selection: SelectionArgument = Selection.RECENT,
        offsets: Offsets = OffsetUnit.CODE_POINT,
    ) -> ChunkContext:
        request = ChunkRequest(str(book_id), (text,), chapter_id, limit, token_budget, retrieval, selection)
        (context,) = await _contexts(info, request, offsets)
        return context

    @strawberry.field(description="A whole chapter's chunks in one request, up to 200; answers in the same order.")
    async def chunk_contexts(
        self,
        info: Info,
        book_id: BookId,
        texts: Annotated[list[str], strawberry.argument(description="Up to 200 texts.")],
        chapter_id: ChapterId = None,
        limit: Limit = None,
        token_budget: TokenBudget = None,
        retrieval: RetrievalArgument = Retrieval.MERGE,
        selection: SelectionArgument = Selection.RECENT,
        offsets: Offsets = OffsetUnit.CODE_POINT,
    ) -> list[ChunkContext]:
        request = ChunkRequest(
            str(book_id), tuple(texts), chapter_id, limit, token_budget, retrieval, selection, is_batch=True
        )
        return await _contexts(info, request, offsets)

    @strawberry.field(description="For every mentioned entity with a translation: was it used in the target text?")
    async def check_translation(
        self,
        info: Info,
        book_id: BookId,
        source: Annotated[str, strawberry.argument(description="The original text.")],
        target: Annotated[str, strawberry.argument(description="Its translation.")],
        chapter_id: ChapterId = None,
    ) -> list[TranslationCheck]:
        checks, entities = await info.context.use_cases.chunks.check_translation(
            str(book_id), source, target, chapter_id
        )
        return [TranslationCheck.from_domain(check, from_domain(entities[check.ref])) for check in checks]


async def _contexts(info: Info, request: ChunkRequest, offsets: OffsetUnit) -> list[ChunkContext]:
    contexts = await info.context.use_cases.chunks.contexts(request)
    return [
        ChunkContext.from_domain(context, request, offset_converter(text, offsets))
        for text, context in zip(request.texts, contexts, strict=True)
    ]
