"""What search knows of a memory or a passage."""

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.documents import Document, memory_document, memory_text, passage_documents
from domain.entities import EntityRef, EntityType
from domain.memories import Memory, MemoryDraft, new_memory
from domain.notebook import Passage
from domain.search import SearchSource

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
EVENING = datetime(2026, 2, 1, 20, tzinfo=UTC)
TANAKA = EntityRef(EntityType.CHARACTER, "char_1")

passages = st.lists(
    st.builds(Passage, st.sampled_from(["a", "b", "", "\ud800"]), st.integers(1, 99), st.sampled_from([(), ("H",)]))
)


def a_memory(content: str = "田中は左利きだ", summary: str = "利き手") -> Memory:
    return new_memory(MemoryDraft("mem_1", "book_1", content, summary, last_accessed_at=EVENING), NOON)


@pytest.mark.parametrize(
    ("summary", "content", "text"),
    [
        ("利き手", "田中は左利きだ", "利き手\n田中は左利きだ"),
        ("左利き", "田中は左利きだ", "田中は左利きだ"),
        ("同じ", "同じ", "同じ"),
        ("Stone", "a stone", "Stone\na stone"),
    ],
)
def test_a_summary_that_stands_in_the_content_is_not_repeated(summary: str, content: str, text: str) -> None:
    assert memory_text(a_memory(content, summary)) == text


def test_a_memory_is_found_by_its_text_and_by_each_name_once() -> None:
    document = memory_document(a_memory(), (TANAKA,), ["田中", "Tanaka", "田中"])

    assert document == Document(
        SearchSource.MEMORY,
        "mem_1",
        "利き手\n田中は左利きだ",
        "田中\nTanaka",
        book_id="book_1",
        attached_to=(TANAKA,),
        at=NOON,
    )


def test_the_names_are_no_part_of_what_a_memory_means() -> None:
    bare, named = memory_document(a_memory(), (), ()), memory_document(a_memory(), (TANAKA,), ["田中"])

    assert named.meaning == bare.meaning == "利き手\n田中は左利きだ"
    assert named.digest == bare.digest


def test_the_headings_are_part_of_what_a_passage_means() -> None:
    (document,) = passage_documents("MEMORY.md", None, [Passage("Python", 3, ("People", "Likes"))])

    assert document.context == "People / Likes"
    assert document.meaning == "People / Likes\nPython"
    assert document.digest != replace(document, context="").digest


def test_a_passage_under_no_heading_means_what_it_says() -> None:
    (document,) = passage_documents("MEMORY.md", None, [Passage("Python", 1)])

    assert document.meaning == "Python"


def test_a_passage_of_a_day_has_its_date_and_place() -> None:
    day = date(2026, 1, 31)

    (document,) = passage_documents("daily/2026-01-31.md", day, [Passage("walked", 7, ("Morning",))])

    assert document == Document(
        SearchSource.NOTEBOOK,
        document.id,
        "walked",
        "2026-01-31 / Morning",
        day=day,
        path="daily/2026-01-31.md",
        line=7,
    )
    assert document.id.startswith("daily/2026-01-31.md#")


def test_the_digest_of_a_text_is_always_the_same() -> None:
    assert len(memory_document(a_memory(), (), ()).digest) == 16
    assert memory_document(a_memory(), (), ()).digest == memory_document(a_memory(), (), ()).digest
    assert memory_document(a_memory("other"), (), ()).digest != memory_document(a_memory(), (), ()).digest


def test_equal_passages_are_told_apart_by_their_order() -> None:
    one, two, three = passage_documents("MEMORY.md", None, [Passage("a", 1), Passage("b", 2), Passage("a", 3)])

    assert three.id == f"{one.id}-2"
    assert [one.line, two.line, three.line] == [1, 2, 3]


def test_a_passage_keeps_its_id_wherever_it_moves() -> None:
    (before,) = passage_documents("MEMORY.md", None, [Passage("a", 1)])
    (_, after) = passage_documents("MEMORY.md", None, [Passage("new", 1), Passage("a", 9, ("Heading",))])

    assert after.id == before.id


def test_the_same_passage_of_another_file_is_another() -> None:
    (one,) = passage_documents("MEMORY.md", None, [Passage("a", 1)])
    (other,) = passage_documents("daily/2026-01-31.md", date(2026, 1, 31), [Passage("a", 1)])

    assert one.id != other.id


@given(passages)
def test_every_passage_is_one_document_with_an_id_of_its_own(given_passages: list[Passage]) -> None:
    documents = passage_documents("MEMORY.md", None, given_passages)

    assert [(each.text, each.line) for each in documents] == [(each.text, each.line) for each in given_passages]
    assert len({each.id for each in documents}) == len(given_passages)


@given(passages)
def test_ids_do_not_depend_on_the_order_of_different_passages(given_passages: list[Passage]) -> None:
    documents = passage_documents("MEMORY.md", None, given_passages)
    reversed_documents = passage_documents("MEMORY.md", None, given_passages[::-1])

    assert {each.id for each in documents} == {each.id for each in reversed_documents}
