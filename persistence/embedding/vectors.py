"""Vectors as the domain keeps them: 32-bit floats, little-endian, of unit length."""

import math
import struct
from collections.abc import Sequence

from domain.ports import Vector

FLOAT_BYTES = 4


class NotAVectorError(ValueError):
    """Holds something that is no finite number, or nothing at all."""


def unit_vector(values: Sequence[float]) -> Vector:
    """A zero vector (some models answer it where they know no word) becomes the first axis: it has no direction to
    keep, and refusing it would let one odd text hold up all others."""
    try:
        length = math.hypot(*values)
    except (TypeError, OverflowError) as error:
        raise NotAVectorError from error
    if not values or not math.isfinite(length):
        raise NotAVectorError
    if length == 0:
        return struct.pack(f"<{len(values)}f", 1.0, *values[1:])
    return struct.pack(f"<{len(values)}f", *(value / length for value in values))


def dimensions_of(vector: Vector) -> int:
    return len(vector) // FLOAT_BYTES


def length_of(vector: Vector) -> float:
    """NaN or infinite when any of its numbers is."""
    return math.hypot(*struct.unpack(f"<{dimensions_of(vector)}f", vector))
