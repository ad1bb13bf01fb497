"""The domain's choices as GraphQL enums."""

from typing import TypeAlias

import strawberry

from domain import entities, memories

EntityType: TypeAlias = entities.EntityType
Retrieval: TypeAlias = memories.Retrieval
Match: TypeAlias = memories.Match

strawberry.enum(EntityType, description="What a memory can be attached to.")
strawberry.enum(
    Retrieval,
    description="MERGE: attached and keyword matches; FALLBACK: keywords only where nothing is attached;"
    " ATTACHED: attached only.",
)
strawberry.enum(Match, description="How a memory was found.")
