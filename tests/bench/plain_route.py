"""What GraphQL is measured against: plain Starlette routes with the same SQL on raw SQLite and the same JSON."""

import sys
from pathlib import Path
from typing import Any

import orjson
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from domain.entities import EntityType
from persistence import graph_queries, sqlite
from persistence.mapping import from_microseconds

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

    async def health(_: Request) -> Response:
        return Response("ok")

    return Starlette(routes=[Route("/books/{id}", book), Route("/health", health)])


def _rows(db: Any, sql: str, parameters: dict[str, Any]) -> Any:
    ((rows,),) = db.execute(sql, parameters)
    return orjson.loads(rows)


if __name__ == "__main__":
    uvicorn.run(build(Path(sys.argv[1])), port=int(sys.argv[2]), http="httptools", access_log=False, log_level="error")
