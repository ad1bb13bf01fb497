"""GraphQL documents, parsed and validated once for each distinct text."""

import re
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    GraphQLSyntaxError,
    IntValueNode,
    Visitor,
    get_operation_ast,
    parse,
    specified_rules,
    validate,
    visit,
)
from strawberry.extensions import SchemaExtension

from api import guard
from schema.problems import ProblemCode

CACHED_DOCUMENTS = 512
# A longer text has its values written into it and will hardly come again.
CACHED_LENGTH = 10_000


@dataclass(frozen=True, slots=True)
class Prepared:
    document: DocumentNode
    errors: list[GraphQLError]


@dataclass
class Documents:
    """Of one schema."""

    _prepared: "OrderedDict[tuple[object, ...], Prepared]" = field(default_factory=OrderedDict)

    def prepare(self, schema: GraphQLSchema, query: str, variables: dict[str, Any]) -> Prepared:
        """Checked for cost, parsed and validated; raises GraphQLError when it cannot be."""
        # Sizes of lists may come as variables and change what a document costs.
        key = (query, *((name, size) for name, value in variables.items() if (size := _size(value)) is not None))
        prepared = self._prepared.get(key)
        if prepared is not None:
            self._prepared.move_to_end(key)
            return prepared
        prepared = _prepare(schema, query, variables)
        if len(query) <= CACHED_LENGTH:
            self._prepared[key] = prepared
            if len(self._prepared) > CACHED_DOCUMENTS:
                self._prepared.popitem(last=False)
        return prepared


def _size(value: object) -> float | None:
    if isinstance(value, int | float):
        return value
    return len(value) if isinstance(value, list) else None


def _prepare(schema: GraphQLSchema, query: str, variables: dict[str, Any]) -> Prepared:
    try:
        guard.check_length(query)
        document = parse(query, max_tokens=guard.MAX_TOKENS)
        if _LONG_NUMBER.search(query):
            visit(document, _RefuseLongNumbers())
        guard.check_cost(schema, document, variables)
        return Prepared(document, validate(schema, document, specified_rules, max_errors=20))
    except guard.TooCostlyError as error:
        raise _refused(str(error)) from error
    except GraphQLSyntaxError as error:
        if error.message.endswith(_PARSER_GAVE_UP):
            raise _refused(f"The request asks too much: {error.message}") from error
        raise


_LONG_NUMBER = re.compile(r"\d{100}")
_PARSER_GAVE_UP = "Parsing aborted."


def _refused(message: str) -> GraphQLError:
    return GraphQLError(message, extensions={"code": ProblemCode.TOO_COSTLY.value})


class _RefuseLongNumbers(Visitor):
    """Python refuses to read a number of more than 4,300 digits, wherever graphql-core happens to meet it."""

    def enter_int_value(self, node: IntValueNode, *_: object) -> None:
        if _LONG_NUMBER.search(node.value):
            raise GraphQLError("No number here has so many digits.", node)


class UsePrepared(SchemaExtension):
    """Takes documents from the cache, whatever way a request comes in."""

    def __init__(self, documents: Documents) -> None:
        self.documents = documents

    def on_parse(self) -> Iterator[None]:
        operation = self.execution_context
        prepared = self.documents.prepare(
            operation.schema._schema,  # noqa: SLF001 - there is no public way to it
            operation.query or "",
            operation.variables or {},
        )
        if get_operation_ast(prepared.document, operation._provided_operation_name) is None:  # noqa: SLF001
            raise GraphQLError("Name with `operationName` one operation that the document has.")
        operation.graphql_document = prepared.document
        operation.pre_execution_errors = prepared.errors
        yield
