"""How an owner wants chat memory to work."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from domain import errors
from domain.limits import check_range

INTERVALS = (0, 86_400)
MESSAGE_COUNTS = (1, 1_000)
RETRIEVAL_LIMITS = (1, 100)
EVICTION_THRESHOLDS = (1, 1_000_000_000)


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """`enabled` off stops learning and injecting; reading, searching and editing go on."""

    enabled: bool = True
    auto_extract: bool = True
    flush_threshold: float = 0.75
    extraction_interval_seconds: int = 60
    extraction_min_messages: int = 4
    retrieval_limit: int = 5
    eviction_threshold: int | None = None
    archive_on_expiry: bool = False


NAMES = tuple(field.name for field in fields(MemorySettings))


def changed(settings: MemorySettings, changes: Mapping[str, object]) -> MemorySettings:
    """Only what is named changes; of these, only the eviction threshold can be null, for never."""
    for name, value in changes.items():
        if value is None and name != "eviction_threshold":
            raise errors.RequiredError((name,))
    new = replace(settings, **changes)  # type: ignore[arg-type]
    check_settings(new)
    return new


def check_settings(settings: MemorySettings) -> None:
    threshold = settings.flush_threshold
    # Also false when it is NaN.
    if not 0 < threshold <= 1:
        raise errors.FractionError(("flush_threshold",), threshold, 0, 1)
    check_range(settings.extraction_interval_seconds, INTERVALS, ("extraction_interval_seconds",))
    check_range(settings.extraction_min_messages, MESSAGE_COUNTS, ("extraction_min_messages",))
    check_range(settings.retrieval_limit, RETRIEVAL_LIMITS, ("retrieval_limit",))
    if settings.eviction_threshold is not None:
        check_range(settings.eviction_threshold, EVICTION_THRESHOLDS, ("eviction_threshold",))
