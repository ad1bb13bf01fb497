"""How well the built-in rules learn from what people say: precision and recall, by turns.

Two sets of turns:

- The sixty that are written by hand, half of them traps. A turn counts as rightly learned when the expected words
  stand in a fact under the expected category.
- MADial dialogues. What they are annotated with are events of the past that a reply should bring up; no turn is
  marked as stating a fact about its speaker. So forty dialogues of each language were drawn at random, and every turn
  of the child in them was read for whether it states in its own words something lasting of a kind that the rules know.
  A turn that only makes sense with the one before it (“I love it!”) does not. Almost all that these children state are
  likes: this measures little else, and in two languages only.

Precision is the share of the turns that taught something which do state a fact; recall the share of the turns that
state one which taught something.
"""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from domain.extraction import Learned
from domain.extraction.rules import learned_from
from domain.sessions import Message, MessageRole
from tests.bench.table import Table
from tests.domain.hand_written_turns import TURNS, Turn

LANGUAGES: Final = {"zh": "Chinese", "en": "English", "ja": "Japanese"}
DIALOGUES: Final = 40
SPEAKERS: Final = ("<Bart>:", "<Lisa>:")

# Where a fact is stated: the number of the dialogue, and of the line in it.
STATING: Final = {
    "zh": (
        *("12.3", "14.3", "15.5", "18.5", "22.7", "73.7", "93.3", "101.3", "101.5", "101.7", "108.5", "111.1"),
        *("111.7", "139.5", "141.3", "141.7", "144.3", "144.5", "156.1"),
    ),
    "en": (
        *("12.3", "14.3", "15.5", "17.7", "18.5", "22.7", "54.5", "73.7", "93.3", "101.3", "101.5", "101.7", "108.5"),
        *("111.1", "111.7", "139.5", "141.3", "141.7", "144.3", "144.5", "156.1"),
    ),
}


@dataclass(frozen=True)
class Outcome:
    """Of one turn: whether it states a fact, whether anything was learned, and whether that is what it states."""

    states: bool
    taught: bool
    is_right: bool


def run(data: Path) -> Table:
    rows = [_row(f"sixty turns, {name}", list(_hand_written(language))) for language, name in LANGUAGES.items()]
    rows += [_row(f"MADial, {LANGUAGES[language]}", list(_madial(data, language))) for language in STATING]
    return Table(
        "What the built-in rules learn, by turns",
        ("turns", "read", "state a fact", "taught something", "precision", "recall"),
        rows,
    )


def _hand_written(language: str) -> Iterator[Outcome]:
    for turn in TURNS:
        if turn.language == language:
            learned = _learned(turn.text)
            yield Outcome(bool(turn.words), bool(learned), any(_is_expected(turn, fact) for fact in learned))


def _is_expected(turn: Turn, fact: Learned) -> bool:
    return bool(turn.words) and fact.category == turn.category and all(word in fact.fact for word in turn.words)


def _madial(data: Path, language: str) -> Iterator[Outcome]:
    path = data / "madial" / f"MADial-Bench-{language}-dialogue.json"
    dialogues = [json.loads(line)["dialogue"] for line in path.read_text(encoding="utf-8").splitlines()]
    for number in sorted(random.Random(7).sample(range(len(dialogues)), DIALOGUES)):
        for line, spoken in enumerate(dialogues[number]):
            if spoken.startswith(SPEAKERS):
                states = f"{number}.{line}" in STATING[language]
                taught = bool(_learned(spoken.partition(":")[2].strip().strip('"')))
                yield Outcome(states, taught, states and taught)


def _learned(text: str) -> tuple[Learned, ...]:
    return learned_from([Message(MessageRole.USER, text)])


def _row(title: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    stating = sum(each.states for each in outcomes)
    taught = sum(each.taught for each in outcomes)
    right = sum(each.is_right for each in outcomes)
    return (
        title,
        str(len(outcomes)),
        str(stating),
        str(taught),
        f"{right / taught if taught else 1:.2f}",
        f"{right / stating:.2f}",
    )
