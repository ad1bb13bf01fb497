"""A book to measure chunks on: a real novel from --data, or an invented one."""

import json
import random
from dataclasses import dataclass
from pathlib import Path

from domain.entities import Alias, Book, Character, Entity
from domain.memories import MemoryDraft

BOOK_ID = "book"
CHUNK_LENGTH = 2_000
SUMMARY = "{}提到的第{}件事要与前文一致"
CONTENT = "译者在这里记下：此处的称呼前后不同，先按前文的译法处理，等到第三十回再统一。"


@dataclass(frozen=True)
class Novel:
    title: str
    text: str
    characters: tuple[Character, ...]

    def chunks(self, count: int) -> list[str]:
        step = max(CHUNK_LENGTH, (len(self.text) - CHUNK_LENGTH) // count)
        return [self.text[start : start + CHUNK_LENGTH] for start in range(0, step * count, step)]

    @property
    def names(self) -> list[str]:
        return [name for each in self.characters for name in (each.name, *(alias.name for alias in each.aliases))]


def read_novel(data: Path, title: str) -> Novel:
    names = json.loads((data / "novels" / "characters.json").read_text(encoding="utf-8"))[title]
    characters = tuple(
        Character(f"char_{index}", BOOK_ID, name, tuple(map(Alias, aliases)), translation=f"Name {index}")
        for index, (name, aliases) in enumerate(names.items())
    )
    return Novel(title, (data / "novels" / f"{title}.txt").read_text(encoding="utf-8"), characters)


def with_invented_names(novel: Novel, count: int) -> Novel:
    """Family names of one and given names of two characters, all from the characters of the novel itself."""
    chance = random.Random(7)
    letters = sorted({letter for letter in novel.text[:200_000] if "\u4e00" <= letter <= "\u9fff"})
    family, given = chance.sample(letters, 150), chance.sample(letters, 500)
    names: dict[str, None] = {}
    while len(names) < count:
        names[chance.choice(family) + chance.choice(given) + chance.choice(given)] = None
    invented = tuple(Character(f"invented_{index}", BOOK_ID, name) for index, name in enumerate(names))
    return Novel(f"{novel.title} + {count:,} invented names", novel.text, (*novel.characters, *invented))


def a_book(novel: Novel, memories: int) -> tuple[Book, list[Entity], list[MemoryDraft]]:
    """Memories go round among the characters; every tenth hangs on two of them."""
    drafts = []
    for number in range(memories):
        first = novel.characters[number % len(novel.characters)]
        second = novel.characters[(number * 7 + 1) % len(novel.characters)]
        refs = (first.ref, second.ref) if number % 10 == 0 else (first.ref,)
        drafts.append(MemoryDraft(f"mem_{number}", BOOK_ID, CONTENT * 3, SUMMARY.format(first.name, number), refs))
    return Book(BOOK_ID, novel.title), list(novel.characters), drafts
