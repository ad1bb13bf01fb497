"""POST /api/books/{id}/chunk-context, the twin of the query `chunkContext`."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from api.bodies import RefusedError, read_json
from api.responses import json_response
from api.rest.serving import rest_endpoint
from domain.chunk_context import ChunkContext, OmittedMemory, Selection
from domain.entities import Entity, EntityRef
from domain.memories import Memory, RelevantMemory, Retrieval
from domain.usecases import UseCases
from domain.usecases.chunks import ChunkRequest
from schema.offsets import OffsetUnit, offset_converter
from schema.scalars import serialize_time

SHOWN_OMITTED = 20

_FIELDS: Mapping[str, type] = {"text": str, "chapterId": str, "limit": int, "tokenBudget": int}
_CHOICES: Mapping[str, type[StrEnum]] = {"retrieval": Retrieval, "selection": Selection, "offsets": OffsetUnit}

E = TypeVar("E", bound=StrEnum)


def chunk_context_endpoint(max_body_bytes: int) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request, use_cases: UseCases) -> Response:
        body = _checked(await read_json(request, max_body_bytes))
        asked = ChunkRequest(
            book_id=request.path_params["id"],
            texts=(body["text"],),
            chapter_id=body.get("chapterId"),
            limit=body.get("limit"),
            token_budget=body.get("tokenBudget"),
            retrieval=_choice(body, "retrieval", Retrieval.MERGE),
            selection=_choice(body, "selection", Selection.RECENT),
        )
        (context,) = await use_cases.chunks.contexts(asked)
        omitted = await use_cases.chunks.omitted(asked, context, SHOWN_OMITTED)
        refs = {ref for each in context.memories for ref in each.via}
        entities = {**context.entities, **await use_cases.entities.get(refs - context.entities.keys())}
        offsets = _choice(body, "offsets", OffsetUnit.CODE_POINT)
        return json_response(
            _as_json(context, omitted, entities, body["text"], offsets), headers={"etag": f'"{context.etag}"'}
        )

    return rest_endpoint(answer)


def _checked(body: object) -> dict[str, Any]:
    if not isinstance(body, dict) or not isinstance(body.get("text"), str):
        raise RefusedError(422, "Send an object with `text`, the chunk to translate.")
    for name, value in body.items():
        if name in _CHOICES:
            if not isinstance(value, str | None) or (value is not None and value not in _CHOICES[name].__members__):
                raise RefusedError(422, f"{name} must be one of {', '.join(_CHOICES[name].__members__)}.")
        elif name not in _FIELDS:
            raise RefusedError(422, f"'{name}' is not known; send {', '.join((*_FIELDS, *_CHOICES))}.")
        elif value is not None and type(value) is not _FIELDS[name]:
            raise RefusedError(422, f"{name} must be {'a text' if _FIELDS[name] is str else 'a whole number'}.")
    return body


def _choice(body: Mapping[str, Any], name: str, default: E) -> E:
    chosen = body.get(name)
    return default if chosen is None else type(default)[chosen]


def _as_json(
    context: ChunkContext,
    omitted: Sequence[OmittedMemory],
    entities: Mapping[EntityRef, Entity],
    text: str,
    offsets: OffsetUnit,
) -> dict[str, object]:
    convert = offset_converter(text, offsets)
    return {
        "mentions": [
            {
                "entity": _entity(entities[mention.ref]),
                "spans": [
                    {"start": convert(span.start), "end": convert(span.end), "text": span.text}
                    for span in mention.spans
                ],
            }
            for mention in context.mentions
        ],
        "memories": [_relevant(each, entities) for each in context.memories],
        "omitted": [{"memory": memory_as_json(each.memory), "reason": each.reason.name} for each in omitted],
        "omittedCount": context.omitted_count,
        "etag": context.etag,
        "entitySection": context.entity_section,
        "memorySection": context.memory_section,
        "prompt": context.prompt,
    }


def _relevant(found: RelevantMemory, entities: Mapping[EntityRef, Entity]) -> dict[str, object]:
    via = [_entity(entities[ref]) for ref in found.via if ref in entities]
    return {"memory": memory_as_json(found.memory), "match": found.match.name, "via": via}


def _entity(entity: Entity) -> dict[str, object]:
    return {"type": entity.type.name, "id": entity.id, "name": entity.name}


def memory_as_json(memory: Memory) -> dict[str, object]:
    return {
        "id": memory.id,
        "content": memory.content,
        "summary": memory.summary,
        "isPinned": memory.is_pinned,
        "validFromChapter": memory.valid_from_chapter,
        "validUntilChapter": memory.valid_until_chapter,
        "createdAt": serialize_time(memory.created_at),
        "updatedAt": serialize_time(memory.updated_at),
        "lastAccessedAt": serialize_time(memory.last_accessed_at),
        "accessCount": memory.access_count,
    }
