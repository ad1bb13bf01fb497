"""The system prompt of a chat: the notebook, and what matters for one message."""

import asyncio
import re
from dataclasses import dataclass
from typing import Final

from domain import limits
from domain.facts import fact_text
from domain.notebook import MEMORY
from domain.search import Filters, SearchEngine, SearchSource
from domain.system_prompt import SystemPrompt, as_line, compose, harmless
from domain.tokens import TokenCounter
from domain.usecases.facts import Facts
from domain.usecases.notebook import Notebook
from domain.usecases.search import Search, SearchHit
from domain.usecases.settings import Settings

# Facts are recalled, not searched for.
SOURCES: Final = frozenset({SearchSource.MEMORY, SearchSource.NOTEBOOK})
TOKEN_BUDGETS: Final = (1, 1_000_000)
# Search hits below it are left out: with words alone, less than half of what the best hit has in common with the
# message; with meaning too, what is hardly nearer than any text to any other.
FLOOR: Final = {SearchEngine.HYBRID: 0.35, SearchEngine.KEYWORD: 0.5, SearchEngine.LIKE: 0.5}

EMPTY: Final = SystemPrompt("", "", ())

# What a file has between the words of a passage and its passage has not.
_LAYOUT: Final = re.compile(r"[\s>]+")


@dataclass(frozen=True, slots=True)
class Prompts:
    facts: Facts
    search: Search
    notebook: Notebook
    settings: Settings
    limits: limits.Limits
    count_tokens: TokenCounter

    async def compose(self, message: str, session_id: str | None, token_budget: int | None) -> SystemPrompt:
        """Facts that are placed count as accessed."""
        if token_budget is not None:
            limits.check_range(token_budget, TOKEN_BUDGETS, ("token_budget",))
        settings = await self.settings.read()
        if not settings.enabled:
            return EMPTY
        memory = (await self.notebook.read()).content
        recalled = await self.facts.recall(message, session_id, None, track=False)
        found = await self.search.run(message[: self.limits.query], settings.retrieval_limit * 2, Filters(SOURCES))
        hits = [hit for hit in found.hits if hit.score >= FLOOR[found.engine]]
        facts = [fact_text(each.fact) for each in recalled]

        def composed() -> SystemPrompt:
            long_term = _bare(compose(memory, (), (), token_budget, self.count_tokens).stable)
            others = [_told(hit) for hit in hits if hit.path != MEMORY or _bare(harmless(hit.text)) not in long_term]
            return compose(memory, facts, others[: settings.retrieval_limit], token_budget, self.count_tokens)

        # A large notebook with a large budget takes seconds.
        prompt = await asyncio.to_thread(composed)
        placed = frozenset(prompt.volatile.splitlines())
        self.facts.note_accesses([each.fact for each in recalled if as_line(fact_text(each.fact)) in placed])
        return prompt


def _bare(text: str) -> str:
    return _LAYOUT.sub("", text)


def _told(hit: SearchHit) -> str:
    """A memory by its summary, as a chunk's prompt tells it."""
    return hit.text if hit.memory is None else hit.memory.summary
