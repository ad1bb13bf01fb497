"""What search knows of a memory, a fact or a passage: its text, and the context it is found by as well."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from domain.entities import EntityRef
from domain.facts import Fact, fact_text
from domain.memories import Memory
from domain.notebook import Passage
from domain.search import SearchSource

_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Document:
    """`at` is a moment, `day` a day of the calendar; what has neither is in no search between dates."""

    source: SearchSource
    id: str
    text: str
    context: str = ""
    book_id: str | None = None
    attached_to: tuple[EntityRef, ...] = ()
    at: datetime | None = None
    day: date | None = None
    path: str | None = None
    line: int | None = None

    @property
    def meaning(self) -> str:
        """What is embedded. Names of what a memory hangs on would only blur what it says."""
        return self.text if self.source is SearchSource.MEMORY or not self.context else f"{self.context}\n{self.text}"

    @property
    def digest(self) -> bytes:
        return hashlib.blake2b(self.meaning.encode("utf-8", "replace"), digest_size=_DIGEST_BYTES).digest()


def memory_text(memory: Memory) -> str:
    return memory.content if memory.summary in memory.content else f"{memory.summary}\n{memory.content}"


def memory_document(memory: Memory, attached_to: tuple[EntityRef, ...], names: Sequence[str]) -> Document:
    """A memory is also found by the names of what it is attached to."""
    return Document(
        SearchSource.MEMORY,
        memory.id,
        memory_text(memory),
        "\n".join(dict.fromkeys(names)),
        book_id=memory.book_id,
        attached_to=attached_to,
        at=memory.created_at,
    )


def fact_document(fact: Fact) -> Document:
    return Document(SearchSource.FACT, fact.id, fact_text(fact), at=fact.created_at)


def passage_documents(path: str, day: date | None, passages: Sequence[Passage]) -> tuple[Document, ...]:
    """A passage keeps its id while its text stays, wherever in the file it moves; equal ones go by their order."""
    documents = []
    seen: dict[str, int] = {}
    for passage in passages:
        digest = hashlib.blake2b(passage.text.encode("utf-8", "replace"), digest_size=8).hexdigest()
        seen[digest] = seen.get(digest, 0) + 1
        id_ = f"{path}#{digest}" if seen[digest] == 1 else f"{path}#{digest}-{seen[digest]}"
        context = " / ".join((*((day.isoformat(),) if day else ()), *passage.headings))
        documents.append(
            Document(SearchSource.NOTEBOOK, id_, passage.text, context, day=day, path=path, line=passage.line)
        )
    return tuple(documents)
