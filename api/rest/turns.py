"""A turn as a host without GraphQL tells it: the event `message`."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, TypeVar

from api.bodies import RefusedError
from domain.facts import FactCategory, FactSource
from domain.sessions import Message, MessageRole
from domain.turns import MemoryUpdate, Turn, TurnAnalysis

MESSAGE: Final = "message"

E = TypeVar("E", bound=StrEnum)

_TURN: Final = ("type", "role", "content", "messages", "turnId", "analysis")
_MESSAGE: Final = ("role", "content")
_ANALYSIS: Final = ("currentTopic", "contextVariables", "emotion", "memoryUpdate")
_UPDATE: Final = ("shouldStore", "category", "key", "value", "confidence", "source")

_NUMBER: Final = (int, float)


def turn_from_json(session_id: str, body: Mapping[str, Any]) -> Turn:
    """One message, or several as `messages`."""
    _check_known(body, _TURN, "")
    if "messages" not in body:
        messages = [_message({name: body.get(name) for name in _MESSAGE}, "")]
    elif isinstance(body["messages"], list) and not body.keys() & set(_MESSAGE):
        messages = [_message(each, f"messages[{position}].") for position, each in enumerate(body["messages"])]
    else:
        raise RefusedError(422, "Send `role` and `content`, or a list of such as `messages`.")
    analysis = body.get("analysis")
    return Turn(
        session_id,
        messages,
        _optional(body, "turnId", str, ""),
        TurnAnalysis() if analysis is None else _analysis(_object(analysis, "analysis")),
    )


def _message(given: object, place: str) -> Message:
    message = _object(given, place.rstrip(".") or "the body")
    _check_known(message, _MESSAGE, place)
    role = _choice(message, "role", MessageRole, place)
    content = message.get("content")
    if role is None or not isinstance(content, str):
        raise RefusedError(422, f"{place}role and {place}content are needed: who says it, and what, as a text.")
    return Message(role, content)


def _analysis(given: Mapping[str, Any]) -> TurnAnalysis:
    place = "analysis."
    _check_known(given, _ANALYSIS, place)
    update = given.get("memoryUpdate")
    return TurnAnalysis(
        _optional(given, "currentTopic", str, place),
        given.get("contextVariables"),
        _optional(given, "emotion", str, place),
        None if update is None else _update(_object(update, "analysis.memoryUpdate")),
    )


def _update(given: Mapping[str, Any]) -> MemoryUpdate:
    place = "analysis.memoryUpdate."
    _check_known(given, _UPDATE, place)
    should_store = given.get("shouldStore")
    if not isinstance(should_store, bool):
        raise RefusedError(422, f"{place}shouldStore must be true or false.")
    return MemoryUpdate(
        should_store,
        _choice(given, "category", FactCategory, place),
        _optional(given, "key", str, place),
        given.get("value"),
        _optional(given, "confidence", _NUMBER, place),
        _choice(given, "source", FactSource, place),
    )


def _object(given: object, name: str) -> Mapping[str, Any]:
    if not isinstance(given, dict):
        raise RefusedError(422, f"{name} must be an object.")
    return given


def _check_known(given: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
    for name in given:
        if name not in known:
            raise RefusedError(422, f"'{place}{name}' is not known; send {', '.join(known)}.")


def _optional(given: Mapping[str, Any], name: str, kind: type | tuple[type, ...], place: str) -> Any:
    value = given.get(name)
    if value is None or (isinstance(value, kind) and not isinstance(value, bool)):
        return value
    raise RefusedError(422, f"{place}{name} must be a {'text' if kind is str else 'number'}.")


def _choice(given: Mapping[str, Any], name: str, choices: type[E], place: str) -> E | None:
    """As GraphQL writes it, or in lower case."""
    value = _optional(given, name, str, place)
    if value is None:
        return None
    try:
        return choices(value.lower())
    except ValueError as error:
        raise RefusedError(422, f"{place}{name} must be one of {', '.join(choices)}.") from error
