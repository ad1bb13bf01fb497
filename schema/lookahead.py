"""What the operation will ask of the items of a page, so that it can be fetched before they are walked.

A value that is already there is read at once; one that must be waited for costs a task for each item.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from strawberry.types.nodes import FragmentSpread, InlineFragment, SelectedField, Selection

from schema.context import Info


def arguments_below_items(info: Info, field_name: str) -> list[dict[str, Any]]:
    """The arguments of every `field_name` that is selected on the nodes of the connection being resolved."""
    connections = [field for field in info.selected_fields if isinstance(field, SelectedField)]
    nodes = [*_at(connections, ("nodes",)), *_at(connections, ("edges", "node"))]
    return [field.arguments for field in _at(nodes, (field_name,))]


def _at(fields: Iterable[SelectedField], path: Sequence[str]) -> Iterator[SelectedField]:
    for field in fields:
        for child in _spread(field.selections):
            if child.name == path[0]:
                yield from _at([child], path[1:]) if path[1:] else [child]


def _spread(selections: Iterable[Selection]) -> Iterator[SelectedField]:
    for selection in selections:
        if isinstance(selection, FragmentSpread | InlineFragment):
            yield from _spread(selection.selections)
        else:
            yield selection
