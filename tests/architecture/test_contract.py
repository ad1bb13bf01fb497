"""The schema keeps what clients are written against: every name, type, argument, default and enum value."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import graphql
import pytest
from graphql import InputValueDefinitionNode, NonNullTypeNode, print_ast

from schema import build_schema

CONTRACT = (Path(__file__).parent / "contract.graphql").read_text(encoding="utf-8")


def definitions(sdl: str) -> dict[str, Any]:
    return {cast("Any", node).name.value: node for node in graphql.parse(sdl).definitions}


PROMISED = definitions(CONTRACT)


@pytest.fixture(scope="module")
def ours() -> dict[str, Any]:
    return definitions(build_schema().as_str())


def test_the_contract_is_a_schema_of_its_own() -> None:
    graphql.assert_valid_schema(graphql.build_schema(CONTRACT))


@pytest.mark.parametrize("name", PROMISED)
def test_the_schema_keeps_its_promises_about(ours: dict[str, Any], name: str) -> None:
    promised = dict(facts(PROMISED[name]))

    kept = dict(facts(ours[name]))

    assert {place: kept.get(place) for place in promised} == promised


@pytest.mark.parametrize("name", PROMISED)
def test_no_more_is_demanded_of_clients_by(ours: dict[str, Any], name: str) -> None:
    promised = dict(inputs(PROMISED[name]))
    promised_fields = {place for place, _ in facts(PROMISED[name])}

    demanded = {place for place, value in inputs(ours[name]) if is_required(value)}

    of_promised_fields = {place for place in demanded if place.partition("(")[0] in promised_fields}
    assert of_promised_fields - set(promised) == set()


def facts(definition: Any) -> Iterator[tuple[str, str]]:
    """What stands where in the definition of a type."""
    yield "", definition.kind
    yield from ((f"implements {each.name.value}", "") for each in getattr(definition, "interfaces", None) or ())
    yield from ((each.name.value, "") for each in getattr(definition, "values", None) or ())
    if not isinstance(definition, graphql.InputObjectTypeDefinitionNode):
        yield from ((each.name.value, print_ast(each.type)) for each in getattr(definition, "fields", None) or ())
    yield from ((place, written(value)) for place, value in inputs(definition))


def inputs(definition: Any) -> Iterator[tuple[str, InputValueDefinitionNode]]:
    """What clients send: `field(argument`, or `(field` of an input."""
    for field in getattr(definition, "fields", None) or ():
        if isinstance(field, InputValueDefinitionNode):
            yield f"({field.name.value}", field
        else:
            yield from ((f"{field.name.value}({each.name.value}", each) for each in field.arguments or ())


def written(value: InputValueDefinitionNode) -> str:
    """Type and default; a default of null is to a client the same as none."""
    default = "null" if value.default_value is None else print_ast(value.default_value)
    return print_ast(value.type) if default == "null" else f"{print_ast(value.type)} = {default}"


def is_required(value: InputValueDefinitionNode) -> bool:
    return isinstance(value.type, NonNullTypeNode) and value.default_value is None
