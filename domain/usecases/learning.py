"""Learning from what was said: messages that wait become lines of the notebook, each fact once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from domain import flush
from domain.chat_ports import ChatStore, ChatWriter, KeptMessage
from domain.errors import DomainError, ExtractorUnavailableError, StorageUnavailableError
from domain.extraction import Learned
from domain.extraction.gate import is_said_by, says_the_same
from domain.injected import without_injected
from domain.ports import Clock, Extractor, SearchIndex
from domain.search import Filters, SearchSource
from domain.sessions import Learning, Message, MessageRole, after_failure
from domain.usecases.notebook import Notebook
from domain.usecases.settings import Settings

# Read at once; what is left is read after that.
BATCH: Final = 200
# Only what people and models say to each other; what tools and hosts put in between is not about anybody.
SPOKEN: Final = (MessageRole.USER, MessageRole.ASSISTANT)


@dataclass(frozen=True, slots=True)
class Learner:
    """Of one owner; whoever calls sees to it that a session is learned from by one at a time."""

    store: ChatStore
    extractor: Extractor
    notebook: Notebook
    index: SearchIndex
    settings: Settings
    clock: Clock

    async def learn(self, session_id: str) -> str | None:
        """Until no message waits; why that failed, if it did, and then the rest of them are kept for the next time."""
        try:
            while not await self._learn_some(session_id):
                pass
        except DomainError as error:
            await self.store.write(lambda store: self._note_failure(store, session_id))
            return _reason(error)
        return None

    async def _learn_some(self, session_id: str) -> bool:
        """Answers whether that was all. Only what has reached the notebook is taken away: a crash repeats, no more."""
        is_on = (await self.settings.read()).enabled
        kept = await self.store.messages(session_id, BATCH) if is_on else ()
        if kept:
            await self._keep(await self.extractor.extract(_spoken(kept)))
        read_up_to = kept[-1].number if kept else 0
        return await self.store.write(lambda store: self._settle(store, session_id, read_up_to, is_on=is_on))

    async def _keep(self, learned: Sequence[Learned]) -> None:
        for each in learned:
            if not await self._is_said(each.fact):
                await self.notebook.append_unless_said(each.fact, each.category)

    async def _is_said(self, fact: str) -> bool:
        """By a passage of the notebook or by a fact, as search finds them."""
        found = (await self.index.find(fact, Filters())).documents
        if any(each.text is not None and says_the_same(fact, each.text) for each in found):
            return True
        facts = await self.store.facts([each.id for each in found if each.source is SearchSource.FACT])
        return any(each.superseded_at is None and is_said_by(each, fact) for each in facts.values())

    async def _settle(self, store: ChatWriter, session_id: str, up_to: int, *, is_on: bool) -> bool:
        await store.delete_messages(session_id, up_to)
        if is_on and await store.count_messages(session_id):
            return False
        session = await store.session(session_id)
        settled = flush.succeeded(session.flush, session.flush.cycle)
        learning = Learning(began_at=session.learning.began_at)
        await store.put_session(replace(session, flush=settled, learning=learning), self.clock())
        return True

    async def _note_failure(self, store: ChatWriter, session_id: str) -> None:
        session = await store.session(session_id)
        now, failed = self.clock(), flush.failed(session.flush, session.flush.cycle)
        await store.put_session(replace(session, flush=failed, learning=after_failure(session.learning, now)), now)


def _spoken(kept: Sequence[KeptMessage]) -> list[Message]:
    """What a prompt of ours brought in was known before."""
    spoken = [each.message for each in kept if each.message.role in SPOKEN]
    cleaned = [replace(message, content=without_injected(message.content)) for message in spoken]
    return [message for message in cleaned if message.content.strip()]


def _reason(error: DomainError) -> str:
    known = (ExtractorUnavailableError, StorageUnavailableError)
    return error.reason if isinstance(error, known) else type(error).__name__
