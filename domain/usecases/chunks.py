"""What a chunk of text mentions, and what its translator should know."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain import errors, limits
from domain.chunk_context import (
    MAX_MEMORIES,
    Candidates,
    ChunkContext,
    OmittedMemory,
    Selection,
    build_chunk_context,
    merge,
)
from domain.entities import Entity, EntityRef, EntityType
from domain.errors import at
from domain.memories import Retrieval, recency, refs_to_match, relevance
from domain.mentions import Matcher, Mention
from domain.ports import ChunkFrame, GraphStore, KeywordIndex, Related
from domain.story_time import OmissionReason, hidden_because
from domain.tokens import TokenCounter
from domain.translation_check import TranslationCheck, check_translation
from domain.usecases.matchers import Matchers

MAX_CHUNKS = 200
MEMORY_LIMITS = (0, MAX_MEMORIES)
TOKEN_BUDGETS = (0, 10_000_000)
# Longer texts are searched in a thread, so that others are answered meanwhile.
AT_ONCE = 20_000


@dataclass(frozen=True, slots=True)
class ChunkRequest:
    book_id: str
    texts: tuple[str, ...]
    chapter_id: str | None = None
    limit: int | None = None
    token_budget: int | None = None
    retrieval: Retrieval = Retrieval.MERGE
    selection: Selection = Selection.RECENT
    is_batch: bool = False


@dataclass(frozen=True, slots=True)
class Mentioned:
    mentions: tuple[Mention, ...]
    entities: Mapping[EntityRef, Entity]


@dataclass(frozen=True, slots=True)
class Chunks:
    graph: GraphStore
    keywords: KeywordIndex
    matchers: Matchers
    limits: limits.Limits
    count_tokens: TokenCounter

    async def mentions(self, book_id: str, text: str, chapter_id: str | None) -> Mentioned:
        limits.check_length(text, self.limits.text, ("text",))
        frame = await self._frame(book_id, chapter_id)
        (mentioned,) = await self._mentioned(frame, [text])
        return mentioned

    async def contexts(self, request: ChunkRequest) -> tuple[ChunkContext, ...]:
        """One for each text; the number of statements does not depend on how many there are."""
        self._check(request)
        frame = await self._frame(request.book_id, request.chapter_id)
        mentioned = await self._mentioned(frame, request.texts)
        candidates = await self._candidates(request, frame, mentioned)
        return tuple(
            build_chunk_context(
                text,
                found.mentions,
                found.entities,
                each,
                limit=_limit(request, frame),
                selection=request.selection,
                token_budget=request.token_budget,
                count_tokens=self.count_tokens,
            )
            for text, found, each in zip(request.texts, mentioned, candidates, strict=True)
        )

    async def omitted(self, request: ChunkRequest, context: ChunkContext, first: int) -> tuple[OmittedMemory, ...]:
        """Those left out for limit or budget in the order they would have come, then those story time hides."""
        limits.check_page_size(first)
        frame = await self._frame(request.book_id, request.chapter_id)
        wanted = len(context.memories) + len(context.over_budget) + first
        candidates = await self._candidates_of(request, frame, [context.refs], wanted)
        shown = {each.memory.id for each in context.memories}
        over_budget = {memory.id for memory in context.over_budget}
        ranked = sorted(merge(candidates[0]).values(), key=relevance, reverse=True)
        left_out = [
            OmittedMemory(
                each.memory,
                OmissionReason.TOKEN_BUDGET if each.memory.id in over_budget else OmissionReason.LIMIT,
            )
            for each in ranked
            if each.memory.id not in shown
        ]
        return tuple([*left_out, *await self._hidden(request, frame, candidates[0], first)][:first])

    async def check_translation(
        self, book_id: str, source: str, target: str, chapter_id: str | None
    ) -> tuple[tuple[TranslationCheck, ...], Mapping[EntityRef, Entity]]:
        limits.check_length(source, self.limits.text, ("source",))
        limits.check_length(target, self.limits.text, ("target",))
        mentioned = await self.mentions(book_id, source, chapter_id)
        return check_translation(mentioned.mentions, mentioned.entities, target), mentioned.entities

    def _check(self, request: ChunkRequest) -> None:
        limits.check_count(request.texts, MAX_CHUNKS, ("texts",))
        for position, text in enumerate(request.texts):
            path = at(("texts",), position) if request.is_batch else ("text",)
            limits.check_length(text, self.limits.text, path)
        if request.limit is not None:
            limits.check_range(request.limit, MEMORY_LIMITS, ("limit",))
        if request.token_budget is not None:
            limits.check_range(request.token_budget, TOKEN_BUDGETS, ("token_budget",))

    async def _frame(self, book_id: str, chapter_id: str | None) -> ChunkFrame:
        frame = await self.graph.chunk_frame(book_id, chapter_id)
        if frame is None:
            raise errors.EntityNotFoundError(("book_id",), EntityRef.book(book_id))
        if chapter_id is not None and frame.chapter_number is None:
            raise errors.EntityNotFoundError(("chapter_id",), EntityRef(EntityType.CHAPTER, chapter_id))
        return frame

    async def _mentioned(self, frame: ChunkFrame, texts: Sequence[str]) -> list[Mentioned]:
        matcher = await self.matchers.of_book(frame.book.id, frame.names_version)
        if sum(map(len, texts)) > AT_ONCE:
            found = await asyncio.to_thread(_all_mentions, matcher, texts, frame.chapter_number)
        else:
            found = _all_mentions(matcher, texts, frame.chapter_number)
        entities = await self.graph.entities({mention.ref for each in found for mention in each})
        # One deleted since its names were read is no longer mentioned.
        return [Mentioned(tuple(mention for mention in each if mention.ref in entities), entities) for each in found]

    async def _candidates(
        self, request: ChunkRequest, frame: ChunkFrame, mentioned: Sequence[Mentioned]
    ) -> list[Candidates]:
        chapter = [EntityRef(EntityType.CHAPTER, request.chapter_id)] if request.chapter_id is not None else []
        groups = [(*(mention.ref for mention in found.mentions), *chapter) for found in mentioned]
        return await self._candidates_of(request, frame, groups, _limit(request, frame))

    async def _candidates_of(
        self, request: ChunkRequest, frame: ChunkFrame, groups: Sequence[tuple[EntityRef, ...]], wanted: int
    ) -> list[Candidates]:
        refs = tuple(dict.fromkeys(ref for group in groups for ref in group))
        # Of each entity at least one, to know whether it has any.
        wanted = max(1, wanted)
        attached = await self.graph.foremost_attached(refs, wanted, frame.chapter_number)
        named = refs_to_match(refs, attached.memories, request.retrieval)
        related = [Related(group, tuple(ref for ref in group if ref in named)) for group in groups]
        matches = await self.keywords.matches(frame, related, wanted, attached.attachments.keys())
        named_only = {memory.id for found in matches.memories.values() for memory in found}
        named_only -= attached.attachments.keys()
        attachments = {**attached.attachments, **(await self.graph.attachments(named_only) if named_only else {})}
        return [
            Candidates(
                refs=group,
                attached={ref: attached.memories[ref] for ref in group if ref in attached.memories},
                matching={ref: matches.memories[ref] for ref in group if ref in matches.memories},
                attachments=attachments,
                naming=matches.naming,
                total=total,
            )
            for group, total in zip(groups, matches.totals, strict=True)
        ]

    async def _hidden(
        self, request: ChunkRequest, frame: ChunkFrame, candidates: Candidates, first: int
    ) -> list[OmittedMemory]:
        if frame.chapter_number is None:
            return []
        attached = (await self.graph.foremost_hidden(candidates.refs, first, frame.chapter_number)).memories
        named = refs_to_match(candidates.refs, candidates.attached, request.retrieval)
        naming = await self.keywords.foremost_named_hidden(frame.book.id, named, first, frame.chapter_number)
        found = {memory.id: memory for each in (*attached.values(), *naming.values()) for memory in each}
        hidden = [
            OmittedMemory(memory, reason)
            for memory in found.values()
            if (reason := hidden_because(memory, frame.chapter_number)) is not None
        ]
        return sorted(hidden, key=lambda each: recency(each.memory), reverse=True)


def _all_mentions(matcher: Matcher, texts: Sequence[str], chapter_number: int | None) -> list[tuple[Mention, ...]]:
    return [matcher.mentions(text, chapter_number) for text in texts]


def _limit(request: ChunkRequest, frame: ChunkFrame) -> int:
    """A token budget may stand in place of a count."""
    if request.limit is not None:
        return request.limit
    return frame.book.context_limit if request.token_budget is None else MAX_MEMORIES
