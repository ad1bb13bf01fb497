"""Who is named in which text, and which texts a changed name concerns."""

from collections.abc import Mapping, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from domain.entities import EntityRef, EntityType
from domain.mentions import Matcher, Name
from domain.naming import touched_by, who_is_named

TANAKA = EntityRef(EntityType.CHARACTER, "char_tanaka")
TARO = EntityRef(EntityType.CHARACTER, "char_taro")
STONE = EntityRef(EntityType.TERM, "term_stone")

# Names that lie in one another, are written alike, have separators, or need a whole word.
NAMES = [
    "田中",
    "田中太郎",
    "中太",
    "太郎",
    "Ann",
    "ANN",
    "Anna",
    "魔石",
    "シャーロック・ホームズ",
    "ホームズ",
    "がん",
    "New York",
]
PIECES = [
    *NAMES,
    "ホームズの",
    "か\u3099ん",
    "ｶﾞん",
    "ann",
    "anna",
    "田",
    "中",
    "（たなか）",
    "（",
    "）",
    "・",
    " ",
    "\n",
    "。",
    "York",
]

names = st.lists(
    st.builds(Name, st.sampled_from([TANAKA, TARO, STONE]), st.sampled_from(NAMES), st.none() | st.integers(0, 5)),
    max_size=6,
    # A name has one chapter in which it is revealed.
    unique_by=lambda name: (name.ref, name.text.casefold()),
)
contents = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
texts = st.lists(contents, max_size=5).map(lambda found: [(f"mem_{number}", each) for number, each in enumerate(found)])


def named_one_by_one(matcher: Matcher, given_texts: Sequence[tuple[str, str]]) -> dict[str, dict[EntityRef, int]]:
    named: dict[str, dict[EntityRef, int]] = {}
    for id_, text in given_texts:
        for mention in matcher.mentions(text):
            revealed = [matcher.revealed_in(mention.ref, name) or 0 for name in mention.names]
            named.setdefault(id_, {})[mention.ref] = min(revealed)
    return named


def plain(named: Mapping[str, Mapping[EntityRef, int]]) -> dict[str, dict[EntityRef, int]]:
    return {id_: dict(refs) for id_, refs in named.items()}


def test_each_text_has_those_named_in_it() -> None:
    matcher = Matcher([Name(TANAKA, "田中"), Name(STONE, "魔石", 3), Name(STONE, "石ころ", 2)])

    named = who_is_named(matcher, [("a", "田中は魔石を"), ("b", "誰もいない"), ("c", "魔石と石ころ"), ("d", "")])

    assert plain(named) == {"a": {TANAKA: 0, STONE: 3}, "c": {STONE: 2}}


def test_no_texts_name_nobody() -> None:
    assert plain(who_is_named(Matcher([Name(TANAKA, "田中")]), [])) == {}


def test_without_names_nobody_is_named() -> None:
    assert plain(who_is_named(Matcher([]), [("a", "田中")])) == {}


def test_no_name_reaches_from_one_text_into_the_next() -> None:
    matcher = Matcher([Name(TANAKA, "田中太郎"), Name(STONE, "New York")])

    assert plain(who_is_named(matcher, [("a", "田中"), ("b", "太郎"), ("c", "New"), ("d", "York")])) == {}


def test_a_text_that_begins_within_a_word_of_the_one_before_is_on_its_own() -> None:
    matcher = Matcher([Name(TANAKA, "Ann")])

    assert plain(who_is_named(matcher, [("a", "x"), ("b", "Ann"), ("c", "a")])) == {"b": {TANAKA: 0}}


def test_a_text_that_begins_with_a_mark_is_on_its_own() -> None:
    matcher = Matcher([Name(TANAKA, "\u3099石")])

    assert plain(who_is_named(matcher, [("a", "か"), ("b", "\u3099石")])) == {"b": {TANAKA: 0}}


def test_of_names_written_alike_the_first_to_be_known_counts() -> None:
    alike = [Name(TANAKA, "ANN", 5), Name(TANAKA, "Ann", 3)]

    assert plain(who_is_named(Matcher(alike), [("a", "ann")])) == {"a": {TANAKA: 3}}
    assert plain(who_is_named(Matcher(alike[::-1]), [("a", "ann")])) == {"a": {TANAKA: 3}}


def test_a_name_that_is_also_an_alias_is_known_from_the_beginning() -> None:
    both = [Name(TANAKA, "田中"), Name(TANAKA, "田中", 5)]

    assert plain(who_is_named(Matcher(both), [("a", "田中")])) == {"a": {TANAKA: 0}}
    assert plain(who_is_named(Matcher(both[::-1]), [("a", "田中")])) == {"a": {TANAKA: 0}}


def test_a_new_name_touches_the_texts_it_stands_in() -> None:
    given_texts = [("a", "田中は"), ("b", "魔石"), ("c", "Ann")]

    assert {*touched_by([Name(TANAKA, "田中"), Name(STONE, "ann")], given_texts)} == {"a", "c"}


def test_a_name_touches_a_text_in_which_a_longer_one_hides_it() -> None:
    assert {*touched_by([Name(TANAKA, "田中"), Name(TARO, "田中太郎")], [("a", "田中太郎")])} == {"a"}


def test_no_changed_name_touches_nothing() -> None:
    assert {*touched_by([], [("a", "田中")])} == set()


@settings(deadline=None, max_examples=400)
@given(names, texts)
def test_all_texts_at_once_are_as_each_by_itself(given_names: list[Name], given_texts: list[tuple[str, str]]) -> None:
    matcher = Matcher(given_names)

    assert plain(who_is_named(matcher, given_texts)) == named_one_by_one(matcher, given_texts)


@settings(deadline=None, max_examples=600)
@given(names, names, texts)
def test_only_touched_texts_name_anybody_else_than_before(
    before: list[Name], after: list[Name], given_texts: list[tuple[str, str]]
) -> None:
    named_before = plain(who_is_named(Matcher(before), given_texts))
    named_after = plain(who_is_named(Matcher(after), given_texts))

    touched = {*touched_by({*before}.symmetric_difference(after), given_texts)}

    changed = {id_ for id_, _ in given_texts if named_before.get(id_) != named_after.get(id_)}
    assert changed <= touched
