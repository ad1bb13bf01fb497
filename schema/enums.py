"""The domain's choices as GraphQL enums."""

from typing import TypeAlias

import strawberry

from domain import chunk_context, entities, facts, memories, search, sessions, story_time, translation_check

EntityType: TypeAlias = entities.EntityType
Retrieval: TypeAlias = memories.Retrieval
Match: TypeAlias = memories.Match
Selection: TypeAlias = chunk_context.Selection
OmissionReason: TypeAlias = story_time.OmissionReason
TermUse: TypeAlias = translation_check.TermUse
SearchEngine: TypeAlias = search.SearchEngine
SearchSource: TypeAlias = search.SearchSource
RebuildState: TypeAlias = search.RebuildState
FactCategory: TypeAlias = facts.FactCategory
FactSource: TypeAlias = facts.FactSource
WriteOutcome: TypeAlias = facts.WriteOutcome
MessageRole: TypeAlias = sessions.MessageRole
SessionEventType: TypeAlias = sessions.SessionEventType
SessionAction: TypeAlias = sessions.SessionAction

strawberry.enum(EntityType, description="What a memory can be attached to.")
strawberry.enum(
    Retrieval,
    description="MERGE: attached and keyword matches; FALLBACK: keywords only where nothing is attached;"
    " ATTACHED: attached only.",
)
strawberry.enum(Match, description="How a memory was found.")
strawberry.enum(
    Selection,
    description="RECENT: by last access alone; BALANCED: every mentioned entity gets its share first.",
)
strawberry.enum(
    OmissionReason,
    description="LIMIT and TOKEN_BUDGET: there was no room; NOT_YET_REVEALED and NO_LONGER_VALID: story time hides it.",
)
strawberry.enum(
    TermUse,
    description="APPLIED: every form used in the source stands in the target as translated; PARTIAL: only some of the"
    " entity's translations do; MISSING: none does.",
)
strawberry.enum(
    SearchEngine,
    description="HYBRID: by words and by meaning; KEYWORD: by words alone; LIKE: a plain look through all texts.",
)
strawberry.enum(SearchSource, description="Where what was found stands.")
strawberry.enum(RebuildState, description="Whether the search index is being built anew, or how that ended.")
strawberry.enum(FactCategory, description="What kind of thing is known.")
strawberry.enum(FactSource, description="Stated by the user, inferred from what was said, or set by a system.")
strawberry.enum(
    WriteOutcome,
    description="ADDED: it is new; DUPLICATE: it was known, nothing was added; SUPERSEDED: it is a new value of a known"
    " key, and the old one has become history.",
)
strawberry.enum(MessageRole, description="Who says a message.")
strawberry.enum(SessionEventType, description="What happened in a session.")
strawberry.enum(
    SessionAction, description="What a reported event set in motion; the work itself goes on in the background."
)
