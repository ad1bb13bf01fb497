"""Who and what a text mentions, by the rules of B1."""

import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from domain.entities import EntityRef, EntityType
from domain.mentions import Matcher, Mention, Name, Span
from domain.text import fold

Places = dict[str, list[tuple[int, int]]]

SEPARATORS = " ・·‧•=゠\n\r\t"


def character(id: str) -> EntityRef:
    return EntityRef(EntityType.CHARACTER, id)


def term(id: str) -> EntityRef:
    return EntityRef(EntityType.TERM, id)


def found(text: str, *names: str) -> list[str]:
    """What stands at each span, of entities that have one name each; in the order of the text."""
    mentions = Matcher(Name(character(name), name) for name in names).mentions(text)
    spans = sorted({(span.start, span.text) for mention in mentions for span in mention.spans})
    return [text for _, text in spans]


def places(text: str, *names: str) -> Places:
    mentions = Matcher(Name(character(name), name) for name in names).mentions(text)
    return {mention.ref.id: [(span.start, span.end) for span in mention.spans] for mention in mentions}


# Which of several names


def test_a_mention_says_who_where_and_by_which_name() -> None:
    matcher = Matcher([Name(character("char_1"), "田中太郎"), Name(character("char_1"), "タロー")])

    mentions = matcher.mentions("田中太郎はタローと呼ばれた。")

    spans = (Span(0, 4, "田中太郎"), Span(5, 8, "タロー"))
    assert mentions == (Mention(character("char_1"), spans, ("田中太郎", "タロー")),)


def test_the_longest_of_overlapping_names_wins() -> None:
    assert places("田中太郎が来た。", "田中", "田中太郎", "太郎") == {"田中太郎": [(0, 4)]}


def test_a_shorter_name_is_found_where_the_longer_is_not() -> None:
    assert places("田中と田中太郎", "田中", "田中太郎") == {"田中": [(0, 2)], "田中太郎": [(3, 7)]}


def test_a_longer_term_wins_over_a_character() -> None:
    matcher = Matcher([Name(character("char_1"), "田中"), Name(term("term_1"), "田中城")])

    mentions = matcher.mentions("田中城の田中")

    assert mentions == (
        Mention(term("term_1"), (Span(0, 3, "田中城"),), ("田中城",)),
        Mention(character("char_1"), (Span(4, 6, "田中"),), ("田中",)),
    )


def test_a_longer_character_wins_over_a_term() -> None:
    matcher = Matcher([Name(term("term_1"), "魔石"), Name(character("char_1"), "魔石の王")])

    assert [mention.ref for mention in matcher.mentions("魔石の王")] == [character("char_1")]


def test_the_leftmost_of_equally_long_names_wins() -> None:
    assert places("山田中村", "田中", "山田", "中村") == {"山田": [(0, 2)], "中村": [(2, 4)]}
    assert places("東山田", "山田", "東山") == {"東山": [(0, 2)]}


def test_a_name_that_lost_to_a_longer_one_does_not_take_others_with_it() -> None:
    assert places("甲乙丙丁戊己", "甲乙", "乙丙丁", "丁戊", "戊己") == {"乙丙丁": [(1, 4)], "戊己": [(4, 6)]}


def test_one_name_shared_by_two_characters_names_both() -> None:
    matcher = Matcher(
        [
            Name(character("char_1"), "田中太郎"),
            Name(character("char_1"), "太郎"),
            Name(character("char_2"), "山田太郎"),
            Name(character("char_2"), "太郎"),
        ]
    )

    mentions = matcher.mentions("太郎が来た")

    span = (Span(0, 2, "太郎"),)
    assert mentions == (Mention(character("char_1"), span, ("太郎",)), Mention(character("char_2"), span, ("太郎",)))


def test_one_name_shared_by_a_character_and_a_term_names_both() -> None:
    matcher = Matcher([Name(character("same"), "消印"), Name(term("same"), "消印")])

    assert [mention.ref for mention in matcher.mentions("消印")] == [character("same"), term("same")]


def test_names_that_differ_in_width_or_separators_alone_are_one_name() -> None:
    assert places("ジョン・スミス", "ジョンスミス", "ジョン＝スミス", "ｼﾞｮﾝ･ｽﾐｽ") == {
        "ジョンスミス": [(0, 7)],
        "ジョン＝スミス": [(0, 7)],
        "ｼﾞｮﾝ･ｽﾐｽ": [(0, 7)],
    }


def test_two_names_of_one_entity_that_are_equal_give_one_span() -> None:
    matcher = Matcher([Name(character("char_1"), "Ann"), Name(character("char_1"), "ＡＮＮ")])

    assert matcher.mentions("ann") == (Mention(character("char_1"), (Span(0, 3, "ann"),), ("Ann",)),)


# Latin names


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("Ann, ANN and ann", "Ann", ["Ann", "ANN", "ann"]),
        ("彼はAnnを見た", "Ann", ["Ann"]),
        ("アンAnnアン", "Ann", ["Ann"]),
        ("Ann's", "Ann", ["Ann"]),
        ("“Ann”", "Ann", ["Ann"]),
        ("Anna, Joann, Ann2, Ann_", "Ann", ["Ann"]),
        ("ο ΣΊΣΥΦΟΣ", "Σίσυφος", ["ΣΊΣΥΦΟΣ"]),
        ("АННА", "Анна", ["АННА"]),
        ("STRASSE, Straße", "Straße", ["STRASSE", "Straße"]),
        ("Zoe\u0308!", "Zoë", ["Zoe\u0308"]),
        ("Zoë!", "Zoe\u0308", ["Zoë"]),
    ],
)
def test_a_latin_name_is_found_as_a_whole_word_in_any_case(text: str, name: str, expected: list[str]) -> None:
    assert found(text, name) == expected


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Anna", "Ann"),
        ("Joann", "Ann"),
        ("彼はAnnaを", "Ann"),
        ("Ann\u0308", "Ann"),
        ("Zoe\u0308", "Zoe"),
        ("Zoë", "Zoe"),
        ("ＡＮＮＡ", "Ann"),
        ("X1", "X"),
        ("ﬁn", "fi"),
    ],
)
def test_a_latin_name_is_not_cut_out_of_a_word(text: str, name: str) -> None:
    assert found(text, name) == []


def test_a_name_of_latin_and_cjk_letters_is_whole_at_its_latin_end() -> None:
    assert found("T細胞とCAT細胞", "T細胞") == ["T細胞"]
    assert found("第3AとDr田中", "Dr田中") == ["Dr田中"]


# Width


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("ＡＮＮは", "Ann", ["ＡＮＮ"]),
        ("annは", "ＡＮＮ", ["ann"]),
        ("ﾊﾞｶ！", "バカ", ["ﾊﾞｶ"]),
        ("バカ！", "ﾊﾞｶ", ["バカ"]),
        ("ハ\u3099カ", "バカ", ["ハ\u3099カ"]),
        ("ﾊﾟﾊﾟとパパ", "パパ", ["ﾊﾟﾊﾟ", "パパ"]),
        ("Ｎｏ．９", "No.9", ["Ｎｏ．９"]),
        ("㍿", "株式会社", ["㍿"]),
    ],
)
def test_full_width_and_half_width_forms_are_equal(text: str, name: str, expected: list[str]) -> None:
    assert found(text, name) == expected


def test_a_voiced_letter_is_another_letter() -> None:
    assert found("ﾊﾞｶ", "ハカ") == []
    assert found("バカ", "ハカ") == []


# Separators


@pytest.mark.parametrize("separator", ["・", "＝", "=", " ", "　", "·", "‧", "•", "゠", "･", "\u00a0", " ・ "])
def test_separators_inside_a_name_are_tolerated(separator: str) -> None:
    with_separator = f"シャーロック{separator}ホームズ"

    assert found(f"名探偵{with_separator}だ", "シャーロックホームズ") == [with_separator]
    assert found(f"名探偵{with_separator}だ", "シャーロック・ホームズ") == [with_separator]
    assert found("名探偵シャーロックホームズだ", with_separator) == ["シャーロックホームズ"]


@pytest.mark.parametrize(
    ("text", "name"),
    [("田中 太郎", "田中太郎"), ("田中太郎", "田中 太郎"), ("田中　太郎", "田中・太郎"), ("김 철수", "김철수")],
)
def test_separators_inside_kanji_and_hangul_names_are_tolerated(text: str, name: str) -> None:
    assert found(f"「{text}」", name) == [text]


@pytest.mark.parametrize("name", ["田中太郎", "田中 太郎", "田中・太郎"])
@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\n　", "\r", "\u2028", "\x0b"])
def test_a_cjk_name_is_not_put_together_across_a_line_break(name: str, line_break: str) -> None:
    assert found(f"田中{line_break}太郎", name) == []


@pytest.mark.parametrize("line_break", ["\n", "\r\n", " ", "  ", "　", "\t"])
def test_a_name_of_two_latin_words_may_be_parted_by_the_end_of_a_line(line_break: str) -> None:
    assert found(f"Mary{line_break}Ann sang", "Mary Ann") == [f"Mary{line_break}Ann"]


@pytest.mark.parametrize("between", ["    ", " . ", ", ", "-", "(x)", "……", " \n \n"])
def test_more_than_a_separator_between_two_words_is_no_name(between: str) -> None:
    assert found(f"Mary{between}Ann", "Mary Ann") == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("an nice day", "Ann"),
        ("A nn", "Ann"),
        ("MaryAnn", "Mary Ann"),
        ("Mary Ann", "MaryAnn"),
        ("M ary Ann", "Mary Ann"),
    ],
)
def test_latin_words_are_parted_where_the_name_is_and_only_there(text: str, name: str) -> None:
    assert found(text, name) == []


def test_separators_around_a_name_do_not_belong_to_it() -> None:
    assert places("　田中　と・田中・", "田中") == {"田中": [(1, 3), (6, 8)]}
    assert places("田中", " 田中・") == {" 田中・": [(0, 2)]}


def test_too_many_separators_part_two_words() -> None:
    assert found("田中　　　　太郎", "田中太郎", "田中") == ["田中"]


# Katakana


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("アンが来た", ["アン"]),
        ("アンナとアン", ["アン"]),
        ("ジョアン", []),
        ("アンー", []),
        ("ｱﾝﾅ", []),
        ("ジョン・アン・スミス", ["アン"]),
        ("彼女アンは", ["アン"]),
        ("Annアン", ["アン"]),
    ],
)
def test_a_katakana_name_is_not_cut_out_of_a_longer_word(text: str, expected: list[str]) -> None:
    assert found(text, "アン") == expected


# Readings in brackets


@pytest.mark.parametrize(
    "text",
    ["鵜（う）飼", "鵜(う)飼", "鵜《う》飼", "鵜〈う〉飼", "鵜［う］飼", "鵜〔ウ〕飼", "鵜（ｳ）飼", "鵜（う） 飼"],
)
def test_a_reading_in_brackets_inside_a_name_is_skipped(text: str) -> None:
    assert found(f"局長の{text}は", "鵜飼") == [text]


def test_a_reading_behind_a_name_does_not_belong_to_it() -> None:
    assert found("鵜飼《うかい》は", "鵜飼") == ["鵜飼"]


def test_several_readings_inside_a_name_are_skipped() -> None:
    assert found("鵜（う）飼（かい）千（ち）鶴（づる）", "鵜飼千鶴", "鵜飼") == ["鵜（う）飼（かい）千（ち）鶴"]


def test_a_reading_and_a_separator_inside_a_name_are_both_skipped() -> None:
    assert found("田中（たなか）　太郎", "田中太郎") == ["田中（たなか）　太郎"]


@pytest.mark.parametrize("text", ["鵜（鳥）飼", "鵜（う飼", "鵜「う」飼", "鵜（u）飼", "鵜（う、え）飼", "鵜（）飼"])
def test_only_kana_in_brackets_are_a_reading(text: str) -> None:
    assert found(text, "鵜飼") == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("（田中太郎）", "田中太郎"),
        ("（たろう）", "たろう"),
        ("《タロウ》", "タロウ"),
        ("(Ann)", "Ann"),
        ("「田中」", "田中"),
    ],
)
def test_a_name_in_brackets_is_found(text: str, name: str) -> None:
    assert found(text, name) == [text[1:-1]]


def test_a_reading_that_is_a_name_is_found_beside_the_name_it_reads() -> None:
    assert places("太郎（たろう）", "太郎", "たろう") == {"太郎": [(0, 2)], "たろう": [(3, 6)]}


def test_a_reading_inside_a_longer_name_gives_way_to_it() -> None:
    assert places("田中（たろう）太郎", "田中太郎", "たろう") == {"田中太郎": [(0, 9)]}


# Order


def test_entities_come_by_first_appearance_and_spans_in_order() -> None:
    mentions = places("太郎、花子、太郎、次郎、花子", "次郎", "花子", "太郎")

    assert list(mentions.items()) == [
        ("太郎", [(0, 2), (6, 8)]),
        ("花子", [(3, 5), (12, 14)]),
        ("次郎", [(9, 11)]),
    ]


def test_a_name_may_follow_itself_at_once() -> None:
    assert places("田田田", "田") == {"田": [(0, 1), (1, 2), (2, 3)]}
    assert places("ママママ", "ママ") == {}
    assert places("太郎太郎", "太郎") == {"太郎": [(0, 2), (2, 4)]}


# Story time


@pytest.mark.parametrize(("chapter", "expected"), [(3, []), (4, ["渚"]), (5, ["渚"]), (None, ["渚"])])
def test_an_alias_is_matched_from_the_chapter_that_reveals_it(chapter: int | None, expected: list[str]) -> None:
    matcher = Matcher([Name(character("char_1"), "渚", 4)])

    mentions = matcher.mentions("渚", chapter)

    assert [span.text for mention in mentions for span in mention.spans] == expected


def test_an_alias_not_yet_revealed_leaves_its_place_to_a_shorter_name() -> None:
    matcher = Matcher([Name(character("char_1"), "湊"), Name(character("char_1"), "湊局員", 6)])

    assert matcher.mentions("湊局員", 5) == (Mention(character("char_1"), (Span(0, 1, "湊"),), ("湊",)),)
    assert matcher.mentions("湊局員", 6) == (Mention(character("char_1"), (Span(0, 3, "湊局員"),), ("湊局員",)),)


def test_an_alias_not_yet_revealed_does_not_name_its_bearer_beside_others_of_that_name() -> None:
    matcher = Matcher([Name(character("char_1"), "先生", 4), Name(character("char_2"), "先生")])

    assert [mention.ref for mention in matcher.mentions("先生", 3)] == [character("char_2")]
    assert [mention.ref for mention in matcher.mentions("先生", 4)] == [character("char_1"), character("char_2")]


def test_an_alias_revealed_at_two_places_counts_from_the_earlier() -> None:
    matcher = Matcher([Name(character("char_1"), "渚", 9), Name(character("char_1"), "渚", 2)])

    assert [mention.ref for mention in matcher.mentions("渚", 2)] == [character("char_1")]


def test_chapter_zero_is_a_chapter() -> None:
    matcher = Matcher([Name(character("char_1"), "渚", 1)])

    assert matcher.mentions("渚", 0) == ()


# Unusual names and texts


def test_nothing_is_found_in_an_empty_text_or_without_names() -> None:
    assert Matcher([Name(character("char_1"), "田中")]).mentions("") == ()
    assert Matcher([]).mentions("田中") == ()
    assert Matcher([]).mentions("") == ()


@pytest.mark.parametrize("name", ["・", "　", "＝＝"])
def test_a_name_of_separators_alone_is_never_found(name: str) -> None:
    assert found(f"田中{name}太郎", name) == []


@pytest.mark.parametrize(
    "name",
    [
        "🧙",
        "🧙‍♀️",
        "𠮷田",
        "𠮷",
        "👨‍👩‍👧‍👦",
        "辻\U000e0100",
        "[A]",
        "^",
        "-",
        "a-z",
        "]",
        "\\",
        "\\d",
        "*",
        ".",
        ".*",
        "C++",
        "(?!)",
        "(?P<x>",
        "$1",
        "|",
        "{2}",
        "&&",
        "--",
        "~~",
        "%s",
        "'",
        '"; DROP',
        "^[-]",
        "…",
        "！",
        "※",
        "\u200b",
    ],
)
def test_special_characters_in_names_mean_themselves(name: str) -> None:
    text = f"𠮷の、{name}、は🧙"
    expected = [name] if name not in ("🧙", "𠮷") else {"🧙": ["🧙", "🧙"], "𠮷": ["𠮷", "𠮷"]}[name]

    assert found(text, name) == expected
    assert found("なし", name) == []


def test_special_names_beside_each_other_are_told_apart() -> None:
    names = ["[", "]", "^", "-", "\\", "*", "."]

    assert places("[]^-\\*.", *names) == {name: [(at, at + 1)] for at, name in enumerate(names)}


def test_names_are_found_in_a_character_with_a_variation_selector() -> None:
    assert found("辻\U000e0100さん", "辻") == ["辻\U000e0100"]


def test_offsets_count_code_points_beyond_the_first_plane() -> None:
    assert places("🧙🧙‍♀️𠮷田と田中", "田中") == {"田中": [(8, 10)]}


@pytest.mark.parametrize("name", ["凪", "の", "ア", "A", "9", "é", "한"])
def test_a_name_may_be_one_character(name: str) -> None:
    assert places(f"、{name}。", name) == {name: [(1, 2)]}


def test_one_character_names_and_longer_ones_are_looked_for_together() -> None:
    assert places("湊と汐見湊と湊", "湊", "汐見湊") == {"湊": [(0, 1), (6, 7)], "汐見湊": [(2, 5)]}


def test_text_before_a_name_that_changes_its_length_when_folded_moves_no_span() -> None:
    text = "㍿と…とＡＮＮとﬁとStraßeとか\u3099、田中太郎（たろう）"

    assert places(text, "田中太郎") == {"田中太郎": [(text.index("田中"), text.index("（"))]}


def test_an_ellipsis_is_no_gap_in_a_name() -> None:
    assert found("田中…太郎", "田中太郎") == []


@pytest.mark.parametrize("unusual", ["", "é", "ß", "か\u3099", "㍿"])
@pytest.mark.parametrize("hyphen", ["\u2010", "\u2011"])
def test_a_name_with_a_hyphen_is_found_whatever_else_stands_in_the_text(hyphen: str, unusual: str) -> None:
    name = f"Jean{hyphen}Luc"

    assert found(f"{unusual} {name}", name) == [name]


def test_every_name_of_many_is_found() -> None:
    names = [f"名{number}号" for number in range(500)]
    text = "。".join(reversed(names))

    assert list(places(text, *names)) == list(reversed(names))


# For any names and any text


def is_mark(each: str) -> bool:
    return unicodedata.category(each)[0] == "M" or each == "ﾞ"


letters = st.sampled_from("田中太郎たろうタロｱﾝﾅAnnaＡｎＺé・＝ 　·\n（）《》()-[]^.…\u3099\u0301\u0308ﾞßﬁ🧙𠮷")
written = st.text(letters, min_size=1, max_size=4).filter(lambda name: not is_mark(name[0]))
names_and_text = st.lists(written, min_size=1, max_size=6, unique=True).flatmap(
    lambda names: st.tuples(
        st.just(names), st.lists(st.one_of(st.sampled_from(names), letters), max_size=12).map("".join)
    )
)


@settings(deadline=None, max_examples=200)
@given(names_and_text)
@example((["田中太郎"], "田（た）中・太郎"))
def test_every_span_points_at_the_text_it_quotes(drawn: tuple[list[str], str]) -> None:
    names, text = drawn

    mentions = Matcher(Name(character(name), name) for name in names).mentions(text)

    for mention in mentions:
        assert len(mention.spans) == len(mention.names) > 0
        for span in mention.spans:
            assert 0 <= span.start < span.end <= len(text)
            assert text[span.start : span.end] == span.text


@settings(deadline=None, max_examples=200)
@given(names_and_text)
def test_spans_are_in_order_and_never_overlap(drawn: tuple[list[str], str]) -> None:
    names, text = drawn

    mentions = Matcher(Name(character(name), name) for name in names).mentions(text)

    for mention in mentions:
        assert list(mention.spans) == sorted(mention.spans, key=lambda span: span.start)
    spans = sorted({(span.start, span.end) for mention in mentions for span in mention.spans})
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    firsts = [mention.spans[0].start for mention in mentions]
    assert firsts == sorted(firsts)


def letters_of(text: str) -> str:
    """Folded, without separators, readings and the marks that stay on a letter that has no such form."""
    without_readings = re.sub(r"[(《][\u3041-\u30ff]+[)》]", "", fold(text))
    return "".join(each for each in without_readings if each not in SEPARATORS and not is_mark(each))


@settings(deadline=None, max_examples=200)
@given(names_and_text)
@example((["田中太郎"], "田（た）中・太郎"))
@example((["Ann"], "ＡＮＮ"))
def test_every_span_has_the_letters_of_its_name(drawn: tuple[list[str], str]) -> None:
    names, text = drawn

    mentions = Matcher(Name(character(name), name) for name in names).mentions(text)

    for mention in mentions:
        for span, name in zip(mention.spans, mention.names, strict=True):
            assert letters_of(span.text) == letters_of(name)


@settings(deadline=None, max_examples=100)
@given(names_and_text)
def test_each_entity_is_mentioned_once(drawn: tuple[list[str], str]) -> None:
    names, text = drawn

    mentions = Matcher(
        [*(Name(character(name), name) for name in names), *(Name(character("all"), name) for name in names)]
    ).mentions(text)

    refs = [mention.ref for mention in mentions]
    assert len(refs) == len(set(refs))
    assert bool(refs) is (character("all") in refs)
