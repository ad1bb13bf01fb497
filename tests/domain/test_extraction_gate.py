"""What is said already is not written again; what differs in the least that matters is."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.extraction.gate import is_said_by, says_the_same
from domain.facts import Fact, FactCategory, FactSource
from domain.values import Json

Pair = tuple[str, str]

SAME: list[Pair] = [
    # Punctuation, spacing and marks
    ("用户喜欢绿茶", "用户喜欢绿茶。"),
    ("用户住在杭州", "用户，住在 杭州！"),
    ("用户喜欢Python", "用户喜欢 Python"),
    ("用户很高", "用户很高。"),
    ("User likes green tea", "User likes green tea."),
    ("User is allergic to peanuts", "**User** is allergic to _peanuts_"),
    ("User's dog is called Rex", "User's dog is called 'Rex'!"),
    ("User likes C++", "User likes C++."),
    ("ユーザーは緑茶が好き", "ユーザーは、緑茶が好き。"),
    ("ユーザーは猫アレルギー", "「ユーザーは猫アレルギー」"),
    # Case and width
    ("User likes green tea", "USER LIKES GREEN TEA"),
    ("User's name is Anna", "user's name is ANNA"),
    ("User likes café crème", "user likes CAFÉ CRÈME"),
    ("User has 2 cats", "User has ２ cats"),
    ("用户喜欢 Python", "用户喜欢ＰＹＴＨＯＮ"),
    ("用户的生日是3月5日", "用户的生日是３月５日"),
    ("ユーザーはコーヒーが好き", "ユーザーはｺｰﾋｰが好き"),
    ("ユーザーの誕生日は5月3日", "ユーザーの誕生日は５月３日。"),
    # Whoever speaks
    ("用户喜欢绿茶", "我喜欢绿茶"),
    ("用户住在杭州", "我住在杭州。"),
    ("用戶喜歡綠茶", "我喜歡綠茶"),
    ("User likes green tea", "I like green tea!"),
    ("ユーザーは緑茶が好き", "私は緑茶が好きです"),
    ("ユーザーは京都に住んでいる", "私は京都に住んでいます"),
    # Words that say nothing
    ("用户的生日是三月五日", "用户生日是三月五日"),
    ("用户喜欢绿茶", "用户非常喜欢绿茶"),
    ("用户喜欢绿茶", "用户特别喜欢绿茶"),
    ("User likes tea", "The user likes the tea"),
    ("User enjoys hiking", "User enjoyed hikes"),
    ("ユーザーは納豆が嫌い", "私は納豆が嫌いです"),
    # Order, where it does not matter
    ("User likes cats and dogs", "User likes dogs and cats"),
    ("用户喜欢茶和咖啡", "用户喜欢咖啡和茶"),
    ("ユーザーは猫と犬が好き", "ユーザーは犬と猫が好き"),
    # What is denied, or was once
    ("用户不喜欢香菜", "我不喜欢香菜。"),
    ("用户以前住在北京", "我以前住在北京"),
    ("User doesn't like coffee", "User doesn’t like coffee."),
    ("User doesn't like coffee", "User does not like coffee"),
    ("User used to live in Rome", "user used to live in ROME."),
    ("ユーザーは昔京都に住んでいた", "ユーザーは昔、京都に住んでいた。"),
]

OTHER: list[Pair] = [
    # Denied
    ("用户喜欢绿茶", "用户不喜欢绿茶"),
    ("用户喜欢绿茶", "用户讨厌绿茶"),
    ("用户特别喜欢绿茶", "用户不喜欢绿茶"),
    ("用户讨厌香菜", "用户不讨厌香菜"),
    ("用户对花生过敏", "用户对花生不过敏"),
    ("用户有猫", "用户没有猫"),
    ("User likes tea", "User doesn't like tea"),
    ("User likes tea", "User no longer likes tea"),
    ("User likes tea", "User dislikes tea"),
    ("User hates tea", "User doesn't hate tea"),
    ("User can swim", "User cannot swim"),
    ("User drinks coffee", "User stopped drinking coffee"),
    ("ユーザーは緑茶が好き", "ユーザーは緑茶が嫌い"),
    ("ユーザーは緑茶が好き", "ユーザーは緑茶が好きではない"),
    ("ユーザーは納豆が嫌い", "ユーザーは納豆が嫌いじゃない"),
    ("ユーザーは酒を飲む", "ユーザーは酒を飲まない"),
    # Once, and no more
    ("用户住在杭州", "用户以前住在杭州"),
    ("用户住在杭州", "用户曾住在杭州"),
    ("用户不喜欢茶", "用户以前不喜欢茶"),
    ("User lives in Kyoto", "User used to live in Kyoto"),
    ("User has a cat", "User had a cat"),
    ("ユーザーは京都に住んでいる", "ユーザーは昔京都に住んでいた"),
    ("ユーザーは犬を飼っている", "ユーザーは犬を飼っていた"),
    # Numbers and dates
    ("用户有两只猫", "用户有三只猫"),
    ("用户十二岁", "用户二十岁"),
    ("用户今年30岁", "用户今年31岁"),
    ("用户的生日是三月五日", "用户的生日是四月五日"),
    ("用户的生日是3月5日", "用户的生日是5月3日"),
    ("用户的生日是三月五日", "用户的生日是五月三日"),
    ("User has 2 cats", "User has 3 cats"),
    ("User has two cats", "User has three cats"),
    ("User has 1.5 acres", "User has 5.1 acres"),
    ("User was born in 1990", "User was born in 1991"),
    ("User wakes at 7:30", "User wakes at 7:45"),
    ("User wakes at 7 am", "User wakes at 7 pm"),
    ("ユーザーは猫を二匹飼っている", "ユーザーは猫を三匹飼っている"),
    ("ユーザーの誕生日は5月3日", "ユーザーの誕生日は5月4日"),
    # Names and places
    ("用户叫张伟", "用户叫张维"),
    ("用户姓李", "用户姓王"),
    ("用户住在杭州", "用户住在苏州"),
    ("User's name is Anna", "User's name is Hannah"),
    ("User lives in Kyoto", "User lives in Osaka"),
    ("User lives in Kyoto", "User moved to Kyoto"),
    ("User is from Rome", "User is in Rome"),
    ("ユーザーの名前は田中", "ユーザーの名前は中田"),
    ("ユーザーの名前はさくら", "ユーザーの名前はかえで"),
    # Whom it is about
    ("用户住在上海", "用户的哥哥住在上海"),
    ("用户妈妈是医生", "用户爸爸是医生"),
    ("User lives in Rome", "User's sister lives in Rome"),
    ("ユーザーの兄は医者", "ユーザーの弟は医者"),
    # Order, where it matters
    ("User prefers tea to coffee", "User prefers coffee to tea"),
    ("User moved from Rome to Paris", "User moved from Paris to Rome"),
    ("用户喜欢猫胜过狗", "用户喜欢狗胜过猫"),
    ("ユーザーは犬より猫が好き", "ユーザーは猫より犬が好き"),
    # One word, however small
    ("用户喜欢甜的茶", "用户喜欢苦的茶"),
    ("用户比弟弟高", "用户比弟弟矮"),
    ("用户饭前吃药", "用户饭后吃药"),
    ("User likes green tea", "User likes tea"),
    ("User likes C++", "User likes C#"),
    ("User drinks coffee before breakfast", "User drinks coffee after breakfast"),
    ("User is under 30", "User is over 30"),
    ("User drinks tea on Sundays", "User drinks tea only on Sundays"),
    ("ユーザーはりんごが好き", "ユーザーはみかんが好き"),
    ("ユーザーは甘いものが好き", "ユーザーは辛いものが好き"),
    # Nothing in common
    ("用户喜欢绿茶", "User likes green tea"),
    ("👍", "👎"),
    ("", "用户"),
]

# fmt: off
WORDS = st.sampled_from([
    "用户", "我", "喜欢", "不", "讨厌", "绿茶", "以前", "三", "比", "User", "I", "like", "not", "doesn't", "tea", "to",
    "3", "3.5", "used", "before", "ユーザー", "は", "が", "好き", "嫌い", "りんご", "。", "!", "\n",
])
# fmt: on
SENTENCES = st.lists(WORDS, max_size=6).flatmap(
    lambda words: st.sampled_from([" ".join(words), "".join(words), " ".join(reversed(words))])
)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_other_signs_say_the_same(one: str, other: str) -> None:
    assert (says_the_same(one, other), says_the_same(other, one)) == (True, True)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_another_meaning_is_not_the_same(one: str, other: str) -> None:
    assert (says_the_same(one, other), says_the_same(other, one)) == (False, False)


@given(SENTENCES, SENTENCES)
def test_whichever_was_said_first_it_is_the_same_or_not(one: str, other: str) -> None:
    assert says_the_same(one, other) == says_the_same(other, one)


@given(st.text(), st.text())
def test_any_two_texts_can_be_told_apart_or_not_both_ways(one: str, other: str) -> None:
    assert says_the_same(one, other) == says_the_same(other, one)


@given(st.text() | SENTENCES)
def test_a_text_says_what_it_says(text: str) -> None:
    assert says_the_same(text, text)


# What a fact says


def a_fact(key: str, value: Json, category: FactCategory = FactCategory.FACT) -> Fact:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    return Fact("fact_1", None, category, key, value, 0.9, FactSource.USER_STATED, now, now)


def a_preference(key: str, value: Json) -> Fact:
    return a_fact(key, value, FactCategory.PREFERENCE)


@pytest.mark.parametrize(
    ("fact", "learned"),
    [
        (a_fact("city", "Kyoto"), "User's city is Kyoto"),
        (a_fact("lives_in", "Kyoto"), "User lives in Kyoto"),
        (a_fact("allergy", "peanuts"), "User is allergic to peanuts"),
        (a_fact("birthday", "May 3"), "User's birthday is on May 3"),
        (a_fact("name", "Anna"), "User's name is ANNA."),
        (a_preference("favourite_drink", "green tea"), "User's favourite drink is green tea"),
        (a_preference("favourite_drink", "green tea"), "User likes green tea"),
        (a_preference("languages", ["Python", "Rust"]), "User likes Rust and Python"),
        (a_preference("dislikes", "coriander"), "User doesn't like coriander"),
        (a_fact("住在", "杭州"), "用户住在杭州"),
        (a_fact("生日", "3月5日"), "用户的生日是3月5日"),
        (a_fact("过敏", "花生"), "用户对花生过敏"),
        (a_preference("饮料", "绿茶"), "用户最喜欢绿茶"),
        (a_preference("不喜欢的食物", "香菜"), "用户不喜欢香菜"),
        (a_fact("名前", "さくら"), "ユーザーの名前はさくら"),
        (a_preference("好きな飲み物", "緑茶"), "ユーザーは緑茶が好き"),
        (a_preference("好きな果物", "りんご"), "ユーザーはりんごが好き"),
    ],
)
def test_what_a_fact_says_is_said(fact: Fact, learned: str) -> None:
    assert is_said_by(fact, learned)


@pytest.mark.parametrize(
    ("fact", "learned"),
    [
        (a_fact("city", "Kyoto"), "User's city is Osaka"),
        (a_fact("city", "Kyoto"), "User moved to Kyoto"),
        (a_fact("sisters", 2), "User has 3 sisters"),
        (a_fact("sisters", 2), "User has 2 brothers"),
        (a_fact("name", "Anna"), "User's sister's name is Anna"),
        (a_fact("drinks coffee", "after breakfast"), "User drinks coffee before breakfast"),
        (a_preference("drink", "green tea"), "User likes black tea"),
        (a_preference("drink", "green tea"), "User doesn't like green tea"),
        (a_preference("drink", "tea"), "User likes green tea"),
        (a_preference("likes", "cats"), "User likes cats and dogs"),
        (a_preference("hates", "tea"), "User doesn't hate tea"),
        (a_fact("住在", "杭州"), "用户以前住在杭州"),
        (a_fact("生日", "3月5日"), "用户的生日是3月6日"),
        (a_fact("生日", "3月5日"), "用户妈妈的生日是3月5日"),
        (a_preference("饮料", "绿茶"), "用户不喜欢绿茶"),
        (a_preference("讨厌", "香菜"), "用户不讨厌香菜"),
        (a_preference("好きな果物", "りんご"), "ユーザーはみかんが好き"),
        (a_preference("好きな果物", "りんご"), "ユーザーはりんごが嫌い"),
        (a_fact("mood", "👍"), "User likes tea"),
    ],
)
def test_what_a_fact_does_not_say_is_new(fact: Fact, learned: str) -> None:
    assert not is_said_by(fact, learned)
