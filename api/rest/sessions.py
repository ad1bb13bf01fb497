"""`/api/sessions/{id}/events`: a session's life as host applications tell it; and `/api/memory/config`."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from api.bodies import RefusedError, read_json
from api.responses import json_response
from api.rest.facts import fact_as_json
from api.rest.serving import rest_endpoint
from api.rest.turns import MESSAGE, turn_from_json
from domain import memory_settings
from domain.facts import FactWrite
from domain.memory_settings import MemorySettings
from domain.sessions import SessionAction, SessionEvent, SessionEventType
from domain.turns import TurnResult
from domain.usecases import UseCases
from schema.problems import camel_case, problem_of
from schema.scalars import serialize_time

# As hosts name them, and as GraphQL does.
EVENTS: Final = {
    "stream:idle": SessionEventType.STREAM_IDLE,
    "session.idle": SessionEventType.STREAM_IDLE,
    "session.usage_info": SessionEventType.USAGE_INFO,
    "session.compaction_start": SessionEventType.COMPACTION_START,
    "session.compaction_complete": SessionEventType.COMPACTION_COMPLETE,
    **SessionEventType.__members__,
}
_FIELDS: Final = ("type", "usedTokens", "tokenLimit")
_SETTINGS: Final = {camel_case(name): name for name in memory_settings.NAMES}
_KINDS: Final = {
    name: (bool,) if isinstance(default, bool) else (int, float) if isinstance(default, float) else (int,)
    for name, default in ((name, getattr(MemorySettings(), name)) for name in memory_settings.NAMES)
}


def session_routes(max_body_bytes: int) -> list[Route]:
    async def events(request: Request, use_cases: UseCases) -> Response:
        session_id, body = request.path_params["id"], await read_json(request, max_body_bytes)
        if isinstance(body, dict) and body.get("type") == MESSAGE:
            return json_response(_recorded(await use_cases.sessions.record_turn(turn_from_json(session_id, body))))
        reaction = await use_cases.sessions.report(_event(session_id, body))
        return json_response({"action": reaction.action.name, "reason": reaction.reason})

    async def config(request: Request, use_cases: UseCases) -> Response:
        if request.method == "PUT":
            changes = _changes(await read_json(request, max_body_bytes))
            return json_response(_as_json(await use_cases.settings.update(changes)))
        return json_response(_as_json(await use_cases.settings.read()))

    return [
        Route("/api/sessions/{id:path}/events", rest_endpoint(events), methods=["POST"]),
        Route("/api/memory/config", rest_endpoint(config), methods=["GET", "PUT"]),
    ]


def _event(session_id: str, body: object) -> SessionEvent:
    named = body.get("type") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(named, str) or named not in EVENTS:
        raise RefusedError(422, f"Send an object with `type`, one of {', '.join(EVENTS)}.")
    for name in body.keys() - set(_FIELDS):
        raise RefusedError(422, f"'{name}' is not known; send {', '.join(_FIELDS)}.")
    used, limit = _tokens(body, "usedTokens"), _tokens(body, "tokenLimit")
    return SessionEvent(session_id, EVENTS[named], used, limit)


def _recorded(result: TurnResult) -> dict[str, object]:
    memory = result.working_memory
    return {
        "action": SessionAction.NONE.name,
        "reason": None if result.refused is None else problem_of(result.refused).message,
        "workingMemory": memory
        and {
            "sessionId": memory.session_id,
            "currentTopic": memory.current_topic,
            "contextVariables": dict(memory.context_variables),
            "turnCount": memory.turn_count,
            "lastEmotion": memory.last_emotion,
            "createdAt": serialize_time(memory.created_at),
            "updatedAt": serialize_time(memory.updated_at),
        },
        "factWrites": [_written(write) for write in result.fact_writes],
    }


def _written(write: FactWrite) -> dict[str, object]:
    return {
        "outcome": write.outcome.name,
        "fact": fact_as_json(write.fact),
        "supersedes": None if write.supersedes is None else fact_as_json(write.supersedes),
    }


def _tokens(body: dict[str, object], name: str) -> int | None:
    value = body.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise RefusedError(422, f"{name} must be a whole number.")


def _changes(body: object) -> dict[str, object]:
    if not isinstance(body, dict):
        raise RefusedError(422, f"Send an object with any of {', '.join(_SETTINGS)}.")
    for name, value in body.items():
        if name not in _SETTINGS:
            raise RefusedError(422, f"'{name}' is not known; send any of {', '.join(_SETTINGS)}.")
        kinds = _KINDS[_SETTINGS[name]]
        is_fitting = isinstance(value, kinds) and (isinstance(value, bool) == (bool in kinds))
        if value is not None and not is_fitting:
            kind = "true or false" if bool in kinds else "a number" if float in kinds else "a whole number"
            raise RefusedError(422, f"{name} must be {kind}.")
    return {_SETTINGS[name]: value for name, value in body.items()}


def _as_json(settings: MemorySettings) -> dict[str, object]:
    return {shown: getattr(settings, name) for shown, name in _SETTINGS.items()}
