"""Whether a translation uses the names and terms it should."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.entities import Alias, Book, Character, Term
from domain.mentions import Matcher, Mention, Name
from domain.translation_check import TermUse, TranslationCheck, check_translation

UKAI = Character("char_ukai", "book_1", "鵜飼", (Alias("局長", "局长"), Alias("じいじ")), translation="鹈饲")
CHIZURU = Character("char_chizuru", "book_1", "鵜飼千鶴", (Alias("千鶴", "千鹤"),), translation="鹈饲千鹤")
KUROSE = Character(
    "char_kurose", "book_1", "黒瀬", (Alias("先生", "大夫"), Alias("黒瀬先生", "黑濑大夫")), translation="黑濑"
)
ANN = Character("char_ann", "book_1", "アン", translation="Ann")
WAX = Term("term_wax", "book_1", "青蝋")
ISLAND = Term("term_island", "book_1", "凪島", translation="凪岛")


def mentions_of(entities: Sequence[Character | Term], source: str) -> tuple[Mention, ...]:
    names = [Name(each.ref, name) for each in entities for name in (each.name, *(alias.name for alias in each.aliases))]
    return Matcher(names).mentions(source)


def check(entities: Sequence[Character | Term], source: str, target: str) -> tuple[TranslationCheck, ...]:
    return check_translation(mentions_of(entities, source), {each.ref: each for each in entities}, target)


def the_check(entity: Character | Term, source: str, target: str) -> TranslationCheck:
    (only,) = check([entity], source, target)
    return only


def test_a_translation_that_stands_in_the_target_is_applied() -> None:
    assert check([UKAI], "鵜飼は笑った", "鹈饲笑了") == (
        TranslationCheck(UKAI.ref, TermUse.APPLIED, "鹈饲", ("鹈饲",)),
    )


def test_a_translation_that_is_not_there_is_missing() -> None:
    assert the_check(UKAI, "鵜飼は笑った", "他笑了") == TranslationCheck(UKAI.ref, TermUse.MISSING, "鹈饲", ())


def test_a_name_left_as_it_was_is_missing() -> None:
    assert the_check(UKAI, "鵜飼は笑った", "鵜飼笑了").use is TermUse.MISSING


def test_what_is_called_by_an_alias_should_be_called_by_its_translation() -> None:
    assert the_check(UKAI, "局長は笑った", "局长笑了") == TranslationCheck(UKAI.ref, TermUse.APPLIED, "局长", ("局长",))


def test_another_translation_of_the_same_entity_is_partial() -> None:
    assert the_check(UKAI, "局長は笑った", "鹈饲笑了") == TranslationCheck(UKAI.ref, TermUse.PARTIAL, "局长", ("鹈饲",))


def test_one_of_two_names_that_were_used_is_partial() -> None:
    assert the_check(UKAI, "鵜飼は局長だ", "鹈饲") == TranslationCheck(
        UKAI.ref, TermUse.PARTIAL, "鹈饲 / 局长", ("鹈饲",)
    )


def test_both_of_two_names_that_were_used_are_applied() -> None:
    assert the_check(UKAI, "局長の鵜飼", "鹈饲局长") == TranslationCheck(
        UKAI.ref, TermUse.APPLIED, "局长 / 鹈饲", ("鹈饲", "局长")
    )


def test_an_alias_without_a_translation_expects_that_of_the_name() -> None:
    assert the_check(UKAI, "じいじ！", "鹈饲！") == TranslationCheck(UKAI.ref, TermUse.APPLIED, "鹈饲", ("鹈饲",))


def test_a_name_used_often_is_expected_once() -> None:
    assert the_check(UKAI, "鵜飼、鵜飼、鵜飼", "鹈饲") == TranslationCheck(UKAI.ref, TermUse.APPLIED, "鹈饲", ("鹈饲",))


def test_a_translation_is_not_found_inside_a_longer_one_of_another_entity() -> None:
    checks = check([UKAI, CHIZURU], "鵜飼と鵜飼千鶴", "鹈饲千鹤来了")

    assert checks == (
        TranslationCheck(UKAI.ref, TermUse.MISSING, "鹈饲", ()),
        TranslationCheck(CHIZURU.ref, TermUse.APPLIED, "鹈饲千鹤", ("鹈饲千鹤", "千鹤")),
    )


def test_a_translation_is_found_inside_a_longer_one_of_the_same_entity() -> None:
    assert the_check(KUROSE, "黒瀬は先生だ", "黑濑大夫") == TranslationCheck(
        KUROSE.ref, TermUse.APPLIED, "黑濑 / 大夫", ("黑濑", "大夫", "黑濑大夫")
    )


@pytest.mark.parametrize("target", ["Ann laughed", "ann laughed", "ＡＮＮ笑了", "笑的Ann是", "“Ann's”"])
def test_a_latin_translation_is_found_in_any_case_and_width(target: str) -> None:
    assert the_check(ANN, "アンは笑った", target).use is TermUse.APPLIED


@pytest.mark.parametrize("target", ["Anna laughed", "Joann laughed", "an nice day", ""])
def test_a_latin_translation_is_looked_for_as_a_whole_word(target: str) -> None:
    assert the_check(ANN, "アンは笑った", target).use is TermUse.MISSING


def test_a_latin_translation_is_not_found_inside_a_longer_word_of_the_same_entity() -> None:
    alfred = Character("char_1", "book_1", "アルフレッド", (Alias("アル", "Al"),), translation="Alfred")

    assert the_check(alfred, "アルは笑った", "Alfred laughed") == TranslationCheck(
        alfred.ref, TermUse.PARTIAL, "Al", ("Alfred",)
    )


def test_two_translations_that_differ_in_case_alone_are_one() -> None:
    doctor = Character("char_1", "book_1", "ドクター", (Alias("医者", "doctor"),), translation="Doctor")

    assert the_check(doctor, "医者が来た", "the doctor came").use is TermUse.APPLIED
    assert the_check(doctor, "ドクターが来た", "the Doctor came").use is TermUse.APPLIED


def test_an_entity_without_a_translation_is_left_out() -> None:
    assert check([WAX], "青蝋の封", "蓝色的封") == ()
    assert check([Term("term_1", "book_1", "青蝋", translation="")], "青蝋の封", "蓝色的封") == ()


def test_an_entity_that_is_not_mentioned_is_left_out() -> None:
    assert check([UKAI, ISLAND], "凪島へ", "鹈饲去凪岛") == (
        TranslationCheck(ISLAND.ref, TermUse.APPLIED, "凪岛", ("凪岛",)),
    )


def test_checks_come_in_the_order_of_the_source() -> None:
    checks = check([UKAI, KUROSE, ISLAND], "凪島の黒瀬と鵜飼", "")

    assert [each.ref for each in checks] == [ISLAND.ref, KUROSE.ref, UKAI.ref]


def test_two_characters_of_one_name_are_each_checked_for_their_own() -> None:
    kasai = Character("char_kasai", "book_1", "葛西", (Alias("先生", "老师"),), translation="葛西")

    checks = check([KUROSE, kasai], "先生が来た", "老师来了")

    assert checks == (
        TranslationCheck(KUROSE.ref, TermUse.MISSING, "大夫", ()),
        TranslationCheck(kasai.ref, TermUse.APPLIED, "老师", ("老师",)),
    )


def test_one_translation_of_two_entities_is_found_for_both() -> None:
    other = Term("term_2", "book_1", "静島", translation="凪岛")

    assert [each.use for each in check([ISLAND, other], "凪島と静島", "凪岛")] == [TermUse.APPLIED] * 2


def test_a_translation_may_be_written_with_another_separator() -> None:
    orso = Character("char_1", "book_1", "オルソ・ヴィンテル", translation="奥尔索·温特尔")

    assert the_check(orso, "オルソヴィンテル", "奥尔索・温特尔").use is TermUse.APPLIED


def test_nothing_mentioned_nothing_checked() -> None:
    assert check([UKAI], "", "鹈饲") == ()
    assert check_translation((), {Book("book_1", "砂の道").ref: Book("book_1", "砂の道")}, "砂") == ()


@settings(deadline=None, max_examples=100)
@given(st.text("鹈饲千鹤局长黑濑大夫凪岛Ann ", max_size=12), st.text("鵜飼千鶴局長黒瀬先生凪島アン、", max_size=12))
def test_applied_means_that_all_expected_were_found_and_missing_that_none_was(target: str, source: str) -> None:
    for each in check([UKAI, CHIZURU, KUROSE, ANN, ISLAND], source, target):
        expected = set(each.expected.split(" / "))
        assert (each.use is TermUse.APPLIED) is (expected <= set(each.found))
        assert (each.use is TermUse.MISSING) is (not each.found)
