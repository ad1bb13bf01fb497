"""Sixty turns of users with what each of them teaches: twenty per language, half of them traps that teach nothing."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Turn:
    """`words` stand in the fact that is learned under `category`; without words nothing is learned."""

    language: str
    text: str
    words: tuple[str, ...] = ()
    category: str | None = None


TURNS: Final = (
    # Facts in Chinese.
    Turn("zh", "你好，我叫林小雨，很高兴认识你。", ("用户", "林小雨"), "身份"),
    Turn("zh", "我对花生过敏，点菜的时候要小心。", ("用户", "对花生过敏"), "健康"),
    Turn("zh", "我喜欢用 Python 写代码", ("用户", "喜欢用 Python 写代码"), "偏好"),
    Turn("zh", "其實我最討厭香菜了！", ("用戶", "討厭香菜"), "偏好"),
    Turn("zh", "我不喜欢咖啡，你呢？", ("用户", "不喜欢咖啡"), "偏好"),
    Turn("zh", "我去年搬到了杭州。", ("用户", "搬到了杭州"), "地点"),
    Turn("zh", "我是一名小学老师，平时很忙。", ("用户", "小学老师"), "工作"),
    Turn("zh", "我的生日是5月3日", ("用户", "生日", "5月3日"), "日期"),
    Turn("zh", "我女儿叫朵朵，今年上一年级。", ("用户", "女儿", "朵朵"), "人物"),
    Turn("zh", "请记住，周五的例会改到下午三点。", ("周五的例会改到下午三点",), "备注"),
    # Traps in Chinese.
    Turn("zh", "我喜欢什么？"),
    Turn("zh", "我对花生不过敏。"),
    Turn("zh", "如果我住在巴黎，我会每天去美术馆。"),
    Turn("zh", "他说他喜欢绿茶。"),
    Turn("zh", "我想要一杯茶。"),
    Turn("zh", "我现在在地铁上，信号不好。"),
    Turn("zh", "请翻译：我住在东京，我是医生。"),
    Turn("zh", "我以前住在成都。"),
    Turn("zh", "书里写着“我最爱下雪天”。"),
    Turn("zh", "我妹妹喜欢喝奶茶。"),
    # Facts in English.
    Turn("en", "Hi there! My name is Anna Keller.", ("User", "name is Anna Keller"), "Identity"),
    Turn("en", "I'm allergic to peanuts, so please keep that in mind.", ("User is allergic to peanuts",), "Health"),
    Turn("en", "Actually, I prefer green tea.", ("User prefers green tea",), "Preferences"),
    Turn("en", "I don’t really like coffee.", ("User", "like coffee", "n't"), "Preferences"),
    Turn("en", "i live in lisbon, what about you?", ("User lives in lisbon",), "Places"),
    Turn("en", "I'm a freelance graphic designer.", ("User is a freelance graphic designer",), "Work"),
    Turn("en", "My wedding anniversary is on June 12.", ("User", "wedding anniversary is on June 12"), "Dates"),
    Turn("en", "My dog's name is Biscuit.", ("User", "dog", "Biscuit"), "People"),
    Turn("en", "I'm learning Japanese because I want to read manga.", ("User is learning Japanese",), "Goals"),
    Turn("en", "Please remember that the boiler key hangs behind the door.", ("the boiler key hangs",), "Notes"),
    # Traps in English.
    Turn("en", "Do I like tea?"),
    Turn("en", "I'm not allergic to peanuts."),
    Turn("en", "If I lived in Paris, I would eat croissants every day."),
    Turn("en", "He said, 'I love tea and I live in Rome.'"),
    Turn("en", "I would like a cup of tea, please."),
    Turn("en", "I'm tired and I'm at the station now."),
    Turn("en", "Translate into French: I live in Tokyo. I am a doctor."),
    Turn("en", "I used to live in Berlin."),
    Turn("en", "> I hate mushrooms\n\nIs that a common opinion?"),
    Turn("en", "My sister likes oolong."),
    # Facts in Japanese.
    Turn("ja", "はじめまして、私の名前は佐藤健です。", ("ユーザー", "佐藤健"), "プロフィール"),
    Turn("ja", "実は猫アレルギーなんです。", ("ユーザーは猫アレルギー",), "健康"),
    Turn("ja", "緑茶が大好きです！", ("ユーザー", "緑茶", "好き"), "好み"),
    Turn("ja", "コーヒーは好きじゃない。", ("ユーザー", "コーヒー", "好きじゃない"), "好み"),
    Turn("ja", "今は札幌に住んでいます。", ("ユーザー", "札幌に住んで"), "場所"),
    Turn("ja", "病院で看護師として働いています。", ("ユーザー", "病院で看護師として働いて"), "仕事"),
    Turn("ja", "私の誕生日は5月3日です。", ("ユーザー", "誕生日", "5月3日"), "日付"),
    Turn("ja", "娘の名前はさくらです。", ("ユーザー", "娘の名前", "さくら"), "人"),
    Turn("ja", "中国語を勉強しています。", ("ユーザー", "中国語を勉強"), "目標"),
    Turn("ja", "毎週水曜は在宅勤務だということを覚えておいてください。", ("毎週水曜は在宅勤務",), "メモ"),
    # Traps in Japanese.
    Turn("ja", "私は緑茶が好きですか？"),
    Turn("ja", "ピーナッツアレルギーではありません。"),
    Turn("ja", "もしパリに住んでいたら、毎日美術館に行きます。"),
    Turn("ja", "彼は「緑茶が好きです」と言った。"),
    Turn("ja", "お茶を一杯ください。"),
    Turn("ja", "今、駅にいます。"),
    Turn("ja", "次の文を英語に翻訳して：私は東京に住んでいます。"),
    Turn("ja", "昔は大阪に住んでいました。"),
    Turn("ja", "猫が好きだったらいいのに。"),
    Turn("ja", "妹は抹茶が好きです。"),
)
