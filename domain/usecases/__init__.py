"""One function per thing a client can ask: the only door to the domain."""

from dataclasses import dataclass

from domain.ports import IndexControl
from domain.usecases.attachments import Attachments
from domain.usecases.book_import import BookImport
from domain.usecases.chunks import Chunks
from domain.usecases.entities import Entities
from domain.usecases.facts import Facts
from domain.usecases.learning import Learner
from domain.usecases.memories import Memories
from domain.usecases.notebook import Notebook
from domain.usecases.prompts import Prompts
from domain.usecases.search import Search
from domain.usecases.sessions import Sessions
from domain.usecases.settings import Settings


@dataclass(frozen=True, slots=True)
class UseCases:
    """Everything one owner can ask."""

    entities: Entities
    memories: Memories
    attachments: Attachments
    chunks: Chunks
    book_import: BookImport
    search: Search
    notebook: Notebook
    sessions: Sessions
    facts: Facts
    prompts: Prompts
    settings: Settings
    learner: Learner
    index: IndexControl
