"""What a resolver knows of its request."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from strawberry.types.info import Info as StrawberryInfo

from domain.usecases import UseCases
from schema.loaders import Loaders


@dataclass(frozen=True, slots=True)
class RequestContext:
    """Use cases and loaders are those of the caller's owner."""

    use_cases: UseCases
    loaders: Loaders
    new_id: Callable[[str], str]


Info: TypeAlias = StrawberryInfo[RequestContext, None]
