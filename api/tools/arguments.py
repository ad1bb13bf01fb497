"""Arguments as models send them, read by the very schema that was offered.

What has one possible meaning is taken for it: an entity type in capitals, a list or object inside a text, a number or
`true` inside a text, one object where a list of them belongs, and null for an argument that may be left out.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

import orjson

from api.tools.tool import Arguments, CallRefusedError, JsonSchema, Tool, refusal
from schema.problems import ProblemCode

SHOWN_CHARACTERS: Final = 80

_EXPECTED: Final = {
    "object": "an object",
    "array": "a list",
    "string": "a text",
    "integer": "a whole number",
    "boolean": "true or false",
}
_TYPES: Final[Mapping[str, type]] = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool}
_WHOLE_NUMBER: Final = re.compile(r"-?[0-9]{1,18}")
_BOOLEANS: Final = {"true": True, "false": False}

Path = tuple[str, ...]


def read_arguments(tool: Tool, given: object) -> Arguments:
    """Those that were given, checked; what was left out or null is absent."""
    try:
        if not isinstance(given, dict):
            raise _wrong((), f"the arguments must be a JSON object, not {_shown(given)}")
        arguments = _read_object(tool.parameters, given, ())
        _check_alternatives(tool, arguments)
    except CallRefusedError as error:
        problem = error.problem
        message = f"{tool.name}: {problem.message}. {_how_to_call(tool)}"
        raise refusal(problem.code, message, *problem.path) from error
    return arguments


def spoken(path: Sequence[str]) -> str:
    """attached_to[0].type"""
    return "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in path).removeprefix(".")


def _read(schema: JsonSchema, value: object, path: Path) -> Any:
    kind = schema["type"]
    meant = _MEANT[kind](value)
    # bool is a kind of int to Python, and not to JSON.
    if type(meant) is not _TYPES[kind]:
        raise _wrong(path, f"{spoken(path)} must be {_EXPECTED[kind]}, not {_shown(value)}")
    return _READERS[kind](schema, meant, path)


def _read_object(schema: JsonSchema, given: dict[str, Any], path: Path) -> dict[str, Any]:
    properties, required = schema["properties"], schema["required"]
    for name in given:
        if name not in properties:
            raise _unknown(name, properties, path)
    for name in required:
        if name not in given:
            raise _wrong((*path, name), f"{spoken((*path, name))} is missing")
    return {
        name: _read(properties[name], value, (*path, name))
        for name, value in given.items()
        if value is not None or name in required
    }


def _read_array(schema: JsonSchema, given: list[Any], path: Path) -> list[Any]:
    most = schema["maxItems"]
    if len(given) > most:
        raise _wrong(path, f"{spoken(path)} has {len(given)} items; at most {most} are allowed")
    return [_read(schema["items"], item, (*path, str(position))) for position, item in enumerate(given)]


def _read_string(schema: JsonSchema, given: str, path: Path) -> str:
    if "enum" in schema:
        return _read_choice(schema["enum"], given, path)
    if len(given.strip()) < schema["minLength"]:
        raise _wrong(path, f"{spoken(path)} is empty")
    most = schema.get("maxLength")
    if most is not None and len(given) > most:
        raise _wrong(path, f"{spoken(path)} has {len(given)} characters; at most {most} are allowed")
    return given


def _read_choice(choices: Sequence[str], given: str, path: Path) -> str:
    if given.lower() not in choices:
        raise _wrong(path, f"{spoken(path)} must be one of {', '.join(choices)}, not {_shown(given)}")
    return given.lower()


def _read_integer(schema: JsonSchema, given: int, path: Path) -> int:
    low, high = schema["minimum"], schema["maximum"]
    if not low <= given <= high:
        raise _wrong(path, f"{spoken(path)} must be from {low} to {high}, not {given}")
    return given


_READERS: Final[Mapping[str, Callable[[JsonSchema, Any, Path], Any]]] = {
    "object": _read_object,
    "array": _read_array,
    "string": _read_string,
    "integer": _read_integer,
    "boolean": lambda _, given, __: given,
}


def _meant_as_list(value: object) -> object:
    meant = _decoded(value)
    return [meant] if isinstance(meant, dict) else meant


def _meant_as_integer(value: object) -> object:
    if isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value.strip()):
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _meant_as_boolean(value: object) -> object:
    return _BOOLEANS.get(value.strip().lower(), value) if isinstance(value, str) else value


def _decoded(value: object) -> object:
    """What a text says that holds JSON."""
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return value


_MEANT: Final[Mapping[str, Callable[[object], object]]] = {
    "object": _decoded,
    "array": _meant_as_list,
    "string": lambda value: value,
    "integer": _meant_as_integer,
    "boolean": _meant_as_boolean,
}


def _check_alternatives(tool: Tool, arguments: Arguments) -> None:
    if tool.alternatives and not any(arguments.keys() >= set(group) for group in tool.alternatives):
        choices = ", or ".join(" and ".join(group) for group in tool.alternatives)
        raise _wrong((), f"give {choices}")


def _unknown(name: str, properties: Mapping[str, object], path: Path) -> CallRefusedError:
    shown = name[:SHOWN_CHARACTERS]
    where = f"{spoken(path)}: " if path else ""
    nearest = get_close_matches(shown.lower(), properties, n=1)
    hint = f"; did you mean {nearest[0]}?" if nearest else ""
    known = f"known here: {', '.join(properties)}" if properties else "there are none"
    return _wrong((*path, shown), f"{where}'{shown}' is not an argument{hint} ({known})")


def _wrong(path: Path, message: str) -> CallRefusedError:
    return refusal(ProblemCode.BAD_INPUT, message, *path)


def _shown(value: object) -> str:
    """Short, however large it is."""
    match value:
        case str() if len(value) > SHOWN_CHARACTERS:
            return f"the text {_json(value[:SHOWN_CHARACTERS])} and so on"
        case str():
            return f"the text {_json(value)}"
        case list():
            return "a list"
        case dict():
            return "an object"
    return _json(value)


def _how_to_call(tool: Tool) -> str:
    required = f"Required: {', '.join(tool.required)}. " if tool.required else ""
    return f"{required}Example: {_json(tool.example)}"


def _json(value: object) -> str:
    return orjson.dumps(value).decode()
