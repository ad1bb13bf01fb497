"""What may be told where in the story: nothing from the future, nothing that is over."""

from enum import StrEnum

from domain.memories import Memory


class OmissionReason(StrEnum):
    LIMIT = "limit"
    TOKEN_BUDGET = "token_budget"  # noqa: S105 - no secret
    NOT_YET_REVEALED = "not_yet_revealed"
    NO_LONGER_VALID = "no_longer_valid"


def hidden_because(memory: Memory, chapter_number: int | None) -> OmissionReason | None:
    """Why a chunk of that chapter does not get the memory; without a chapter nothing is hidden."""
    if chapter_number is None:
        return None
    if memory.valid_from_chapter is not None and chapter_number < memory.valid_from_chapter:
        return OmissionReason.NOT_YET_REVEALED
    if memory.valid_until_chapter is not None and chapter_number > memory.valid_until_chapter:
        return OmissionReason.NO_LONGER_VALID
    return None
