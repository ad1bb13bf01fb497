"""What a Chinese sentence states about the user, in simplified or traditional characters."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from domain.extraction import Learned
from domain.extraction.chinese_rules import NOTES, PEOPLE, RULES
from domain.extraction.sentences import Sentence

# The rules are written in simplified characters, and read a text with those in place of the traditional ones.
_SIMPLIFIED: Final = str.maketrans(
    "歡愛討厭過對習學請記別個還從實總幾點給說話聽認為這樣麼嗎誰裡們會來東爾將媽爺兒孫貓養隻條寵業醫師護員計設軟體構畫藝術導遊職務長經營開"
    "發書讀語準備試標夢買賣車電腦廚駕駛譯婦產齡歲號現時間問題覺應該讓雖價極頭髮麵飯雞魚蝦賽馬訓練減煙癮臺灣國際華廣聯網絡與專離遷戶內寧漢慶"
    "陝肅蘇貴陽龍瀋鄭濟滬島亞羅韓蘭義紐倫張陳劉楊趙黃吳鄧許馮葉無論沒幫煩紀結報戰軍廠場館園診療藥劑檢測驗繪編輯顧殘聾癡癲癇壓臟種類鐘熱願"
    "預劃戀絕擇選惡鄉腎潰瘍質慣優亂縣親後並週當進寫據嘗夠輕鬆樂鳥龜妳",
    "欢爱讨厌过对习学请记别个还从实总几点给说话听认为这样么吗谁里们会来东尔将妈爷儿孙猫养只条宠业医师护员计设软体构画艺术导游职务长经营开"
    "发书读语准备试标梦买卖车电脑厨驾驶译妇产龄岁号现时间问题觉应该让虽价极头发面饭鸡鱼虾赛马训练减烟瘾台湾国际华广联网络与专离迁户内宁汉庆"
    "陕肃苏贵阳龙沈郑济沪岛亚罗韩兰义纽伦张陈刘杨赵黄吴邓许冯叶无论没帮烦纪结报战军厂场馆园诊疗药剂检测验绘编辑顾残聋痴癫痫压脏种类钟热愿"
    "预划恋绝择选恶乡肾溃疡质惯优乱县亲后并周当进写据尝够轻松乐鸟龟你",
)

_HANDS_OVER: Final = re.compile(
    r"(?:请|帮|麻烦|给我|把|将|能不能|可以|用)[^。！？\n]{0,12}(?:翻译|译成|译为|润色|改写|校对|总结|概括|续写"
    r"|扩写|缩写|造句)"
    r"|翻译(?:一下|成|为|这|下面|以下|[：:])|(?:例句|造句|歌词|台词)|扮演|假装|开玩笑|骗你的|逗你的|怎么说[？?]?$"
    r"|(?<![在我])写(?:一|个|首|篇|封|段|份)[^。！？\n]{0,12}(?:故事|小说|诗|信|作文|文章|邮件|剧本|日记|情书"
    r"|自我介绍|文案|演讲)"
)

# A sentence with one of these tells what is not, what was, or what somebody else said.
_DOUBT: Final = re.compile(
    r"如果|要是|假如|假设|假使|倘若|若是|万一|的话|也许|可能|或许|大概|说不定|好像|似乎|据说|听说|以为|梦见|梦到"
    r"|幻想|想象|但愿|要不是|除非|仿佛"
    r"|[他她它们人师妈爸友姐哥弟妹婆公谁学]说|(?<!我)[说问喊道][，,：:]|写道|写着|唱着|[歌书说影事剧戏]里|就好了|多好"
    r"|^(?:以前|从前|小时候|曾经|过去|当年|那时|那年|上次|之前|原来|当初)"
)
_ASKS: Final = re.compile(r"什么|谁|哪|怎么|怎样|多少|几[个点岁月号]|为何|如何|吗|(.)不\1|有没有|是否|吧$|么$")

_CUT: Final = re.compile(
    r"[，,；;（）()—\s]*[，,；;（）()—][，,；;（）()—\s]*"
    r"|(?<=.)(?=因为|但是|不过|可是|所以|而且|然而|尤其是|特别是|虽然|比如|例如|于是|并且|而我|只是)"
)
_LEAD: Final = re.compile(
    r"(?:(?:嗯+|哦|噢|啊|呃|唉|哇|哈+|嘿|喂|你好|您好|大家好|嗨|(?:好|是|对)(?:的|啊|呀|了)|没错|其实|顺便(?:说"
    r"|提)?(?:一下|一句)?|另外|还有|而且"
    r"|并且|因为|所以|但是?|不过|可是|虽然|只是|说实话|老实说|说真的|坦白说|说起来|目前|现在|如今|平时|平常"
    r"|一般来说|总的来说|我说过|我跟你说过?"
    r"|告诉你|跟你说|总之|当然|首先|然后|那(?=我)|最近|从小|一直以来|而(?=我))[，,：:！!~～\s]*)+"
)
_PARTICLES: Final = re.compile(r"[了啊呀呢哦啦嘛呗喔耶哈噢哟喽咯~～\s.]+$")
# A last clause that asks about something else leaves the statements before it as they are.
_OWN_QUESTION: Final = re.compile(r"[你您]|什么|怎么|哪|谁|多少|能|可以|有没有|推荐|应该|该")
_TAG: Final = re.compile(
    r"[你您]?(?:说|觉得|知道)?(?:对|是|行|好|可以|没错)(?:吗|吧|不对|不是|么|不)?$|不是吗|是不是|对不对"
)
# What follows it tells how it is now.
_WAS: Final = re.compile(r"我(?:以前|曾经|之前|原来|过去|小时候)")

_REQUEST: Final = re.compile(
    r"(?P<polite>(?:(?:请|麻烦|拜托|你|您|一定|要|务必|千万|帮我|帮忙|能|可以|能不能|可不可以|得|给我|也|希望|必须"
    r"|好好|以后|那"
    r"|另外|对了)[，, ]*)*)"
    r"(?:记住|记下来?|记一下|牢记|记好|记着|(?P<action>记得|别忘记?了?|不要忘记?了?|勿忘))"
    r"(?:一下|这一?点|这件事|下来|哦|啊|了(?=[，,：:]))?[，,：: ]*(?P<matter>.+?)(?:[，,]?(?:好|可以|行)?吗"
    r"|[，,]谢谢.*)?"
)
_POLITE: Final = re.compile(r"请|麻烦|拜托|能|可以|帮")
_STATES: Final = re.compile(r"我|是|叫|有|在")
_NO_MATTER: Final = re.compile(
    r"[这那你您它他她]|我说|我的话|我们?(?:昨天|上次|刚才)?(?:说|聊|讲)|了|没|吗|下次|我的[^是在有叫不会要]{1,8}$"
)

_VAGUE_START: Final = re.compile(
    r"[这那它他她你您谁哪啥咱的得死着就不]|过(?!山车|年|节|生日)|上了|上你|一下|什么|有人|某|惨|好(?!吃|喝|看|听|玩|的)"
)
_VAGUE: Final = re.compile(
    r"[味色多种款]的$|[你您它]|(?<![其吉])他|她|咱|今天|昨天|明天|刚才|今晚|昨晚|明晚|现在|一会儿?|待会|暂时|我们"
    r"|[这那][个次里儿种样边些本部首]"
)
_TEMPORARY_PLACE: Final = re.compile(
    r"酒店|宾馆|旅馆|医院|民宿|朋友家|努力|认真|忙|专心|拼命|加班|公交|地铁|火车|飞机|车上|路上|楼下|隔壁|床|心里"
    r"|梦|一起"
)
_NO_NAME: Final = re.compile(r"[了他她它你您我不着去来外车份点么谁哪]|一声|起床|帮忙|停|什么|非常|很|个")
_HAN_NAME: Final = re.compile(
    r"[\u3400-\u9fff]{1,6}(?:[和与、·][\u3400-\u9fff]{1,6}){0,3}|[^\u3400-\u9fff]+|[\u3400-\u9fff]{1,2}[A-Za-z]+"
)
MAX_OBJECT_LENGTH: Final = 40
MIN_NOTE_LENGTH: Final = 4


@dataclass(frozen=True, slots=True)
class _Clause:
    """As it was said, and the same length in simplified characters."""

    said: str
    read: str

    def from_(self, start: int) -> "_Clause":
        return _Clause(self.said[start:], self.read[start:])

    def without_particles(self) -> "_Clause":
        end = _PARTICLES.search(self.read)
        return self if end is None else _Clause(self.said[: end.start()], self.read[: end.start()])


def hands_over(text: str) -> bool:
    return _HANDS_OVER.search(text.translate(_SIMPLIFIED)) is not None


def stated_in(sentence: Sentence) -> tuple[Learned, ...]:
    read = sentence.text.translate(_SIMPLIFIED)
    user = "用户" if read == sentence.text else "用戶"
    request = _REQUEST.fullmatch(read)
    if request is not None:
        return _requested(sentence, request, user)
    if _DOUBT.search(read):
        return ()
    clauses = _clauses(sentence.text)
    if sentence.is_question:
        last = clauses[-1].read
        clauses = clauses[:-1] if _OWN_QUESTION.search(last) and not _TAG.match(last) else []
    return tuple(_facts(clauses, user))


def _requested(sentence: Sentence, request: re.Match[str], user: str) -> tuple[Learned, ...]:
    """By the rules if they tell all of it, else as it was said."""
    matter = sentence.text[slice(*request.span("matter"))].strip()
    read = request["matter"].strip()
    is_asked = (sentence.is_question or request[0].endswith("吗")) and not _POLITE.search(request["polite"])
    is_reminder = request["action"] and not _STATES.search(read)
    if is_asked or is_reminder or _ASKS.search(read) or _NO_MATTER.match(read):
        return ()
    clauses = _clauses(matter)
    facts = tuple(_facts(clauses, user))
    if len(facts) == len(clauses) and not _DOUBT.search(read):
        return facts
    return (Learned(matter, NOTES),) if len(matter) >= MIN_NOTE_LENGTH else ()


def _clauses(text: str) -> list[_Clause]:
    read = text.translate(_SIMPLIFIED)
    clauses, at = [], 0
    for cut in _CUT.finditer(read):
        clauses.append(_Clause(text[at : cut.start()], read[at : cut.start()]))
        at = cut.end()
    clauses.append(_Clause(text[at:], read[at:]))
    return [clause for clause in clauses if clause.read.strip()] or [_Clause("", "")]


def _facts(clauses: list[_Clause], user: str) -> Iterator[Learned]:
    """Behind a statement about the user, a clause without a subject goes on with it."""
    is_about_user = False
    for clause in clauses:
        lead = _LEAD.match(clause.read)
        own = clause.from_(lead.end() if lead else 0).without_particles()
        fact = _stated(own, user)
        if fact is None and is_about_user:
            fact = _stated(_Clause(f"我{own.said}", f"我{own.read}"), user)
        is_about_user = (fact is not None and fact.category != PEOPLE) or _WAS.match(own.read) is not None
        if fact is not None:
            yield fact


def _stated(clause: _Clause, user: str) -> Learned | None:
    if _ASKS.search(clause.read):
        return None
    for rule in RULES:
        found = rule.clause.fullmatch(clause.read)
        if found is not None and _is_clear(found.groupdict()):
            parts = {name: _of_user(clause.said[slice(*found.span(name))]) for name in found.groupdict()}
            return Learned(rule.fact.format_map({**parts, "user": user}), rule.category)
    return None


def _is_clear(parts: dict[str, str | None]) -> bool:
    """Nothing that needs the conversation to be understood, or that tomorrow will have passed."""
    name = parts.get("name") or parts.get("name2")
    if name is not None:
        return _HAN_NAME.fullmatch(name) is not None and not _NO_NAME.search(name)
    it, where = parts.get("it"), parts.get("where")
    if where is not None and _TEMPORARY_PLACE.search(where):
        return False
    told = it or where or parts.get("what") or ""
    is_vague = _VAGUE_START.match(told) or _VAGUE.search(parts.get("rest") or "")
    return len(told) <= MAX_OBJECT_LENGTH and not is_vague


def _of_user(words: str) -> str:
    return words.replace("我", "自己")
