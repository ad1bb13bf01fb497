"""Domain errors in words: the one table from error to code and message."""

import re
from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from typing import Final

import strawberry

from domain import errors


@strawberry.enum(description="Why something was refused.")
class ProblemCode(StrEnum):
    BAD_INPUT = "BAD_INPUT"
    NOT_FOUND = "NOT_FOUND"
    CONFLICT = "CONFLICT"
    STALE_VERSION = "STALE_VERSION"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    FORBIDDEN = "FORBIDDEN"
    TOO_COSTLY = "TOO_COSTLY"
    RATE_LIMITED = "RATE_LIMITED"
    UNAVAILABLE = "UNAVAILABLE"
    INTERNAL = "INTERNAL"


@strawberry.type(description="Why a mutation was refused, and what to do about it.")
class Problem:
    code: ProblemCode = strawberry.field(description="The kind of problem, for programs.")
    message: str = strawberry.field(description="What is wrong and what to do, for people.")
    path: list[str] = strawberry.field(description="Where in the input the problem lies; empty for all of it.")


_Wording = tuple[ProblemCode, str]

WORDINGS: Final[dict[type[errors.DomainError], _Wording]] = {
    errors.EntityNotFoundError: (ProblemCode.NOT_FOUND, "{field}: there is no {type} '{id}' here."),
    errors.MemoryNotFoundError: (ProblemCode.NOT_FOUND, "{field}: there is no memory '{memory_id}' here."),
    errors.IdTakenError: (ProblemCode.CONFLICT, "{field}: the id '{id}' is taken; choose another or leave it out."),
    errors.ChapterNumberTakenError: (
        ProblemCode.CONFLICT,
        "{field}: chapter number {number} is taken by '{chapter_id}'; numbers are unique within a book.",
    ),
    errors.RequiredError: (ProblemCode.BAD_INPUT, "{field} must not be empty."),
    errors.TextTooLongError: (
        ProblemCode.BAD_INPUT,
        "{field} has {length} characters; the limit is {limit}.",
    ),
    errors.ForbiddenCharacterError: (
        ProblemCode.BAD_INPUT,
        "{field} must not contain the control character {character!a} (at position {position}).",
    ),
    errors.InvalidIdError: (
        ProblemCode.BAD_INPUT,
        "{field}: {id!r} is not an id; use 1 to 128 characters without spaces or control characters.",
    ),
    errors.OutOfRangeError: (ProblemCode.BAD_INPUT, "{field} must be from {low} to {high}, not {value}."),
    errors.TooManyItemsError: (
        ProblemCode.BAD_INPUT,
        "{field}: {count} items are too many for one request; the limit is {limit}.",
    ),
    errors.TooDeepError: (ProblemCode.BAD_INPUT, "{field} is nested more than {limit} levels deep."),
    errors.NotJsonError: (ProblemCode.BAD_INPUT, "{field} is not a number that JSON can hold."),
    errors.NotAnObjectError: (ProblemCode.BAD_INPUT, '{field} must be a JSON object, as in {{"city": "Kyoto"}}.'),
    errors.FractionError: (ProblemCode.BAD_INPUT, "{field} must be from {low:g} to {high:g}, not {value:g}."),
    errors.SecretRefusedError: (
        ProblemCode.BAD_INPUT,
        "{field} looks like a password, key or card number: it is not kept. Everything else was.",
    ),
    errors.FactNotFoundError: (ProblemCode.NOT_FOUND, "{field}: there is no fact '{fact_id}' here."),
    errors.EndsBeforeStartError: (ProblemCode.BAD_INPUT, "{field} is {end}, before the start {start}."),
    errors.InvalidCursorError: (
        ProblemCode.BAD_INPUT,
        "{field} is not a cursor of this list; pass an endCursor it gave, or leave it out.",
    ),
    errors.InvalidDayError: (
        ProblemCode.BAD_INPUT,
        "{field}: {day!r} is not a day; write it as in 2026-01-31, from 1900-01-01 to 2999-12-31.",
    ),
    errors.NotebookPathError: (
        ProblemCode.BAD_INPUT,
        "{field}: {file!r} is not a file of the notebook; name MEMORY.md or daily/YYYY-MM-DD.md.",
    ),
    errors.NotebookFullError: (
        ProblemCode.CONFLICT,
        "{field}: with this {file} would have {length} characters; the limit is {limit}. Shorten the file first.",
    ),
    errors.NotAPlainFileError: (
        ProblemCode.FORBIDDEN,
        "{file} is a link or otherwise no plain file or folder: it is not followed. Put a plain one in its place.",
    ),
    errors.StaleVersionError: (
        ProblemCode.STALE_VERSION,
        "{field}: the file has changed since it was {expected!r}; put your changes into what stands there now.",
    ),
    errors.VersionNotFoundError: (ProblemCode.NOT_FOUND, "{field}: no version {version!r} of {file} was kept."),
    errors.StorageUnavailableError: (
        ProblemCode.UNAVAILABLE,
        "The storage is not available ({reason}); nothing was changed. Try again.",
    ),
    errors.EmbedderUnavailableError: (
        ProblemCode.UNAVAILABLE,
        "Search by meaning is not available now ({reason}); search goes on by words.",
    ),
    errors.ExtractorUnavailableError: (
        ProblemCode.UNAVAILABLE,
        "Nothing can be learned from conversations now ({reason}); what was said is kept and read later.",
    ),
}

SHOWN_TEXT = 200


def problem_of(error: errors.DomainError) -> Problem:
    code, wording = WORDINGS[type(error)]
    path = [camel_case(part) for part in error.path]
    return Problem(code=code, message=wording.format(field=_spoken(path), **_facts(error)), path=path)


def camel_case(name: str) -> str:
    return re.sub(r"_(\w)", lambda match: match[1].upper(), name)


def _facts(error: errors.DomainError) -> dict[str, object]:
    facts = asdict(error) | (asdict(error.ref) if isinstance(error, errors.EntityNotFoundError) else {})
    return {name: fact[:SHOWN_TEXT] if isinstance(fact, str) else fact for name, fact in facts.items()}


def _spoken(path: Sequence[str]) -> str:
    """memories[3].summary"""
    spoken = "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in path)
    return spoken.removeprefix(".")
