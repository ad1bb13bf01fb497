"""What a chat model answered: the facts it found, or the reason why none of it can be taken."""

import re
from typing import Any, Final

import orjson

from domain.extraction import Learned, as_line
from domain.notebook import DEFAULT_CATEGORY
from persistence.http_model import AnswerRefusedError

MOST_FACTS = 100
LONGEST_FACT = 500
LONGEST_CATEGORY = 60

_FENCE: Final = "```"
# Those that are no white space: white space, and so every end of a line, becomes one space.
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")


def learned_in(answer: Any) -> list[Learned]:
    """All of it or, when any part is not as asked for, AnswerRefusedError."""
    match _answered(_content(answer)):
        case {"facts": [*facts]} if len(facts) > MOST_FACTS:
            raise AnswerRefusedError(f"its answer holds {len(facts):,} facts, more than {MOST_FACTS}")
        case {"facts": [*facts]}:
            return [_learned(fact) for fact in facts]
    raise AnswerRefusedError("its answer is not a list of facts")


def _content(answer: Any) -> str:
    match answer:
        case {"choices": [{"finish_reason": "length" | "content_filter"}, *_]}:
            raise AnswerRefusedError("its answer was cut off")
        case {"choices": [{"message": {"content": str(content)}}, *_]}:
            return content
    raise AnswerRefusedError("its answer is not a chat completion")


def _answered(content: str) -> Any:
    """Models that are given no form like to put a fence around what they answer."""
    text = content.strip()
    if text.startswith(_FENCE) and text.endswith(_FENCE):
        text = text.removeprefix(_FENCE).removeprefix("json").removesuffix(_FENCE)
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise AnswerRefusedError(f"the content of its answer is not JSON: {error}") from None


def _learned(fact: Any) -> Learned:
    match fact:
        case {"fact": str(said), "category": str(heading)}:
            line, category = _one_line(said), _one_line(heading) or DEFAULT_CATEGORY
        case _:
            raise AnswerRefusedError("its answer holds something that is not a fact with a category")
    if not 0 < len(line) <= LONGEST_FACT:
        raise AnswerRefusedError(f"its answer holds a fact of {len(line):,} characters")
    if len(category) > LONGEST_CATEGORY:
        raise AnswerRefusedError(f"its answer holds a category of {len(category):,} characters")
    return Learned(line, category)


def _one_line(text: str) -> str:
    if _CONTROLS.search(text):
        raise AnswerRefusedError("its answer holds control characters")
    return as_line(text)
