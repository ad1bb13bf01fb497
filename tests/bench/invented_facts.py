"""Facts of any number, about nothing in particular, and messages that have words in common with them."""

import random
import time
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Final

from api.composition import DATABASE, open_parts
from api.settings import LOCAL_OWNER, Settings
from domain.facts import Fact, FactCategory, FactSource
from persistence import sqlite
from persistence.chat_store import fact_to_row
from persistence.mapping import insert_into
from persistence.tables import FactRow

WORDS: Final = 20_000
# The commonest of what is left when stop words are gone stands in every fifteenth fact of its language.
COMMONEST: Final = 20
VALUE_WORDS: Final = 8
MESSAGE_WORDS: Final = 4
NOTEBOOK_LINES: Final = 50
# When they are recalled; the first of them is a month old.
NOW: Final = datetime(2026, 1, 1, tzinfo=UTC)

_LETTERS: Final = "etaoinshrdlucmfw"
_KATAKANA: Final = "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン"
_HAN: Final = (
    "天地人山水火木金土日月星雨雪风云花草树林石河海江湖田野春夏秋冬东西南北中国家城市乡村路桥车船飞机门窗房屋"
    "书画音乐电影歌舞戏学校老师生文字语言数科技工作公司商店饭菜茶酒米面肉鱼鸡牛羊马猫狗鸟虫衣服鞋帽手足头心眼口"
    "红黄蓝白黑色香味甜苦热冷高低长短大小新旧早晚朋友父母兄弟姐妹孩子男女军事医药病院体育球运动游泳跑步节气时"
)

_WEIGHTS: Final = tuple(accumulate(1 / (rank + COMMONEST) for rank in range(WORDS)))
_INSERT: Final = insert_into(FactRow)


@dataclass(frozen=True)
class Tongue:
    vocabulary: Sequence[str]
    apart: str
    preference_key: str
    preference: str

    def say(self, chance: random.Random, words: int) -> str:
        drawn = [self.vocabulary[bisect(_WEIGHTS, chance.random() * _WEIGHTS[-1])] for _ in range(words)]
        return self.apart.join(drawn)


class Talk:
    """In turn Chinese, English and Japanese, with words as rare as in a language; the same for the same number."""

    def __init__(self) -> None:
        chance = random.Random(7)
        self._tongues = (
            Tongue(_words(chance, _HAN, (2, 2)), "、", "喜欢的{}", "我喜欢{}"),
            Tongue(_words(chance, _LETTERS, (3, 9)), " ", "likes {}", "I like {}"),
            Tongue(_words(chance, _KATAKANA, (3, 6)), "、", "好きな{}", "{}が好きです"),
        )

    def fact(self, number: int) -> Fact:
        """Every third is a preference, in every language."""
        chance = random.Random(number)
        tongue = self._tongue_of(number)
        category = tuple(FactCategory)[number // 3 % 3]
        key = tongue.preference_key if category is FactCategory.PREFERENCE else "{}"
        created_at = NOW - timedelta(days=30) + timedelta(seconds=number)
        return Fact(
            f"fact_{number:07}",
            f"session_{number // 10}",
            category,
            f"{key.format(tongue.say(chance, 1))} {number}",
            tongue.say(chance, VALUE_WORDS),
            chance.uniform(0.5, 1),
            FactSource.USER_STATED,
            created_at,
            created_at + chance.random() * (NOW - created_at),
            chance.randrange(100),
        )

    def message(self, number: int, words: int = MESSAGE_WORDS) -> str:
        return self._tongue_of(number).say(random.Random(f"message {number}"), words)

    def preference(self, number: int) -> str:
        return self._tongue_of(number).preference.format(self.message(number))

    def _tongue_of(self, number: int) -> Tongue:
        return self._tongues[number % len(self._tongues)]


def _words(chance: random.Random, alphabet: str, lengths: tuple[int, int]) -> list[str]:
    return ["".join(chance.choices(alphabet, k=chance.randint(*lengths))) for _ in range(WORDS)]


def owner_of(number: int, facts_each: int) -> str:
    """The first owner is the one who asks."""
    return LOCAL_OWNER if number < facts_each else f"owner_{number // facts_each}"


async def fill(data_dir: Path, size: int, facts_each: int, talk: Talk) -> float | None:
    """Rows in bulk, the index as it is always built; facts indexed per second, None where all was there already."""
    async with open_parts(settings_of(data_dir)) as service:
        if await service.library.truth.count() != size:
            _put_rows(data_dir / DATABASE, size, facts_each, talk)
            notes = "".join(f"- {talk.message(number)}\n" for number in range(NOTEBOOK_LINES))
            await service.use_cases(LOCAL_OWNER).notebook.write(notes, None)
        if service.library.generations.newest() is not None:
            return None
        started = time.perf_counter()
        await service.library.build_once(lambda _: None)
        return size / (time.perf_counter() - started)


def settings_of(data_dir: Path) -> Settings:
    """Facts are recalled by their words; vectors would be made for nothing."""
    return Settings(data_dir=data_dir, embedder="none")


def _put_rows(path: Path, size: int, facts_each: int, talk: Talk) -> None:
    db = sqlite.open_connection(path, read_only=False)
    db.execute("PRAGMA synchronous = OFF")
    # Otherwise most of the time goes into writing the same pages again.
    db.execute("PRAGMA cache_size = -500000")
    db.execute("BEGIN")
    db.executemany(
        _INSERT, (dict(fact_to_row(owner_of(number, facts_each), talk.fact(number))) for number in range(size))
    )
    db.execute("COMMIT")
    db.close()
