"""The tables. `migrations/` creates them; a test keeps the two equal."""

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index, UniqueConstraint, text
from sqlmodel import Field, SQLModel

_OF_BOOK = (("owner", "book_id"), ("book.owner", "book.id"))


class BookRow(SQLModel, table=True):
    __tablename__ = "book"
    __table_args__ = (
        UniqueConstraint("owner", "id"),
        Index("book_of_owner", "owner"),
        {"sqlite_autoincrement": True},
    )

    seq: int | None = Field(default=None, primary_key=True)
    owner: str
    id: str
    name: str
    context_limit: int
    names_version: int = Field(sa_column_kwargs={"server_default": text("0")})
    texts_version: int = Field(sa_column_kwargs={"server_default": text("0")})
    links_version: int = Field(sa_column_kwargs={"server_default": text("0")})


class CharacterRow(SQLModel, table=True):
    __tablename__ = "character"
    __table_args__ = (
        UniqueConstraint("owner", "id"),
        ForeignKeyConstraint(*_OF_BOOK, ondelete="CASCADE"),
        Index("character_of_book", "owner", "book_id"),
        {"sqlite_autoincrement": True},
    )

    seq: int | None = Field(default=None, primary_key=True)
    owner: str
    id: str
    book_id: str
    name: str
    aliases: str
    translation: str | None
    description: str | None
    gender: str | None
    speaking_style: str | None
    notes: str | None
    folded_names: str


class TermRow(SQLModel, table=True):
    __tablename__ = "term"
    __table_args__ = (
        UniqueConstraint("owner", "id"),
        ForeignKeyConstraint(*_OF_BOOK, ondelete="CASCADE"),
        Index("term_of_book", "owner", "book_id"),
        {"sqlite_autoincrement": True},
    )

    seq: int | None = Field(default=None, primary_key=True)
    owner: str
    id: str
    book_id: str
    name: str
    aliases: str
    translation: str | None
    description: str | None
    notes: str | None
    folded_names: str


class ChapterRow(SQLModel, table=True):
    __tablename__ = "chapter"
    __table_args__ = (
        UniqueConstraint("owner", "id"),
        UniqueConstraint("owner", "book_id", "number"),
        ForeignKeyConstraint(*_OF_BOOK, ondelete="CASCADE"),
        {"sqlite_autoincrement": True},
    )

    seq: int | None = Field(default=None, primary_key=True)
    owner: str
    id: str
    book_id: str
    name: str
    number: int


class MemoryRow(SQLModel, table=True):
    """Times are microseconds since 1970, UTC."""

    __tablename__ = "memory"
    __table_args__ = (
        UniqueConstraint("owner", "id"),
        ForeignKeyConstraint(*_OF_BOOK, ondelete="CASCADE"),
        Index("memory_by_access", "owner", "book_id", text("last_accessed_at DESC"), text("id DESC")),
        Index(
            "memory_pinned",
            "owner",
            "book_id",
            text("last_accessed_at DESC"),
            text("id DESC"),
            sqlite_where=text("is_pinned = 1"),
        ),
        CheckConstraint("is_pinned IN (0, 1)"),
        {"sqlite_autoincrement": True},
    )

    seq: int | None = Field(default=None, primary_key=True)
    owner: str
    id: str
    book_id: str
    content: str
    summary: str
    is_pinned: int
    valid_from_chapter: int | None
    valid_until_chapter: int | None
    created_at: int
    updated_at: int
    last_accessed_at: int
    access_count: int


class AttachmentRow(SQLModel, table=True):
    """Carries what its memory is sorted and filtered by, kept equal by a trigger: a page is one walk along an index."""

    __tablename__ = "attachment"
    __table_args__ = (
        UniqueConstraint("owner", "memory_id", "entity_type", "entity_id"),
        ForeignKeyConstraint(("owner", "memory_id"), ("memory.owner", "memory.id"), ondelete="CASCADE"),
        Index(
            "attachment_by_access",
            "owner",
            "entity_type",
            "entity_id",
            text("last_accessed_at DESC"),
            text("memory_id DESC"),
            "valid_from_chapter",
            "valid_until_chapter",
        ),
        Index(
            "attachment_pinned",
            "owner",
            "entity_type",
            "entity_id",
            text("last_accessed_at DESC"),
            text("memory_id DESC"),
            "valid_from_chapter",
            "valid_until_chapter",
            sqlite_where=text("is_pinned = 1"),
        ),
    )

    seq: int | None = Field(default=None, primary_key=True)
    owner: str
    entity_type: str
    entity_id: str
    memory_id: str
    is_pinned: int
    last_accessed_at: int
    valid_from_chapter: int | None
    valid_until_chapter: int | None


class ChangeRow(SQLModel, table=True):
    """The last change of each document, kept by triggers: what the search index has to look at again."""

    __tablename__ = "change"
    __table_args__ = (UniqueConstraint("owner", "source", "id"), {"sqlite_autoincrement": True})

    number: int | None = Field(default=None, primary_key=True)
    owner: str
    source: str
    id: str


class PropertyRow(SQLModel, table=True):
    """What is true of the database as a whole."""

    __tablename__ = "property"

    name: str = Field(primary_key=True)
    value: str


_HOLDS = text("superseded_at IS NULL")
_IS_PREFERENCE = text("superseded_at IS NULL AND category = 'preference'")


class FactRow(SQLModel, table=True):
    """Of all with one `same_key`, one holds; those superseded are its history."""

    __tablename__ = "fact"
    __table_args__ = (
        UniqueConstraint("owner", "id"),
        Index("fact_that_holds", "owner", "same_key", unique=True, sqlite_where=_HOLDS),
        Index("fact_history", "owner", "same_key", "seq"),
        Index("fact_listed", "owner", "seq", sqlite_where=_HOLDS),
        Index("fact_of_category", "owner", "category", "seq", sqlite_where=_HOLDS),
        Index("preference_by_access", "owner", "last_accessed_at", sqlite_where=_IS_PREFERENCE),
        Index("preference_by_count", "owner", "access_count", sqlite_where=_IS_PREFERENCE),
        Index("preference_by_confidence", "owner", "confidence", sqlite_where=_IS_PREFERENCE),
        Index("fact_to_evict", "owner", "confidence", "last_accessed_at", "seq", sqlite_where=_HOLDS),
        {"sqlite_autoincrement": True},
    )

    seq: int | None = Field(default=None, primary_key=True)
    owner: str
    id: str
    session_id: str | None
    category: str
    key: str
    same_key: str
    value: str
    confidence: float
    source: str
    created_at: int
    last_accessed_at: int
    access_count: int
    superseded_at: int | None


class WorkingMemoryRow(SQLModel, table=True):
    __tablename__ = "working_memory"
    __table_args__ = (Index("working_memory_by_activity", "updated_at"),)

    owner: str = Field(primary_key=True)
    session_id: str = Field(primary_key=True)
    current_topic: str | None
    context_variables: str
    turn_count: int
    last_emotion: str | None
    created_at: int
    updated_at: int


class SessionRow(SQLModel, table=True):
    """What outlives the working memory."""

    __tablename__ = "session"
    __table_args__ = (
        Index("session_wanted", "retry_at", sqlite_where=text("wanted IS NOT NULL")),
        Index("session_by_time", "seen_at"),
    )

    owner: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    flush_stage: str
    flush_cycle: int
    is_compacting: int
    began_at: int | None
    wanted: str | None
    failures: int
    retry_at: int | None
    seen_at: int


class MessageRow(SQLModel, table=True):
    """Only those that nothing was learned from yet."""

    __tablename__ = "message"
    __table_args__ = (Index("message_of_session", "owner", "session_id", "seq"), {"sqlite_autoincrement": True})

    seq: int | None = Field(default=None, primary_key=True)
    owner: str
    session_id: str
    role: str
    content: str


class TurnRow(SQLModel, table=True):
    """So that one that is told twice is counted once."""

    __tablename__ = "turn"
    __table_args__ = (Index("turn_by_time", "recorded_at"),)

    owner: str = Field(primary_key=True)
    session_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    recorded_at: int
    outcome: str | None
    fact_id: str | None
    supersedes_id: str | None


class MemorySettingRow(SQLModel, table=True):
    """Only what an owner has set; `value` is JSON."""

    __tablename__ = "memory_setting"

    owner: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    value: str
