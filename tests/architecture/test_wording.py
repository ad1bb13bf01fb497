"""Every error of the domain has words for people."""

import dataclasses
from collections.abc import Iterator

import pytest

from domain.entities import EntityRef
from domain.errors import DomainError
from domain.notebook import NotebookFile
from schema.problems import WORDINGS, ProblemCode, problem_of

SAMPLES: dict[object, object] = {
    int: 42,
    int | str: 42,
    float: 0.5,
    str: "ab",
    EntityRef: EntityRef.book("book_1"),
    NotebookFile: NotebookFile("MEMORY.md", "- fact\n", "0123"),
}
PATH = ("memories", "3", "valid_until_chapter")


def concrete(error: type[DomainError]) -> Iterator[type[DomainError]]:
    """Those that are raised: an error with more exact kinds only groups them."""
    kinds = error.__subclasses__()
    if not kinds:
        yield error
    for kind in kinds:
        yield from concrete(kind)


ERRORS = sorted(concrete(DomainError), key=lambda error: error.__name__)


def a_sample_of(error: type[DomainError]) -> DomainError:
    facts = {field.name: SAMPLES[field.type] for field in dataclasses.fields(error) if field.name != "path"}
    return error(PATH, **facts)


def test_there_are_words_for_these_errors_and_no_others() -> None:
    assert set(WORDINGS) == set(ERRORS)


@pytest.mark.parametrize("error", ERRORS)
def test_every_error_is_put_into_words(error: type[DomainError]) -> None:
    problem = problem_of(a_sample_of(error))

    assert problem.code in ProblemCode
    assert problem.path == ["memories", "3", "validUntilChapter"]
    assert problem.message.endswith(".")
    assert "{}" not in problem.message.replace('{"city": "Kyoto"}', "")


@pytest.mark.parametrize("error", [error for error in ERRORS if "{field}" in WORDINGS[error][1]])
def test_an_error_of_one_field_names_it_as_clients_know_it(error: type[DomainError]) -> None:
    assert problem_of(a_sample_of(error)).message.startswith("memories[3].validUntilChapter")
