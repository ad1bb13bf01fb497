"""How scalars look on the wire."""

import re
from datetime import UTC, date, datetime
from typing import NewType, cast

import strawberry
from graphql import GraphQLError


def serialize_time(at: datetime) -> str:
    """Always with six decimals, so that texts sort as times do."""
    return at.isoformat(timespec="microseconds")


def parse_time(text: object) -> datetime:
    """Without an offset the time is taken as UTC."""
    try:
        at = datetime.fromisoformat(cast("str", text))
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (TypeError, ValueError, OverflowError) as error:
        raise GraphQLError(_ADVICE) from error


def parse_date(text: object) -> date:
    """`date.fromisoformat` alone also reads weeks, and days without their dashes."""
    try:
        if _DATE.fullmatch(cast("str", text)):
            return date.fromisoformat(cast("str", text))
    except (TypeError, ValueError):
        pass
    raise GraphQLError(_DATE_ADVICE)


_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATE_ADVICE = "A Date is a day of the calendar, written as in 2026-01-31."
_ADVICE = "A DateTime is written in ISO 8601, as in 2026-01-31T12:00:00Z."

DateTime = strawberry.scalar(
    name="DateTime",
    description="A moment in ISO 8601 with microseconds and offset, as in 2026-01-31T12:00:00.000000+00:00.",
    serialize=serialize_time,
    parse_value=parse_time,
)

JsonValue = NewType("JsonValue", object)

JSON = strawberry.scalar(
    name="JSON",
    description="Any JSON value: null, true, a number, a text, a list or an object.",
    serialize=lambda value: value,
    parse_value=lambda value: value,
)

Date = strawberry.scalar(
    name="Date",
    description="A day of the calendar, as in 2026-01-31.",
    serialize=date.isoformat,
    parse_value=parse_date,
)
