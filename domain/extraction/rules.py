"""Lasting facts in what users say, found by rules and without a model: rather too few than a wrong one."""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final

from domain.extraction import Learned, as_line, chinese, english, japanese
from domain.extraction.sentences import MAX_MESSAGE_LENGTH, Sentence, spoken_in
from domain.ports import Extractor
from domain.secrets import SECRET_MARK, holds_secret, without_secrets
from domain.sessions import Message, MessageRole
from domain.text import fold

_LANGUAGES: Final = (chinese, japanese, english)


class RuleExtractor(Extractor):
    async def extract(self, messages: Sequence[Message]) -> tuple[Learned, ...]:
        return await asyncio.to_thread(learned_from, messages)

    async def close(self) -> None:
        """There is nothing to close."""


def learned_from(messages: Sequence[Message]) -> tuple[Learned, ...]:
    """What users say of themselves, each fact once and in the order it was said."""
    said = (message.content for message in messages if message.role is MessageRole.USER)
    learned: dict[str, Learned] = {}
    for content in said:
        for fact in _stated_in(content):
            learned.setdefault(fold(fact.fact), fact)
    return tuple(learned.values())


def _stated_in(content: str) -> Iterator[Learned]:
    if len(content) > MAX_MESSAGE_LENGTH:
        return
    spoken = spoken_in(without_secrets(content))
    if any(language.hands_over(spoken.text) for language in _LANGUAGES):
        return
    for sentence in spoken.sentences:
        if SECRET_MARK not in spoken.with_quotations(sentence.text):
            for fact in _first_that_states(sentence):
                line = as_line(spoken.with_quotations(fact.fact))
                # Characters that are not seen may have hidden one until now.
                if not holds_secret(line):
                    yield Learned(line, fact.category)


def _first_that_states(sentence: Sentence) -> tuple[Learned, ...]:
    return next(filter(None, (language.stated_in(sentence) for language in _LANGUAGES)), ())
