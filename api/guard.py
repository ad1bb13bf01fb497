"""Bounds what one GraphQL document may ask, before it is validated.

Validation compares fields pairwise and execution multiplies lists, so a short document can cost much.
This walks the document as execution would, with fragments spread and equal keys merged, and stops at
the first bound it meets; the walk itself is therefore never long.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLField,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    IntValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    VariableNode,
    get_named_type,
    is_list_type,
)
from graphql.type import get_nullable_type

MAX_LENGTH = 200_000
MAX_TOKENS = 20_000
MAX_DEPTH = 24
MAX_FIELDS = 2_000
MAX_ROOT_FIELDS = 50
MAX_REPEATS = 50
MAX_ALIASES = 200
MAX_COST = 100_000

# What a list without a size argument is taken to hold.
ASSUMED_LIST_SIZE = 5

_SIZE_ARGUMENTS: Final = ("first", "limit")
# The items of a page were counted with the page.
_PAGE_ITEMS: Final = ("nodes", "edges")


@dataclass(eq=False)
class TooCostlyError(Exception):
    what: str
    limit: int

    def __str__(self) -> str:
        return f"The request asks too much: {self.what} (the limit is {self.limit:,}). Ask for less at once."


def check_length(query: str) -> None:
    if len(query) > MAX_LENGTH:
        raise TooCostlyError("its document is too long; send long texts as variables", MAX_LENGTH)


def check_cost(schema: GraphQLSchema, document: DocumentNode, variables: Mapping[str, object]) -> None:
    fragments = {node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)}
    walk = _Walk(schema, fragments, variables)
    for operation in document.definitions:
        if isinstance(operation, OperationDefinitionNode):
            walk.operation(operation)


@dataclass(slots=True)
class _Walk:
    schema: GraphQLSchema
    fragments: Mapping[str, FragmentDefinitionNode]
    variables: Mapping[str, object]
    fields: int = 0
    aliases: int = 0
    defaults: dict[str, int] = field(default_factory=dict)

    def operation(self, operation: OperationDefinitionNode) -> None:
        self.defaults = {
            definition.variable.name.value: int(definition.default_value.value)
            for definition in operation.variable_definitions or ()
            if isinstance(definition.default_value, IntValueNode)
        }
        root = self.schema.get_root_type(operation.operation)
        merged = self._merge([operation.selection_set])
        if len(merged) > MAX_ROOT_FIELDS:
            raise TooCostlyError("too many root fields", MAX_ROOT_FIELDS)
        cost = self._cost(root, merged, depth=1)
        if cost > MAX_COST:
            raise TooCostlyError(f"its lists could hold about {cost:,} values", MAX_COST)

    def _cost(self, parent: GraphQLNamedType | None, merged: Mapping[str, list[FieldNode]], depth: int) -> int:
        if depth > MAX_DEPTH:
            raise TooCostlyError("it is nested too deeply", MAX_DEPTH)
        cost = 0
        for nodes in merged.values():
            if len(nodes) > MAX_REPEATS:
                raise TooCostlyError(f"'{nodes[0].name.value}' is repeated too often", MAX_REPEATS)
            definition = _definition(parent, nodes[0])
            inner = self._merge(node.selection_set for node in nodes if node.selection_set)
            inner_cost = self._cost(get_named_type(definition.type) if definition else None, inner, depth + 1)
            cost += 1 + max(self._size(definition, node) for node in nodes) * inner_cost
        return cost

    def _merge(self, selection_sets: Iterable[SelectionSetNode]) -> dict[str, list[FieldNode]]:
        merged: dict[str, list[FieldNode]] = {}
        seen: set[str] = set()
        for selection_set in selection_sets:
            for node in self._spread(selection_set, seen):
                self._count(node)
                merged.setdefault(node.alias.value if node.alias else node.name.value, []).append(node)
        return merged

    def _spread(self, selection_set: SelectionSetNode, seen: set[str]) -> Iterator[FieldNode]:
        """The fields of a selection set with its fragments; like execution, each fragment once."""
        for selection in selection_set.selections:
            match selection:
                case FieldNode():
                    yield selection
                case InlineFragmentNode():
                    yield from self._spread(selection.selection_set, seen)
                case FragmentSpreadNode() if (name := selection.name.value) not in seen and name in self.fragments:
                    seen.add(name)
                    yield from self._spread(self.fragments[name].selection_set, seen)

    def _count(self, node: FieldNode) -> None:
        self.fields += 1
        self.aliases += node.alias is not None
        if self.fields > MAX_FIELDS:
            raise TooCostlyError("too many fields", MAX_FIELDS)
        if self.aliases > MAX_ALIASES:
            raise TooCostlyError("too many aliases", MAX_ALIASES)

    def _size(self, definition: GraphQLField | None, node: FieldNode) -> int:
        if definition is None:
            return 1
        for name in _SIZE_ARGUMENTS:
            if name in definition.args:
                return self._given_size(node, name, definition.args[name].default_value)
        is_plain_list = is_list_type(get_nullable_type(definition.type)) and node.name.value not in _PAGE_ITEMS
        return ASSUMED_LIST_SIZE if is_plain_list else 1

    def _given_size(self, node: FieldNode, name: str, default: object) -> int:
        value: object = default
        for argument in node.arguments or ():
            if argument.name.value == name and isinstance(argument.value, IntValueNode):
                value = int(argument.value.value)
            elif argument.name.value == name and isinstance(argument.value, VariableNode):
                variable = argument.value.name.value
                value = self.variables.get(variable, self.defaults.get(variable, default))
        return max(value, 1) if isinstance(value, int) else ASSUMED_LIST_SIZE


def _definition(parent: GraphQLNamedType | None, node: FieldNode) -> GraphQLField | None:
    if isinstance(parent, GraphQLObjectType | GraphQLInterfaceType):
        found: GraphQLField | None = parent.fields.get(node.name.value)
        return found
    return None
