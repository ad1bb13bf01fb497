"""Facts: what is known about an owner beyond one session, and the gate that every new one passes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from domain.text import fold
from domain.values import Json

# What the user said is trusted at least so far.
STATED_CONFIDENCE = 0.9
INFERRED_CONFIDENCE = 0.6

_APART = re.compile(r"[\s_\-]+")
_PUNCTUATION = " .!?,;:。．、，"


class FactCategory(StrEnum):
    PREFERENCE = "preference"
    FACT = "fact"
    PATTERN = "pattern"


class FactSource(StrEnum):
    USER_STATED = "user_stated"
    INFERRED = "inferred"
    SYSTEM = "system"


class WriteOutcome(StrEnum):
    ADDED = "added"
    DUPLICATE = "duplicate"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class Fact:
    """One that was superseded is history: kept, but neither listed nor found."""

    id: str
    session_id: str | None
    category: FactCategory
    key: str
    value: Json
    confidence: float
    source: FactSource
    created_at: datetime
    last_accessed_at: datetime
    access_count: int = 0
    superseded_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class FactWrite:
    """`fact` is what holds now; `supersedes` is what held before."""

    outcome: WriteOutcome
    fact: Fact
    supersedes: Fact | None = None


def trusted(source: FactSource, confidence: float | None) -> float:
    if source is FactSource.INFERRED:
        return INFERRED_CONFIDENCE if confidence is None else confidence
    stated = STATED_CONFIDENCE if confidence is None else confidence
    return max(stated, STATED_CONFIDENCE) if source is FactSource.USER_STATED else stated


def same_key(key: str) -> str:
    """`Favourite Drink` and `favourite_drink` are one key."""
    return _APART.sub("_", fold(key).strip(" _-\t\n\r"))


def judge(holding: Fact | None, new: Fact) -> WriteOutcome:
    """By its key alone: what is merely similar is another fact."""
    if holding is None:
        return WriteOutcome.ADDED
    is_same = _comparable(holding.value) == _comparable(new.value)
    return WriteOutcome.DUPLICATE if is_same else WriteOutcome.SUPERSEDED


def fact_text(fact: Fact) -> str:
    """What a fact is found by, and how a prompt tells it."""
    return f"{_APART.sub(' ', fact.key).strip()}: {value_text(fact.value)}"


def value_text(value: Json) -> str:
    """`{"city": "Kyoto", "years": [2019, 2024]}` is told as `city Kyoto, years 2019, 2024`."""
    match value:
        case dict():
            return ", ".join(f"{name} {value_text(each)}" for name, each in value.items())
        case list():
            return ", ".join(map(value_text, value))
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case _:
            return str(value)


def _comparable(value: Json) -> object:
    """Equal for values that say the same: letter case, width and punctuation behind a text do not count."""
    match value:
        case str():
            text = " ".join(fold(value).split())
            return "text", text.rstrip(_PUNCTUATION) or text
        case bool() | None:
            return "word", value
        case int() | float():
            return "number", value
        case dict():
            return "object", frozenset((name, _comparable(each)) for name, each in value.items())
        case list():
            return "list", tuple(map(_comparable, value))
    raise TypeError(f"{type(value)} is not of JSON")


def texts_in(value: Json, name: str = "") -> Iterator[str]:
    """Every part of a value in words, behind the name of the field it stands in."""
    match value:
        case dict():
            for field, each in value.items():
                yield from texts_in(each, field)
        case list():
            for each in value:
                yield from texts_in(each, name)
        case _:
            yield f"{name}: {value_text(value)}" if name else value_text(value)
