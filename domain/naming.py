"""Who is named in which text: the keyword half of retrieval."""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence

from domain.entities import EntityRef
from domain.mentions import Matcher, Name
from domain.text import NUL

# By text: who is named in it, each with the chapter from which one of the names found is known.
Named = Mapping[str, Mapping[EntityRef, int]]


def who_is_named(matcher: Matcher, texts: Sequence[tuple[str, str]]) -> Named:
    """`texts` are ids with their text. All in one pass; no name reaches across the NUL that parts them."""
    starts, joined = [], []
    length = 0
    for _, text in texts:
        starts.append(length)
        joined.append(f"{text}{NUL}")
        length += len(joined[-1])
    named: dict[str, dict[EntityRef, int]] = {}
    for mention in matcher.mentions("".join(joined)):
        for span, name in zip(mention.spans, mention.names, strict=True):
            # By its last character: a mark at the beginning joins the NUL before it.
            refs = named.setdefault(texts[bisect_right(starts, span.end - 1) - 1][0], {})
            revealed_in = matcher.revealed_in(mention.ref, name)
            refs[mention.ref] = min(revealed_in, refs.get(mention.ref, revealed_in))
    return named


def touched_by(changed: Iterable[Name], texts: Sequence[tuple[str, str]]) -> Collection[str]:
    """The texts in which any of the names stands: only there can naming have changed with them."""
    return who_is_named(Matcher(changed), texts).keys()
