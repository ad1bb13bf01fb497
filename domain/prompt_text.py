"""The sections of a translator's prompt. Stored text is data: it can forge neither a line nor a section."""

import re
from collections.abc import Iterable, Sequence

from domain.entities import Character, Entity, Term

ENTITY_TITLE = "【当前部分出现的术语和角色】"
MEMORY_TITLE = "【相关记忆】"

# Everything `str.splitlines` takes for the end of a line, and every other control character.
_BREAKS = re.compile(r"[ \t]*[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]+[ \t]*")
_TITLES = re.compile(f"{ENTITY_TITLE}|{MEMORY_TITLE}")


def entity_section(entities: Iterable[Entity]) -> str:
    lines = [_entity_line(entity) for entity in entities if isinstance(entity, Character | Term)]
    return "\n".join([ENTITY_TITLE, *lines]) if lines else ""


def memory_section(summaries: Sequence[str], left_out: int) -> str:
    if not summaries:
        return ""
    lines = [MEMORY_TITLE, *(f"- [Memory] {one_line(summary)}" for summary in summaries)]
    if left_out:
        lines.append(f"... and {left_out} more memories")
    return "\n".join(lines)


def assemble(*sections: str) -> str:
    return "\n\n".join(section for section in sections if section)


def one_line(text: str) -> str:
    """Without line breaks, and with the titles of our sections made harmless."""
    return _TITLES.sub(lambda title: f"[{title[0][1:-1]}]", _BREAKS.sub(" ", text)).strip()


def _entity_line(entity: Character | Term) -> str:
    """`- [Character] 名字（translation）: description`; what is not known is left out."""
    kind = "Character" if isinstance(entity, Character) else "Term"
    translation, description = one_line(entity.translation or ""), one_line(entity.description or "")
    known = [
        one_line(entity.name),
        f"（{translation}）" if translation else "",
        f": {description}" if description else "",
    ]
    return f"- [{kind}] {''.join(known)}"
