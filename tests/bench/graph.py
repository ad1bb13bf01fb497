"""GraphQL against a plain route: book → 20 characters → 5 attached memories each."""

import asyncio
import tempfile
from pathlib import Path

import orjson

from api.composition import DATABASE, open_service
from api.settings import LOCAL_OWNER, Settings
from domain.entities import Book, Character
from domain.memories import MemoryDraft
from tests.bench import load
from tests.bench.table import Table

CHARACTERS = 20
MEMORIES_EACH = 50
GOAL = 0.25

QUERY = """
query ($id: ID!) {
  book(id: $id) {
    id name
    characters(first: 20) {
      nodes { id name translation attachedMemories(first: 5) { nodes { id summary lastAccessedAt } } }
    }
  }
}"""


def run() -> Table:
    with tempfile.TemporaryDirectory() as folder:
        data_dir = Path(folder)
        asyncio.run(_fill(data_dir))
        body = orjson.dumps({"query": QUERY, "variables": {"id": "book"}})
        graphql = load.Target("GraphQL", 8801, load.http_post("/graphql", body))
        plain = load.Target("plain route", 8802, load.http_get("/books/book"))
        plain_command = ["-m", "tests.bench.plain_route", str(data_dir / DATABASE), str(plain.port)]
        with (
            load.serving(["-m", "api.main", "serve", "--port", str(graphql.port)], graphql.port, data_dir),
            load.serving(plain_command, plain.port, data_dir),
        ):
            assert orjson.loads(load.answer(graphql)) == orjson.loads(load.answer(plain)), "the answers differ"
            rates = load.rates([graphql, plain])
    ratio = rates["GraphQL"] / rates["plain route"]
    return Table(
        "Book → 20 characters → 5 memories each, requests per second",
        ("GraphQL", "plain route, same SQL and JSON", "ratio", "goal"),
        [(f"{rates['GraphQL']:.0f}", f"{rates['plain route']:.0f}", f"{ratio:.2f}", f"≥ {GOAL}")],
    )


async def _fill(data_dir: Path) -> None:
    characters = [Character(f"char_{i}", "book", f"人物{i}", translation=f"Person {i}") for i in range(CHARACTERS)]
    drafts = [
        MemoryDraft(
            f"{each.id}_mem_{i}", "book", "他在第三章里把信藏在钟后面。" * 8, f"{each.name}的第{i}件事", (each.ref,)
        )
        for each in characters
        for i in range(MEMORIES_EACH)
    ]
    async with open_service(Settings(data_dir=data_dir)) as service:
        await service.use_cases(LOCAL_OWNER).book_import.run(Book("book", "引き潮"), characters, drafts)
