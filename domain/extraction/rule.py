"""What the rules of every language are made of."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """A clause that states a fact, from its first word to its last; its named groups fill in what is told of it."""

    category: str
    clause: re.Pattern[str]
    fact: str
