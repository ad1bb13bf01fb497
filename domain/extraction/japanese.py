"""What a Japanese sentence states about the user, who often goes without saying."""

import re
from collections.abc import Iterator
from typing import Final

from domain.extraction import Learned
from domain.extraction.japanese_rules import NOTES, PERSON, PET, RULES, USER
from domain.extraction.sentences import Sentence

_HANDS_OVER: Final = re.compile(
    r"(?:翻訳|和訳|英訳|中国語訳|要約|添削|校正|推敲|意訳|直訳)(?:を?(?:して|お願い|し直して)|[：:])|訳して"
    r"|書き直して|言い換えて|ロールプレイ"
    r"|演じて|なりきって|ふりをして|(?:物語|小説|詩|手紙|メール|作文|歌詞|脚本|日記|セリフ)を(?:書いて|作って"
    r"|考えて)|例文|冗談(?:です|だよ|だけど)|歌詞|セリフ"
)

_DOUBT: Final = re.compile(
    r"もし|仮に|たとえ|だったら|であれば|なら|れば|たら(?!こ)|らしい|そうです$|そうだ$|みたい|ようです|ようだ|かも"
    r"|だろう|でしょう|夢の中|夢で"
    r"|(?:って|と)(?:言|云|話|聞|書い|答え|叫|思|考え)(?!葉)"
)

_LEAD: Final = re.compile(
    r"(?:(?:えっと|ええと|あの|うん|はい|いいえ|いや|ああ|そうそう|はじめまして|初めまして|こんにちは|こんばんは"
    r"|どうも|実は|じつは|ちなみに|あと|それと|それから|また"
    r"|そして|でも|ただ|しかし|だから|なので|やっぱり|正直(?:に言うと|言って)?|ところで|一応|普段は?|ふだんは?"
    r"|今は?|いまは?|現在は?|最近は?|基本的に|個人的に(?:は)?|昔から"
    r"|子供の頃から|もともと|とにかく|もちろん|特に)[、,，！!\s]*)+"
)
# A comma parts two statements only where the first has its verb; elsewhere it lists things or stands for breath.
_CUT: Final = re.compile(r"(?:(?<=[てでがしすだたいる])|(?<=から|けど|れど))[、,，；;]\s*|[。；;（）()]")
_CONTINUES: Final = re.compile(r"(?:が|けど|けれど|けれども|ので|から)$")

# A topic other than the user, or somebody who comes up: then what follows may be about them.
_OTHER_TOPIC: Final = re.compile(
    r"(?<=[\u4e00-\u9fff々ァ-ヶーA-Za-z\ue000-\uf8ff])(?:は|も|って)(?=.)"
    r"|(?:さん|ちゃん|くん|こと|もの|とき|ころ|ひと|かれ|あいつ|これ|それ|あれ)(?:は|も|って)(?=.)"
)
_SOMEBODY: Final = re.compile(
    rf"(?:{PERSON}|{PET}|友達|友人|先生|同僚|先輩|後輩|人|彼|さん|ちゃん|くん|君|氏|たち)(?:は|が|も|の|って|に|と"
    rf"|を)"
)
_SPEAKS_OF_USER: Final = re.compile(rf"^{USER}(?:は|も|の|って)")

_REMEMBER: Final = (
    r"(?:ちゃんと|しっかり|必ず|ぜひ|絶対に?)?(?:(?:覚えて(?:おいて)?|記憶して(?:おいて)?|メモして(?:おいて)?"
    r"|メモっといて|覚えといて|記録しておいて)|忘れないで)"
    r"(?:いて)?(?:ください|下さい|ね|よ|ほしい(?:です|んだけど|のですが)?|欲しい(?:です)?|くれる|もらえますか"
    r"|いただけますか)*(?:ね)?"
)
_REQUEST_BEFORE: Final = re.compile(rf"(?:これ(?:を|は)?)?{_REMEMBER}[、,：:\s]+(?P<matter>.+)")
_REQUEST_BEHIND: Final = re.compile(
    rf"(?P<matter>.+?)(?:(?:だ|です)?(?:という|っていう|って)?こと(?:を|は|も)?|(?:だ|です|ます|る|ない"
    rf"|い)?(?:って|と)|から|ので|んで)、?{_REMEMBER}"
)
_STATES: Final = re.compile(r"[はがをに]")
_NO_MATTER: Final = re.compile(r"(?:これ|それ|あれ|この|その|あの|さっき|今の|私の言った|僕の言った)")

_VAGUE_START: Final = re.compile(
    r"(?:これ|それ|あれ|この|その|あの|こういう|そういう|ここ|そこ|あそこ|こっち|そっち|どれ|どの|どこ|何|誰|いつ"
    r"|あなた|君|彼|彼女|みんな|お前|今日|昨日|明日|今夜|さっき|今から)"
)
_VAGUE: Final = re.compile(
    r"あなた|お前|貴方|今日|昨日|明日|今夜|今朝|さっき|今から|この(?:本|曲|店|映画|人)|その|あの人|あなたの"
    r"|彼女?(?:は|が|の)|何(?:が|を|で)|誰|どこ|どんな|どれ"
)
_TEMPORARY_PLACE: Final = re.compile(r"ホテル|病院に入院|駅$|電車|バス|会社$|学校$")
_USER_AGAIN: Final = re.compile(rf"{USER}(?:は|が|も)")
_USERS_OWN: Final = re.compile(rf"{USER}の")
MAX_OBJECT_LENGTH: Final = 50


def hands_over(text: str) -> bool:
    return _HANDS_OVER.search(text) is not None


def stated_in(sentence: Sentence) -> tuple[Learned, ...]:
    request = _REQUEST_BEFORE.fullmatch(sentence.text) or _REQUEST_BEHIND.fullmatch(sentence.text)
    if request is not None:
        return _requested(request["matter"].strip())
    if _DOUBT.search(sentence.text):
        return ()
    clauses = _clauses(sentence.text)
    if sentence.is_question:
        clauses = [clause for clause in clauses[:-1] if _CONTINUES.search(clause)]
    return tuple(_facts(clauses, is_about_user=not _SOMEBODY.search(sentence.before)))


def _requested(matter: str) -> tuple[Learned, ...]:
    """By the rules if they tell all of it, else as it was said."""
    if _NO_MATTER.match(matter) or not _STATES.search(matter):
        return ()
    clauses = _clauses(matter)
    facts = tuple(_facts(clauses, is_about_user=True))
    is_told = len(facts) == len(clauses) and not _DOUBT.search(matter)
    return facts if is_told else (Learned(matter, NOTES),)


def _clauses(text: str) -> list[str]:
    clauses = [clause.strip("、,， 　") for clause in _CUT.split(text)]
    return [clause for clause in clauses if clause] or [""]


def _facts(clauses: list[str], *, is_about_user: bool) -> Iterator[Learned]:
    """Without a subject the user is meant, as long as nobody else has come up."""
    for clause in clauses:
        lead = _LEAD.match(clause)
        own = clause[lead.end() if lead else 0 :].rstrip("～~ー笑w. 　")
        if _SPEAKS_OF_USER.match(own):
            is_about_user = True
        fact = _stated(own) if is_about_user else None
        if fact is not None:
            yield fact
        elif _SOMEBODY.search(own) or _OTHER_TOPIC.search(own):
            is_about_user = False


def _stated(clause: str) -> Learned | None:
    for rule in RULES:
        found = rule.clause.fullmatch(clause)
        if found is not None and _is_clear(found.groupdict()):
            parts = {name: _USERS_OWN.sub("自分の", part or "") for name, part in found.groupdict().items()}
            return Learned(rule.fact.format_map(parts), rule.category)
    return None


def _is_clear(parts: dict[str, str | None]) -> bool:
    """Nothing about anybody else, nothing that needs the conversation to be understood."""
    told = "".join(parts.get(name) or "" for name in ("it", "thing", "job", "name", "more"))
    if len(told) > MAX_OBJECT_LENGTH or _OTHER_TOPIC.search(told) or _USER_AGAIN.search(told):
        return False
    return not (_VAGUE_START.match(told) or _VAGUE.search(told) or _TEMPORARY_PLACE.search(parts.get("it") or ""))
