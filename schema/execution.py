"""Speed where it counts: most of an answer is plain values of plain objects."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from graphql import GraphQLField, GraphQLList, GraphQLNonNull, GraphQLObjectType, TypeNameMetaFieldDef, is_leaf_type
from graphql.execution.collect_fields import FieldDetailsList, GroupedFieldSet
from graphql.pyutils import Path
from strawberry.schema.name_converter import NameConverter
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext
from strawberry.schema.schema_converter import GraphQLCoreConverter

# Values of exactly these types are already what the scalar would make of them.
_AS_THEY_ARE: Final[Mapping[str, type]] = {"String": str, "ID": str, "Boolean": bool}

Read = Callable[[Any], Any]


class UnexpectedValueError(Exception):
    """The general way will meet it again, and say where it stands."""


class PlainFirstExecution(StrawberryGraphQLCoreExecutionContext):
    """Reads selections of nothing but plain attributes without resolver, info, path or awaiting.

    That more than halves the time of a list of memories. Whatever is not as expected goes the general way.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._readers: dict[int, tuple[GroupedFieldSet, Read | None]] = {}
        self._field_readers: dict[int, tuple[FieldDetailsList, Read | None]] = {}

    def build_per_event_executor(self, payload: Any) -> Any:
        """Fields are collected anew for every event; remembering those of all events would never stop growing."""
        executor = super().build_per_event_executor(payload)
        vars(executor).update(_relevant_sub_fields={}, _readers={}, _field_readers={})
        return executor

    def execute_fields(
        self,
        parent_type: GraphQLObjectType,
        source_value: Any,
        path: Path | None,
        grouped_field_set: GroupedFieldSet,
        position_context: Any,
    ) -> Any:
        read = self._reader(parent_type, grouped_field_set)
        if read is not None:
            try:
                return read(source_value)
            except UnexpectedValueError:
                self._readers[id(grouped_field_set)] = grouped_field_set, None
        return super().execute_fields(parent_type, source_value, path, grouped_field_set, position_context)

    def execute_field(
        self,
        parent_type: GraphQLObjectType,
        source: Any,
        field_details_list: FieldDetailsList,
        path: Path,
        position_context: Any,
    ) -> Any:
        key = id(field_details_list)
        known = self._field_readers.get(key)
        if known is None:
            field = self.schema.get_field(parent_type, field_details_list[0].node.name.value)
            read = self._field_reader(parent_type, field, field_details_list) if field else None
            known = self._field_readers[key] = field_details_list, read
        read = known[1]
        if read is not None:
            try:
                return read(source)
            except UnexpectedValueError:
                self._field_readers[key] = field_details_list, None
        return super().execute_field(parent_type, source, field_details_list, path, position_context)

    def _reader(self, parent_type: GraphQLObjectType, fields: GroupedFieldSet) -> Read | None:
        # By identity, as graphql-core does: the set is kept, so its id is not used again.
        known = self._readers.get(id(fields))
        if known is None:
            known = fields, self._object_reader(parent_type, fields)
            self._readers[id(fields)] = known
        return known[1]

    def _object_reader(self, parent_type: GraphQLObjectType, fields: GroupedFieldSet) -> Read | None:
        readers: list[tuple[str, Read]] = []
        for response_name, details in fields.items():
            field = self.schema.get_field(parent_type, details[0].node.name.value)
            read = self._field_reader(parent_type, field, details) if field else None
            if read is None:
                return None
            readers.append((response_name, read))
        return lambda source: {response_name: read(source) for response_name, read in readers}

    def _field_reader(
        self, parent_type: GraphQLObjectType, field: GraphQLField, details: FieldDetailsList
    ) -> Read | None:
        if field is TypeNameMetaFieldDef:
            return lambda _: parent_type.name
        definition = field.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
        read = self._value_reader(field.type, details)
        if definition is None or not definition.is_basic_field or read is None:
            return None
        attribute: str = definition.python_name
        return lambda source: read(getattr(source, attribute))

    def _value_reader(self, value_type: Any, details: FieldDetailsList) -> Read | None:
        if isinstance(value_type, GraphQLNonNull):
            return self._present_reader(value_type.of_type, details)
        read = self._present_reader(value_type, details)
        return None if read is None else lambda value: None if value is None else read(value)

    def _present_reader(self, value_type: Any, details: FieldDetailsList) -> Read | None:
        if is_leaf_type(value_type):
            return _leaf_reader(value_type)
        if isinstance(value_type, GraphQLList):
            read_item = self._value_reader(value_type.of_type, details)
            return None if read_item is None else _list_reader(read_item)
        if isinstance(value_type, GraphQLObjectType):
            fields = self.collect_subfields(value_type, details).grouped_field_set
            read = self._reader(value_type, fields)
            return None if read is None else _checked(read)
        return self._abstract_reader(details)

    def _abstract_reader(self, details: FieldDetailsList) -> Read:
        """What an interface is asked for depends on what stands there."""
        readers: dict[type, Read] = {}

        def read(value: object) -> object:
            known = readers.get(type(value))
            if known is None:
                definition = getattr(value, "__strawberry_definition__", None)
                value_type = self.schema.get_type(definition.name) if definition else None
                made = self._present_reader(value_type, details) if value_type else None
                if made is None:
                    raise UnexpectedValueError
                known = readers[type(value)] = made
            return known(value)

        return read


def _leaf_reader(leaf_type: Any) -> Read:
    as_it_is, coerce = _AS_THEY_ARE.get(leaf_type.name), leaf_type.coerce_output_value

    def read(value: object) -> object:
        if type(value) is as_it_is:
            return value
        try:
            coerced = None if value is None else coerce(value)
        except Exception as error:
            raise UnexpectedValueError from error
        if coerced is None:
            raise UnexpectedValueError
        return coerced

    return read


def _list_reader(read_item: Read) -> Read:
    def read(value: object) -> object:
        if type(value) is not list:
            raise UnexpectedValueError
        return [read_item(item) for item in value]

    return read


def _checked(read_object: Read) -> Read:
    def read(value: object) -> object:
        if value is None:
            raise UnexpectedValueError
        return read_object(value)

    return read


class CachedNames(NameConverter):
    """Strawberry converts the name of every argument at every call."""

    def __init__(self) -> None:
        super().__init__(auto_camel_case=True)
        self.apply_naming_config = lru_cache(maxsize=4096)(super().apply_naming_config)  # type: ignore[method-assign]
