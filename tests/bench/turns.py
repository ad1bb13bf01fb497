"""Turns that are recorded in a second over HTTP, beside a plain durable INSERT of the same messages."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import orjson

from persistence import sqlite
from tests.bench import load
from tests.bench.invented_facts import Talk
from tests.bench.table import Table

CLIENTS = (1, 8, 64)
SECONDS = 3.0
ROUNDS = 5
PORT = 8803
FACT_EVERY = 10
# Said again after so many turns; they are not what is measured.
DIFFERENT = 1_000
QUESTION_WORDS = 12
ANSWER_WORDS = 40

MUTATION = """
mutation ($input: RecordTurnInput!) {
  recordTurn(input: $input) { workingMemory { turnCount } factWrites { outcome } problems { code } }
}"""

_TABLE = """
    CREATE TABLE message (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT NOT NULL)"""
_INSERT = "INSERT INTO message (session_id, role, content) VALUES (?, ?, ?)"

# Tells turns of one session until a moment, and answers how many.
Client = Callable[[str, float], Awaitable[int]]


class Turns:
    """Each is another one, with a question and an answer; every tenth has a fact that was not known before."""

    def __init__(self) -> None:
        talk = Talk()
        self._said = [
            (talk.message(number, QUESTION_WORDS), talk.message(number, ANSWER_WORDS)) for number in range(DIFFERENT)
        ]
        self._numbers = count()

    def of(self, session_id: str) -> Iterator[dict[str, Any]]:
        for number in self._numbers:
            question, answer = self._said[number % DIFFERENT]
            analysis: dict[str, Any] = {"currentTopic": question[:20]}
            if number % FACT_EVERY == 0:
                analysis["memoryUpdate"] = {"shouldStore": True, "key": f"question {number}", "value": question}
            yield {
                "sessionId": session_id,
                "turnId": str(number),
                "messages": [{"role": "USER", "content": question}, {"role": "ASSISTANT", "content": answer}],
                "analysis": analysis,
            }


@dataclass
class PlainInserts:
    """One transaction, and so one fsync, for all who waited while the last one was written."""

    db: sqlite.Connection
    _waiting: list[tuple[Sequence[Sequence[str]], asyncio.Future[None]]] = field(default_factory=list)
    _writing: asyncio.Task[None] | None = None

    async def put(self, rows: Sequence[Sequence[str]]) -> None:
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((rows, done))
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_while_some_wait())
        await done

    async def _write_while_some_wait(self) -> None:
        while group := self._waiting:
            self._waiting = []
            await asyncio.to_thread(self._commit, [row for rows, _ in group for row in rows])
            for _, done in group:
                done.set_result(None)
        self._writing = None

    def _commit(self, rows: Sequence[Sequence[str]]) -> None:
        self.db.execute("BEGIN IMMEDIATE")
        self.db.executemany(_INSERT, rows)
        self.db.execute("COMMIT")


def run() -> Table:
    turns = Turns()
    recorded: dict[int, list[float]] = {clients: [] for clients in CLIENTS}
    inserted: dict[int, list[float]] = {clients: [] for clients in CLIENTS}
    # Not where the system keeps what is temporary: that may be no disk.
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        plain = PlainInserts(_open_plain(Path(folder) / "plain.db"))
        command = ["-m", "api.main", "serve", "--port", str(PORT)]
        with load.serving(command, PORT, Path(folder) / "data"):
            asyncio.run(_rate(1, _over_http(turns)))
            for _ in range(ROUNDS):
                for clients in CLIENTS:
                    recorded[clients].append(asyncio.run(_rate(clients, _over_http(turns))))
                    inserted[clients].append(asyncio.run(_rate(clients, _plainly(turns, plain))))
        plain.db.close()
    return Table(
        f"Turns per second: two messages each, a fact in every {FACT_EVERY}th (synchronous=FULL)",
        ("clients at once", "recordTurn over HTTP", "plain INSERT with group commit, no HTTP", "ratio"),
        [
            _row(clients, statistics.median(recorded[clients]), statistics.median(inserted[clients]))
            for clients in CLIENTS
        ],
    )


async def _rate(clients: int, client: Client) -> float:
    started = time.perf_counter()
    sessions = [f"session-{started}-{number}" for number in range(clients)]
    told = sum(await asyncio.gather(*(client(session, started + SECONDS) for session in sessions)))
    return told / (time.perf_counter() - started)


def _over_http(turns: Turns) -> Client:
    async def tell(session_id: str, until: float) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
        told = 0
        for turn in turns.of(session_id):
            if time.perf_counter() >= until:
                break
            body = orjson.dumps({"query": MUTATION, "variables": {"input": turn}})
            writer.write(load.http_post("/graphql", body))
            payload = orjson.loads(await load.read_response(reader))["data"]["recordTurn"]
            assert not payload["problems"], payload
            told += 1
        writer.close()
        return told

    return tell


def _plainly(turns: Turns, plain: PlainInserts) -> Client:
    async def tell(session_id: str, until: float) -> int:
        told = 0
        for turn in turns.of(session_id):
            if time.perf_counter() >= until:
                break
            await plain.put([(session_id, each["role"], each["content"]) for each in turn["messages"]])
            told += 1
        return told

    return tell


def _open_plain(path: Path) -> sqlite.Connection:
    db = sqlite.open_connection(path, read_only=False)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute(_TABLE)
    return db


def _row(clients: int, recorded: float, inserted: float) -> tuple[str, ...]:
    return str(clients), f"{recorded:.0f}", f"{inserted:.0f}", f"{recorded / inserted:.3f}"
