"""Recall: which facts matter for a message, by the formula of the specification, whatever the index can do."""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.api.building import Owners
from tests.api.chat.chatting import FACT, chat_server, facts, record_turn, set_memory, state
from tests.api.test_search_ladder import eventually, execute, index_file, wait_for
from tests.clock import SettableClock
from tests.serving import Client

RECALL = f"""query($message: String!, $session: ID, $limit: Int, $track: Boolean! = false) {{
  recall(message: $message, sessionId: $session, limit: $limit, track: $track) {{
    fact {{ {FACT} }}
    score {{ keyword category recency frequency confidence topicBoost total }}
  }}
}}"""


def write(client: Client, key: str, value: Any, **fields: Any) -> str:
    """Answers the id."""
    (written,) = record_turn(client, "writing", memoryUpdate=state(key, value, **fields))["factWrites"]
    id_: str = written["fact"]["id"]
    return id_


def recall(client: Client, message: str, **arguments: Any) -> Any:
    """Without counting as an access, unless `track` says so."""
    return client.ask(RECALL, message=message, **arguments)["recall"]


def keys(recalled: Sequence[Any]) -> list[str]:
    return [each["fact"]["key"] for each in recalled]


def score_of(client: Client, message: str, **arguments: Any) -> Any:
    """Of the only fact there is."""
    (only,) = recall(client, message, **arguments)
    return only["score"]


def access_counts(client: Client) -> dict[str, int]:
    return {each["key"]: each["accessCount"] for each in facts(client)}


def total(score: Mapping[str, float]) -> float:
    """The formula as the specification writes it."""
    return score["topicBoost"] * (
        score["keyword"] * 0.4
        + score["category"] * 0.2
        + score["recency"] * 0.15
        + score["frequency"] * 0.1
        + score["confidence"] * 0.15
    )


# The formula


def test_relevance_score_calculation(client: Client, clock: SettableClock) -> None:
    write(client, "language", "Python", source="INFERRED", confidence=0.6)
    for _ in range(9):
        recall(client, "Python", track=True)
    eventually(lambda: access_counts(client), lambda seen: seen == {"language": 9})
    clock.move(days=7)

    score = score_of(client, "Python")

    assert score == pytest.approx(
        {
            "keyword": 1.0,
            "category": 1.0,
            "recency": 0.5,
            "frequency": math.log(10) / math.log(101),
            "confidence": 0.6,
            "topicBoost": 1.0,
            "total": 0.4 + 0.2 + 0.15 * 0.5 + 0.1 * math.log(10) / math.log(101) + 0.15 * 0.6,
        }
    )


@pytest.mark.parametrize(
    ("days", "recency"), [(0, 1.0), (7, 0.5), (14, 0.25), (3.5, 0.5**0.5), (365, 0.5 ** (365 / 7))]
)
def test_recency_halves_every_seven_days(client: Client, clock: SettableClock, days: float, recency: float) -> None:
    write(client, "language", "Python")
    clock.move(days=days)

    assert score_of(client, "Python")["recency"] == pytest.approx(recency)


def test_an_access_makes_a_fact_fresh_again(client: Client, clock: SettableClock) -> None:
    write(client, "language", "Python")
    clock.move(days=7)

    recall(client, "Python", track=True)
    eventually(lambda: access_counts(client), lambda seen: seen == {"language": 1})

    score = score_of(client, "Python")
    assert (score["recency"], score["frequency"]) == pytest.approx((1.0, math.log(2) / math.log(101)))


def test_frequency_is_full_at_a_hundred_accesses_and_no_more_after(client: Client) -> None:
    write(client, "language", "Python")

    frequencies = []
    for accesses in (100, 5):
        before = access_counts(client)["language"]
        for _ in range(accesses):
            recall(client, "Python", track=True)
        eventually(lambda: access_counts(client)["language"], partial(operator.eq, before + accesses))
        frequencies.append(score_of(client, "Python")["frequency"])

    assert frequencies == [1.0, 1.0]


def test_a_clock_that_was_set_back_leaves_a_fact_as_fresh_as_can_be(client: Client, clock: SettableClock) -> None:
    write(client, "language", "Python")
    clock.move(days=-2)

    assert score_of(client, "Python")["recency"] == 1.0
    clock.move(days=2)


def test_all_parts_are_explained_and_come_to_the_total(client: Client, clock: SettableClock) -> None:
    write(client, "language", "Python", confidence=0.95)
    write(client, "favourite language", "Python and Rust", category="PREFERENCE")
    clock.move(days=2)
    write(client, "editor", "Vim, since Python 2", source="INFERRED", confidence=0.2)
    record_turn(client, "s1", currentTopic="Rust")

    recalled = recall(client, "I like Python", session="s1")

    assert len(recalled) == 3
    for each in recalled:
        assert each["score"]["total"] == pytest.approx(total(each["score"]))
        assert each["score"]["confidence"] == each["fact"]["confidence"]
    totals = [each["score"]["total"] for each in recalled]
    assert totals == sorted(totals, reverse=True)


def test_the_best_keyword_score_is_one_and_all_are_parts_of_it(client: Client) -> None:
    write(client, "language", "Python")
    write(client, "hobbies", "gardening, Python, chess, long walks, old films, cooking and the piano")
    write(client, "city", "Kyoto")

    scores = {each["fact"]["key"]: each["score"]["keyword"] for each in recall(client, "Python")}

    assert scores.keys() == {"language", "hobbies"}
    assert scores["language"] == 1.0
    assert 0 < scores["hobbies"] < 1


def test_retrieve_relevant_long_term_memories(client: Client) -> None:
    """At most five, by their scores."""
    for number in range(8):
        write(client, f"note {number}", "Python", source="INFERRED", confidence=number / 10)

    recalled = recall(client, "Python")

    assert keys(recalled) == ["note 7", "note 6", "note 5", "note 4", "note 3"]


# Preferences


@pytest.mark.parametrize("message", ["我喜欢用什么语言", "Which language do I prefer?", "私の好きな言語は？"])
def test_category_based_candidate_recall(client: Client, message: str) -> None:
    write(client, "drink", "绿茶", category="PREFERENCE")
    write(client, "language 语言 言語", "Python", category="PREFERENCE")
    write(client, "language 语言 言語 at work", "Java", category="FACT")

    boosts = {each["fact"]["key"]: each["score"]["category"] for each in recall(client, message)}

    assert boosts == {"drink": 1.5, "language 语言 言語": 1.5, "language 语言 言語 at work": 1.0}


def test_a_preference_without_a_keyword_in_common_is_recalled_with_no_keyword_score(client: Client) -> None:
    write(client, "drink", "绿茶", category="PREFERENCE")

    score = score_of(client, "What do I like?")

    assert (score["keyword"], score["category"]) == (0.0, 1.5)
    assert score["total"] == pytest.approx(total(score))


def test_only_preferences_come_without_a_keyword_in_common(client: Client) -> None:
    write(client, "city", "Kyoto", category="FACT")
    write(client, "breakfast", "at seven", category="PATTERN")

    assert recall(client, "What do I like?") == []


def test_a_message_of_another_kind_boosts_no_preference_and_brings_none_along(client: Client) -> None:
    write(client, "drink", "绿茶", category="PREFERENCE")
    write(client, "language", "Python", category="PREFERENCE")

    (only,) = recall(client, "Python 怎么安装")

    assert (only["fact"]["key"], only["score"]["category"]) == ("language", 1.0)


def test_the_best_of_many_preferences_are_found_whatever_makes_them_so(client: Client, clock: SettableClock) -> None:
    """The best is neither among the freshest nor among the most trusted."""
    for number in range(120):
        write(client, f"trusted {number}", number, category="PREFERENCE", source="INFERRED", confidence=1.0)
    clock.move(days=28)
    write(client, "the best", "all", category="PREFERENCE", source="INFERRED", confidence=0.97)
    clock.move(days=1)
    for number in range(120):
        write(client, f"fresh {number}", number, category="PREFERENCE", source="INFERRED", confidence=0.0)

    assert keys(recall(client, "What do I like?", limit=1)) == ["the best"]


# Keywords


def test_keyword_matching_with_sqlite_fts(client: Client) -> None:
    write(client, "language", "Python 3")
    write(client, "snake", "a python in the terrarium")
    write(client, "city", "Kyoto")

    assert set(keys(recall(client, "Pyth*"))) == {"language", "snake"}
    assert set(keys(recall(client, "Python"))) == {"language", "snake"}
    assert recall(client, "Pyth") == []


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("我喜欢用 Python 写代码", "语言"),
        ("Python で何ができる？", "语言"),
        ("どんなコードを書いた？ 代码", "编辑"),
        ("我爱喝什么茶", "用户喜欢绿茶"),
        ("他平时喝什么茶", "用户喜欢绿茶"),
        ("what do you know about my allergies", "allergy"),
        ("我对花生", "allergy"),
        ("ピーナッツは大丈夫？", "アレルギー"),
        ("私の猫の名前は", "猫"),
        ("How is my cat たま doing", "猫"),
        ("ＰＹＴＨＯＮ", "语言"),
    ],
)
def test_facts_are_found_across_languages_and_whoever_speaks(client: Client, message: str, found: str) -> None:
    write(client, "语言", "Python", category="FACT")
    write(client, "编辑", "写代码用 Vim", category="FACT")
    write(client, "用户喜欢绿茶", "yes", category="FACT")
    write(client, "allergy", {"allergies": ["peanuts", "花生"]}, category="FACT")
    write(client, "アレルギー", "ピーナッツ", category="FACT")
    write(client, "猫", "名前はたま (cat)", category="FACT")

    assert keys(recall(client, message))[:1] == [found]


@pytest.mark.parametrize("message", ["我", "你是谁", "用户", "the user", "ユーザー", "私は", "他和她"])
def test_words_for_people_alone_recall_nothing(client: Client, message: str) -> None:
    write(client, "用户 user ユーザー 私 我 你 他", "用户说：我是用户 the user")

    assert recall(client, message) == []


def test_names_of_fields_and_all_depths_of_a_value_are_found(client: Client) -> None:
    write(client, "trip", {"city": "京都", "companions": [{"name": "Marisol", "age": 41}]})

    for message in ("京都", "companions", "Marisol", "41"):
        assert keys(recall(client, message)) == ["trip"]


# The session's topic


def test_working_memory_context_boost(client: Client) -> None:
    write(client, "tea house", "Ippodo")
    write(client, "city", "Kyoto")
    record_turn(client, "s1", currentTopic="茶 tea")

    without = {each["fact"]["key"]: each["score"]["topicBoost"] for each in recall(client, "Kyoto")}
    within = {each["fact"]["key"]: each["score"]["topicBoost"] for each in recall(client, "Kyoto", session="s1")}

    assert without == {"city": 1.0}
    assert within == {"city": 1.0, "tea house": 1.3}


def test_a_topic_boosts_what_the_message_finds_as_well(client: Client) -> None:
    write(client, "city", "Kyoto")
    record_turn(client, "s1", currentTopic="Kyoto")
    plain = score_of(client, "Kyoto")

    boosted = score_of(client, "Kyoto", session="s1")

    assert boosted["topicBoost"] == 1.3
    assert boosted["total"] == pytest.approx(1.3 * plain["total"])


def test_the_topic_is_that_of_the_last_turn_that_named_one(client: Client) -> None:
    write(client, "city", "Kyoto")
    write(client, "language", "Python")
    record_turn(client, "s1", currentTopic="Kyoto")
    record_turn(client, "s1", currentTopic="Python")
    record_turn(client, "s1", "hello")

    assert keys(recall(client, "hello", session="s1")) == ["language"]
    record_turn(client, "s1", currentTopic="")
    assert recall(client, "hello", session="s1") == []


def test_the_topic_of_a_session_that_has_ended_does_not_count(client: Client, clock: SettableClock) -> None:
    write(client, "city", "Kyoto")
    record_turn(client, "s1", currentTopic="Kyoto")

    clock.move(minutes=29, seconds=59)
    assert keys(recall(client, "hello", session="s1")) == ["city"]
    clock.move(seconds=1)

    assert recall(client, "hello", session="s1") == []


def test_the_topic_of_somebody_elses_session_does_not_count(owners: Owners) -> None:
    with ExitStack() as stack:
        alice, bob = (stack.enter_context(owners.next_client()) for _ in range(2))
        write(alice, "city", "Kyoto")
        record_turn(bob, "s1", currentTopic="Kyoto")

        assert recall(alice, "hello", session="s1") == []


# Nothing


@pytest.mark.parametrize("message", ["Python", "我喜欢什么", ""])
def test_without_facts_nothing_is_recalled(client: Client, message: str) -> None:
    assert recall(client, message, track=True) == []


@pytest.mark.parametrize("message", ["saxophone", "东京", "", " \t\n", "的了吗", "the of and", "😀👍", "?!。", "*"])
def test_empty_retrieval_result(client: Client, message: str) -> None:
    write(client, "language", "Python", category="PREFERENCE")
    write(client, "city", "京都 Kyoto, 😀 the *")

    assert recall(client, message, track=True) == []
    assert record_turn(client, "s1", message or "…")["problems"] == []


# How many


def test_the_limit_is_that_of_the_call_or_of_the_settings(client: Client) -> None:
    for number in range(12):
        write(client, f"note {number}", "Python")

    assert [len(recall(client, "Python", limit=limit)) for limit in (1, 7, 100)] == [1, 7, 12]
    assert len(recall(client, "Python")) == 5
    set_memory(client, retrievalLimit=8)
    assert len(recall(client, "Python")) == 8
    assert len(recall(client, "Python", limit=2)) == 2


@pytest.mark.parametrize("limit", [0, -1, 101])
def test_a_limit_beyond_its_range_is_refused(client: Client, limit: int) -> None:
    (error,) = client.errors(RECALL, message="Python", limit=limit)

    assert error["extensions"]["code"] == "BAD_INPUT"


def test_the_limit_of_all_owners_is_set_by_the_environment(
    tmp_path: Path, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_RETRIEVAL_LIMIT", "2")
    with chat_server(tmp_path, clock) as server, server.client() as client:
        for number in range(4):
            write(client, f"note {number}", "Python")

        assert len(recall(client, "Python")) == 2
        set_memory(client, retrievalLimit=3)
        assert len(recall(client, "Python")) == 3


# Accesses


def test_memory_access_tracking(client: Client, clock: SettableClock) -> None:
    write(client, "language", "Python")
    write(client, "city", "Kyoto")
    written = clock.now
    clock.move(hours=1)

    recall(client, "Python", track=True)
    recall(client, "Python", track=True)

    seen = eventually(lambda: facts(client), lambda seen: seen[1]["accessCount"] == 2)
    accesses = {each["key"]: (each["accessCount"], datetime.fromisoformat(each["lastAccessedAt"])) for each in seen}
    assert accesses == {"language": (2, clock.now), "city": (0, written)}


def test_recall_counts_unless_told_otherwise(client: Client) -> None:
    write(client, "language", "Python")

    client.ask('{ recall(message: "Python") { fact { id } } }')

    eventually(lambda: access_counts(client), lambda seen: seen == {"language": 1})


def test_recall_without_tracking_is_no_access(client: Client) -> None:
    write(client, "language", "Python")
    write(client, "city", "Kyoto")

    recall(client, "Python", track=False)
    recall(client, "Kyoto", track=True)

    # Accesses are written in the order in which they come.
    eventually(lambda: access_counts(client), lambda seen: seen["city"] == 1)
    assert access_counts(client)["language"] == 0


def test_only_what_is_returned_is_accessed(client: Client) -> None:
    for number in range(4):
        write(client, f"note {number}", "Python", source="INFERRED", confidence=number / 10)

    recall(client, "Python", limit=2, track=True)

    eventually(lambda: access_counts(client), lambda seen: sum(seen.values()) == 2)
    assert access_counts(client) == {"note 0": 0, "note 1": 0, "note 2": 1, "note 3": 1}


# Order


def test_ties_come_in_the_same_order_every_time(client: Client) -> None:
    ids = [write(client, f"note {number}", "Python") for number in range(7)]

    orders = {tuple(each["fact"]["id"] for each in recall(client, "Python", limit=100)) for _ in range(5)}

    assert orders == {tuple(sorted(ids))}
    assert [each["fact"]["id"] for each in recall(client, "Python", limit=3)] == sorted(ids)[:3]


def test_of_equals_the_newer_comes_first(client: Client, clock: SettableClock) -> None:
    for number in range(3):
        write(client, f"note {number}", "Python")
        clock.move(seconds=1)
    recall(client, "Python", track=True)
    eventually(lambda: access_counts(client), lambda seen: set(seen.values()) == {1})

    assert keys(recall(client, "Python")) == ["note 2", "note 1", "note 0"]


def test_the_best_of_many_that_fit_alike_are_found(client: Client, clock: SettableClock) -> None:
    """Each has the same words: what they are trusted and when they were used decides."""
    for number in range(150):
        write(client, f"note n{number:03}", "about tea", source="INFERRED", confidence=0.5)
        clock.move(minutes=1)

    assert keys(recall(client, "tea", limit=3)) == ["note n149", "note n148", "note n147"]


# Whatever is said


HOSTILE = [
    '"',
    "'",
    "''; DROP TABLE fact; --",
    'tea" OR "x',
    "tea AND NOT",
    "NEAR(tea coffee, 2)",
    "key: tea",
    "{pairs words} : tea",
    "^tea",
    "tea*coffee*",
    "(((((",
    "tea\x00coffee",
    "\x00",
    "%_\\",
    "tea " * 20_000,
    "茶" * 100_000,
    "x" * 100_000,
    "a* " * 30_000,
    "\u202etea\ufeff\u200b",
    "1 OR 1=1",
    "👩‍👩‍👧 🇯🇵 𝕏 ﷺ ½",
]


@pytest.mark.parametrize("message", HOSTILE, ids=lambda message: ascii(message[:20]))
def test_no_message_makes_recall_fail(client: Client, message: str) -> None:
    write(client, "drink", "tea and coffee")

    recall(client, message, track=True)

    assert keys(recall(client, "tea")) == ["drink"]


@pytest.mark.parametrize("message", ['"tea"', "tea'; DROP TABLE fact; --", "(tea AND", "tea\x00!", "key: tea"])
def test_what_looks_like_syntax_is_read_as_words(client: Client, message: str) -> None:
    write(client, "drink", "tea")

    assert keys(recall(client, message)) == ["drink"]


def test_a_message_longer_than_any_text_is_refused(client: Client) -> None:
    (error,) = client.errors(RECALL, message="x" * 100_001)

    assert error["extensions"]["code"] == "BAD_INPUT"


# Without the index


def test_fallback_to_like_matching(tmp_path: Path, clock: SettableClock) -> None:
    with chat_server(tmp_path, clock) as server, server.client() as client:
        write(client, "all", "Red, GREEN, blue and yellow")
        write(client, "half green", "and blue")
        write(client, "quarter", ["yellow"])
        write(client, "none", "white 100% sure_ly")
        wait_for(client, "KEYWORD")
        execute(index_file(server.data_dir), "DROP TABLE scoped")

        recalled = recall(client, "red green blue yellow")

        scores = {each["fact"]["key"]: each["score"]["keyword"] for each in recalled}
        assert scores == {"all": 1.0, "half green": 0.5, "quarter": 0.25}
        assert [each["score"]["total"] for each in recalled] == pytest.approx(
            [total(each["score"]) for each in recalled]
        )
        wait_for(client, "KEYWORD")
        assert recall(client, "red")[0]["score"]["keyword"] == 1.0


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("我用 Python 写代码", ["language"]),
        ("Pyth*", ["language"]),
        ("我爱喝什么茶", ["用户喜欢绿茶"]),
        ("which city is it", ["home city"]),
        ("happiness", ["mood"]),
        ("京都", ["home city"]),
        ("saxophone", []),
        ("100%", []),
        ("_", []),
        ("", []),
    ],
)
def test_without_the_index_the_same_facts_are_found(
    tmp_path: Path, clock: SettableClock, message: str, found: list[str]
) -> None:
    with chat_server(tmp_path, clock) as server, server.client() as client:
        write(client, "language", "Python")
        write(client, "用户喜欢绿茶", "yes")
        write(client, "home city", "京都")
        write(client, "mood", "happiness")
        wait_for(client, "KEYWORD")
        with_index = keys(recall(client, message))
        execute(index_file(server.data_dir), "DROP TABLE scoped")

        without_index = keys(recall(client, message))

        assert (with_index, without_index) == (found, found)


def test_without_the_index_preferences_are_boosted_and_what_was_superseded_stays_out(
    tmp_path: Path, clock: SettableClock
) -> None:
    with chat_server(tmp_path, clock) as server, server.client() as client:
        write(client, "drink", "tea", category="PREFERENCE")
        write(client, "drink", "coffee", category="PREFERENCE")
        write(client, "shop", "sells tea")
        wait_for(client, "KEYWORD")
        execute(index_file(server.data_dir), "DROP TABLE scoped")

        recalled = recall(client, "I like tea")

        seen = {each["fact"]["value"]: (each["score"]["keyword"], each["score"]["category"]) for each in recalled}
        assert seen == {"coffee": (0.0, 1.5), "sells tea": (0.5, 1.0)}


# An oracle


WORDS = ("piano", "kyoto", "chess", "garden", "winter", "violin", "咖啡", "足球", "小说", "北京", "电影", "音乐")
CATEGORIES = ("PREFERENCE", "FACT", "PATTERN")
SHAPES: Sequence[Callable[[list[str]], Any]] = (" ".join, list, lambda said: {"said": said})


def some_words(random: Random, most: int) -> list[str]:
    return random.sample(WORDS, random.randint(1, most))


def write_at_random(client: Client, clock: SettableClock, random: Random, number: int) -> None:
    for each in range(number):
        value = random.choice(SHAPES)(some_words(random, 4))
        category, confidence = random.choice(CATEGORIES), random.choice([0.0, 0.3, 0.6, 0.9, 1.0])
        write(client, f"key {each}", value, category=category, source="INFERRED", confidence=confidence)
        clock.move(hours=random.choice([0, 0, 1, 30]))


def access_at_random(client: Client, clock: SettableClock, random: Random, number: int) -> None:
    accesses = 0
    for _ in range(number):
        accesses += len(recall(client, " ".join(some_words(random, 3)), track=True, limit=random.choice([1, 5, 20])))
        clock.move(hours=random.choice([0, 5]))
    eventually(lambda: sum(access_counts(client).values()), lambda seen: seen == accesses)


def by_hand(
    fact: Mapping[str, Any], message: Sequence[str], topic: Sequence[str], now: datetime, keyword: float
) -> float | None:
    """What the specification makes of a fact; None when it is no candidate."""
    text = str(fact["value"])
    is_wanted = "prefer" in message and fact["category"] == "PREFERENCE"
    if not is_wanted and not any(word in text for word in (*message, *topic)):
        return None
    age = now - datetime.fromisoformat(fact["lastAccessedAt"])
    return total(
        {
            "keyword": keyword,
            "category": 1.5 if is_wanted else 1.0,
            "recency": 0.5 ** (age.total_seconds() / (7 * 24 * 3600)),
            "frequency": min(1.0, math.log1p(fact["accessCount"]) / math.log1p(100)),
            "confidence": fact["confidence"],
            "topicBoost": 1.3 if any(word in text for word in topic) else 1.0,
        }
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_order_is_that_of_a_plain_computation_over_all_facts(
    client: Client, clock: SettableClock, seed: int
) -> None:
    random = Random(seed)
    write_at_random(client, clock, random, 90)
    access_at_random(client, clock, random, 40)
    everything = facts(client)

    for _ in range(60):
        topic = some_words(random, 1) if random.random() < 0.5 else []
        message = some_words(random, 3) + (["prefer"] if random.random() < 0.4 else [])
        record_turn(client, "s1", currentTopic=" ".join(topic))

        recalled = recall(client, " ".join(message), session="s1", limit=100)
        first_five = recall(client, " ".join(message), session="s1")

        keywords = {each["fact"]["id"]: each["score"]["keyword"] for each in recalled}
        totals = {
            fact["id"]: score
            for fact in everything
            if (score := by_hand(fact, message, topic, clock.now, keywords.get(fact["id"], 0.0))) is not None
        }
        assert {each["fact"]["id"]: each["score"]["total"] for each in recalled} == pytest.approx(totals)
        newest = {fact["id"]: datetime.fromisoformat(fact["createdAt"]).timestamp() for fact in everything}
        order = sorted(totals, key=lambda id_: (-round(totals[id_], 9), -newest[id_], id_))
        assert [each["fact"]["id"] for each in recalled] == order
        assert first_five == recalled[:5]
        assert all(0 <= each["score"]["keyword"] <= 1 for each in recalled)
