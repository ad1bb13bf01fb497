"""Which facts matter for a message: keywords, candidates, one score, the best first."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeVar

from domain.facts import Fact, FactCategory, fact_text
from domain.segmentation import QueryTerms, stands_in

T = TypeVar("T")

KEYWORD_WEIGHT: Final = 0.4
CATEGORY_WEIGHT: Final = 0.2
RECENCY_WEIGHT: Final = 0.15
FREQUENCY_WEIGHT: Final = 0.1
CONFIDENCE_WEIGHT: Final = 0.15

PREFERENCE_BOOST: Final = 1.5
TOPIC_BOOST: Final = 1.3
HALF_LIFE: Final = timedelta(days=7)
MANY_ACCESSES: Final = 100

# Words by which somebody speaks of what they like, whether they tell or ask.
_PREFERENCE: Final = re.compile(
    r"喜欢|喜歡|喜爱|喜愛|偏好|偏爱|偏愛|最爱|最愛|热爱|熱愛|讨厌|討厭|不爱|不愛|爱吃|愛吃|爱喝|愛喝|爱看|愛看|爱听|愛聽|感兴趣|感興趣|宁愿|寧願|更想|口味"
    r"|好き|好み|嫌い|苦手|お気に入り|気に入|好物|好む|好ん"
    r"|\b(?:like|likes|liked|love|loves|loved|prefer|prefers|preferred|preference|preferences|favou?rites?|enjoy|enjoys|"
    r"hate|hates|dislike|dislikes|fond of|(?:am|i'?m|are|is|really|so) into|(?:would|i'd) rather|can(?:no|')?t"
    r" stand)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class FactScore:
    """The parts of a score as they are before they are weighed, and what they come to."""

    keyword: float
    category: float
    recency: float
    frequency: float
    confidence: float
    topic_boost: float

    @property
    def total(self) -> float:
        return self.topic_boost * (
            KEYWORD_WEIGHT * self.keyword
            + CATEGORY_WEIGHT * self.category
            + RECENCY_WEIGHT * self.recency
            + FREQUENCY_WEIGHT * self.frequency
            + CONFIDENCE_WEIGHT * self.confidence
        )


@dataclass(frozen=True, slots=True)
class RecalledFact:
    fact: Fact
    score: FactScore


@dataclass(frozen=True, slots=True)
class Occasion:
    """What facts are recalled for: a message, and the topic of the session it is said in."""

    is_about_preferences: bool
    topic: QueryTerms
    now: datetime


def expresses_preference(message: str) -> bool:
    return _PREFERENCE.search(message) is not None


def score(fact: Fact, keyword: float, occasion: Occasion) -> FactScore:
    is_boosted = occasion.is_about_preferences and fact.category is FactCategory.PREFERENCE
    return FactScore(
        keyword=keyword,
        category=PREFERENCE_BOOST if is_boosted else 1.0,
        recency=recency(fact.last_accessed_at, occasion.now),
        frequency=frequency(fact.access_count),
        confidence=fact.confidence,
        topic_boost=TOPIC_BOOST if stands_in(occasion.topic, fact_text(fact)) else 1.0,
    )


def recency(last_accessed_at: datetime, now: datetime) -> float:
    """Half after seven days; one from the future, told by a clock that was set back, is as fresh as can be."""
    age = max(now - last_accessed_at, timedelta())
    return float(0.5 ** (age / HALF_LIFE))


def frequency(access_count: int) -> float:
    return min(1.0, math.log1p(access_count) / math.log1p(MANY_ACCESSES))


def best(
    facts: Collection[Fact], keyword_scores: Mapping[str, float], occasion: Occasion, limit: int
) -> tuple[RecalledFact, ...]:
    """Of equals the newer one, and then always the same."""
    recalled = [RecalledFact(fact, score(fact, keyword_scores.get(fact.id, 0.0), occasion)) for fact in facts]
    return tuple(sorted(recalled, key=_order)[:limit])


def may_be_beaten(
    chosen: Sequence[RecalledFact], limit: int, looked_at: Sequence[Fact], walked: int, occasion: Occasion
) -> bool:
    """Whether a preference that was not looked at could be one of the best.

    Of those not looked at, each part is at most the `walked`-th best of those that were; no keyword stands in them, and
    so neither does the topic.
    """
    if len(looked_at) < walked:
        return False
    if len(chosen) < limit:
        return True
    unseen = FactScore(
        keyword=0.0,
        category=PREFERENCE_BOOST,
        recency=recency(_nth_best([fact.last_accessed_at for fact in looked_at], walked), occasion.now),
        frequency=frequency(_nth_best([fact.access_count for fact in looked_at], walked)),
        confidence=_nth_best([fact.confidence for fact in looked_at], walked),
        topic_boost=1.0,
    )
    return unseen.total > chosen[-1].score.total


def _nth_best(values: Sequence[T], number: int) -> T:
    return sorted(values, reverse=True)[number - 1]  # type: ignore[type-var]


def _order(recalled: RecalledFact) -> tuple[float, float, str]:
    return -recalled.score.total, -recalled.fact.created_at.timestamp(), recalled.fact.id
