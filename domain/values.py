"""Values that clients give as JSON, checked at the door."""

import math
from collections.abc import Mapping

from domain import errors
from domain.errors import Path, at
from domain.text import NUL

# What JSON can say: null, true, numbers, texts, lists and objects.
Json = object

MAX_DEPTH = 16
MAX_PARTS = 10_000
# Larger whole numbers are not the same for every program that reads them.
MAX_INTEGER = 2**53


def check_json(value: Json, longest: int, path: Path) -> None:
    """Not too deep, too large or of characters and numbers that could not be kept; `longest` counts all its texts."""
    room = _Room(longest)
    _check(value, room, path, 0)


class _Room:
    def __init__(self, longest: int) -> None:
        self.longest = longest
        self.length = 0
        self.parts = 0

    def take(self, text: str, path: Path) -> None:
        self.length += len(text)
        self.parts += 1
        if self.length > self.longest:
            raise errors.TextTooLongError(path, self.length, self.longest)
        if self.parts > MAX_PARTS:
            raise errors.TooManyItemsError(path, self.parts, MAX_PARTS)
        if NUL in text:
            raise errors.ForbiddenCharacterError(path, NUL, text.index(NUL))
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError as error:
                raise errors.ForbiddenCharacterError(path, text[error.start], error.start) from None


def _check(value: Json, room: _Room, path: Path, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise errors.TooDeepError(path, MAX_DEPTH)
    match value:
        case str():
            room.take(value, path)
        case dict():
            room.take("", path)
            for name, each in value.items():
                room.take(name, path)
                _check(each, room, at(path, name), depth + 1)
        case list():
            room.take("", path)
            for position, each in enumerate(value):
                _check(each, room, at(path, position), depth + 1)
        case bool() | None:
            room.take("", path)
        case float() if not math.isfinite(value):
            raise errors.NotJsonError(path)
        # A whole number that no integer of the reader can hold has come as a float, and rounded.
        case int() | float() if not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise errors.OutOfRangeError(path, int(value), -MAX_INTEGER, MAX_INTEGER)
        case int() | float():
            room.take("", path)
        case _:
            raise errors.NotJsonError(path)


def merged(before: Mapping[str, Json], changes: Mapping[str, Json]) -> Mapping[str, Json]:
    """Key by key; what is null in the changes is taken away."""
    together = {**before, **changes}
    return {name: value for name, value in together.items() if value is not None}
