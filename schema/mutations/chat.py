"""Reporting what happens in a chat, forgetting facts, and changing the settings."""

from dataclasses import fields
from typing import Annotated, Any

import strawberry
from strawberry import UNSET

from domain import sessions, turns
from schema.context import Info
from schema.enums import FactCategory, FactSource, MessageRole, SessionEventType
from schema.payloads import (
    ClearPayload,
    DeletePayload,
    Given,
    MemorySettingsPayload,
    SessionEventPayload,
    TurnPayload,
    mutation,
)
from schema.problems import problem_of
from schema.scalars import JsonValue
from schema.types.chat import FactWrite, MemorySettings, WorkingMemory


@strawberry.input(description="One message of a conversation.")
class MessageInput:
    role: MessageRole = strawberry.field(description="Who says it.")
    content: str = strawberry.field(description="What is said.")

    def to_domain(self) -> sessions.Message:
        return sessions.Message(self.role, self.content)


@strawberry.input(description="What the host's model thinks worth keeping.")
class MemoryUpdateInput:
    should_store: bool = strawberry.field(description="False: nothing is stored.")
    category: FactCategory | None = strawberry.field(default=None, description="FACT when left out.")
    key: str | None = strawberry.field(default=None, description="What it is about; needed to store it.")
    value: JsonValue | None = strawberry.field(default=None, description="What is known; needed to store it.")
    confidence: float | None = strawberry.field(
        default=None, description="From 0 to 1; what the user stated is trusted to 0.9 at least."
    )
    source: FactSource | None = strawberry.field(default=None, description="USER_STATED when left out.")

    def to_domain(self) -> turns.MemoryUpdate:
        return turns.MemoryUpdate(self.should_store, self.category, self.key, self.value, self.confidence, self.source)


@strawberry.input(description="What the host's own model said about the turn; each part is optional.")
class TurnAnalysisInput:
    current_topic: str | None = strawberry.field(
        default=None, description="What is being talked about; an empty text for nothing in particular."
    )
    context_variables: JsonValue | None = strawberry.field(
        default=None, description="An object, merged into the session's key by key; null takes a key away."
    )
    emotion: str | None = strawberry.field(default=None, description="The user's.")
    memory_update: MemoryUpdateInput | None = strawberry.field(default=None, description="What is worth keeping.")

    def to_domain(self) -> turns.TurnAnalysis:
        update = None if self.memory_update is None else self.memory_update.to_domain()
        return turns.TurnAnalysis(self.current_topic, self.context_variables, self.emotion, update)


@strawberry.input(description="One turn of a session.")
class RecordTurnInput:
    session_id: strawberry.ID = strawberry.field(description="The session, by the host's own id.")
    messages: list[MessageInput] = strawberry.field(
        description="What was said; with a message of the user it is a turn. Kept until it is learned from."
    )
    turn_id: strawberry.ID | None = strawberry.field(
        default=None, description="Makes a retry harmless: the same id again changes nothing."
    )
    analysis: TurnAnalysisInput | None = strawberry.field(default=None, description="What it was about.")

    def to_domain(self) -> turns.Turn:
        return turns.Turn(
            str(self.session_id),
            [message.to_domain() for message in self.messages],
            None if self.turn_id is None else str(self.turn_id),
            turns.TurnAnalysis() if self.analysis is None else self.analysis.to_domain(),
        )


@strawberry.input(description="Something that happened in a session.")
class SessionEventInput:
    session_id: strawberry.ID = strawberry.field(description="The session, by the host's own id.")
    type: SessionEventType = strawberry.field(description="What happened.")
    used_tokens: int | None = strawberry.field(default=None, description="How full the context is, with USAGE_INFO.")
    token_limit: int | None = strawberry.field(default=None, description="How much it holds, with USAGE_INFO.")

    def to_domain(self) -> sessions.SessionEvent:
        return sessions.SessionEvent(str(self.session_id), self.type, self.used_tokens, self.token_limit)


@strawberry.input(description="Changes of the settings; what is left out stays.")
class UpdateMemorySettingsInput:
    enabled: bool | None = strawberry.field(default=UNSET, description="Whether to learn and inject.")
    auto_extract: bool | None = strawberry.field(default=UNSET, description="Whether to learn from idle sessions.")
    flush_threshold: float | None = strawberry.field(default=UNSET, description="Above 0, up to 1.")
    extraction_interval_seconds: int | None = strawberry.field(default=UNSET, description="0 to 86,400.")
    extraction_min_messages: int | None = strawberry.field(default=UNSET, description="1 to 1,000.")
    retrieval_limit: int | None = strawberry.field(default=UNSET, description="1 to 100.")
    eviction_threshold: int | None = strawberry.field(default=UNSET, description="From 1 on; null: never evict.")
    archive_on_expiry: bool | None = strawberry.field(default=UNSET, description="Whether ended sessions leave facts.")

    def changes(self) -> dict[str, Any]:
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in given.items() if value is not UNSET}


@strawberry.type
class ChatMutations:
    @mutation(TurnPayload, "Report a turn: its session's working memory begins or goes on, and its messages are kept.")
    async def record_turn(self, info: Info, input: Given[RecordTurnInput]) -> TurnPayload:
        result = await info.context.use_cases.sessions.record_turn(input.to_domain())
        memory = result.working_memory
        return TurnPayload(
            working_memory=None if memory is None else WorkingMemory.from_domain(memory),
            fact_writes=[FactWrite.from_domain(write) for write in result.fact_writes],
            problems=[] if result.refused is None else [problem_of(result.refused)],
        )

    @mutation(SessionEventPayload, "Report an event of a session: it may begin an extraction or a flush.")
    async def report_session_event(self, info: Info, input: Given[SessionEventInput]) -> SessionEventPayload:
        reaction = await info.context.use_cases.sessions.report(input.to_domain())
        return SessionEventPayload(action=reaction.action, reason=reaction.reason)

    @mutation(MemorySettingsPayload, "Change the settings; what is left out stays.")
    async def update_memory_settings(
        self, info: Info, input: Given[UpdateMemorySettingsInput]
    ) -> MemorySettingsPayload:
        settings = await info.context.use_cases.settings.update(input.changes())
        return MemorySettingsPayload(memory_settings=MemorySettings.from_domain(settings))

    @mutation(DeletePayload, "Delete a fact and what held before for its key, for good.")
    async def delete_fact(
        self, info: Info, id: Annotated[strawberry.ID, strawberry.argument(description="Which fact.")]
    ) -> DeletePayload:
        await info.context.use_cases.facts.delete(str(id))
        return DeletePayload(deleted_id=id)

    @mutation(ClearPayload, "Delete all facts of this owner for good, with their history and what waits to be learned.")
    async def clear_facts(self, info: Info) -> ClearPayload:
        return ClearPayload(deleted_count=await info.context.use_cases.facts.clear())
