"""If-Match and If-None-Match, as RFC 9110 has them."""

import re
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import Headers

from api.bodies import RefusedError

_TAG: Final = re.compile(r'(W/)?"([^"]*)"')


@dataclass(frozen=True, slots=True)
class Tags:
    """What a condition lists; `is_any` is the `*` that stands for anything there is."""

    strong: frozenset[str] = frozenset()
    weak: frozenset[str] = frozenset()
    is_any: bool = False

    def names(self, version: str) -> bool:
        """Also when a copy on the way has weakened it: good enough to say that nothing changed."""
        return self.is_any or version in self.strong | self.weak

    def names_exactly(self, version: str) -> bool:
        """No weak tag promises that every byte is the same."""
        return self.is_any or version in self.strong


def quoted(version: str) -> str:
    return f'"{version}"'


def if_match(headers: Headers) -> Tags | None:
    return _tags(headers, "if-match")


def if_none_match(headers: Headers) -> Tags | None:
    return _tags(headers, "if-none-match")


def _tags(headers: Headers, name: str) -> Tags | None:
    """None without such a condition; the header may stand several times."""
    if name not in headers:
        return None
    given = ",".join(headers.getlist(name)).strip(" \t,")
    if given == "*":
        return Tags(is_any=True)
    if _TAG.sub("", given).strip(" \t,"):
        raise RefusedError(400, f'{name} must be * or a list of tags, each in quotes: "…", "…".')
    tags = _TAG.findall(given)
    return Tags(
        strong=frozenset(tag for is_weak, tag in tags if not is_weak),
        weak=frozenset(tag for is_weak, tag in tags if is_weak),
    )
