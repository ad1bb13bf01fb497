"""A cursor goes out and comes back; nothing else is taken for one."""

import base64
import json

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.errors import InvalidCursorError
from domain.paging import Cursor
from schema.paging import decode_cursor, encode_cursor

LIST = "memory"


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(value)).decode()


@pytest.mark.parametrize(
    "cursor",
    [
        Cursor(0, "mem_1"),
        Cursor(-(2**63), ""),
        Cursor(2**63 - 1, "\U0010ffff"),
        Cursor(1_769_860_800_123_456, '田中 "太郎"\n🐙'),
    ],
)
def test_a_cursor_comes_back_as_it_went_out(cursor: Cursor) -> None:
    assert decode_cursor(LIST, encode_cursor(LIST, cursor)) == cursor


@settings(deadline=None)
@given(st.integers(-(2**63), 2**63 - 1), st.text(), st.text())
def test_every_cursor_comes_back_as_it_went_out(position: int, id: str, list_name: str) -> None:
    cursor = Cursor(position, id)

    assert decode_cursor(list_name, encode_cursor(list_name, cursor)) == cursor


def test_a_cursor_can_stand_in_a_url() -> None:
    cursor = encode_cursor(LIST, Cursor(1, "ÿþý>>>???"))

    assert set(cursor) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "1",
        "mem_1",
        "====",
        "あ",
        "\x00",
        base64.urlsafe_b64encode(b"\xff\xfe").decode(),
        base64.urlsafe_b64encode(b"[" * 5_000).decode(),
        encoded(None),
        encoded("memory"),
        encoded({}),
        encoded([]),
        encoded([LIST, 1]),
        encoded([LIST, 1, "a", "b"]),
        encoded([LIST, "1", "a"]),
        encoded([LIST, 1.0, "a"]),
        encoded([LIST, True, "a"]),
        encoded([LIST, None, "a"]),
        encoded([LIST, 1, 2]),
        encoded([LIST, 1, None]),
        encoded(["book", 1, "a"]),
        encoded([None, 1, "a"]),
        encoded([LIST, 2**63, "a"]),
        base64.urlsafe_b64encode(b'["memory",-9223372036854775809,"a"]').decode(),
        base64.urlsafe_b64encode(b'["memory",99999999999999999999999,"a"]').decode(),
        encode_cursor(LIST, Cursor(1, "mem_1")) + "!",
        encode_cursor(LIST, Cursor(1, "mem_1"))[:-5],
        " " + encode_cursor(LIST, Cursor(1, "mem_1")),
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidCursorError) as refused:
        decode_cursor(LIST, text)

    assert (refused.value.path, refused.value.cursor) == (("after",), text)


@settings(deadline=None, max_examples=500)
@given(st.one_of(st.text(), st.binary().map(lambda raw: base64.urlsafe_b64encode(raw).decode())))
def test_random_text_is_refused_as_a_cursor_and_nothing_worse(text: str) -> None:
    with pytest.raises(InvalidCursorError):
        decode_cursor(LIST, text)


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**64), 2**64 - 1), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=6,
)


@settings(deadline=None, max_examples=500)
@given(json_values.filter(lambda value: not (isinstance(value, list) and value[:1] == [LIST])))
def test_random_json_is_refused_as_a_cursor_and_nothing_worse(value: object) -> None:
    text = base64.urlsafe_b64encode(json.dumps(value).encode("utf-8", "surrogatepass")).decode()

    with pytest.raises(InvalidCursorError):
        decode_cursor(LIST, text)
