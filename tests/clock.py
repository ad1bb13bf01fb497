"""A clock that tests set: what takes half an hour is over when they say so."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta


@dataclass
class SettableClock:
    """Pass it as `clock`; it stands still until it is moved, forwards or back."""

    now: datetime = field(default_factory=lambda: datetime(2026, 3, 1, 12, tzinfo=UTC))

    def __call__(self) -> datetime:
        return self.now

    def move(self, **by: float) -> None:
        """By days, hours, minutes or seconds."""
        self.now += timedelta(**by)
