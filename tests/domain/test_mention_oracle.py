"""The matcher against a second opinion: no difference in a single span."""

import json
import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from domain.entities import EntityRef, EntityType
from domain.mentions import Matcher, Name
from tests.domain.mention_oracle import Found, oracle_mentions

SAMPLE = Path(__file__).parent.parent.parent / "data" / "sample"
BOOK = json.loads((SAMPLE / "ebb_tide_post.json").read_text(encoding="utf-8"))


def names_of_book(book: Any) -> list[tuple[str, str]]:
    entities = [*book["characters"], *book["terms"]]
    return [
        (name, entity["id"])
        for entity in entities
        for name in (entity["name"], *(alias["name"] for alias in entity.get("aliases", ())))
    ]


def translations_of_book(book: Any) -> list[tuple[str, str]]:
    entities = [*book["characters"], *book["terms"]]
    return [
        (form["translation"], entity["id"])
        for entity in entities
        for form in (entity, *entity.get("aliases", ()))
        if form.get("translation")
    ]


NAMES = names_of_book(BOOK)
TRANSLATIONS = translations_of_book(BOOK)


def matcher_mentions(names: Sequence[tuple[str, str]], text: str) -> list[Found]:
    matcher = Matcher(Name(EntityRef(EntityType.CHARACTER, entity_id), name) for name, entity_id in names)
    named: dict[tuple[int, int], set[str]] = defaultdict(set)
    for mention in matcher.mentions(text):
        for span in mention.spans:
            named[span.start, span.end].add(mention.ref.id)
    return sorted((start, end, frozenset(ids)) for (start, end), ids in named.items())


# The second opinion has to be right itself


@pytest.mark.parametrize(
    ("names", "text", "expected"),
    [
        (["田中", "田中太郎"], "田中太郎と田中", [(0, 4, {"田中太郎"}), (5, 7, {"田中"})]),
        (["Ann"], "彼はＡＮＮを、Annaは", [(2, 5, {"Ann"})]),
        (["シャーロック・ホームズ"], "シャーロックホームズ", [(0, 10, {"シャーロック・ホームズ"})]),
        (["鵜飼"], "鵜（う）飼", [(0, 5, {"鵜飼"})]),
        (["たろう"], "（たろう）", [(1, 4, {"たろう"})]),
        (["アン"], "アンナ", []),
        (["バカ"], "ﾊﾞｶ", [(0, 3, {"バカ"})]),
        (["Mary Ann"], "Mary\nAnn, MaryAnn", [(0, 8, {"Mary Ann"})]),
        (["田中 太郎"], "田中\n太郎", []),
        (["山田", "田中"], "山田中", [(0, 2, {"山田"})]),
        (["…"], "a…b", [(1, 2, {"…"})]),
    ],
)
def test_the_oracle_knows_the_rules(names: list[str], text: str, expected: list[tuple[int, int, set[str]]]) -> None:
    found = oracle_mentions([(name, name) for name in names], text)

    assert found == [(start, end, frozenset(ids)) for start, end, ids in expected]


def test_the_oracle_gives_all_entities_of_a_shared_name() -> None:
    assert oracle_mentions([("先生", "char_1"), ("先生", "char_2")], "先生") == [
        (0, 2, frozenset({"char_1", "char_2"}))
    ]


# The sample book


@pytest.mark.parametrize("file", ["chapter_3.ja.txt", "chapter_5.zh.txt"])
def test_both_agree_on_a_chapter_of_the_sample_book(file: str) -> None:
    text = (SAMPLE / file).read_text(encoding="utf-8")

    found = matcher_mentions([*NAMES, *TRANSLATIONS], text)

    assert found == oracle_mentions([*NAMES, *TRANSLATIONS], text)
    assert len(found) > 30


@pytest.mark.parametrize("names", [NAMES, TRANSLATIONS, [*NAMES, *TRANSLATIONS]])
def test_both_agree_on_every_memory_of_the_sample_book(names: list[tuple[str, str]]) -> None:
    texts = [text for memory in BOOK["memories"] for text in (memory["summary"], memory["content"])]

    found = [matcher_mentions(names, text) for text in texts]

    assert found == [oracle_mentions(names, text) for text in texts]
    assert sum(map(len, found)) > 50


def test_both_agree_on_the_sample_book_as_one_text() -> None:
    text = "\n".join(
        [
            *(memory["content"] for memory in BOOK["memories"]),
            (SAMPLE / "chapter_3.ja.txt").read_text(encoding="utf-8"),
            (SAMPLE / "chapter_5.zh.txt").read_text(encoding="utf-8"),
        ]
    )

    assert matcher_mentions(NAMES, text) == oracle_mentions(NAMES, text)


# Generated text: many names that overlap, in texts that are made of them

NAME_PARTS = [
    *"田中太郎山たろうタロウアンー",
    "ｱ",
    "ﾝ",
    "ﾊﾞ",
    "Ann",
    "Mary",
    "ann",
    "Ａ",
    "é",
    "e\u0301",
    "ß",
    "3",
    "金",
    "🧙",
    "𠮷",
]
SEPARATORS = ["・", "＝", " ", "　", "·", "\u00a0", "･"]
BETWEEN = [*SEPARATORS, "\n", "\r\n", "  ", "    ", "。", "は", "s", "ー", "ナ", "…", "-", "\u0301", "\u3099", "ﾞ", "㍿"]
READINGS = ["（う）", "《たろう》", "(アン)", "（タ・ロ）", "〔ｱﾝ〕", "（田中）", "（", "）", "《", "（う"]


def a_name(chance: random.Random) -> str:
    parts = [chance.choice(NAME_PARTS) for _ in range(chance.randint(1, 4))]
    return "".join(part + (chance.choice(SEPARATORS) if chance.random() < 0.15 else "") for part in parts)


def a_text(chance: random.Random, names: Sequence[str]) -> str:
    pieces = []
    for _ in range(chance.randint(0, 25)):
        piece = chance.choice(names) if chance.random() < 0.7 else chance.choice(NAME_PARTS)
        if chance.random() < 0.3:
            cut = chance.randint(0, len(piece))
            piece = piece[:cut] + chance.choice([*BETWEEN, *READINGS]) + piece[cut:]
        if chance.random() < 0.2:
            piece = piece.upper()
        pieces.append(piece + (chance.choice([*BETWEEN, *READINGS]) if chance.random() < 0.4 else ""))
    return "".join(pieces)


@pytest.mark.parametrize("seed", range(10))
def test_both_agree_on_generated_text(seed: int) -> None:
    chance = random.Random(seed)
    spans = 0
    for _ in range(300):
        names = [(a_name(chance), f"char_{chance.randint(0, 8)}") for _ in range(chance.randint(1, 12))]
        text = a_text(chance, [name for name, _ in names])

        found = matcher_mentions(names, text)

        assert found == oracle_mentions(names, text), (names, text)
        spans += len(found)
    assert spans > 1_000


@pytest.mark.parametrize("seed", range(3))
def test_both_agree_on_a_long_generated_text(seed: int) -> None:
    chance = random.Random(seed)
    names = [(a_name(chance), f"char_{number}") for number in range(150)]
    text = "".join(a_text(chance, [name for name, _ in names]) for _ in range(200))

    assert matcher_mentions(names, text) == oracle_mentions(names, text)
