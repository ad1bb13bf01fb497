"""Results as Markdown tables."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __str__(self) -> str:
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        return f"### {self.title}\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
