"""Offsets in code points or, for JavaScript strings, in UTF-16 units."""

from bisect import bisect_left
from collections.abc import Callable
from enum import StrEnum

import strawberry


@strawberry.enum(description="CODE_POINT: Unicode code points, as in Python; UTF16: UTF-16 units, as in JavaScript.")
class OffsetUnit(StrEnum):
    CODE_POINT = "code_point"
    UTF16 = "utf16"


def offset_converter(text: str, unit: OffsetUnit) -> Callable[[int], int]:
    if unit is OffsetUnit.CODE_POINT or text.isascii():
        return lambda offset: offset
    astral = [position for position, character in enumerate(text) if character > "\uffff"]
    return lambda offset: offset + bisect_left(astral, offset)
