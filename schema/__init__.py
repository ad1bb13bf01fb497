"""The GraphQL face: types, loaders and resolvers over the use cases."""

from collections.abc import Callable, Iterable
from datetime import date, datetime

import strawberry
from graphql import GraphQLError, GraphQLInputObjectType, GraphQLInterfaceType, GraphQLObjectType, Undefined
from strawberry.extensions import SchemaExtension
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionContext

from schema.execution import CachedNames, PlainFirstExecution
from schema.mutations.chat import ChatMutations
from schema.mutations.entities import EntityMutations
from schema.mutations.memories import MemoryMutations
from schema.mutations.notebook import NotebookMutations
from schema.mutations.search import SearchMutations
from schema.queries.chat import ChatQueries
from schema.queries.chunks import ChunkQueries
from schema.queries.graph import GraphQueries
from schema.queries.notebook import NotebookQueries
from schema.queries.search import SearchQueries
from schema.scalars import JSON, Date, DateTime, JsonValue
from schema.subscriptions import Subscription
from schema.types.entities import Book, Chapter, Character, Term


@strawberry.type(description="What can be asked.")
class Query(GraphQueries, ChunkQueries, NotebookQueries, SearchQueries, ChatQueries):
    pass


@strawberry.type(description="What can be changed.")
class Mutation(EntityMutations, MemoryMutations, NotebookMutations, SearchMutations, ChatMutations):
    pass


class QuietSchema(strawberry.Schema):
    """The face that describes an error to the client also logs it."""

    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        pass


def build_schema(extensions: Iterable[Callable[[], SchemaExtension]] = ()) -> strawberry.Schema:
    schema = QuietSchema(
        query=Query,
        mutation=Mutation,
        subscription=Subscription,
        types=[Book, Character, Term, Chapter],
        extensions=list(extensions),
        execution_context_class=PlainFirstExecution,
        config=StrawberryConfig(
            scalar_map={datetime: DateTime, date: Date, JsonValue: JSON}, name_converter=CachedNames()
        ),
    )
    _leave_out_null_defaults(schema)
    return schema


def _leave_out_null_defaults(schema: strawberry.Schema) -> None:
    """What may be left out is written `= None` in Python; in GraphQL it has no default at all."""
    for named_type in schema._schema.type_map.values():  # noqa: SLF001 - there is no public way to it
        if isinstance(named_type, GraphQLInputObjectType):
            optional = list(named_type.fields.values())
        elif isinstance(named_type, GraphQLObjectType | GraphQLInterfaceType):
            optional = [argument for field in named_type.fields.values() for argument in field.args.values()]
        else:
            continue
        for each in optional:
            if each.default_value is None:
                each.default_value = Undefined
