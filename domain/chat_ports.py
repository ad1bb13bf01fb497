"""What chat memory asks of the outside; every store is already bound to one owner."""

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Protocol, TypeVar

from domain.facts import Fact, FactCategory, WriteOutcome
from domain.flush import Flush
from domain.paging import Page, PageRequest
from domain.segmentation import QueryTerms
from domain.sessions import Learning, Message, WorkingMemory
from domain.values import Json

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Session:
    """What outlives the working memory: where it is in its compaction cycle, and how far it was learned from."""

    id: str
    flush: Flush = field(default_factory=Flush)
    learning: Learning = field(default_factory=Learning)


@dataclass(frozen=True, slots=True)
class KeptMessage:
    """`number` grows with every message."""

    number: int
    message: Message


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """What a turn's fact came to, by ids."""

    id: str
    recorded_at: datetime
    outcome: WriteOutcome | None = None
    fact_id: str | None = None
    supersedes_id: str | None = None


class ChatReader(Protocol):
    @abstractmethod
    async def facts(self, fact_ids: Collection[str]) -> Mapping[str, Fact]:
        """Also those that were superseded; the others are absent."""

    @abstractmethod
    async def holding(self, same_key: str) -> Fact | None:
        """The one fact of the key that was not superseded."""

    @abstractmethod
    async def history(self, same_key: str) -> tuple[Fact, ...]:
        """Those that were superseded, the last first."""

    @abstractmethod
    async def list_facts(self, category: FactCategory | None, page: PageRequest) -> Page[Fact]:
        """Those that hold, the newest first."""

    @abstractmethod
    async def facts_from(self, category: FactCategory | None, offset: int, limit: int) -> tuple[Fact, ...]:
        """The same list by places in it."""

    @abstractmethod
    async def count_facts(self, category: FactCategory | None = None) -> int: ...

    @abstractmethod
    async def foremost_preferences(self, limit: int) -> tuple[Fact, ...]:
        """The last accessed, the most accessed and the most trusted, at most `limit` of each."""

    @abstractmethod
    async def working_memory(self, session_id: str) -> WorkingMemory | None:
        """Whether it has ended or not, as long as it was not taken away."""

    @abstractmethod
    async def session(self, session_id: str) -> Session: ...

    @abstractmethod
    async def messages(self, session_id: str, limit: int) -> Sequence[KeptMessage]:
        """Those that nothing was learned from yet, oldest first."""

    @abstractmethod
    async def count_messages(self, session_id: str) -> int: ...

    @abstractmethod
    async def turn(self, session_id: str, turn_id: str) -> RecordedTurn | None: ...

    @abstractmethod
    async def settings(self) -> Mapping[str, Json]:
        """What the owner has set, by name."""


class ChatWriter(ChatReader, Protocol):
    """Reads and writes inside one transaction."""

    @abstractmethod
    async def add_fact(self, fact: Fact) -> None: ...

    @abstractmethod
    async def supersede(self, fact_id: str, at: datetime) -> None: ...

    @abstractmethod
    async def delete_key(self, same_key: str) -> None:
        """The fact that holds, and its history."""

    @abstractmethod
    async def delete_fact(self, fact_id: str) -> None: ...

    @abstractmethod
    async def delete_facts(self) -> int:
        """All, with their history; answers how many rows that were."""

    @abstractmethod
    async def evict(self, keep: int) -> int:
        """Until so many hold: the least trusted first, of equals the one not accessed for longest; with history."""

    @abstractmethod
    async def put_working_memory(self, memory: WorkingMemory) -> None: ...

    @abstractmethod
    async def delete_working_memory(self, session_id: str) -> None: ...

    @abstractmethod
    async def put_session(self, session: Session, seen_at: datetime) -> None: ...

    @abstractmethod
    async def add_messages(self, session_id: str, messages: Sequence[Message]) -> None: ...

    @abstractmethod
    async def delete_messages(self, session_id: str, up_to: int | None = None) -> None:
        """All, or those up to a number."""

    @abstractmethod
    async def delete_all_messages(self) -> None:
        """Of every session."""

    @abstractmethod
    async def add_turn(self, session_id: str, turn: RecordedTurn) -> None: ...

    @abstractmethod
    async def put_settings(self, settings: Mapping[str, Json]) -> None: ...


class ChatStore(ChatReader, Protocol):
    @abstractmethod
    async def write(self, work: Callable[[ChatWriter], Awaitable[T]]) -> T:
        """Runs `work` in one transaction: its answer is durable, or nothing of it happened."""


class SessionKey(NamedTuple):
    owner: str
    session_id: str


class Agenda(Protocol):
    """What is due, of all owners; at most a hundred at once."""

    @abstractmethod
    async def ended(self, now: datetime) -> Sequence[SessionKey]:
        """Whose working memory has ended and was not taken away."""

    @abstractmethod
    async def waiting(self, now: datetime) -> Sequence[SessionKey]:
        """Who are to be learned from now."""

    @abstractmethod
    async def drop_old(self, now: datetime) -> None:
        """Turns that nobody will tell again, and what is left of sessions that nobody goes on with."""


class FactFinder(Protocol):
    @abstractmethod
    async def find_facts(self, terms: QueryTerms, others: Collection[str]) -> Mapping[str, float]:
        """Ids of facts in which a term stands, each with how well they fit, in 0..1; `others` are looked at as well."""
