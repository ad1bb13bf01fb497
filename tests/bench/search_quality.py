"""How well search finds what is meant: questions with known answers, beside a plain FTS5 and bm25s."""

import asyncio
import json
import math
import random
import re
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import bm25s  # type: ignore[import-untyped]

from api.composition import Service, open_service
from api.settings import LOCAL_OWNER, Settings
from domain.entities import Book
from domain.limits import BULK_LIMIT
from domain.memories import MemoryDraft
from domain.search import Filters, SearchEngine
from persistence import sqlite
from tests.bench.table import Table

HITS = 10
QUESTIONS = 1_000
SUMMARY_LENGTH = 20

# What a prototype reached.
GOALS: Mapping[tuple[str, str], str] = {
    ("MADial zh", "KEYWORD"): "recall@10 ≥ 0.50",
    ("MADial zh", "HYBRID"): "recall@10 ≥ 0.60",
    ("MADial en", "HYBRID"): "recall@10 ≥ 0.59",
    ("CMRC 2018", "KEYWORD"): "recall@5 ≥ 0.99",
    ("CMRC 2018", "HYBRID"): "recall@5 ≥ 0.99",
    ("JSQuAD", "KEYWORD"): "recall@5 ≥ 0.92",
    ("JSQuAD", "HYBRID"): "recall@5 ≥ 0.92",
}

_SPOKEN = re.compile(r'<\w+>: ?"(.*)"\n')
_WORD = re.compile(r"\w+")

# The ids of the best documents for a question, best first.
Answer = Sequence[int]


@dataclass(frozen=True)
class Question:
    text: str
    gold: frozenset[int]


@dataclass(frozen=True)
class Questions:
    """A set of documents, numbered as they stand, and questions with those that answer them."""

    title: str
    documents: tuple[str, ...]
    asked: tuple[Question, ...]


def run(data: Path) -> Table:
    sets = [_madial(data, "zh"), _madial(data, "en"), *_squad_sets(data)]
    found: dict[str, dict[str, list[Answer]]] = {
        "FTS5 `unicode61`": {each.title: list(_plain_fts5(each)) for each in sets},
        "bm25s": {each.title: list(_bm25s(each)) for each in sets},
        "KEYWORD": {each.title: _searched([each], "none")[each.title] for each in sets},
        "HYBRID": {each.title: _searched([each], "use")[each.title] for each in sets},
        "HYBRID, the four books in one library": _searched(sets, "use"),
    }
    rows = [
        (each.title, way, *_scores(each.asked, answers[each.title]), GOALS.get((each.title, way), ""))
        for each in sets
        for way, answers in found.items()
    ]
    return Table(
        f"Search quality, within the book, {HITS} hits; CMRC and JSQuAD: {QUESTIONS:,} of their questions",
        ("questions", "search", "recall@5", "recall@10", "nDCG@10", "goal"),
        rows,
    )


def _madial(data: Path, language: str) -> Questions:
    """Dialogues up to the turn that should recall something, without the names of who speaks."""
    folder = data / "madial"
    events: dict[str, str] = {}
    for line in _lines(folder / f"MADial-Bench-{language}-memory.json"):
        events |= {id_: memory["event"] for id_, memory in json.loads(line).items()}
    numbers = {id_: number for number, id_ in enumerate(events)}
    dialogues = [json.loads(line) for line in _lines(folder / f"MADial-Bench-{language}-dialogue.json")]
    asked = tuple(
        Question(
            _SPOKEN.sub(r"\1\n", "".join(each["dialogue"][1 : each["test-turn"][0]])),
            frozenset(numbers[str(id_)] for id_ in each["relevant-id"]),
        )
        for each in dialogues
    )
    return Questions(f"MADial {language}", tuple(events.values()), asked)


def _squad_sets(data: Path) -> Iterator[Questions]:
    for title, path in (("CMRC 2018", "cmrc2018/cmrc2018_dev.json"), ("JSQuAD", "jsquad/valid-v1.3.json")):
        articles = json.loads((data / path).read_text(encoding="utf-8"))["data"]
        paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
        asked = [
            Question(question["question"], frozenset({number}))
            for number, paragraph in enumerate(paragraphs)
            for question in paragraph["qas"]
        ]
        yield Questions(
            title,
            # JSQuAD joins the title of an article and its text by this mark.
            tuple(paragraph["context"].replace(" [SEP] ", "\n") for paragraph in paragraphs),
            tuple(random.Random(7).sample(asked, QUESTIONS)),
        )


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def _searched(sets: Sequence[Questions], embedder: Literal["use", "none"]) -> dict[str, list[Answer]]:
    return asyncio.run(_search_all(sets, embedder))


async def _search_all(sets: Sequence[Questions], embedder: Literal["use", "none"]) -> dict[str, list[Answer]]:
    """Each set is a book of a service of its own, asked through the use cases that the API calls."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_service(Settings(data_dir=Path(folder), embedder=embedder)) as service:
            for each in sets:
                await _import(service, each)
            await _wait_until_indexed(service, sum(len(each.documents) for each in sets))
            engine = SearchEngine.KEYWORD if embedder == "none" else SearchEngine.HYBRID
            return {each.title: [await _ask(service, each, one, engine) for one in each.asked] for each in sets}


async def _import(service: Service, questions: Questions) -> None:
    use_cases = service.use_cases(LOCAL_OWNER)
    await use_cases.entities.create(Book(_book_id(questions), questions.title))
    drafts = [
        # A summary that stands in the content adds nothing to what is searched.
        MemoryDraft(_memory_id(questions, number), _book_id(questions), text, text[:SUMMARY_LENGTH])
        for number, text in enumerate(questions.documents)
    ]
    for start in range(0, len(drafts), BULK_LIMIT):
        await use_cases.memories.import_all(drafts[start : start + BULK_LIMIT])


async def _wait_until_indexed(service: Service, documents: int) -> None:
    use_cases = service.use_cases(LOCAL_OWNER)
    # A search brings the index up to the newest change.
    await use_cases.search.run("?", 1, Filters())
    async for status in use_cases.index.status_changes():
        if status.documents == documents and not status.unembedded:
            return


async def _ask(service: Service, questions: Questions, question: Question, engine: SearchEngine) -> Answer:
    search = service.use_cases(LOCAL_OWNER).search
    result = await search.run(question.text, HITS, Filters(book_id=_book_id(questions)))
    assert result.engine is engine, f"searched by {result.engine}"
    return [int(hit.id.rpartition("-")[2]) for hit in result.hits]


def _book_id(questions: Questions) -> str:
    return questions.title.replace(" ", "_")


def _memory_id(questions: Questions, number: int) -> str:
    return f"{_book_id(questions)}-{number}"


def _plain_fts5(questions: Questions) -> Iterator[Answer]:
    """As one would write it at first: the texts as they are, any word of the question."""
    with tempfile.TemporaryDirectory() as folder:
        db = sqlite.open_connection(Path(folder) / "plain.db", read_only=False)
        db.execute("CREATE VIRTUAL TABLE plain USING fts5 (text, tokenize = unicode61)")
        db.executemany("INSERT INTO plain (rowid, text) VALUES (?, ?)", enumerate(questions.documents))
        for question in questions.asked:
            match = " OR ".join(f'"{word}"' for word in dict.fromkeys(_WORD.findall(question.text)))
            rows = db.execute("SELECT rowid FROM plain WHERE plain MATCH ? ORDER BY rank LIMIT ?", (match, HITS))
            yield [number for (number,) in rows]
        db.close()


def _bm25s(questions: Questions) -> Iterator[Answer]:
    """With its own tokenizer and its English stop words."""
    cut: Callable[..., list[list[str]]] = bm25s.tokenize
    retriever = bm25s.BM25()
    retriever.index(
        cut(list(questions.documents), stopwords="en", return_ids=False, show_progress=False), show_progress=False
    )
    for question in questions.asked:
        (words,) = cut([question.text], stopwords="en", return_ids=False, show_progress=False)
        known = [word for word in words if word in retriever.vocab_dict]
        scores = retriever.get_scores(known).tolist() if known else []
        best = sorted(range(len(scores)), key=lambda number: (-scores[number], number))[:HITS]
        yield [number for number in best if scores[number] > 0]


def _scores(asked: Sequence[Question], answers: Sequence[Answer]) -> tuple[str, ...]:
    pairs = list(zip(asked, answers, strict=True))
    means = (
        statistics.mean(_recall(question, answer, 5) for question, answer in pairs),
        statistics.mean(_recall(question, answer, 10) for question, answer in pairs),
        statistics.mean(_ndcg(question, answer) for question, answer in pairs),
    )
    return tuple(f"{mean:.3f}" for mean in means)


def _recall(question: Question, answer: Answer, hits: int) -> float:
    return len(question.gold.intersection(answer[:hits])) / len(question.gold)


def _ndcg(question: Question, answer: Answer) -> float:
    gained = sum(_gain(place) for place, number in enumerate(answer[:HITS]) if number in question.gold)
    return gained / sum(map(_gain, range(min(HITS, len(question.gold)))))


def _gain(place: int) -> float:
    return 1 / math.log2(place + 2)
