"""What stands in the query of a URL."""

import re
from collections.abc import Sequence
from typing import Final

from starlette.datastructures import QueryParams

from api.bodies import RefusedError

_WHOLE_NUMBER: Final = re.compile(r"-?[0-9]{1,100}")


def check_known(given: QueryParams, known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            raise RefusedError(422, f"'{name}' is not known; send {', '.join(known) or 'none'}.")


def whole_number(given: QueryParams, name: str, default: int) -> int:
    text = given.get(name, str(default))
    if not _WHOLE_NUMBER.fullmatch(text):
        raise RefusedError(422, f"{name} must be a whole number.")
    return int(text)
