"""One loader per question, one set per operation: siblings are answered in one batch."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from strawberry.dataloader import DataLoader

from domain.entities import Entity, EntityRef
from domain.memories import Memory, RelevantMemory, Retrieval
from domain.paging import Page, PageRequest, empty_page
from domain.ports import Listing
from domain.usecases import UseCases

H = TypeVar("H", bound=Hashable)
V = TypeVar("V")


class AttachedKey(NamedTuple):
    ref: EntityRef
    page: PageRequest


class RelevantKey(NamedTuple):
    ref: EntityRef
    limit: int
    retrieval: Retrieval


class EntitiesKey(NamedTuple):
    book_id: str
    listing: Listing
    page: PageRequest


class EntityCountKey(NamedTuple):
    book_id: str
    listing: Listing


class BookMemoriesKey(NamedTuple):
    book_id: str
    page: PageRequest


class Loaders:
    def __init__(self, use_cases: UseCases) -> None:
        self.entities = DataLoader(partial(load_entities, use_cases))
        self.entities_of_book = DataLoader(partial(load_entities_of_book, use_cases))
        self.entity_count = DataLoader(partial(load_entity_count, use_cases))
        self.memories_of_book = DataLoader(partial(load_memories_of_book, use_cases))
        self.memory_count = DataLoader(partial(load_memory_count, use_cases))
        self.attached_memories = DataLoader(partial(load_attached_memories, use_cases))
        self.attached_count = DataLoader(partial(load_attached_count, use_cases))
        self.relevant_memories = DataLoader(partial(load_relevant_memories, use_cases))
        self.attachments = DataLoader(partial(load_attachments, use_cases))

    def forget(self) -> None:
        for loader in vars(self).values():
            loader.clear_all()


async def load_entities(use_cases: UseCases, refs: list[EntityRef]) -> list[Entity | None]:
    found = await use_cases.entities.get(refs)
    return [found.get(ref) for ref in refs]


async def load_entities_of_book(use_cases: UseCases, keys: list[EntitiesKey]) -> list[Page[Entity]]:
    async def answer(question: tuple[Listing, PageRequest], book_ids: Sequence[str]) -> Mapping[str, Page[Entity]]:
        return await use_cases.entities.of_books(book_ids, *question)

    return await _by_question(keys, lambda key: (key.listing, key.page), lambda key: key.book_id, answer, empty_page)


async def load_entity_count(use_cases: UseCases, keys: list[EntityCountKey]) -> list[int]:
    async def answer(listing: Listing, book_ids: Sequence[str]) -> Mapping[str, int]:
        return await use_cases.entities.count_of_books(book_ids, listing)

    return await _by_question(keys, lambda key: key.listing, lambda key: key.book_id, answer, int)


async def load_memories_of_book(use_cases: UseCases, keys: list[BookMemoriesKey]) -> list[Page[Memory]]:
    async def answer(page: PageRequest, book_ids: Sequence[str]) -> Mapping[str, Page[Memory]]:
        return await use_cases.memories.of_books(book_ids, page)

    return await _by_question(keys, lambda key: key.page, lambda key: key.book_id, answer, empty_page)


async def load_memory_count(use_cases: UseCases, book_ids: list[str]) -> list[int]:
    found = await use_cases.memories.count_of_books(book_ids)
    return [found.get(book_id, 0) for book_id in book_ids]


async def load_attached_memories(use_cases: UseCases, keys: list[AttachedKey]) -> list[Page[Memory]]:
    async def answer(page: PageRequest, refs: Sequence[EntityRef]) -> Mapping[EntityRef, Page[Memory]]:
        return await use_cases.attachments.memories(refs, page)

    return await _by_question(keys, lambda key: key.page, lambda key: key.ref, answer, empty_page)


async def load_attached_count(use_cases: UseCases, refs: list[EntityRef]) -> list[int]:
    found = await use_cases.attachments.count(refs)
    return [found.get(ref, 0) for ref in refs]


async def load_relevant_memories(use_cases: UseCases, keys: list[RelevantKey]) -> list[tuple[RelevantMemory, ...]]:
    async def answer(
        question: tuple[int, Retrieval], refs: Sequence[EntityRef]
    ) -> Mapping[EntityRef, tuple[RelevantMemory, ...]]:
        return await use_cases.memories.relevant_to(refs, *question)

    return await _by_question(keys, lambda key: (key.limit, key.retrieval), lambda key: key.ref, answer, tuple)


async def load_attachments(use_cases: UseCases, memory_ids: list[str]) -> list[tuple[EntityRef, ...]]:
    found = await use_cases.attachments.of(memory_ids)
    return [found.get(memory_id, ()) for memory_id in memory_ids]


K = TypeVar("K")
Q = TypeVar("Q", bound=Hashable)


async def _by_question(
    keys: Sequence[K],
    question_of: Callable[[K], Q],
    subject_of: Callable[[K], H],
    answer: Callable[[Q, Sequence[H]], Awaitable[Mapping[H, V]]],
    nothing: Callable[[], V],
) -> list[V]:
    """Arguments that change the answer are part of the key: one batch for each set of them."""
    subjects_of: dict[Q, list[H]] = defaultdict(list)
    for key in keys:
        subjects_of[question_of(key)].append(subject_of(key))
    answers = {question: await answer(question, subjects) for question, subjects in subjects_of.items()}
    return [
        found if (found := answers[question_of(key)].get(subject_of(key))) is not None else nothing() for key in keys
    ]
