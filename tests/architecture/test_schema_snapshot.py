"""The schema kept in the repository is the schema of the code, and everything in it is described."""

from collections.abc import Iterator
from pathlib import Path

import graphql
from graphql import (
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    is_introspection_type,
    is_specified_scalar_type,
)

from schema import build_schema

SNAPSHOT = Path(__file__).parent.parent.parent / "schema" / "schema.graphql"


def test_the_schema_in_the_repository_is_that_of_the_code() -> None:
    kept = SNAPSHOT.read_text(encoding="utf-8")

    assert kept == build_schema().as_str() + "\n", "`make format` writes it anew"


def test_the_schema_is_valid() -> None:
    graphql.assert_valid_schema(build_schema()._schema)


def test_every_type_field_and_argument_is_described() -> None:
    types = [
        each
        for each in build_schema()._schema.type_map.values()
        if not is_introspection_type(each) and not is_specified_scalar_type(each)
    ]

    undescribed = [place for each in types for place, description in descriptions(each) if not description]

    assert len(types) > 40
    assert undescribed == []


def descriptions(type_: GraphQLNamedType) -> Iterator[tuple[str, str | None]]:
    yield type_.name, type_.description
    if isinstance(type_, GraphQLObjectType | GraphQLInterfaceType | GraphQLInputObjectType):
        for field_name, field in type_.fields.items():
            yield f"{type_.name}.{field_name}", field.description
            for name, argument in getattr(field, "args", {}).items():
                yield f"{type_.name}.{field_name}({name})", argument.description
