"""What a tool is: its name, the words that guide a model, the JSON schema of its arguments, and what it does."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from domain.usecases import UseCases
from schema.problems import Problem, ProblemCode

Arguments = Mapping[str, Any]
JsonSchema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Tool:
    """`example` is a call that is right.

    Of `alternatives`, groups of arguments, at least one must be given whole: model providers take no schema that says
    so, and the description does.
    """

    name: str
    description: str
    run: Callable[[UseCases, Arguments], Awaitable[object]]
    example: Arguments
    properties: Mapping[str, JsonSchema]
    required: tuple[str, ...] = ()
    alternatives: tuple[tuple[str, ...], ...] = ()

    @property
    def parameters(self) -> JsonSchema:
        return object_schema(self.properties, self.required)


@dataclass(eq=False)
class CallRefusedError(Exception):
    """The call cannot be answered; the problem tells a model what to send instead."""

    problem: Problem


def refusal(code: ProblemCode, message: str, *path: str) -> CallRefusedError:
    return CallRefusedError(Problem(code=code, message=message, path=list(path)))


def object_schema(properties: Mapping[str, JsonSchema], required: tuple[str, ...]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def text_schema(description: str, **more: object) -> dict[str, object]:
    return {"type": "string", "minLength": 1, "description": description, **more}
