"""What tools answer, as JSON in the words models use for arguments: snake_case names, lower-case values."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from domain.entities import Chapter, Entity, EntityRef
from domain.memories import Memory
from domain.usecases.search import SearchHit
from schema.scalars import serialize_time

Attachments = Mapping[str, Sequence[EntityRef]]


def entity_as_json(entity: Entity) -> dict[str, object]:
    return {"type": entity.type.value, **asdict(entity)}


def entry_as_json(entity: Entity) -> dict[str, object]:
    """As it stands in a list of its kind."""
    entry: dict[str, object] = {"id": entity.id, "name": entity.name}
    return entry | {"number": entity.number} if isinstance(entity, Chapter) else entry


def memory_as_json(memory: Memory, attachments: Attachments) -> dict[str, object]:
    return {
        "id": memory.id,
        "book_id": memory.book_id,
        "summary": memory.summary,
        "content": memory.content,
        "attached_to": _refs_as_json(attachments.get(memory.id, ())),
        "is_pinned": memory.is_pinned,
        "valid_from_chapter": memory.valid_from_chapter,
        "valid_until_chapter": memory.valid_until_chapter,
        "created_at": serialize_time(memory.created_at),
        "updated_at": serialize_time(memory.updated_at),
    }


def hit_as_json(hit: SearchHit, attachments: Attachments) -> dict[str, object]:
    """A memory shows its summary, anything else its text; a passage also shows where it stands."""
    found: dict[str, object] = {"source": hit.source.value, "id": hit.id}
    if hit.memory is None:
        found["text"] = hit.text
    else:
        found["book_id"] = hit.memory.book_id
        found["summary"] = hit.memory.summary
        found["attached_to"] = _refs_as_json(attachments.get(hit.id, ()))
    if hit.path is not None:
        found |= {"path": hit.path, "line": hit.line}
    return found | {"snippet": hit.snippet, "score": hit.score}


def _refs_as_json(refs: Sequence[EntityRef]) -> list[dict[str, str]]:
    return [{"type": ref.type.value, "id": ref.id} for ref in refs]
