"""How often the database is asked: the same number of statements however many siblings there are."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from api.composition import Service, make_id, open_service
from api.settings import LOCAL_OWNER, Settings
from domain.entities import Book, Character, EntityRef, EntityType
from domain.memories import MemoryDraft
from schema import build_schema
from schema.context import RequestContext
from schema.loaders import Loaders
from tests.api.building import bring_index_up, write_down_reads

SCHEMA = build_schema()
FEW, MANY = 2, 40
MEMORIES_EACH = 3


@dataclass(frozen=True)
class Watched:
    """A service whose reading statements are written down."""

    service: Service
    statements: list[str]

    async def ask(self, query: str, **variables: Any) -> Any:
        """Answers as the server does, in a request of its own; afterwards `statements` are those of this request."""
        await bring_index_up(self.service)
        self.statements.clear()
        use_cases = self.service.use_cases(LOCAL_OWNER)
        result = await SCHEMA.execute(
            query,
            variable_values=variables,
            context_value=RequestContext(use_cases, Loaders(use_cases), make_id),
        )
        assert result.errors is None
        return result.data

    async def count(self, query: str, **variables: Any) -> int:
        await self.ask(query, **variables)
        return len(self.statements)

    async def add_book(self, book_id: str, characters: int) -> None:
        """Every character has three memories that also hang on the book; each names the character in its text."""
        use_cases = self.service.use_cases(LOCAL_OWNER)
        await use_cases.entities.create(Book(book_id, f"Book {book_id}"))
        for number in range(characters):
            character = Character(f"{book_id}_char_{number}", book_id, f"名{number}号")
            await use_cases.entities.create(character)
            refs = (character.ref, EntityRef(EntityType.BOOK, book_id))
            await use_cases.memories.import_all(
                [
                    MemoryDraft(f"{character.id}_mem_{each}", book_id, f"{character.name}の話", "要点", refs)
                    for each in range(MEMORIES_EACH)
                ]
            )


@asynccontextmanager
async def watching(data_dir: Path) -> AsyncIterator[Watched]:
    async with open_service(Settings(data_dir=data_dir, embedder="none", sweep_seconds=3600)) as service:
        statements: list[str] = []
        await write_down_reads(service, statements)
        yield Watched(service, statements)


@pytest.fixture
async def watched(tmp_path: Path) -> AsyncIterator[Watched]:
    async with watching(tmp_path / "data") as watched:
        yield watched


@pytest.fixture
async def shelf(watched: Watched) -> Watched:
    """A book with few characters and a book with many."""
    await watched.add_book("few", FEW)
    await watched.add_book("many", MANY)
    return watched


ATTACHED = """query($book: ID!) { book(id: $book) { characters(first: 100) { nodes {
  attachedMemories(first: 5) { totalCount nodes { summary attachedTo { name } book { name } } }
} } } }"""


async def test_memories_of_all_characters_of_a_book_are_read_together(shelf: Watched) -> None:
    answer = await shelf.ask(ATTACHED, book="many")
    with_many = len(shelf.statements)
    with_few = await shelf.count(ATTACHED, book="few")

    characters = answer["book"]["characters"]["nodes"]
    assert [each["attachedMemories"]["totalCount"] for each in characters] == [MEMORIES_EACH] * MANY
    memory = {
        "summary": "要点",
        "attachedTo": [{"name": "名39号"}, {"name": "Book many"}],
        "book": {"name": "Book many"},
    }
    assert characters[39]["attachedMemories"]["nodes"] == [memory] * MEMORIES_EACH
    # The book, its characters, their memories, the counts, the attachments, the attached characters.
    assert (with_few, with_many) == (6, 6)


ALL_BOOKS = """query($first: Int!) { books(first: $first) { totalCount nodes {
  characters(first: 5) { totalCount nodes {
    attachedMemories(first: 5) { totalCount nodes { summary attachedTo { name } book { name } } }
  } }
} } }"""


async def test_memories_of_the_characters_of_all_books_are_read_together(watched: Watched) -> None:
    for number in range(12):
        await watched.add_book(f"book_{number}", characters=2)

    answer = await watched.ask(ALL_BOOKS, first=12)
    with_many = len(watched.statements)
    with_few = await watched.count(ALL_BOOKS, first=2)

    counts = [
        character["attachedMemories"]["totalCount"]
        for book in answer["books"]["nodes"]
        for character in book["characters"]["nodes"]
    ]
    assert counts == [MEMORIES_EACH] * 24
    # Books and their count, characters and theirs, memories and theirs, attachments, attached characters and books.
    assert (with_few, with_many) == (9, 9)


RELEVANT = """query($book: ID!, $retrieval: Retrieval!) { book(id: $book) { characters(first: 100) { nodes {
  relevantMemories(limit: 5, retrieval: $retrieval) {
    match via { name } memory { summary attachedTo { name } book { name } }
  }
} } } }"""


@pytest.mark.parametrize("retrieval", ["ATTACHED", "FALLBACK"])
async def test_relevant_memories_of_all_characters_are_read_together(shelf: Watched, retrieval: str) -> None:
    answer = await shelf.ask(RELEVANT, book="many", retrieval=retrieval)
    with_many = len(shelf.statements)
    with_few = await shelf.count(RELEVANT, book="few", retrieval=retrieval)

    found = [len(each["relevantMemories"]) for each in answer["book"]["characters"]["nodes"]]
    assert found == [MEMORIES_EACH] * MANY
    # The book, its characters, their memories, attachments, attached characters.
    assert (with_few, with_many) == (5, 5)


async def test_keyword_matches_of_all_characters_are_read_together(shelf: Watched) -> None:
    answer = await shelf.ask(RELEVANT, book="many", retrieval="MERGE")
    with_many = len(shelf.statements)
    with_few = await shelf.count(RELEVANT, book="few", retrieval="MERGE")

    found = [len(each["relevantMemories"]) for each in answer["book"]["characters"]["nodes"]]
    assert found == [MEMORIES_EACH] * MANY
    assert with_few == with_many


async def test_books_of_all_memories_are_read_together(shelf: Watched) -> None:
    query = """query($book: ID!) { memories(bookId: $book, attachedTo: [{type: BOOK, id: $book}], first: 100) {
      nodes { book { name } attachedTo { name attachedMemories(first: 1) { nodes { id } } } }
    } }"""

    with_many = await shelf.count(query, book="many")
    with_few = await shelf.count(query, book="few")

    # Is there such a book, its memories, the book, attachments, attached characters, what is attached to each.
    assert (with_few, with_many) == (6, 6)


async def test_pages_of_different_sizes_cost_a_statement_each(shelf: Watched) -> None:
    query = """query($book: ID!) { book(id: $book) { characters(first: 100) { nodes {
      one: attachedMemories(first: 1) { nodes { id } } two: attachedMemories(first: 2) { nodes { id } }
    } } } }"""

    with_many = await shelf.count(query, book="many")
    with_few = await shelf.count(query, book="few")

    assert (with_few, with_many) == (4, 4)


@pytest.mark.parametrize(
    "page",
    [
        "{ books { %s pageInfo { hasNextPage } } }",
        '{ book(id: "few") { characters { %s nodes { id } } } }',
        '{ book(id: "few") { terms { %s nodes { id } } } }',
        '{ book(id: "few") { chapters { %s nodes { id } } } }',
        '{ book(id: "few") { memories { %s nodes { id } } } }',
        '{ book(id: "few") { attachedMemories { %s nodes { id } } } }',
        '{ memories(bookId: "few", attachedTo: [{type: BOOK, id: "few"}]) { %s edges { cursor } } }',
    ],
)
async def test_count_costs_one_statement_and_nothing_when_not_asked_for(shelf: Watched, page: str) -> None:
    counted = await shelf.count(page % "totalCount")
    uncounted = await shelf.count(page % "")

    assert counted == uncounted + 1
    assert not [statement for statement in shelf.statements if "COUNT(" in statement]


async def test_what_is_named_twice_is_read_once(shelf: Watched) -> None:
    once = await shelf.count('{ character(id: "few_char_0") { name } }')
    thrice = await shelf.count(
        """{ a: character(id: "few_char_0") { name } b: character(id: "few_char_0") { name }
             c: character(id: "few_char_1") { name } }"""
    )

    assert (once, thrice) == (1, 1)
