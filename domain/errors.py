"""What can go wrong, as facts; `schema.problems` turns them into words for people."""

from collections.abc import Sequence
from dataclasses import dataclass

from domain.entities import EntityRef
from domain.notebook import NotebookFile

Path = tuple[str, ...]


@dataclass(eq=False)
class DomainError(Exception):
    """`path` names the argument at fault, in the names of the domain."""

    path: Path


@dataclass(eq=False)
class EntityNotFoundError(DomainError):
    ref: EntityRef


@dataclass(eq=False)
class MemoryNotFoundError(DomainError):
    memory_id: str


@dataclass(eq=False)
class IdTakenError(DomainError):
    id: str


@dataclass(eq=False)
class ChapterNumberTakenError(DomainError):
    number: int
    chapter_id: str


@dataclass(eq=False)
class InvalidInputError(DomainError):
    """The caller can mend it by sending something else."""


@dataclass(eq=False)
class RequiredError(InvalidInputError):
    """Empty, blank or null where a value must stand."""


@dataclass(eq=False)
class TextTooLongError(InvalidInputError):
    length: int
    limit: int


@dataclass(eq=False)
class ForbiddenCharacterError(InvalidInputError):
    character: str
    position: int


@dataclass(eq=False)
class InvalidIdError(InvalidInputError):
    id: str


@dataclass(eq=False)
class OutOfRangeError(InvalidInputError):
    value: int
    low: int
    high: int


@dataclass(eq=False)
class TooManyItemsError(InvalidInputError):
    count: int
    limit: int


@dataclass(eq=False)
class TooDeepError(InvalidInputError):
    limit: int


@dataclass(eq=False)
class NotJsonError(InvalidInputError):
    """A number that is not one (NaN, infinity), or an object where none can be."""


@dataclass(eq=False)
class NotAnObjectError(InvalidInputError):
    """JSON, but not an object with named values."""


@dataclass(eq=False)
class FractionError(InvalidInputError):
    """Not a number from `low` to `high`."""

    value: float
    low: float
    high: float


@dataclass(eq=False)
class SecretRefusedError(InvalidInputError):
    """A key, token, card number or password: these are not kept."""


@dataclass(eq=False)
class FactNotFoundError(DomainError):
    fact_id: str


@dataclass(eq=False)
class EndsBeforeStartError(InvalidInputError):
    start: int | str
    end: int | str


@dataclass(eq=False)
class InvalidCursorError(InvalidInputError):
    cursor: str


@dataclass(eq=False)
class InvalidDayError(InvalidInputError):
    """Not a day of the calendar, written YYYY-MM-DD, of a year that a log can be of."""

    day: str


@dataclass(eq=False)
class NotebookPathError(InvalidInputError):
    """Neither MEMORY.md nor a daily log."""

    file: str


@dataclass(eq=False)
class NotebookFullError(DomainError):
    """With what was to be added the file would be larger than a file may be."""

    file: str
    length: int
    limit: int


@dataclass(eq=False)
class NotAPlainFileError(DomainError):
    """A link, a folder or a device stands where a file or folder of the notebook should: it may lead anywhere."""

    file: str


@dataclass(eq=False)
class StaleVersionError(DomainError):
    """The file is no longer the one the writer has read; `current` is what stands there now."""

    expected: str
    current: NotebookFile


@dataclass(eq=False)
class VersionNotFoundError(DomainError):
    file: str
    version: str


@dataclass(eq=False)
class StorageUnavailableError(DomainError):
    """The database or a file could not take the write (disk full, locked, damaged); nothing of it was kept."""

    reason: str

    def __str__(self) -> str:
        return self.reason


@dataclass(eq=False)
class EmbedderUnavailableError(DomainError):
    """The embedder is down, slow or answers nonsense; search goes on by keywords."""

    reason: str


@dataclass(eq=False)
class ExtractorUnavailableError(DomainError):
    """The model that extracts facts is down, slow or answers nonsense; the messages are kept and tried again."""

    reason: str


def at(path: Sequence[str], *more: str | int) -> Path:
    return (*path, *(str(part) for part in more))
