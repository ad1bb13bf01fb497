"""Lasting facts taken from a conversation."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Learned:
    """One lasting fact as a line for the notebook, under the heading of its category."""

    fact: str
    category: str
