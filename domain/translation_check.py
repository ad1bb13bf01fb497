"""Whether a translation uses the names and terms it should."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from domain.entities import Character, Entity, EntityRef, Term
from domain.mentions import Matcher, Mention, Name
from domain.names import stands_whole
from domain.text import fold

FORMS_APART = " / "


class TermUse(StrEnum):
    APPLIED = "applied"
    PARTIAL = "partial"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class TranslationCheck:
    """`found` are the entity's own translations that stand in the target."""

    ref: EntityRef
    use: TermUse
    expected: str
    found: tuple[str, ...]


def check_translation(
    mentions: Sequence[Mention], entities: Mapping[EntityRef, Entity], target: str
) -> tuple[TranslationCheck, ...]:
    """One for every mentioned entity that has a translation, in the order of the source."""
    known = {mention.ref: _translations(entities[mention.ref]) for mention in mentions}
    matcher = Matcher(Name(ref, text) for ref, forms in known.items() for text in dict.fromkeys(forms.values()))
    standing = {mention.ref: set(mention.names) for mention in matcher.mentions(target)}
    return tuple(
        _check(mention, known[mention.ref], _found(known[mention.ref], standing.get(mention.ref, set())))
        for mention in mentions
        if known[mention.ref]
    )


def _found(forms: Mapping[str, str], standing: Collection[str]) -> tuple[str, ...]:
    """Also a form within a longer one of the same entity, as 大夫 in 黑濑大夫."""
    folded = [fold(name) for name in standing]
    return tuple(form for form in dict.fromkeys(forms.values()) if any(_stands_in(fold(form), each) for each in folded))


def _stands_in(form: str, text: str) -> bool:
    starts = [match.start() for match in re.finditer(f"(?={re.escape(form)})", text)]
    return any(stands_whole(text, start, start + len(form)) for start in starts)


def _check(mention: Mention, forms: Mapping[str, str], found: tuple[str, ...]) -> TranslationCheck:
    """What was said in the source by an alias should be said by the alias's translation."""
    default = next(iter(forms.values()))
    expected = tuple(dict.fromkeys(forms.get(name, default) for name in mention.names))
    return TranslationCheck(mention.ref, _use(expected, found), FORMS_APART.join(expected), found)


def _use(expected: tuple[str, ...], found: tuple[str, ...]) -> TermUse:
    if set(expected) <= set(found):
        return TermUse.APPLIED
    return TermUse.PARTIAL if found else TermUse.MISSING


def _translations(entity: Entity) -> dict[str, str]:
    """By name; the entity's own comes first."""
    if not isinstance(entity, Character | Term):
        return {}
    forms = {entity.name: entity.translation, **{alias.name: alias.translation for alias in entity.aliases}}
    return {name: translation for name, translation in forms.items() if translation}
