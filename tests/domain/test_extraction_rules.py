"""What the built-in rules learn from a conversation, and what they rather leave out."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.extraction import Learned
from domain.extraction.rules import RuleExtractor, learned_from
from domain.secrets import holds_secret
from domain.sessions import Message, MessageRole
from tests.domain.hand_written_turns import TURNS, Turn


def learned(*texts: str) -> tuple[Learned, ...]:
    return learned_from([Message(MessageRole.USER, text) for text in texts])


def facts(*texts: str) -> list[str]:
    return [each.fact for each in learned(*texts)]


@pytest.mark.parametrize("turn", [turn for turn in TURNS if turn.words], ids=lambda turn: turn.text)
def test_a_turn_that_states_a_fact_teaches_it(turn: Turn) -> None:
    (fact,) = learned(turn.text)

    assert all(word in fact.fact for word in turn.words), fact
    assert fact.category == turn.category


@pytest.mark.parametrize("turn", [turn for turn in TURNS if not turn.words], ids=lambda turn: turn.text)
def test_a_trap_teaches_nothing(turn: Turn) -> None:
    assert learned(turn.text) == ()


# Phrasings that the rules were not written with


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("大家都叫我阿杰", ["用户希望被称为阿杰"]),
        (
            "我住在上海，是一名程序员，平时喜欢打羽毛球。",
            ["用户住在上海", "用户是一名程序员", "用户喜欢打羽毛球"],
        ),
        ("说实话我一直不太喜欢吃甜食", ["用户不太喜欢吃甜食"]),
        ("我乳糖不耐受，所以不喝牛奶", ["用户乳糖不耐受", "用户不喝牛奶"]),
        ("我吃素已经三年了", ["用户吃素已经三年"]),
        ("我老家在湖南", ["用户老家在湖南"]),
        ("我在一家律师事务所上班", ["用户在一家律师事务所上班"]),
        ("我最喜歡的電影是《千與千尋》", ["用戶最喜歡的電影是《千與千尋》"]),
        ("我在自學西班牙語", ["用戶在自學西班牙語"]),
        ("我家的猫叫团子", ["用户家的猫叫团子"]),
        ("别忘了我每周三晚上有瑜伽课", ["我每周三晚上有瑜伽课"]),
        ("我和老婆的结婚纪念日是10月1日", ["用户和老婆的结婚纪念日是10月1日"]),
        ("我以前喜欢喝可乐，现在喜欢喝茶", ["用户喜欢喝茶"]),
        ("我不能吃海鲜，有什么推荐的菜吗？", ["用户不能吃海鲜"]),
        ("我养了一只叫旺财的狗", ["用户养了一只叫旺财的狗"]),
        ("夏天是我最喜欢的季节", ["夏天是用户最喜欢的季节"]),
        ("我最喜欢过山车", ["用户最喜欢过山车"]),
        ("你能记住我不吃辣吗？", ["用户不吃辣"]),
        ("I can't stand loud music in restaurants", ["User can't stand loud music in restaurants"]),
        ("My favourite author is Ursula K. Le Guin.", ["User's favourite author is Ursula K. Le Guin"]),
        ("I've been a vegetarian since 2015", ["User has been a vegetarian"]),
        ("I'm originally from Porto but I live in Vienna now.", ["User is from Porto", "User lives in Vienna"]),
        ("We have two cats named Miso and Tofu.", ["User has two cats named Miso and Tofu"]),
        ("I work as a nurse at a children's hospital", ["User works as a nurse at a children's hospital"]),
        ("you can call me Max", ["User is called Max"]),
        ("I was born on 4 March 1988.", ["User was born on 4 March 1988"]),
        ("I like tea more than coffee", ["User likes tea more than coffee"]),
        ("Don't forget that I'm lactose intolerant.", ["User is lactose intolerant"]),
        ("I'm training for my first marathon in October!", ["User is training for their first marathon in October"]),
        ("I have a severe shellfish allergy, is the soup safe?", ["User has a severe shellfish allergy"]),
        ("Btw my son's birthday is on September 9th", ["User's son's birthday is on September 9th"]),
        ("I'm allergic to nuts, shellfish and soy.", ["User is allergic to nuts, shellfish and soy"]),
        ("I live in Portland, Oregon.", ["User lives in Portland, Oregon"]),
        ("I live in St. Louis.", ["User lives in St. Louis"]),
        ("I work in IT for the US army", ["User works in IT for the US army"]),
        ("I used to work at IBM, now I work at Intel", ["User works at Intel"]),
        ("Spring is my favorite season.", ["User's favorite season is Spring"]),
        ("I really don't like crowds", ["User doesn't like crowds"]),
        ("I don't smoke", ["User doesn't smoke"]),
        ("Can you remember that I'm vegan?", ["User is vegan"]),
        ("僕は辛い食べ物が苦手です。", ["ユーザーは辛い食べ物が苦手"]),
        ("出身は福岡で、今は東京に住んでいます。", ["ユーザーの出身は福岡", "ユーザーは東京に住んでいる"]),
        ("犬を飼っています。名前はポチです。", ["ユーザーは犬を飼っている"]),
        ("ケンと呼んでください", ["ユーザーはケンと呼ばれたい"]),
        ("一番好きな作家は村上春樹です", ["ユーザーの一番好きな作家は村上春樹"]),
        ("IT企業でエンジニアをしています", ["ユーザーはIT企業でエンジニアをしている"]),
        (
            "卵アレルギーがあるので、ケーキは食べられません",
            ["ユーザーは卵アレルギー", "ユーザーはケーキを食べられない"],
        ),
        ("来年のJLPTに向けて日本語を勉強しています", ["ユーザーは来年のJLPTに向けて日本語を勉強している"]),
        ("覚えておいて、会議は毎週月曜の10時からです", ["会議は毎週月曜の10時からです"]),
        ("結婚記念日は6月20日です", ["ユーザーの結婚記念日は6月20日"]),
        ("寿司、天ぷら、そばが好きです", ["ユーザーは寿司、天ぷら、そばが好き"]),
        ("母が作るカレーが好きです", ["ユーザーは母が作るカレーが好き"]),
        ("好きな映画は「千と千尋の神隠し」です", ["ユーザーの好きな映画は「千と千尋の神隠し」"]),
    ],
)
def test_other_phrasings_teach_as_well(text: str, told: list[str]) -> None:
    assert facts(text) == told


@pytest.mark.parametrize(
    "text",
    [
        "你知道我住在哪里吗",
        "你记得我喜欢喝茶吗",
        "我喜不喜欢喝茶来着？",
        "我喜欢绿茶，对吗？",
        "假如我是医生，我会很忙",
        "我朋友住在上海",
        "我爱你",
        "我喜欢你的回答",
        "我喜欢这首歌",
        "“我住在东京”这句话怎么翻译？",
        "我曾经在北京工作过",
        "以前，我喜欢喝可乐",
        "我今天很累",
        "我叫了外卖",
        "请叫我起床",
        "我记住了",
        "记得多喝水",
        "我妈说我对海鲜过敏",
        "小明说，我喜欢吃鱼",
        "帮我写一个故事：我是一名医生，我住在火星。",
        "我家在装修",
        "我住在酒店",
        "我在学校",
        "我住院了",
        "我不是不喜欢喝茶",
        "Am I allergic to nuts?",
        "I like tea, don't I?",
        "I wish I lived by the sea.",
        "I like it.",
        "I love you!",
        "I'm not a doctor.",
        "I don't live in Paris.",
        "I no longer live in Rome",
        "My name is not important.",
        "Call me later.",
        "They call me crazy",
        "My friend works at Google.",
        "She told me: I hate onions. I live in Rome.",
        "I'd love to live in Kyoto.",
        "I thought I liked jazz.",
        "I like your idea, let's do that.",
        "I like the second option.",
        "I prefer option B",
        "Pretend that I live in London.",
        "You are a pirate. I am a doctor.",
        "In the movie, I live in Rome",
        "When I was a kid I loved trains, I lived in Bonn.",
        "Remember to buy milk.",
        "Remember that time in Paris?",
        "I hate to bother you",
        "Proofread this: My name is John and I work at IBM.",
        "“My favorite color is red,” she whispered.",
        "I'm learning a lot from you",
        "I'm in Paris this week.",
        "I'm a terrible cook",
        "It's my favorite color.",
        "He is my favorite person",
        "My favorite thing about you is patience",
        "父は東京に住んでいます",
        "妹は大阪に住んでいて、看護師をしています",
        "彼女は看護師をしています。大阪に住んでいます。",
        "何が好きですか",
        "好きになったかもしれない",
        "嫌いじゃないです",
        "アレルギーはありません",
        "東京に住みたいです",
        "東京に住んでいるらしい",
        "「私は学生です」を英語に訳してください",
        "友達が猫を飼っています",
        "それが好きです",
        "学生だった頃は京都に住んでいました",
        "私の名前を覚えていますか？",
        "傘を忘れないで",
        "それを覚えておいてください",
        "猫が好きな人と話しました",
    ],
)
def test_other_traps_teach_nothing(text: str) -> None:
    assert facts(text) == []


# Who speaks, and in which order


@pytest.mark.parametrize("role", [MessageRole.ASSISTANT, MessageRole.SYSTEM, MessageRole.TOOL])
def test_only_users_teach(role: MessageRole) -> None:
    assert learned_from([Message(role, "I live in Lisbon.")]) == ()


def test_a_fact_is_learned_once_however_it_is_written() -> None:
    assert facts("I love green tea", "i LOVE Green Tea!", "I love ｇｒｅｅｎ tea") == ["User loves green tea"]


def test_facts_come_in_the_order_they_were_said() -> None:
    told = facts("My name is Anna. I live in Lisbon.", "我喜欢绿茶", "緑茶が好きです")

    assert told == ["User's name is Anna", "User lives in Lisbon", "用户喜欢绿茶", "ユーザーは緑茶が好き"]


def test_nothing_is_learned_from_nothing() -> None:
    assert learned_from([]) == ()
    assert learned("", " \n", "?") == ()


async def test_the_extractor_learns_by_the_rules() -> None:
    extractor = RuleExtractor()

    found = await extractor.extract([Message(MessageRole.USER, "I'm allergic to peanuts.")])
    await extractor.close()

    assert found == (Learned("User is allergic to peanuts", "Health"),)


# What is not the user's own voice


@pytest.mark.parametrize(
    "text",
    [
        "```\nI live in Rome.\n```",
        "~~~\nI live in Rome.",
        "> I live in Rome.",
        "    I live in Rome.",
        "She said “I love tea. I live in Rome.”",
        "She said “I love ‘tea’. I live in Rome.",
        'A sign: "I live in Rome."',
        "Her letter:\nI live in Rome.",
        "Anna: I live in Rome. I love tea.",
        "I live in Rome. Please translate that into Latin.",
    ],
)
def test_a_text_that_is_handed_over_teaches_nothing(text: str) -> None:
    assert facts(text) == []


def test_what_is_quoted_can_be_named() -> None:
    assert facts('I love "The Office"', "I love `vim`", "我喜欢《红楼梦》") == [
        'User loves "The Office"',
        "User loves `vim`",
        "用户喜欢《红楼梦》",
    ]


def test_the_user_speaks_again_behind_code_and_quoted_lines() -> None:
    assert facts("```\nmy name is Bob\n```\n> I hate tea\n\nI live in Rome.") == ["User lives in Rome"]


def test_a_list_about_oneself_teaches_each_item() -> None:
    assert facts("About me:\n- I live in Rome\n2. I love tea\n# I hate rain") == [
        "User lives in Rome",
        "User loves tea",
        "User hates rain",
    ]


# Secrets


@pytest.mark.parametrize(
    "text",
    [
        "Remember that my password is hunter2",
        "My password is hunter2 and I live in Rome",
        "请记住我的密码是abc12345",
        "パスワードはabc123だと覚えておいて",
        "Please remember that my card is 4111 1111 1111 1111",
        'I love "sk-' + 'abcdefghij0123456789"',
        "I love s\u200bk-" + "abcdefghij0123456789",
    ],
)
def test_a_sentence_with_a_secret_teaches_nothing(text: str) -> None:
    assert facts(text) == []


def test_the_sentences_beside_a_secret_teach() -> None:
    assert facts("My password is hunter2. I live in Rome.") == ["User lives in Rome"]


# One line for the notebook


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("I love \x1b[31mred\x00 tea", "User loves [31mred tea"),
        ("I love green\u2028tea", "User loves green"),
        ("I love gr\u202eeen tea", "User loves green tea"),
        ("I love “green\ntea”", "User loves “green tea”"),
        ("I love **strong** tea", "User loves **strong** tea"),
        ("I love sushi 🍣🍣", "User loves sushi"),
        ("Remember: - # the key is under the mat", "the key is under the mat"),
        ("Remember: 1) the key is under the mat", "the key is under the mat"),
    ],
)
def test_a_fact_is_one_plain_line(text: str, told: str) -> None:
    assert facts(text) == [told]


def test_a_sentence_of_more_than_two_hundred_characters_teaches_nothing() -> None:
    assert facts("Remember that " + "a " * 93) != []
    assert facts("Remember that " + "a " * 100) == []


def test_a_long_message_teaches_nothing() -> None:
    assert facts("I live in Rome. " + "Well, well. " * 200) == []


pieces = st.sampled_from(
    [
        *(
            "I like ",
            "I live in ",
            "my name is ",
            "remember that ",
            "call me ",
            "I'm a ",
            "doctor",
            "Rome",
            "tea",
            "if ",
        ),
        *(
            "我喜欢",
            "我住在",
            "我叫",
            "请记住",
            "不",
            "茶",
            "私は",
            "が好き",
            "です",
            "に住んでいます",
            "覚えておいて",
            "猫",
        ),
        *(
            " and ",
            ", ",
            "，",
            "、",
            ". ",
            "。",
            "?",
            "？",
            ":",
            "：",
            "\n",
            "\r",
            "\u2028",
            "\x00",
            "- ",
            "# ",
            "> ",
            "1. ",
        ),
        *(
            '"',
            "'",
            "“",
            "”",
            "「",
            "」",
            "`",
            "```",
            "{it}",
            "{",
            "\\",
            "\ue000",
            "\ud800",
            "🍣",
            "password is hunter2",
        ),
    ]
)


@settings(deadline=None, max_examples=400)
@given(st.lists(pieces, max_size=12).map("".join) | st.text(max_size=60))
def test_whatever_is_said_a_fact_is_one_line_without_marks_or_secrets(text: str) -> None:
    for fact in facts(text):
        assert fact == fact.strip()
        assert fact.isprintable()
        assert not fact.startswith(("- ", "* ", "+ ", "#", "> ", "1. "))
        assert not holds_secret(fact)


@pytest.mark.parametrize(
    "unit",
    [
        *("a", "我", "私", "1", " ", "\n", ".", "。", "'", '"', "“", "「", "(", "- ", "> ", "`", ":", "，", "、"),
        *("I like ", "我喜欢", "が好き", "really ", "and ", "remember that ", "a, ", "真的", "“‘"),
    ],
)
@pytest.mark.parametrize("length", [200, 2_000, 100_000])
def test_hostile_texts_are_read_to_their_end(unit: str, length: int) -> None:
    text = (unit * length)[:length]

    assert len(facts(text, f"I like {text}", f"我喜欢{text}", f"{text}が好きです")) <= 4
