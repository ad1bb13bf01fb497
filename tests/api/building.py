"""What an API test needs before it starts, and how it looks at everything that is stored."""

import asyncio
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from api.composition import Service
from api.settings import LOCAL_OWNER, Settings
from domain.search import Filters
from tests.serving import Client, Server, running

Ref = dict[str, str]

# Lists and counts only: looking at a memory this way does not count as an access.
EVERYTHING = """{
  facts(first: 50) { nodes { id key value confidence accessCount history { value } } }
  workingMemory(sessionId: "s_1") { currentTopic contextVariables turnCount updatedAt }
  memorySettings { enabled retrievalLimit evictionThreshold }
  notebook { content }
  dailyLogs(first: 5) { nodes { path content } }
  notebookVersions(first: 5) { nodes { version } }
  books(first: 5) {
    totalCount
    nodes {
      id name contextLimit
      characters(first: 50) {
        totalCount
        nodes {
          id name aliases { name translation revealedInChapter }
          translation description gender speakingStyle notes
        }
      }
      terms(first: 50) {
        totalCount
        nodes { id name aliases { name translation revealedInChapter } translation description notes }
      }
      chapters(first: 50) { totalCount nodes { id name number } }
      memories(first: 50) {
        totalCount
        nodes {
          id content summary isPinned validFromChapter validUntilChapter
          createdAt updatedAt lastAccessedAt accessCount attachedTo { type id }
        }
      }
    }
  }
}"""

ATTACHMENTS = (
    """query($book: ID!) { book(id: $book) { memories(first: 100) { nodes { id attachedTo { type id } } } } }"""
)


MAX_OWNERS = 1000


@dataclass(frozen=True)
class Owners:
    """One server for many tests: starting one takes longer than most of them."""

    server: Server
    numbers: Iterator[int]

    def next_client(self) -> AbstractContextManager[Client]:
        """Of an owner who has nothing yet."""
        return self.server.client(f"token-{next(self.numbers)}")


@contextmanager
def serving_owners(data_dir: Path) -> Iterator[Owners]:
    tokens = {f"token-{number}": f"owner-{number}" for number in range(MAX_OWNERS)}
    with running(Settings(data_dir=data_dir, tokens=tokens)) as server:
        yield Owners(server, count())


def ref(type: str, id: str) -> Ref:
    return {"type": type, "id": id}


def a_book(client: Client, id: str | None = None, **fields: Any) -> str:
    return _created(client, "createBook", "book", {"id": id, "name": "砂の道"} | fields)


def a_character(client: Client, book: str, id: str | None = None, **fields: Any) -> str:
    return _created(client, "createCharacter", "character", {"id": id, "bookId": book, "name": "田中太郎"} | fields)


def a_term(client: Client, book: str, id: str | None = None, **fields: Any) -> str:
    return _created(client, "createTerm", "term", {"id": id, "bookId": book, "name": "魔石"} | fields)


def a_chapter(client: Client, book: str, id: str | None = None, **fields: Any) -> str:
    return _created(
        client, "createChapter", "chapter", {"id": id, "bookId": book, "name": "海へ", "number": 1} | fields
    )


def a_memory(client: Client, book: str, id: str | None, *refs: Ref, **fields: Any) -> str:
    given = {"id": id, "bookId": book, "content": "全文", "summary": "要点", "attachedTo": list(refs)}
    return _created(client, "createMemory", "memory", given | fields)


def import_memories(client: Client, book: str, *memories: dict[str, Any]) -> None:
    """Each is `{"id": …}` and whatever else matters."""
    given = [{"content": "全文", "summary": "要点"} | memory for memory in memories]
    payload = client.mutate("importMemories", "memories { id }", bookId=book, memories=given)
    assert payload["problems"] == []


def everything(client: Client) -> Any:
    """All that the owner has, to compare before and after: the books, and beside them notebook and chat memory."""
    answer = client.ask(EVERYTHING)
    chat = {name: answer.pop(name) for name in ("facts", "workingMemory", "memorySettings")}
    return answer.pop("books") | {"notebook": answer, "chat": chat}


def attachments(client: Client, book: str) -> dict[str, list[Ref]]:
    """By memory id."""
    memories = client.ask(ATTACHMENTS, book=book)["book"]["memories"]["nodes"]
    return {memory["id"]: memory["attachedTo"] for memory in memories}


def attached_ids(client: Client, type: str, id: str) -> list[str]:
    """What the entity itself shows."""
    field = type.lower()
    query = f"query($id: ID!) {{ {field}(id: $id) {{ attachedMemories(first: 100) {{ nodes {{ id }} }} }} }}"
    return [memory["id"] for memory in client.ask(query, id=id)[field]["attachedMemories"]["nodes"]]


def _created(client: Client, mutation: str, field: str, fields: dict[str, Any]) -> str:
    payload = client.mutate(mutation, f"{field} {{ id }}", **fields)
    assert payload["problems"] == []
    id_: str = payload[field]["id"]
    return id_


async def write_down_reads(service: Service, statements: list[str]) -> None:
    """But for the look whether anything has changed, which the index takes all the time.

    Sessions that have ended are looked for as well: let `sweep_seconds` be long.
    """

    def note(statement: str) -> None:
        if "sqlite_sequence" not in statement:
            statements.append(statement)

    for reader in service.engine._readers:
        await reader.set_trace_callback(note)
    service.engine._at_hand.set_trace_callback(note)


async def bring_index_up(service: Service) -> None:
    """So that it does not read meanwhile, at its own time."""
    await service.use_cases(LOCAL_OWNER).search.run("何か", 1, Filters())
    # A search waits for it only so long.
    await asyncio.gather(*(task for task in asyncio.all_tasks() if task.get_name() == "index-catch-up"))
