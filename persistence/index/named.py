"""Who is named in which memory, from the index or, when there is none, from the texts themselves."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from domain.entities import EntityRef
from domain.naming import who_is_named
from domain.ports import GraphReader
from domain.text import NUL
from domain.usecases.matchers import Matchers
from persistence.index.index_file import IndexFile
from persistence.index.truth import Truth
from persistence.mapping import json_of_refs
from persistence.related_sets import Bound, Members, Source, members_from_rows

_VERSION: Final = "SELECT named_version FROM book WHERE owner = ? AND id = ?"

_NAMED: Final = """
    SELECT ref.key, json_group_array(memory_id),
           json_group_array(json_array(memory_id, revealed_in, valid_from_chapter, valid_until_chapter))
               FILTER (WHERE revealed_in > 0 OR valid_from_chapter IS NOT NULL OR valid_until_chapter IS NOT NULL)
    FROM json_each(:refs) AS ref
    CROSS JOIN named ON owner = :owner AND entity_type = ref.value ->> 0 AND entity_id = ref.value ->> 1
    GROUP BY ref.key"""


async def named_in_index(file: IndexFile, owner: str, book_id: str) -> Source:
    rows = await file.engine.read(_VERSION, (owner, book_id))
    version = f"{file.engine.path.name}.{rows[0][0] if rows else 0}"

    async def read(refs: Sequence[EntityRef]) -> Mapping[EntityRef, Members]:
        async with file.in_use():
            found = await file.engine.fetch(_NAMED, {"owner": owner, "refs": json_of_refs(refs)})
        return members_from_rows(refs, found)

    return Source("named", version, read)


@dataclass
class NamedByReading:
    """Reads all texts of the book once for every version of its names and texts."""

    truth: Truth
    owner: str
    graph: GraphReader
    matchers: Matchers
    _known: dict[str, tuple[str, Mapping[EntityRef, Members]]] = field(default_factory=dict)

    async def named(self, book_id: str) -> Source:
        frame = await self.graph.chunk_frame(book_id, None)
        version = "" if frame is None else f"read {frame.names_version} {frame.texts_version}"

        async def read(refs: Sequence[EntityRef]) -> Mapping[EntityRef, Members]:
            if self._known.get(book_id, ("", {}))[0] != version:
                self._known[book_id] = version, await self._read(book_id, frame.names_version if frame else "")
            members = self._known[book_id][1]
            return {ref: members[ref] for ref in refs if ref in members}

        return Source("named", version, read)

    async def _read(self, book_id: str, names_version: str) -> Mapping[EntityRef, Members]:
        matcher = await self.matchers.of_book(book_id, names_version)
        texts = await self.truth.texts(self.owner, book_id)
        named = await asyncio.to_thread(
            who_is_named, matcher, [(each.id, f"{each.summary}{NUL}{each.content}") for each in texts]
        )
        bounds_of: dict[EntityRef, list[Bound]] = {}
        for each in texts:
            for ref, revealed_in in named.get(each.id, {}).items():
                bound = Bound(each.id, revealed_in, each.valid_from_chapter, each.valid_until_chapter)
                bounds_of.setdefault(ref, []).append(bound)
        return {
            ref: Members(frozenset(bound.memory_id for bound in bounds), bounds) for ref, bounds in bounds_of.items()
        }
