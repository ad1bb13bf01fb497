"""Bounds what one GraphQL document may ask, before it is validated.

Validation compares fields pairwise and execution multiplies lists, so a short document can cost much.
This walks the document as execution would, with fragments spread and equal keys merged, and stops at
the first bound it meets; the walk itself is therefore never long.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Final, NamedTuple

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
    ListValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    ValueNode,
    VariableNode,
    get_named_type,
    is_list_type,
)
from graphql.type import get_nullable_type

MAX_LENGTH = 200_000
MAX_TOKENS = 20_000
MAX_DEPTH = 24
MAX_SELECTIONS = 2_000
MAX_ROOT_FIELDS = 50
MAX_REPEATS = 50
MAX_ALIASES = 200
MAX_COST = 100_000
MAX_DIGITS = 20

# What a list without a size argument is taken to hold.
ASSUMED_LIST_SIZE = 5

_SIZE_ARGUMENTS: Final = ("first", "limit", "texts")
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
    # Validation reads what no operation uses, too.
    for name in fragments.keys() - walk.reached:
        walk.fragment(fragments[name])


class _Field(NamedTuple):
    """A field with the type it is asked of, which a fragment may narrow."""

    parent: GraphQLNamedType | None
    node: FieldNode


@dataclass(slots=True)
class _Walk:
    schema: GraphQLSchema
    fragments: Mapping[str, FragmentDefinitionNode]
    variables: Mapping[str, object]
    selections: int = 0
    aliases: int = 0
    defaults: dict[str, int] = field(default_factory=dict)
    reached: set[str] = field(default_factory=set)

    def operation(self, operation: OperationDefinitionNode) -> None:
        self.defaults = {
            definition.variable.name.value: _number(definition.default_value)
            for definition in operation.variable_definitions or ()
            if isinstance(definition.default_value, IntValueNode)
        }
        merged = self._merge([(self.schema.get_root_type(operation.operation), operation.selection_set)])
        if len(merged) > MAX_ROOT_FIELDS:
            raise TooCostlyError("too many root fields", MAX_ROOT_FIELDS)
        cost = self._cost(merged, depth=1)
        if cost > MAX_COST:
            raise TooCostlyError(f"its lists could hold about {cost:,} values", MAX_COST)

    def fragment(self, fragment: FragmentDefinitionNode) -> None:
        parent = self.schema.get_type(fragment.type_condition.name.value)
        self._cost(self._merge([(parent, fragment.selection_set)]), depth=1)

    def _cost(self, merged: Mapping[str, list[_Field]], depth: int) -> int:
        if depth > MAX_DEPTH:
            raise TooCostlyError("it is nested too deeply", MAX_DEPTH)
        cost = 0
        for fields in merged.values():
            if len(fields) > MAX_REPEATS:
                raise TooCostlyError(f"'{fields[0].node.name.value}' is repeated too often", MAX_REPEATS)
            definitions = [(_definition(*each), each.node) for each in fields]
            inner = self._merge(
                (get_named_type(definition.type) if definition else None, node.selection_set)
                for definition, node in definitions
                if node.selection_set
            )
            size = max(self._size(definition, node) for definition, node in definitions)
            cost += 1 + size * self._cost(inner, depth + 1)
        return cost

    def _merge(
        self, selection_sets: Iterable[tuple[GraphQLNamedType | None, SelectionSetNode]]
    ) -> dict[str, list[_Field]]:
        merged: dict[str, list[_Field]] = {}
        seen: set[str] = set()
        for parent, selection_set in selection_sets:
            for each in self._spread(parent, selection_set, seen, depth=1):
                alias = each.node.alias
                self._count_alias(is_alias=alias is not None)
                merged.setdefault(alias.value if alias else each.node.name.value, []).append(each)
        return merged

    def _spread(
        self, parent: GraphQLNamedType | None, selection_set: SelectionSetNode, seen: set[str], depth: int
    ) -> Iterator[_Field]:
        """The fields of a selection set with its fragments; like execution, each fragment once."""
        if depth > MAX_DEPTH:
            raise TooCostlyError("its fragments are nested too deeply", MAX_DEPTH)
        for selection in selection_set.selections:
            self._count_selection()
            match selection:
                case FieldNode():
                    yield _Field(parent, selection)
                case InlineFragmentNode(type_condition=condition):
                    narrowed = self.schema.get_type(condition.name.value) if condition else parent
                    yield from self._spread(narrowed, selection.selection_set, seen, depth + 1)
                case FragmentSpreadNode() if (name := selection.name.value) not in seen and name in self.fragments:
                    seen.add(name)
                    self.reached.add(name)
                    fragment = self.fragments[name]
                    narrowed = self.schema.get_type(fragment.type_condition.name.value)
                    yield from self._spread(narrowed, fragment.selection_set, seen, depth + 1)

    def _count_selection(self) -> None:
        self.selections += 1
        if self.selections > MAX_SELECTIONS:
            raise TooCostlyError("too many fields and fragments", MAX_SELECTIONS)

    def _count_alias(self, *, is_alias: bool) -> None:
        self.aliases += is_alias
        if self.aliases > MAX_ALIASES:
            raise TooCostlyError("too many aliases", MAX_ALIASES)

    def _size(self, definition: GraphQLField | None, node: FieldNode) -> int:
        if definition is None:
            return 1
        sizes = [
            self._given_size(node, name, definition.args[name].default_value)
            for name in _SIZE_ARGUMENTS
            if name in definition.args
        ]
        if sizes:
            return prod(sizes)
        is_plain_list = is_list_type(get_nullable_type(definition.type)) and node.name.value not in _PAGE_ITEMS
        return ASSUMED_LIST_SIZE if is_plain_list else 1

    def _given_size(self, node: FieldNode, name: str, default: object) -> int:
        for argument in node.arguments or ():
            if argument.name.value == name:
                return _size_of(self._value(argument.value, default))
        return _size_of(default)

    def _value(self, node: ValueNode, default: object) -> object:
        match node:
            case IntValueNode():
                return _number(node)
            case ListValueNode():
                return node.values
            case VariableNode(name=name):
                return self.variables.get(name.value, self.defaults.get(name.value, default))
        return None


def _size_of(value: object) -> int:
    """Of a number, itself, even if a client writes 100 as 100.0; of a list, its length."""
    match value:
        case int() | float():
            return max(int(value), 1)
        case list() | tuple():
            return max(len(value), 1)
    return ASSUMED_LIST_SIZE


def _number(node: IntValueNode) -> int:
    """Python reads no number of more than 4,300 digits; such a one is too large whatever it is."""
    return int(node.value) if len(node.value) < MAX_DIGITS else MAX_COST


def _definition(parent: GraphQLNamedType | None, node: FieldNode) -> GraphQLField | None:
    if isinstance(parent, GraphQLObjectType | GraphQLInterfaceType):
        found: GraphQLField | None = parent.fields.get(node.name.value)
        return found
    return None
