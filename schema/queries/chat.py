"""Asking chat memory: facts, recall, the state of a session, its prompt, and the settings."""

from typing import Annotated

import strawberry

from schema.context import Info
from schema.enums import FactCategory
from schema.paging import DEFAULT_PAGE_SIZE, After, Connection, First, ask_page, connect
from schema.types.chat import Fact, MemorySettings, RecalledFact, SystemPrompt, WorkingMemory

FACT_LIST = "fact"

Message = Annotated[str, strawberry.argument(description="What the user says.")]
SessionId = Annotated[
    strawberry.ID | None, strawberry.argument(description="The session it is said in: its topic joins the message.")
]


@strawberry.type
class ChatQueries:
    @strawberry.field(description="The facts that matter for a message, best first; each says why.")
    async def recall(
        self,
        info: Info,
        message: Message,
        session_id: SessionId = None,
        limit: Annotated[
            int | None, strawberry.argument(description="How many at the most; `retrievalLimit` when left out.")
        ] = None,
        track: Annotated[bool, strawberry.argument(description="Whether they count as accessed.")] = True,  # noqa: FBT002
    ) -> list[RecalledFact]:
        recalled = await info.context.use_cases.facts.recall(message, _text(session_id), limit, track=track)
        return [RecalledFact.from_domain(each) for each in recalled]

    @strawberry.field(description="One fact, also one that was superseded; or null.")
    async def fact(
        self, info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="Its id.")]
    ) -> Fact | None:
        found = await info.context.use_cases.facts.read(str(id))
        return None if found is None else Fact.from_domain(found)

    @strawberry.field(description="The facts that hold, the newest first.")
    async def facts(
        self,
        info: Info,
        category: Annotated[
            FactCategory | None, strawberry.argument(description="Only these; all when left out.")
        ] = None,
        first: First = DEFAULT_PAGE_SIZE,
        after: After = None,
    ) -> Connection[Fact]:
        asked = ask_page(first, after, FACT_LIST)
        use_cases = info.context.use_cases.facts
        page = await use_cases.list_all(category, asked.page)
        return connect(page, Fact.from_domain, asked, lambda: use_cases.count(category))

    @strawberry.field(description="The state of a live session; null when there is none or it has ended.")
    async def working_memory(
        self, info: Info, session_id: Annotated[strawberry.ID, strawberry.argument(description="Which session.")]
    ) -> WorkingMemory | None:
        found = await info.context.use_cases.sessions.working_memory(str(session_id))
        return None if found is None else WorkingMemory.from_domain(found)

    @strawberry.field(description="What the system prompt of a chat gets for a message.")
    async def system_prompt(
        self,
        info: Info,
        message: Message,
        session_id: SessionId = None,
        token_budget: Annotated[
            int | None,
            strawberry.argument(description="The most it may cost, about; nothing is cut when left out."),
        ] = None,
    ) -> SystemPrompt:
        prompt = await info.context.use_cases.prompts.compose(message, _text(session_id), token_budget)
        return SystemPrompt.from_domain(prompt)

    @strawberry.field(description="How chat memory works for this owner.")
    async def memory_settings(self, info: Info) -> MemorySettings:
        return MemorySettings.from_domain(await info.context.use_cases.settings.read())


def _text(id: strawberry.ID | None) -> str | None:
    return None if id is None else str(id)
