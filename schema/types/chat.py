"""Chat memory as clients see it: facts, the state of sessions, prompts and settings."""

from datetime import datetime

import strawberry

from domain import facts, memory_settings, recall, sessions, system_prompt
from schema.context import Info
from schema.enums import FactCategory, FactSource, WriteOutcome
from schema.scalars import JsonValue


@strawberry.type(description="Something known about the owner beyond one session.")
class Fact:
    id: strawberry.ID = strawberry.field(description="Made when it was written.")
    session_id: strawberry.ID | None = strawberry.field(description="The session it comes from.")
    category: FactCategory = strawberry.field(description="What kind of thing it is.")
    key: str = strawberry.field(description="What it is about; one value holds for each key.")
    value: JsonValue = strawberry.field(description="What is known.")
    confidence: float = strawberry.field(description="How far it is trusted, from 0 to 1.")
    source: FactSource = strawberry.field(description="Who says so.")
    created_at: datetime = strawberry.field(description="When it was written.")
    last_accessed_at: datetime = strawberry.field(description="When it was last put into a prompt, or written.")
    access_count: int = strawberry.field(description="How often it was put into a prompt.")
    superseded_at: datetime | None = strawberry.field(
        description="When a new value took its place; null while it holds."
    )
    known: strawberry.Private[facts.Fact]

    @strawberry.field(description="What held before for the same key, the last first.")
    async def history(self, info: Info) -> "list[Fact]":
        return [Fact.from_domain(each) for each in await info.context.use_cases.facts.history(self.known)]

    @classmethod
    def from_domain(cls, fact: facts.Fact) -> "Fact":
        return cls(
            id=strawberry.ID(fact.id),
            session_id=None if fact.session_id is None else strawberry.ID(fact.session_id),
            category=fact.category,
            key=fact.key,
            value=JsonValue(fact.value),
            confidence=fact.confidence,
            source=fact.source,
            created_at=fact.created_at,
            last_accessed_at=fact.last_accessed_at,
            access_count=fact.access_count,
            superseded_at=fact.superseded_at,
            known=fact,
        )


@strawberry.type(description="What became of a fact that was to be written.")
class FactWrite:
    outcome: WriteOutcome = strawberry.field(description="Whether it was added.")
    fact: Fact = strawberry.field(description="What holds now.")
    supersedes: Fact | None = strawberry.field(description="What held before; null unless it was superseded.")

    @classmethod
    def from_domain(cls, write: facts.FactWrite) -> "FactWrite":
        before = None if write.supersedes is None else Fact.from_domain(write.supersedes)
        return cls(outcome=write.outcome, fact=Fact.from_domain(write.fact), supersedes=before)


@strawberry.type(description="Why a fact was recalled: the parts of its score before they are weighed.")
class FactScore:
    keyword: float = strawberry.field(description="How well the words fit, from 0 to 1; weighs 0.4.")
    category: float = strawberry.field(description="1.5 for a preference where preferences are spoken of; weighs 0.2.")
    recency: float = strawberry.field(description="Half after seven days without access; weighs 0.15.")
    frequency: float = strawberry.field(description="log1p(accessCount) / log1p(100), at most 1; weighs 0.1.")
    confidence: float = strawberry.field(description="Of the fact; weighs 0.15.")
    topic_boost: float = strawberry.field(description="1.3 where the session's topic stands in it, otherwise 1.")
    total: float = strawberry.field(description="The weighed sum, times topicBoost.")

    @classmethod
    def from_domain(cls, score: recall.FactScore) -> "FactScore":
        return cls(
            keyword=score.keyword,
            category=score.category,
            recency=score.recency,
            frequency=score.frequency,
            confidence=score.confidence,
            topic_boost=score.topic_boost,
            total=score.total,
        )


@strawberry.type(description="A fact that matters for a message, and why.")
class RecalledFact:
    fact: Fact = strawberry.field(description="The fact.")
    score: FactScore = strawberry.field(description="Why it was recalled.")

    @classmethod
    def from_domain(cls, recalled: recall.RecalledFact) -> "RecalledFact":
        return cls(fact=Fact.from_domain(recalled.fact), score=FactScore.from_domain(recalled.score))


@strawberry.type(description="The state of one live session; it ends after 30 minutes without activity.")
class WorkingMemory:
    session_id: strawberry.ID = strawberry.field(description="The session.")
    current_topic: str | None = strawberry.field(description="What is being talked about.")
    context_variables: JsonValue = strawberry.field(description="An object, merged key by key.")
    turn_count: int = strawberry.field(description="How many turns there were.")
    last_emotion: str | None = strawberry.field(description="The user's, as last analysed.")
    created_at: datetime = strawberry.field(description="When the session began.")
    updated_at: datetime = strawberry.field(description="When something last happened in it.")

    @classmethod
    def from_domain(cls, memory: sessions.WorkingMemory) -> "WorkingMemory":
        return cls(
            session_id=strawberry.ID(memory.session_id),
            current_topic=memory.current_topic,
            context_variables=JsonValue(dict(memory.context_variables)),
            turn_count=memory.turn_count,
            last_emotion=memory.last_emotion,
            created_at=memory.created_at,
            updated_at=memory.updated_at,
        )


@strawberry.type(description="One part of a system prompt.")
class PromptSection:
    title: str = strawberry.field(description="Long-term Memory or Relevant Past Context.")
    text: str = strawberry.field(description="What stands below the title, between markers that keep it data.")


@strawberry.type(description="What a chat's system prompt gets; a section with nothing in it is left out.")
class SystemPrompt:
    text: str = strawberry.field(description="All of it: the stable part, then the volatile one.")
    stable: str = strawberry.field(
        description="Changes only when MEMORY.md does: keep it first, and prompt caches hold."
    )
    volatile: str = strawberry.field(description="Belongs to this message.")
    sections: list[PromptSection] = strawberry.field(description="Its parts.")

    @classmethod
    def from_domain(cls, prompt: system_prompt.SystemPrompt) -> "SystemPrompt":
        sections = [PromptSection(title=each.title, text=each.text) for each in prompt.sections]
        return cls(text=prompt.text, stable=prompt.stable, volatile=prompt.volatile, sections=sections)


@strawberry.type(description="How the owner wants chat memory to work.")
class MemorySettings:
    enabled: bool = strawberry.field(description="Off: nothing is learned or injected; all else goes on.")
    auto_extract: bool = strawberry.field(description="Whether an idle session is learned from.")
    flush_threshold: float = strawberry.field(description="The context use from which a session is flushed, 0 to 1.")
    extraction_interval_seconds: int = strawberry.field(description="At least so long between two extractions.")
    extraction_min_messages: int = strawberry.field(description="At least so many new messages for an extraction.")
    retrieval_limit: int = strawberry.field(description="How many facts are recalled at the most.")
    eviction_threshold: int | None = strawberry.field(
        description="More facts than that are evicted, the least trusted first; null: never."
    )
    archive_on_expiry: bool = strawberry.field(description="Whether a session's topic and variables become facts.")

    @classmethod
    def from_domain(cls, settings: memory_settings.MemorySettings) -> "MemorySettings":
        return cls(**{name: getattr(settings, name) for name in memory_settings.NAMES})
