"""Facts: the gate a new one passes, listing, recalling and forgetting them."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from domain import errors, limits, recall
from domain.chat_ports import ChatStore, ChatWriter, FactFinder
from domain.facts import Fact, FactCategory, FactWrite, WriteOutcome, judge, same_key
from domain.limits import check_range
from domain.memory_settings import RETRIEVAL_LIMITS
from domain.paging import Page, PageRequest
from domain.ports import AccessLog, Clock
from domain.recall import Occasion, RecalledFact
from domain.segmentation import QueryTerms, keyword_terms
from domain.usecases.settings import Settings

# So many preferences are looked at without a keyword in common, along each way that can put one in front; and so many
# times more while there could be a better one.
FOREMOST = 100
FURTHER = 8


@dataclass(frozen=True, slots=True)
class Facts:
    """`forget` makes sure that nothing of what was deleted is left in any file."""

    store: ChatStore
    finder: FactFinder
    accesses: AccessLog
    settings: Settings
    clock: Clock
    limits: limits.Limits
    forget: Callable[[], Awaitable[None]]

    async def read(self, fact_id: str) -> Fact | None:
        """Also one that was superseded."""
        return (await self.store.facts([fact_id])).get(fact_id)

    async def history(self, fact: Fact) -> tuple[Fact, ...]:
        """What held before for its key, the last first."""
        superseded = await self.store.history(same_key(fact.key))
        ids = [each.id for each in superseded]
        return superseded[ids.index(fact.id) + 1 :] if fact.id in ids else superseded

    async def list_all(self, category: FactCategory | None, page: PageRequest) -> Page[Fact]:
        return await self.store.list_facts(category, page)

    async def list_from(self, category: FactCategory | None, offset: int, limit: int) -> tuple[Fact, ...]:
        return await self.store.facts_from(category, offset, limit)

    async def count(self, category: FactCategory | None) -> int:
        return await self.store.count_facts(category)

    async def delete(self, fact_id: str) -> None:
        """With what held before for its key; one that was superseded goes alone."""

        async def work(store: ChatWriter) -> None:
            fact = (await store.facts([fact_id])).get(fact_id)
            if fact is None:
                raise errors.FactNotFoundError(("id",), fact_id)
            if fact.superseded_at is None:
                await store.delete_key(same_key(fact.key))
            else:
                await store.delete_fact(fact_id)

        await self.store.write(work)
        await self.forget()

    async def clear(self) -> int:
        """All of the owner's, with what would be learned again from messages that wait; answers how many they were."""

        async def work(store: ChatWriter) -> int:
            await store.delete_all_messages()
            return await store.delete_facts()

        deleted = await self.store.write(work)
        await self.forget()
        return deleted

    async def recall(
        self, message: str, session_id: str | None, limit: int | None, *, track: bool
    ) -> tuple[RecalledFact, ...]:
        """Best first; the topic of the session, if it has one, joins the message."""
        if len(message) > self.limits.text:
            raise errors.TextTooLongError(("message",), len(message), self.limits.text)
        if limit is None:
            limit = (await self.settings.read()).retrieval_limit
        check_range(limit, RETRIEVAL_LIMITS, ("limit",))
        now = self.clock()
        topic = await self._topic(session_id, now)
        occasion = Occasion(recall.expresses_preference(message), topic, now)
        found = await self._best(keyword_terms(message).joined(topic), occasion, limit)
        if track:
            self.note_accesses([each.fact for each in found])
        return found

    def note_accesses(self, facts: Sequence[Fact]) -> None:
        now = self.clock()
        for fact in facts:
            self.accesses.record(fact.id, now)

    async def _best(self, terms: QueryTerms, occasion: Occasion, limit: int) -> tuple[RecalledFact, ...]:
        if not occasion.is_about_preferences:
            return await self._best_of((), terms, occasion, limit)
        walked = FOREMOST
        while True:
            preferences = await self.store.foremost_preferences(walked)
            found = await self._best_of(preferences, terms, occasion, limit)
            if not recall.may_be_beaten(found, limit, preferences, walked, occasion):
                return found
            walked *= FURTHER

    async def _best_of(
        self, preferences: Sequence[Fact], terms: QueryTerms, occasion: Occasion, limit: int
    ) -> tuple[RecalledFact, ...]:
        candidates = {fact.id: fact for fact in preferences}
        scores = await self.finder.find_facts(terms, candidates)
        candidates |= await self.store.facts([fact_id for fact_id in scores if fact_id not in candidates])
        # One that was superseded or deleted since it was indexed gives its place to the next.
        holding = [fact for fact in candidates.values() if fact.superseded_at is None]
        return recall.best(holding, scores, occasion, limit)

    async def _topic(self, session_id: str | None, now: datetime) -> QueryTerms:
        memory = None if session_id is None else await self.store.working_memory(session_id)
        if memory is None or memory.has_ended(now):
            return QueryTerms(())
        return keyword_terms(memory.current_topic or "")


async def write_fact(store: ChatWriter, fact: Fact, now: datetime) -> FactWrite:
    """Through the gate: what is known already is not added again, a new value supersedes the old one."""
    holding = await store.holding(same_key(fact.key))
    outcome = judge(holding, fact)
    if holding is not None:
        if outcome is WriteOutcome.DUPLICATE:
            return FactWrite(outcome, holding)
        await store.supersede(holding.id, now)
        holding = replace(holding, superseded_at=now)
    await store.add_fact(fact)
    return FactWrite(outcome, fact, holding)
