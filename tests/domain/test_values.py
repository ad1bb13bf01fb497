"""Values that clients give as JSON: what is let in, and how they are changed."""

import pytest

from domain import errors
from domain.values import MAX_DEPTH, MAX_INTEGER, MAX_PARTS, Json, check_json, merged

PATH = ("value",)
ROOM = 100


def nested(depth: int) -> Json:
    value: Json = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        0,
        -1.5,
        MAX_INTEGER,
        -MAX_INTEGER,
        "",
        "緑茶 😀",
        [],
        {},
        {"a": [1, {"b": None}], "名前": "田中"},
        nested(MAX_DEPTH),
        "x" * ROOM,
    ],
)
def test_json_is_let_in(value: Json) -> None:
    check_json(value, ROOM, PATH)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), (1,), {1}, b"x", object()])
def test_what_json_cannot_say_is_refused(value: Json) -> None:
    with pytest.raises(errors.NotJsonError):
        check_json(value, ROOM, PATH)


@pytest.mark.parametrize("value", [MAX_INTEGER + 1, -MAX_INTEGER - 1, 10**400])
def test_a_whole_number_that_others_would_round_is_refused(value: int) -> None:
    with pytest.raises(errors.OutOfRangeError):
        check_json(value, ROOM, PATH)


@pytest.mark.parametrize("text", ["a\x00b", "\ud800"])
def test_characters_that_cannot_be_kept_are_refused_in_texts_and_names(text: str) -> None:
    for value in (text, [text], {text: 1}):
        with pytest.raises(errors.ForbiddenCharacterError):
            check_json(value, ROOM, PATH)


def test_what_is_nested_too_deep_is_refused() -> None:
    with pytest.raises(errors.TooDeepError):
        check_json(nested(MAX_DEPTH + 1), ROOM, PATH)


def test_all_texts_together_have_the_room_of_one() -> None:
    with pytest.raises(errors.TextTooLongError) as caught:
        check_json({"x" * 50: ["y" * 25, "z" * 26]}, ROOM, PATH)

    assert (caught.value.length, caught.value.limit) == (ROOM + 1, ROOM)


def test_many_small_parts_are_refused() -> None:
    with pytest.raises(errors.TooManyItemsError):
        check_json([0] * (MAX_PARTS + 1), ROOM, PATH)


def test_many_empty_lists_are_refused_as_well() -> None:
    with pytest.raises(errors.TooManyItemsError):
        check_json([[]] * (MAX_PARTS + 1), ROOM, PATH)


def test_the_path_leads_to_what_is_wrong() -> None:
    with pytest.raises(errors.NotJsonError) as caught:
        check_json({"list": [1, {"deep": float("nan")}]}, ROOM, PATH)

    assert caught.value.path == ("value", "list", "1", "deep")


def test_values_are_merged_key_by_key_and_null_takes_away() -> None:
    before = {"city": "Kyoto", "mood": {"a": 1}, "gone": 1}

    assert merged(before, {"mood": {"b": 2}, "gone": None, "never": None, "new": False}) == {
        "city": "Kyoto",
        "mood": {"b": 2},
        "new": False,
    }
