"""GET /api/memory/search?q=, the twin of the query `search`."""

from datetime import date

from graphql import GraphQLError
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from api.bodies import RefusedError
from api.responses import json_response
from api.rest.chunks import memory_as_json
from api.rest.facts import fact_as_json
from api.rest.parameters import check_known, whole_number
from domain.entities import EntityRef, EntityType
from domain.search import Filters, SearchSource
from domain.usecases import UseCases
from domain.usecases.search import SearchHit
from schema.scalars import parse_date

DEFAULT_LIMIT = 10

_KNOWN = ("q", "limit", "sources", "bookId", "entityType", "entityId", "from", "until")


async def search(request: Request, use_cases: UseCases) -> Response:
    given = request.query_params
    check_known(given, _KNOWN)
    if "q" not in given:
        raise RefusedError(422, "Send `q`, what to search for: /api/memory/search?q=…")
    limit = whole_number(given, "limit", DEFAULT_LIMIT)
    result = await use_cases.search.run(given["q"], limit, _filters(given))
    return json_response({"engine": result.engine.name, "hits": [_as_json(hit) for hit in result.hits]})


def _filters(given: QueryParams) -> Filters:
    return Filters(
        frozenset(_sources(given.get("sources", ""))),
        given.get("bookId"),
        _entity(given),
        _day(given, "from"),
        _day(given, "until"),
    )


def _sources(text: str) -> list[SearchSource]:
    try:
        return [SearchSource[name.strip()] for name in text.split(",") if name.strip()]
    except KeyError as error:
        raise RefusedError(422, f"sources must be of {', '.join(SearchSource.__members__)}.") from error


def _entity(given: QueryParams) -> EntityRef | None:
    entity_type, entity_id = given.get("entityType"), given.get("entityId")
    if entity_type is None and entity_id is None:
        return None
    if entity_id is None or entity_type is None or entity_type not in EntityType.__members__:
        known = ", ".join(EntityType.__members__)
        raise RefusedError(422, f"Name an entity with both entityType, one of {known}, and entityId.")
    return EntityRef(EntityType[entity_type], entity_id)


def _day(given: QueryParams, name: str) -> date | None:
    text = given.get(name)
    if text is None:
        return None
    try:
        return parse_date(text)
    except GraphQLError as error:
        raise RefusedError(422, f"{name} must be a day as in 2026-01-31.") from error


def _as_json(hit: SearchHit) -> dict[str, object]:
    return {
        "source": hit.source.name,
        "id": hit.id,
        "text": hit.text,
        "snippet": hit.snippet,
        "highlights": [{"start": each.start, "end": each.end, "text": each.text} for each in hit.highlights],
        "score": hit.score,
        "vectorScore": hit.vector_score,
        "keywordScore": hit.keyword_score,
        "memory": None if hit.memory is None else memory_as_json(hit.memory),
        "fact": None if hit.fact is None else fact_as_json(hit.fact),
        "path": hit.path,
        "line": hit.line,
    }
