"""Which memories hang on an entity or name it, as sets: their union counts fifty times faster than SQL does."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, cast

import orjson

from domain.entities import EntityRef
from domain.ports import Related
from persistence.engine import Engine
from persistence.mapping import json_of_refs

KEPT_SETS: Final = 40_000

_ATTACHED: Final = """
    SELECT ref.key, json_group_array(memory_id),
           json_group_array(json_array(memory_id, 0, valid_from_chapter, valid_until_chapter))
               FILTER (WHERE valid_from_chapter IS NOT NULL OR valid_until_chapter IS NOT NULL)
    FROM json_each(:refs) AS ref
    CROSS JOIN attachment ON owner = :owner
     AND entity_type = ref.value ->> 0 AND entity_id = ref.value ->> 1
    GROUP BY ref.key"""


class Bound(NamedTuple):
    """When a memory may be told because of an entity: once its name is known, and while the memory is valid."""

    memory_id: str
    revealed_in: int
    valid_from_chapter: int | None
    valid_until_chapter: int | None

    def is_known_in(self, chapter_number: int) -> bool:
        return self.revealed_in <= chapter_number

    def is_valid_in(self, chapter_number: int) -> bool:
        start, end = self.valid_from_chapter, self.valid_until_chapter
        return (start is None or start <= chapter_number) and (end is None or chapter_number <= end)


@dataclass(frozen=True, slots=True)
class Members:
    """All memory ids, and the bounds of those that have any."""

    memory_ids: frozenset[str] = frozenset()
    bounds: Sequence[Bound] = ()


Read = Callable[[Sequence[EntityRef]], Awaitable[Mapping[EntityRef, Members]]]


@dataclass(frozen=True, slots=True)
class Source:
    """Where sets of one kind come from; what was read at another version is read again."""

    kind: str
    version: str
    read: Read


@dataclass(frozen=True, slots=True)
class _Set:
    version: str
    members: Members
    numbers: frozenset[int]
    bounds: Sequence[tuple[int, Bound]]

    def hidden_in(self, chapter_number: int) -> set[int]:
        return {
            number
            for number, bound in self.bounds
            if not (bound.is_known_in(chapter_number) and bound.is_valid_in(chapter_number))
        }


@dataclass
class _Kept:
    """Memories are numbered as they are met: sets of numbers unite several times faster than sets of ids."""

    sets: dict[tuple[str, EntityRef], _Set] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)

    def number(self, memory_id: str) -> int:
        return self.numbers.setdefault(memory_id, len(self.numbers))


@dataclass
class RelatedSets:
    """Of one owner."""

    engine: Engine
    owner: str
    _kept: _Kept = field(default_factory=_Kept)

    def attached(self, links_version: str) -> Source:
        return Source("attached", links_version, self._read_attached)

    async def members(self, source: Source, refs: Collection[EntityRef]) -> Mapping[EntityRef, Members]:
        kept = self._begun()
        await _read_missing(kept, source, refs)
        return {ref: kept.sets[source.kind, ref].members for ref in refs}

    async def holding(
        self, source: Source, refs: Collection[EntityRef], memory_ids: Collection[str], chapter_number: int | None
    ) -> Mapping[EntityRef, frozenset[str]]:
        """Which of the memories are in the set of which entity, as far as they may be told in the chapter."""
        kept = self._begun()
        await _read_missing(kept, source, refs)
        numbers = {kept.number(memory_id): memory_id for memory_id in memory_ids}
        found = {}
        for ref in refs:
            each = kept.sets[source.kind, ref]
            held = each.numbers & numbers.keys()
            if held and chapter_number is not None:
                held -= each.hidden_in(chapter_number)
            found[ref] = frozenset(numbers[number] for number in held)
        return found

    async def count(
        self, groups: Sequence[Related], attached: Source, named: Source | None, chapter_number: int | None
    ) -> tuple[int, ...]:
        """For each group, how many memories hang on one of its entities or name it, and may be told in the chapter."""
        kept = self._begun()
        await _read_missing(kept, attached, {ref for group in groups for ref in group.refs})
        if named is not None:
            await _read_missing(kept, named, {ref for group in groups for ref in group.named})
        return tuple(
            _count(
                [kept.sets[attached.kind, ref] for ref in group.refs],
                [kept.sets[named.kind, ref] for ref in group.named] if named else [],
                chapter_number,
            )
            for group in groups
        )

    def _begun(self) -> _Kept:
        if len(self._kept.sets) > KEPT_SETS:
            # Begun anew as a whole: whoever still counts with the old numbers goes on with all of them.
            self._kept = _Kept()
        return self._kept

    async def _read_attached(self, refs: Sequence[EntityRef]) -> Mapping[EntityRef, Members]:
        rows = await self.engine.fetch(_ATTACHED, {"owner": self.owner, "refs": json_of_refs(refs)})
        return members_from_rows(refs, rows)


def members_from_rows(refs: Sequence[EntityRef], rows: Sequence[Sequence[object]]) -> Mapping[EntityRef, Members]:
    """Rows of: position of the ref, ids as JSON, bounds as JSON."""
    return {
        refs[key]: Members(frozenset(orjson.loads(memory_ids)), [Bound(*bound) for bound in orjson.loads(bounds)])
        for key, memory_ids, bounds in cast("Any", rows)
    }


async def _read_missing(kept: _Kept, source: Source, refs: Collection[EntityRef]) -> None:
    missing = [
        ref for ref in refs if (known := kept.sets.get((source.kind, ref))) is None or known.version != source.version
    ]
    if not missing:
        return
    found = await source.read(missing)
    for ref in missing:
        members = found.get(ref, Members())
        kept.sets[source.kind, ref] = _Set(
            source.version,
            members,
            frozenset(map(kept.number, members.memory_ids)),
            [(kept.number(bound.memory_id), bound) for bound in members.bounds],
        )


def _count(attached: Sequence[_Set], named: Sequence[_Set], chapter_number: int | None) -> int:
    if chapter_number is None:
        return len(frozenset[int]().union(*(each.numbers for each in (*attached, *named))))
    # A memory that is not valid is hidden however it was found; a name not yet known hides it from that name alone.
    told = frozenset[int]().union(*(each.numbers for each in attached))
    told -= frozenset[int]().union(*(each.hidden_in(chapter_number) for each in attached))
    return len(told.union(*(each.numbers - each.hidden_in(chapter_number) for each in named)))
