"""Writing the graph of one owner to SQLite."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Final, TypeVar

from domain.entities import Entity, EntityRef
from domain.memories import Memory
from domain.ports import GraphStore, GraphWriter
from persistence.engine import Engine, Transaction
from persistence.graph_reader import SqliteGraphReader
from persistence.mapping import INSERT_MEMORY, SHAPES, UPDATE_MEMORY, entity_to_row, json_of, memory_to_row

T = TypeVar("T")

_DELETE_MEMORY: Final = "DELETE FROM memory WHERE owner = :owner AND id = :id"

_ATTACH: Final = """
    INSERT INTO attachment (owner, entity_type, entity_id, memory_id,
                            is_pinned, last_accessed_at, valid_from_chapter, valid_until_chapter)
    SELECT owner, :entity_type, :entity_id, id,
           is_pinned, last_accessed_at, valid_from_chapter, valid_until_chapter FROM memory
    WHERE owner = :owner AND id = :memory_id
    ON CONFLICT DO NOTHING"""

_DETACH: Final = """
    DELETE FROM attachment
    WHERE owner = :owner AND entity_type = :entity_type AND entity_id = :entity_id
      AND memory_id IN (SELECT value FROM json_each(:memory_ids))"""

_DETACH_ALL_OF_MEMORY: Final = "DELETE FROM attachment WHERE owner = :owner AND memory_id = :memory_id"

_MEMORIES_OF_REF: Final = """
    SELECT memory_id FROM attachment
    WHERE owner = :owner AND entity_type = :entity_type AND entity_id = :entity_id"""

_LEAVE_ON_BOOK: Final = """
    INSERT INTO attachment (owner, entity_type, entity_id, memory_id,
                            is_pinned, last_accessed_at, valid_from_chapter, valid_until_chapter)
    SELECT owner, 'book', book_id, id,
           is_pinned, last_accessed_at, valid_from_chapter, valid_until_chapter FROM memory
    WHERE owner = :owner AND id IN (SELECT value FROM json_each(:memory_ids))
      AND NOT EXISTS (SELECT 1 FROM attachment WHERE owner = memory.owner AND memory_id = memory.id)"""


class SqliteGraphWriter(SqliteGraphReader, GraphWriter):
    def __init__(self, transaction: Transaction, owner: str) -> None:
        super().__init__(transaction.fetch, transaction.fetch, owner)
        self._transaction = transaction

    async def add_entity(self, entity: Entity) -> None:
        await self._transaction.execute(SHAPES[entity.type].insert, entity_to_row(self._owner, entity))

    async def replace_entity(self, entity: Entity) -> None:
        await self._transaction.execute(SHAPES[entity.type].update, entity_to_row(self._owner, entity))

    async def delete_entity(self, ref: EntityRef) -> None:
        attached = [row[0] for row in await self._fetch(_MEMORIES_OF_REF, **_ref(ref))]
        await self._fetch(f"DELETE FROM {SHAPES[ref.type].table} WHERE owner = :owner AND id = :id", id=ref.id)
        await self._fetch(_DETACH, memory_ids=json_of(attached), **_ref(ref))
        await self._fetch(_LEAVE_ON_BOOK, memory_ids=json_of(attached))

    async def add_memories(self, memories: Sequence[Memory]) -> None:
        await self._transaction.execute_many(INSERT_MEMORY, [memory_to_row(self._owner, each) for each in memories])

    async def replace_memory(self, memory: Memory) -> None:
        await self._transaction.execute(UPDATE_MEMORY, memory_to_row(self._owner, memory))

    async def delete_memory(self, memory_id: str) -> None:
        await self._fetch(_DELETE_MEMORY, id=memory_id)

    async def attach(self, refs_of: Mapping[str, Collection[EntityRef]]) -> None:
        rows = [
            {"owner": self._owner, "memory_id": memory_id, **_ref(ref)}
            for memory_id, refs in refs_of.items()
            for ref in refs
        ]
        await self._transaction.execute_many(_ATTACH, rows)

    async def detach(self, memory_ids: Collection[str], refs: Collection[EntityRef]) -> None:
        ids = json_of(memory_ids)
        for ref in refs:
            await self._fetch(_DETACH, memory_ids=ids, **_ref(ref))
        await self._fetch(_LEAVE_ON_BOOK, memory_ids=ids)

    async def reattach(self, memory_id: str, refs: Collection[EntityRef]) -> None:
        await self._fetch(_DETACH_ALL_OF_MEMORY, memory_id=memory_id)
        await self.attach({memory_id: refs})


class SqliteGraphStore(SqliteGraphReader, GraphStore):
    def __init__(self, engine: Engine, owner: str) -> None:
        super().__init__(engine.read, engine.fetch, owner)
        self._engine = engine

    async def write(self, work: Callable[[GraphWriter], Awaitable[T]]) -> T:
        return await self._engine.write(lambda transaction: work(SqliteGraphWriter(transaction, self._owner)))


def _ref(ref: EntityRef) -> Mapping[str, str]:
    return {"entity_type": ref.type.value, "entity_id": ref.id}
