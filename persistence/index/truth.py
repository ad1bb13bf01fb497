"""The rows that the index is made of: what changed, what there is, and each as a document."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, cast

import orjson

from domain.documents import Document, fact_document, memory_document
from domain.entities import EntityRef, EntityType
from domain.memories import Memory
from domain.search import SearchSource
from persistence.chat_store import FACT_COLUMNS, fact_from_row
from persistence.engine import Engine
from persistence.mapping import MEMORY_COLUMNS, json_of, memory_from_row

_NEWEST_CHANGE: Final = "SELECT seq FROM sqlite_sequence WHERE name = 'change'"
_DATABASE_ID: Final = "SELECT value FROM property WHERE name = 'database_id'"
_CHANGES: Final = "SELECT number, owner, source, id FROM change WHERE number > :after ORDER BY number LIMIT :limit"
_COUNT: Final = """
    SELECT (SELECT COUNT(*) FROM memory) + (SELECT COUNT(*) FROM fact WHERE superseded_at IS NULL)"""
_SCAN: Final = {
    SearchSource.MEMORY: "SELECT seq, owner, 'memory', id FROM memory WHERE seq > :after ORDER BY seq LIMIT :limit",
    SearchSource.FACT: "SELECT seq, owner, 'fact', id FROM fact WHERE seq > :after ORDER BY seq LIMIT :limit",
}

_MEMORIES: Final = f"""
    SELECT memory.owner, {MEMORY_COLUMNS}, (
        SELECT json_group_array(json_array(
            entity_type, entity_id,
            COALESCE(character.name, term.name, chapter.name), COALESCE(character.aliases, term.aliases, '[]')
        ) ORDER BY attachment.seq)
        FROM attachment
        LEFT JOIN character ON entity_type = 'character'
         AND character.owner = attachment.owner AND character.id = entity_id
        LEFT JOIN term ON entity_type = 'term' AND term.owner = attachment.owner AND term.id = entity_id
        LEFT JOIN chapter ON entity_type = 'chapter' AND chapter.owner = attachment.owner AND chapter.id = entity_id
        WHERE attachment.owner = memory.owner AND attachment.memory_id = memory.id)
    FROM json_each(:keys) AS wanted
    CROSS JOIN memory ON memory.owner = wanted.value ->> 0 AND memory.id = wanted.value ->> 1"""

_FACTS: Final = f"""
    SELECT fact.owner, {FACT_COLUMNS} FROM json_each(:keys) AS wanted
    CROSS JOIN fact ON fact.owner = wanted.value ->> 0 AND fact.id = wanted.value ->> 1 AND superseded_at IS NULL"""

_TEXTS: Final = """
    SELECT id, summary, content, valid_from_chapter, valid_until_chapter FROM memory
    WHERE owner = :owner AND book_id = :book_id"""


# Owner, source and id.
Key = tuple[str, str, str]


class Change(NamedTuple):
    number: int
    owner: str
    source: str
    id: str

    @property
    def key(self) -> Key:
        return self.owner, self.source, self.id


class MemoryText(NamedTuple):
    id: str
    summary: str
    content: str
    valid_from_chapter: int | None
    valid_until_chapter: int | None


@dataclass(frozen=True, slots=True)
class OwnedDocument:
    """`memory` is None where it is a fact."""

    owner: str
    document: Document
    memory: Memory | None = None


@dataclass(frozen=True, slots=True)
class Truth:
    """Of all owners."""

    engine: Engine

    async def newest_change(self) -> int:
        rows = await self.engine.read(_NEWEST_CHANGE)
        return cast("int", rows[0][0]) if rows else 0

    async def database_id(self) -> str:
        return str((await self.engine.read(_DATABASE_ID))[0][0])

    async def changes(self, after: int, limit: int) -> Sequence[Change]:
        rows = await self.engine.fetch(_CHANGES, {"after": after, "limit": limit})
        return [Change(*cast("Any", row)) for row in rows]

    async def count(self) -> int:
        return cast("int", (await self.engine.fetch(_COUNT))[0][0])

    async def scan(self, source: SearchSource, after: int, limit: int) -> Sequence[Change]:
        """Every row there is, in a fixed order; the numbers are for going on from."""
        rows = await self.engine.fetch(_SCAN[source], {"after": after, "limit": limit})
        return [Change(*cast("Any", row)) for row in rows]

    async def documents(self, keys: Collection[Key]) -> Sequence[OwnedDocument]:
        """Those that are gone or were superseded are absent."""
        memories = [(owner, id_) for owner, source, id_ in keys if source == SearchSource.MEMORY]
        facts = [(owner, id_) for owner, source, id_ in keys if source == SearchSource.FACT]
        found = []
        if memories:
            rows = await self.engine.fetch(_MEMORIES, {"keys": json_of(memories)})
            found += [_memory_document(cast("Any", row)) for row in rows]
        if facts:
            rows = await self.engine.fetch(_FACTS, {"keys": json_of(facts)})
            found += [OwnedDocument(str(row[0]), fact_document(fact_from_row(row[1:]))) for row in rows]
        return found

    async def texts(self, owner: str, book_id: str) -> Sequence[MemoryText]:
        rows = await self.engine.fetch(_TEXTS, {"owner": owner, "book_id": book_id})
        return [MemoryText(*cast("Any", row)) for row in rows]


def _memory_document(row: Sequence[Any]) -> OwnedDocument:
    owner, *columns, attachments = row
    memory = memory_from_row(tuple(columns))
    refs, names = [], []
    for entity_type, entity_id, name, aliases in orjson.loads(attachments):
        refs.append(EntityRef(EntityType(entity_type), entity_id))
        if name is not None:
            names += [name, *(alias["name"] for alias in orjson.loads(aliases))]
    return OwnedDocument(owner, memory_document(memory, tuple(refs), names), memory)
