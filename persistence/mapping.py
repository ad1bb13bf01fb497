"""Rows to domain values and back. Rows are read in the order of the value's fields."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

import orjson
from sqlalchemy import Table, insert
from sqlalchemy.dialects import sqlite as dialect
from sqlmodel import SQLModel

from domain.entities import Alias, Book, Chapter, Character, Entity, EntityRef, EntityType, Term, names_of
from domain.memories import Memory
from domain.text import fold
from persistence.sqlite import Row
from persistence.tables import BookRow, ChapterRow, CharacterRow, MemoryRow, TermRow

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_NAMES_APART = "\n"
_KEPT_BY_TRIGGERS: Final = {"names_version", "texts_version", "links_version"}


def to_microseconds(at: datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND


def from_microseconds(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def json_of(values: Collection[object]) -> str:
    return orjson.dumps(list(values)).decode()


def json_of_refs(refs: Collection[EntityRef]) -> str:
    return orjson.dumps([(ref.type.value, ref.id) for ref in refs]).decode()


@dataclass(frozen=True, slots=True)
class Shape:
    """How one type of entity lies in its table."""

    table: str
    columns: str
    insert: str
    update: str
    position: str
    from_row: Callable[[Row], Entity]


def entity_to_row(owner: str, entity: Entity) -> Mapping[str, object]:
    row: dict[str, object] = {field.name: getattr(entity, field.name) for field in fields(entity)}
    if isinstance(entity, Character | Term):
        row["aliases"] = orjson.dumps(entity.aliases).decode()
        row["folded_names"] = _NAMES_APART.join(map(fold, names_of(entity)))
    return row | {"owner": owner}


def memory_to_row(owner: str, memory: Memory) -> Mapping[str, object]:
    row = {field.name: getattr(memory, field.name) for field in fields(memory)}
    for name, value in row.items():
        if isinstance(value, datetime):
            row[name] = to_microseconds(value)
    return row | {"owner": owner, "is_pinned": int(memory.is_pinned)}


def memory_from_row(row: Row) -> Memory:
    id_, book_id, content, summary, is_pinned, start, end, created, updated, accessed, count = cast("Any", row)
    created_at = from_microseconds(created)
    # Most memories were neither changed nor read since, and the hot path reads many.
    updated_at = created_at if updated == created else from_microseconds(updated)
    accessed_at = created_at if accessed == created else from_microseconds(accessed)
    return Memory(
        id_, book_id, content, summary, bool(is_pinned), start, end, created_at, updated_at, accessed_at, count
    )


def _described_from_row(value: type[Character] | type[Term]) -> Callable[[Row], Entity]:
    def from_row(row: Row) -> Entity:
        id_, book_id, name, aliases, *rest = cast("Any", row)
        return value(id_, book_id, name, tuple(Alias(**alias) for alias in orjson.loads(aliases)), *rest)

    return from_row


def _plain_from_row(value: type[Book] | type[Chapter]) -> Callable[[Row], Entity]:
    return lambda row: value(*cast("Any", row))


def insert_into(row: type[SQLModel]) -> str:
    table = cast("Table", row.__table__)  # type: ignore[attr-defined]
    written = [column for column in table.columns if column.name not in {*_KEPT_BY_TRIGGERS, "seq"}]
    statement = insert(table).values({column.name: None for column in written})
    return str(statement.compile(dialect=dialect.dialect(paramstyle="named")))


def _update(row: type[SQLModel]) -> str:
    table = cast("Table", row.__table__)  # type: ignore[attr-defined]
    fixed = {*_KEPT_BY_TRIGGERS, "seq", "owner", "id", "book_id"}
    changed = ", ".join(f"{column.name} = :{column.name}" for column in table.columns if column.name not in fixed)
    return f"UPDATE {table.name} SET {changed} WHERE owner = :owner AND id = :id"


def _shape(row: type[SQLModel], value: type[Entity], from_row: Callable[[Row], Entity], position: str = "seq") -> Shape:
    table = str(row.__tablename__)
    columns = ", ".join(f"{table}.{field.name}" for field in fields(value))
    return Shape(table, columns, insert_into(row), _update(row), position, from_row)


SHAPES: Final = {
    EntityType.BOOK: _shape(BookRow, Book, _plain_from_row(Book)),
    EntityType.CHARACTER: _shape(CharacterRow, Character, _described_from_row(Character)),
    EntityType.TERM: _shape(TermRow, Term, _described_from_row(Term)),
    EntityType.CHAPTER: _shape(ChapterRow, Chapter, _plain_from_row(Chapter), position="number"),
}

INSERT_MEMORY: Final = insert_into(MemoryRow)
UPDATE_MEMORY: Final = _update(MemoryRow)
MEMORY_COLUMNS: Final = ", ".join(f"memory.{field.name}" for field in fields(Memory))
