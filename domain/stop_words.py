"""Words that carry grammar, not a topic: dropped from queries, never from the index."""

from typing import Final

ENGLISH: Final = frozenset(
    """
    a about after again all also am an and any are as at be because been before being but by can could did do does
    doing down for from had has have having he her here hers him his how i if in into is it its just me more most my
    no nor not of off on once only or other our out over own s same she should so some such t than that the their
    them then there these they this those through to too under until up very was we were what when where which while
    who whom why will with would you your yours im ive id ill youre youve youll dont doesnt didnt isnt arent wasnt
    werent cant couldnt wont wouldnt lets thats whats theres hes shes theyre let us
    """.split()
)

# Dropped alone, and together with one another: 什么 is, 什锦 is not.
CHINESE_CHARACTERS: Final = frozenset(
    "的了着吗呢吧啊呀哦嗯嘛啦哈嘿我你您他她它们这那哪谁什么怎是在有和与及或就都也还又很更最不没别可让把被从到以于而且但并则若因所之其个些只再"
)

# Pairs of hiragana as they are cut from particles and endings.
JAPANESE_PAIRS: Final = frozenset(
    """
    です ます でし まし した して てい いる いた ある あっ った って れる られ せる ない なか なっ なる この その あの どの
    これ それ あれ どれ ここ そこ どこ こと もの とき ため よう から まで より など ので のに では には とは にも でも とも
    ても だけ のか のは のが のを すか ませ せん しょ ょう だっ たの るの され れた れて する とし とい いう につ つい いて
    によ よっ よる いつ だれ なに なん なぜ どう
    """.split()
)


# Whoever a fact is about, or asked about: the notebook says 用户 where the user says 我.
SPEAKERS: Final = frozenset("用户 用戶 使用者 user users ユーザー ユーザ 利用者 私 僕 俺 彼 彼女 誰 何".split())

# Verbs of one character that go with anything.
EMPTY_VERBS: Final = frozenset("用写寫想要去来來说說看做给給帮幫叫让讓请請问問找买買")


def is_speaker(word: str) -> bool:
    return word in SPEAKERS


def is_stop_word(word: str) -> bool:
    return word in ENGLISH or word in JAPANESE_PAIRS or CHINESE_CHARACTERS.issuperset(word)
