"""Extractors: any OpenAI-compatible chat endpoint behind its guard, or the built-in rules."""

from collections.abc import Callable

from domain.extraction.rules import RuleExtractor
from domain.ports import Extractor
from persistence.extraction.chat import ChatExtractor
from persistence.extraction.guarded import GuardedExtractor


def open_extractor(base_url: str, api_key: str, model: str, clock: Callable[[], float]) -> Extractor:
    """The rules when there is no `base_url`. Nothing is reached before the first conversation."""
    if not base_url:
        return RuleExtractor()
    return GuardedExtractor(ChatExtractor(base_url, model, api_key), clock)
