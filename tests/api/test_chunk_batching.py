"""How often the database is asked for a chunk: not more often for more entities, memories or chunks."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from api.composition import Service, open_service
from api.settings import LOCAL_OWNER, Settings
from domain.chunk_context import ChunkContext, Selection
from domain.entities import Alias, Book, Chapter, Character, EntityRef, EntityType, Term
from domain.memories import MemoryDraft, Retrieval
from domain.usecases import UseCases
from domain.usecases.chunks import ChunkRequest
from domain.usecases.matchers import Matchers
from persistence.graph_store import SqliteGraphStore
from tests.api.building import bring_index_up, write_down_reads

FEW, MANY = 2, 40
CHUNKS = 30
BOOK_SIZES = {"few": FEW, "many": MANY}


@dataclass(frozen=True)
class Watched:
    """A service whose reading statements are written down."""

    service: Service
    statements: list[str]

    @property
    def use_cases(self) -> UseCases:
        return self.service.use_cases(LOCAL_OWNER)

    async def contexts(self, request: ChunkRequest) -> tuple[tuple[ChunkContext, ...], int]:
        """And the number of statements it took, once the book's names are known."""
        await self.use_cases.chunks.contexts(request)
        self.statements.clear()
        found = await self.use_cases.chunks.contexts(request)
        return found, len(self.statements)

    async def omitted(self, request: ChunkRequest) -> tuple[int, int]:
        """How many were left out, and the number of statements to find them."""
        (context,) = await self.use_cases.chunks.contexts(request)
        self.statements.clear()
        return len(await self.use_cases.chunks.omitted(request, context, 100)), len(self.statements)


async def add_book(use_cases: UseCases, book_id: str, size: int) -> None:
    """Characters and terms by turns; each has as many memories as there are of them, half of them by name alone."""
    await use_cases.entities.create(Book(book_id, "砂の道"))
    await use_cases.entities.create(Chapter(f"{book_id}_chapter", book_id, "海へ", 3))
    for number in range(size):
        name, aliases = f"名{number}号", (Alias(f"別{number}号"),)
        entity: Character | Term = (
            Character(f"{book_id}_{number}", book_id, name, aliases)
            if number % 2
            else Term(f"{book_id}_{number}", book_id, name, aliases)
        )
        await use_cases.entities.create(entity)
        chapter = EntityRef(EntityType.CHAPTER, f"{book_id}_chapter")
        await use_cases.memories.import_all(
            [
                MemoryDraft(
                    f"{entity.id}_{each}",
                    book_id,
                    f"{name}の話",
                    "要点",
                    (entity.ref, chapter) if each % 2 else (),
                    is_pinned=each % 3 == 0,
                    valid_from_chapter=5 if each % 4 == 3 else None,
                )
                for each in range(size)
            ]
        )


def text_naming(count: int) -> str:
    return "、".join(f"名{number}号" for number in range(count))


@pytest.fixture
async def shelf(tmp_path: Path) -> AsyncIterator[Watched]:
    """A book with few entities and memories and a book with many."""
    async with open_service(Settings(data_dir=tmp_path / "data", embedder="none", sweep_seconds=3600)) as service:
        statements: list[str] = []
        await write_down_reads(service, statements)
        for book_id, size in BOOK_SIZES.items():
            await add_book(service.use_cases(LOCAL_OWNER), book_id, size)
        await bring_index_up(service)
        yield Watched(service, statements)


@pytest.mark.parametrize("retrieval", Retrieval)
@pytest.mark.parametrize("has_chapter", [False, True])
async def test_statements_do_not_grow_with_the_book_or_the_mentions(
    shelf: Watched, retrieval: Retrieval, *, has_chapter: bool
) -> None:
    counts = {}
    for book_id, size in BOOK_SIZES.items():
        chapter = f"{book_id}_chapter" if has_chapter else None
        request = ChunkRequest(book_id, (text_naming(size),), chapter, limit=100, retrieval=retrieval)
        (context,), counts[book_id] = await shelf.contexts(request)
        assert len(context.mentions) == size
        assert context.memories

    assert 0 < counts["few"] == counts["many"] <= 10


@pytest.mark.parametrize("selection", Selection)
async def test_statements_do_not_grow_with_the_chunks(shelf: Watched, selection: Selection) -> None:
    texts = tuple(text_naming(number + 2) for number in range(CHUNKS))

    one, with_one = await shelf.contexts(ChunkRequest("many", texts[:1], selection=selection))
    many, with_many = await shelf.contexts(ChunkRequest("many", texts, selection=selection))

    assert [len(context.mentions) for context in many] == list(range(2, CHUNKS + 2))
    assert (many[0].memories, many[0].omitted_count, many[0].prompt) == (
        one[0].memories,
        one[0].omitted_count,
        one[0].prompt,
    )
    assert 0 < with_one == with_many


async def test_statements_do_not_grow_with_the_limit_or_a_budget(shelf: Watched) -> None:
    counts = set()
    for limit, budget in ((10, None), (100, None), (None, 50), (None, 100_000), (100, 100_000)):
        request = ChunkRequest("many", (text_naming(MANY),), limit=limit, token_budget=budget)
        _, count = await shelf.contexts(request)
        counts.add(count)

    assert len(counts) == 1
    assert min(counts) > 0


@pytest.mark.parametrize("has_chapter", [False, True])
async def test_finding_what_was_left_out_does_not_grow_either(shelf: Watched, *, has_chapter: bool) -> None:
    counts = {}
    for book_id, size in BOOK_SIZES.items():
        chapter = f"{book_id}_chapter" if has_chapter else None
        left_out, counts[book_id] = await shelf.omitted(ChunkRequest(book_id, (text_naming(size),), chapter, limit=1))
        assert left_out

    # Where nothing is hidden, the statement that reads it is left out.
    assert 0 < counts["few"] <= counts["many"] <= counts["few"] + 1


async def test_mentions_take_the_same_number_of_statements_for_few_and_many(shelf: Watched) -> None:
    counts = {}
    for book_id, size in BOOK_SIZES.items():
        await shelf.use_cases.chunks.mentions(book_id, text_naming(size), None)
        shelf.statements.clear()
        found = await shelf.use_cases.chunks.mentions(book_id, text_naming(size), None)
        counts[book_id] = len(shelf.statements)
        assert len(found.mentions) == size

    assert counts["few"] == counts["many"] > 0


async def test_names_are_read_again_only_when_they_changed(shelf: Watched) -> None:
    graph = SqliteGraphStore(shelf.service.engine, LOCAL_OWNER)
    matchers = Matchers(graph)

    async def statements() -> int:
        frame = await graph.chunk_frame("few", None)
        assert frame is not None
        await bring_index_up(shelf.service)
        shelf.statements.clear()
        await matchers.of_book("few", frame.names_version)
        return len(shelf.statements)

    first, again = await statements(), await statements()
    await shelf.use_cases.entities.create(Term("term_new", "few", "静か"))
    after_a_change, afterwards = await statements(), await statements()
    await shelf.use_cases.memories.import_all([MemoryDraft("mem_new", "few", "静か", "要点")])
    after_a_memory = await statements()

    assert (first, again) == (1, 0)
    assert (after_a_change, afterwards, after_a_memory) == (1, 0, 0)
