"""The domain's choices as GraphQL enums."""

from typing import TypeAlias

import strawberry

from domain import chunk_context, entities, memories, search, story_time, translation_check

EntityType: TypeAlias = entities.EntityType
Retrieval: TypeAlias = memories.Retrieval
Match: TypeAlias = memories.Match
Selection: TypeAlias = chunk_context.Selection
OmissionReason: TypeAlias = story_time.OmissionReason
TermUse: TypeAlias = translation_check.TermUse
SearchEngine: TypeAlias = search.SearchEngine
SearchSource: TypeAlias = search.SearchSource
RebuildState: TypeAlias = search.RebuildState

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
