"""The GraphQL face: types, loaders and resolvers over the use cases."""

from collections.abc import Callable, Iterable
from datetime import datetime

import strawberry
from graphql import GraphQLError
from strawberry.extensions import SchemaExtension
from strawberry.schema.config import StrawberryConfig
from strawberry.types import ExecutionContext

from schema.execution import CachedNames, PlainFirstExecution
from schema.mutations.entities import EntityMutations
from schema.mutations.memories import MemoryMutations
from schema.queries.chunks import ChunkQueries
from schema.queries.graph import GraphQueries
from schema.scalars import DateTime
from schema.types.entities import Book, Chapter, Character, Term


@strawberry.type(description="What can be asked.")
class Query(GraphQueries, ChunkQueries):
    pass


@strawberry.type(description="What can be changed.")
class Mutation(EntityMutations, MemoryMutations):
    pass


class QuietSchema(strawberry.Schema):
    """The face that describes an error to the client also logs it."""

    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        pass


def build_schema(extensions: Iterable[Callable[[], SchemaExtension]] = ()) -> strawberry.Schema:
    return QuietSchema(
        query=Query,
        mutation=Mutation,
        types=[Book, Character, Term, Chapter],
        extensions=list(extensions),
        execution_context_class=PlainFirstExecution,
        config=StrawberryConfig(scalar_map={datetime: DateTime}, name_converter=CachedNames()),
    )
