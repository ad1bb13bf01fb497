"""How settings of chat memory change, and what they can be."""

import math

import pytest

from domain import errors
from domain.memory_settings import NAMES, MemorySettings, changed, check_settings


def test_defaults_are_those_of_the_specification() -> None:
    assert MemorySettings() == MemorySettings(
        enabled=True,
        auto_extract=True,
        flush_threshold=0.75,
        extraction_interval_seconds=60,
        extraction_min_messages=4,
        retrieval_limit=5,
        eviction_threshold=None,
        archive_on_expiry=False,
    )


def test_only_what_is_named_changes() -> None:
    before = MemorySettings(retrieval_limit=9, archive_on_expiry=True)

    assert changed(before, {"retrieval_limit": 7}) == MemorySettings(retrieval_limit=7, archive_on_expiry=True)
    assert changed(before, {}) == before


@pytest.mark.parametrize("name", [name for name in NAMES if name != "eviction_threshold"])
def test_null_is_refused_by_name(name: str) -> None:
    with pytest.raises(errors.RequiredError) as caught:
        changed(MemorySettings(), {name: None})

    assert caught.value.path == (name,)


def test_null_takes_the_eviction_threshold_away() -> None:
    assert changed(MemorySettings(eviction_threshold=3), {"eviction_threshold": None}) == MemorySettings()


@pytest.mark.parametrize("threshold", [0, -0.1, 1.0001, math.nan, math.inf])
def test_flush_threshold_is_a_part_of_one(threshold: float) -> None:
    with pytest.raises(errors.FractionError) as caught:
        changed(MemorySettings(), {"flush_threshold": threshold})

    assert caught.value.path == ("flush_threshold",)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("extraction_interval_seconds", 0, 86_400),
        ("extraction_min_messages", 1, 1_000),
        ("retrieval_limit", 1, 100),
        ("eviction_threshold", 1, 1_000_000_000),
    ],
)
def test_numbers_have_their_range(name: str, low: int, high: int) -> None:
    for fitting in (low, high):
        changed(MemorySettings(), {name: fitting})
    for unfit in (low - 1, high + 1):
        with pytest.raises(errors.OutOfRangeError) as caught:
            changed(MemorySettings(), {name: unfit})
        assert caught.value.path == (name,)


@pytest.mark.parametrize("threshold", [0.001, 0.75, 1])
def test_flush_threshold_up_to_all_is_fine(threshold: float) -> None:
    check_settings(MemorySettings(flush_threshold=threshold))
