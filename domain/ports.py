"""What the domain asks of the outside; every store is already bound to one owner."""

from abc import abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

from domain.entities import Book, Entity, EntityRef, EntityType
from domain.extraction import Learned
from domain.memories import Memory
from domain.mentions import Name
from domain.notebook import Insertion, KeptVersion, NotebookFile
from domain.paging import Page, PageRequest
from domain.search import Filters, Found, IndexStatus
from domain.sessions import Message

T = TypeVar("T")

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Listing:
    """Which of a book's entities are asked for; an empty `name_contains` asks for all."""

    type: EntityType
    name_contains: str = ""


@dataclass(frozen=True, slots=True)
class ChunkFrame:
    """The versions change with the book's names, its memories' texts, and what these are attached to."""

    book: Book
    names_version: str
    texts_version: str
    links_version: str
    chapter_number: int | None


@dataclass(frozen=True, slots=True)
class ForemostAttached:
    """Memories of each entity, pinned first, then newest access; and all attachments of each of them."""

    memories: Mapping[EntityRef, tuple[Memory, ...]]
    attachments: Mapping[str, tuple[EntityRef, ...]]


class GraphReader(Protocol):
    """Batched reads. Keys without an answer are absent from the mapping."""

    @abstractmethod
    async def entities(self, refs: Collection[EntityRef]) -> Mapping[EntityRef, Entity]: ...

    @abstractmethod
    async def books(self, page: PageRequest) -> Page[Book]:
        """In the order they were created."""

    @abstractmethod
    async def count_books(self) -> int: ...

    @abstractmethod
    async def entities_of(
        self, book_ids: Collection[str], listing: Listing, page: PageRequest
    ) -> Mapping[str, Page[Entity]]:
        """Chapters by number, others in the order they were created."""

    @abstractmethod
    async def count_entities_of(self, book_ids: Collection[str], listing: Listing) -> Mapping[str, int]: ...

    @abstractmethod
    async def memories(self, memory_ids: Collection[str]) -> Mapping[str, Memory]: ...

    @abstractmethod
    async def attachments(self, memory_ids: Collection[str]) -> Mapping[str, tuple[EntityRef, ...]]:
        """In the order they were attached."""

    @abstractmethod
    async def memories_of(self, book_ids: Collection[str], page: PageRequest) -> Mapping[str, Page[Memory]]:
        """Every memory of each book, newest access first."""

    @abstractmethod
    async def count_memories_of(self, book_ids: Collection[str]) -> Mapping[str, int]: ...

    @abstractmethod
    async def attached_to(self, refs: Collection[EntityRef], page: PageRequest) -> Mapping[EntityRef, Page[Memory]]:
        """Newest access first."""

    @abstractmethod
    async def count_attached_to(self, refs: Collection[EntityRef]) -> Mapping[EntityRef, int]: ...

    @abstractmethod
    async def attached_to_any(self, book_id: str, refs: Collection[EntityRef], page: PageRequest) -> Page[Memory]:
        """Each memory once, newest access first."""

    @abstractmethod
    async def count_attached_to_any(self, book_id: str, refs: Collection[EntityRef]) -> int: ...

    @abstractmethod
    async def foremost_attached(
        self, refs: Collection[EntityRef], limit: int, chapter_number: int | None = None
    ) -> ForemostAttached:
        """Of each entity; with a chapter, what may be told there."""

    @abstractmethod
    async def foremost_hidden(self, refs: Collection[EntityRef], limit: int, chapter_number: int) -> ForemostAttached:
        """Of each entity, what may not be told in the chapter."""

    @abstractmethod
    async def chunk_frame(self, book_id: str, chapter_id: str | None) -> ChunkFrame | None:
        """None without such a book."""

    @abstractmethod
    async def names(self, book_id: str) -> tuple[Name, ...]:
        """Of all characters and terms."""

    @abstractmethod
    async def chapter_with_number(self, book_id: str, number: int) -> str | None: ...


class GraphWriter(GraphReader, Protocol):
    """Reads and writes inside one transaction."""

    @abstractmethod
    async def add_entity(self, entity: Entity) -> None: ...

    @abstractmethod
    async def replace_entity(self, entity: Entity) -> None: ...

    @abstractmethod
    async def delete_entity(self, ref: EntityRef) -> None:
        """Also detaches it, and with a book goes all it owns."""

    @abstractmethod
    async def add_memories(self, memories: Sequence[Memory]) -> None: ...

    @abstractmethod
    async def replace_memory(self, memory: Memory) -> None: ...

    @abstractmethod
    async def delete_memory(self, memory_id: str) -> None: ...

    @abstractmethod
    async def attach(self, refs_of: Mapping[str, Collection[EntityRef]]) -> None:
        """By memory id; what is attached already stays as it is."""

    @abstractmethod
    async def detach(self, memory_ids: Collection[str], refs: Collection[EntityRef]) -> None:
        """A memory left with none is attached to its book."""

    @abstractmethod
    async def reattach(self, memory_id: str, refs: Collection[EntityRef]) -> None:
        """Replaces all attachments of the memory."""


class GraphStore(GraphReader, Protocol):
    @abstractmethod
    async def write(self, work: Callable[[GraphWriter], Awaitable[T]]) -> T:
        """Runs `work` in one transaction: its answer is durable, or nothing of it happened."""


@dataclass(frozen=True, slots=True)
class Related:
    """The entities of one chunk; those in `named` bring up memories by their names as well."""

    refs: tuple[EntityRef, ...]
    named: tuple[EntityRef, ...] = ()


@dataclass(frozen=True, slots=True)
class KeywordMatches:
    """`memories` as `foremost_named` has them; `naming` tells for these and for those found already in which of them a
    name of each entity stands; `totals` how many memories each group brings up that may be told in the chapter."""

    memories: Mapping[EntityRef, tuple[Memory, ...]]
    naming: Mapping[EntityRef, frozenset[str]]
    totals: tuple[int, ...]


class KeywordIndex(Protocol):
    """Finds memories by the words in them."""

    @abstractmethod
    async def foremost_named(
        self, book_id: str, refs: Collection[EntityRef], limit: int, chapter_number: int | None = None
    ) -> Mapping[EntityRef, tuple[Memory, ...]]:
        """Of each entity, the memories in whose text one of its names stands; pinned first, then newest access.

        With a chapter, by names known there, and what may be told there.
        """

    @abstractmethod
    async def foremost_named_hidden(
        self, book_id: str, refs: Collection[EntityRef], limit: int, chapter_number: int
    ) -> Mapping[EntityRef, tuple[Memory, ...]]:
        """By names known in the chapter, what may not be told there."""

    @abstractmethod
    async def matches(
        self, frame: ChunkFrame, groups: Sequence[Related], limit: int, attached: Collection[str]
    ) -> KeywordMatches:
        """For groups of entities; `attached` are memories of theirs that are found already."""

    @abstractmethod
    async def matching(self, book_id: str, query: str, limit: int) -> tuple[str, ...]:
        """Ids of the memories whose summary or content contains the query; at most `limit`."""


class AccessLog(Protocol):
    @abstractmethod
    def record(self, id: str, at: datetime) -> None:
        """Noted at once, written within a second."""


class NotebookStore(Protocol):
    """Markdown files that people edit as well; paths are relative to the notebook. Disk errors are domain errors."""

    @abstractmethod
    async def paths(self) -> tuple[str, ...]:
        """Of all files there are: MEMORY.md, then the daily logs, the newest day first."""

    @abstractmethod
    async def read(self, path: str) -> NotebookFile | None:
        """None without such a file."""

    @abstractmethod
    async def insert(self, path: str, place: Callable[[bytes], Insertion]) -> NotebookFile:
        """Durable when it answers; a crash leaves the whole of it or nothing.

        `place` sees the file as it is at that moment, empty when there is none. It runs in a thread, and once more
        when a person saves the file at the same time.
        """

    @abstractmethod
    async def replace(self, path: str, content: str, expected: str | None) -> NotebookFile:
        """What stood there is kept as a version; unless it is the expected one, StaleVersionError."""

    @abstractmethod
    async def restore(self, path: str, version: str, expected: str | None) -> NotebookFile:
        """Replaces the file by a version that was kept, byte for byte."""

    @abstractmethod
    async def versions(self, path: str) -> tuple[KeptVersion, ...]:
        """What was kept of the file, last replaced first."""

    @abstractmethod
    async def version(self, path: str, version: str) -> NotebookFile | None:
        """As it was kept, or as it is now."""


class SearchIndex(Protocol):
    @abstractmethod
    async def find(self, query: str, filters: Filters) -> Found:
        """The candidates of a search, with everything in them that was written before it."""


class IndexControl(Protocol):
    """The state of the search index, and building it anew."""

    @abstractmethod
    async def status(self) -> IndexStatus: ...

    @abstractmethod
    def status_changes(self) -> AsyncGenerator[IndexStatus, None]:
        """The present status at once, then every change; a slow reader misses steps, never the last."""

    @abstractmethod
    async def rebuild(self) -> IndexStatus:
        """Begins in the background; while one is running, nothing more happens."""


# A unit vector of 32-bit floats, little-endian, one after another.
Vector = bytes


class Embedder(Protocol):
    @property
    @abstractmethod
    def identity(self) -> str:
        """Vectors of two identities are never compared."""

    @abstractmethod
    async def embed(self, texts: Sequence[str]) -> tuple[Vector, ...]:
        """One vector for each text, all of one length; raises EmbedderUnavailableError."""

    @abstractmethod
    async def close(self) -> None: ...


class Extractor(Protocol):
    """Finds what a conversation says that is worth remembering."""

    @abstractmethod
    async def extract(self, messages: Sequence[Message]) -> tuple[Learned, ...]:
        """Each once, in the order it was said; raises ExtractorUnavailableError, and then nothing was learned."""

    @abstractmethod
    async def close(self) -> None: ...
