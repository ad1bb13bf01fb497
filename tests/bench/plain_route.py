"""What GraphQL is measured against: plain Starlette routes with the same SQL on raw SQLite and the same JSON."""

import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domain.chunk_context import Candidates, ChunkContext, Selection, build_chunk_context
from domain.entities import EntityRef, EntityType
from domain.memories import Memory
from domain.mentions import Matcher, Name
from persistence import graph_queries, sqlite
from persistence.mapping import SHAPES, from_microseconds, memory_from_row

FIRST_CHARACTERS = 20
FIRST_MEMORIES = 5
_START = {"position": -(2**63), "id": ""}
_NEWEST = {"position": 2**63 - 1, "id": "\U0010ffff"}


def build(database: Path) -> Starlette:
    db = sqlite.open_connection(database, read_only=True)

    async def book(request: Request) -> Response:
        owner = {"owner": "local"}
        book_ids = orjson.dumps([request.path_params["id"]]).decode()
        ((book_id, name, _),) = db.execute(graph_queries.ENTITIES[EntityType.BOOK], {**owner, "ids": book_ids})
        characters = _rows(
            db,
            graph_queries.ENTITIES_OF[EntityType.CHARACTER],
            {**owner, **_START, "book_ids": book_ids, "needle": "", "limit": FIRST_CHARACTERS + 1},
        )[:FIRST_CHARACTERS]
        refs = orjson.dumps([("character", row[2]) for row in characters]).decode()
        memories: dict[int, list[dict[str, Any]]] = {}
        for row in _rows(
            db, graph_queries.ATTACHED_TO, {**owner, **_NEWEST, "refs": refs, "limit": FIRST_MEMORIES + 1}
        ):
            accessed = from_microseconds(row[1]).isoformat(timespec="microseconds")
            memories.setdefault(row[0], []).append({"id": row[2], "summary": row[5], "lastAccessedAt": accessed})
        nodes = [
            {
                "id": row[2],
                "name": row[4],
                "translation": row[6],
                "attachedMemories": {"nodes": memories.get(key, [])[:FIRST_MEMORIES]},
            }
            for key, row in enumerate(characters)
        ]
        body = {"data": {"book": {"id": book_id, "name": name, "characters": {"nodes": nodes}}}}
        return Response(orjson.dumps(body), media_type="application/json")

    matcher, members = Matcher(_names(db)), _members(db)

    async def chunk_context(request: Request) -> Response:
        text = orjson.loads(await request.body())["text"]
        return Response(orjson.dumps(_chunk_context(db, matcher, members, text)), media_type="application/json")

    async def health(_: Request) -> Response:
        return Response("ok")

    return Starlette(
        routes=[
            Route("/books/{id}", book),
            Route("/chunk-context", chunk_context, methods=["POST"]),
            Route("/health", health),
        ]
    )


def _names(db: Any) -> list[Name]:
    names = []
    for entity_type, entity_id, name, aliases in _rows(db, graph_queries.NAMES, {"owner": "local", "book_id": "book"}):
        ref = EntityRef(EntityType(entity_type), entity_id)
        names += [Name(ref, name), *(Name(ref, alias["name"]) for alias in orjson.loads(aliases))]
    return names


def _members(db: Any) -> Mapping[EntityRef, frozenset[str]]:
    """The service, too, keeps who is attached to what and counts by the union."""
    found: dict[EntityRef, set[str]] = defaultdict(set)
    for entity_type, entity_id, memory_id in db.execute("SELECT entity_type, entity_id, memory_id FROM attachment"):
        found[EntityRef(EntityType(entity_type), entity_id)].add(memory_id)
    return {ref: frozenset(memory_ids) for ref, memory_ids in found.items()}


def _chunk_context(db: Any, matcher: Matcher, members: Mapping[EntityRef, frozenset[str]], text: str) -> dict[str, Any]:
    owner: dict[str, Any] = {"owner": "local", "chapter": None}
    ((*_, limit),) = db.execute(graph_queries.CHUNK_FRAME, {**owner, "book_id": "book", "chapter_id": None})
    mentions = matcher.mentions(text)
    refs = tuple(mention.ref for mention in mentions)
    named = orjson.dumps([(ref.type.value, ref.id) for ref in refs]).decode()
    attached: dict[EntityRef, list[Memory]] = {}
    attachments: dict[str, list[EntityRef]] = {}
    found_rows = _rows(db, graph_queries.FOREMOST_ATTACHED, {**owner, "refs": named, "limit": limit})
    for key, *columns, attached_to in found_rows:
        memory = memory_from_row(columns)
        attached.setdefault(refs[key], []).append(memory)
        attachments[memory.id] = [EntityRef(EntityType(each), entity_id) for each, entity_id in attached_to]
    total = len(frozenset[str]().union(*(members.get(ref, ()) for ref in refs)))
    shape = SHAPES[EntityType.CHARACTER]
    wanted = orjson.dumps([ref.id for ref in refs]).decode()
    rows = db.execute(graph_queries.ENTITIES[EntityType.CHARACTER], {**owner, "ids": wanted})
    entities = {entity.ref: entity for entity in map(shape.from_row, rows)}
    found = build_chunk_context(
        text,
        mentions,
        entities,
        Candidates(refs, attached, {}, attachments, {}, total),
        limit=limit,
        selection=Selection.RECENT,
        token_budget=None,
        count_tokens=len,
    )
    return {"data": {"chunkContext": _as_json(found)}}


def _as_json(context: ChunkContext) -> dict[str, Any]:
    return {
        "mentions": [
            {
                "entity": {"id": mention.ref.id, "name": context.entities[mention.ref].name},
                "spans": [{"start": span.start, "end": span.end, "text": span.text} for span in mention.spans],
            }
            for mention in context.mentions
        ],
        "memories": [
            {
                "match": each.match.name,
                "memory": {
                    "id": each.memory.id,
                    "summary": each.memory.summary,
                    "lastAccessedAt": each.memory.last_accessed_at.isoformat(timespec="microseconds"),
                },
            }
            for each in context.memories
        ],
        "omittedCount": context.omitted_count,
        "etag": context.etag,
        "entitySection": context.entity_section,
        "memorySection": context.memory_section,
        "prompt": context.prompt,
    }


def _rows(db: Any, sql: str, parameters: dict[str, Any]) -> Any:
    ((rows,),) = db.execute(sql, parameters)
    return orjson.loads(rows)


if __name__ == "__main__":
    uvicorn.run(build(Path(sys.argv[1])), port=int(sys.argv[2]), http="httptools", access_log=False, log_level="error")
