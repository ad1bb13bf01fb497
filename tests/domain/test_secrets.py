"""What counts as a secret, and what only looks like one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.secrets import SECRET_MARK, holds_secret, without_secrets

# Made up, and put together here so that no scanner takes this file for a leak.
OPENAI = "sk-" + "proj-a1B2c3D4e5F6g7H8i9J0"
GITHUB = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
SLACK = "xoxb-" + "123456789012-abcdefGHIJ"
AWS = "AKIA" + "IOSFODNN7EXAMPLE"
GOOGLE = "AIza" + "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q"
JWT = "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0" + ".dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEpAIBAAKC\nAQEA+/==\n-----END RSA PRIVATE KEY-----"
HEX = "9f86d081884c7d659a2feaa0c55ad015"
SEED = "abandon ability able about above absent absorb abstract absurd abuse access accident"


@pytest.mark.parametrize("token", [OPENAI, GITHUB, SLACK, AWS, GOOGLE, JWT, PEM])
def test_a_token_gives_way_wherever_it_stands(token: str) -> None:
    assert without_secrets(f"use {token}, please") == f"use {SECRET_MARK}, please"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"Authorization: Bearer {HEX}", "Authorization: Bearer [secret]"),
        (f"my api key is {HEX}", "my api key is [secret]"),
        (f'"client_secret": "{HEX}"', '"client_secret": "[secret]"'),
        (f"API_TOKEN={HEX}", "API_TOKEN=[secret]"),
        (f"密钥是{HEX}", "密钥是[secret]"),
        (f"トークンは{HEX}です", "トークンは[secret]です"),
        ("postgres://anna:hunter2@db.example.org/x", "postgres://[secret]@db.example.org/x"),
    ],
)
def test_a_key_gives_way_behind_the_word_for_it(text: str, kept: str) -> None:
    assert without_secrets(text) == kept


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("My password is hunter2.", "My password is [secret]."),
        ("my pw: correcthorse", "my pw: [secret]"),
        ("The wifi password is sunflower", "The wifi password is [secret]"),
        ("The password for the router is Tr0ub4dor&3, ok?", "The password for the router is [secret], ok?"),
        ("我的密码是 abc12345。", "我的密码是 [secret]。"),
        ("密碼：qwerty!9", "密碼：[secret]"),
        ("パスワードはhimitsu99です", "パスワードは[secret]です"),
        ("my PIN is 4821", "my PIN is [secret]"),
        ("PIN 4821", "PIN [secret]"),
        ("暗証番号は4821です", "暗証番号は[secret]です"),
        ("CVV 123", "CVV [secret]"),
        ("cvc: 9876", "cvc: [secret]"),
        ("my SSN is 078-05-1120", "my SSN is [secret]"),
        (f"seed phrase: {SEED}", "seed phrase: [secret]"),
    ],
)
def test_a_password_gives_way(text: str, kept: str) -> None:
    assert without_secrets(text) == kept


@pytest.mark.parametrize(
    "number",
    [
        "4111111111111111",
        "4111 1111 1111 1111",
        "5500-0000-0000-0004",
        "3782 822463 10005",
        "6304000000000000",
        "４１１１　１１１１　１１１１　１１１１",
        "4222222222222",
    ],
)
def test_a_card_number_gives_way(number: str) -> None:
    assert without_secrets(f"card {number}.") == f"card {SECRET_MARK}."


def test_a_card_number_gives_way_with_its_date_behind_it() -> None:
    assert without_secrets("4111 1111 1111 1111 12/26") == "[secret] 12/26"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I forgot my password.",
        "what is the password?",
        "The password is wrong",
        "The password is longer than eight characters",
        "我忘了密码",
        "密码是多少？",
        "密码是我的生日",
        "パスワードは何ですか",
        "パスワードを忘れました",
        "4111 1111 1111 1112",
        "1700000000000",
        "12345678901234567890123",
        "+49 1512 3456789",
        "090-1234-5678",
        "138 0013 8000",
        "ISBN 978-3-16-148410-0",
        "ISBN 9783161484100",
        "2026-07-05 12:30:45",
        "3.14159265358979",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "char_001",
        "fixed in 239c5161f0a8b2c4d5e6f708192a3b4c5d6e7f80",
        "https://example.org/a:b/c?d=e@f",
        "mail anna@example.org",
        "a task-oriented approach",
        "I pin 2024 posters to the wall",
        "the key of the story is friendship",
        "The bearer of good news",
        "security code review",
    ],
)
def test_ordinary_text_is_no_secret(text: str) -> None:
    assert not holds_secret(text)
    assert without_secrets(text) == text


def test_a_key_block_without_an_end_goes_to_the_end_of_the_text() -> None:
    assert without_secrets("see -----BEGIN PRIVATE KEY-----\nMIIE") == "see [secret]"


def test_several_secrets_give_way_one_by_one() -> None:
    assert without_secrets(f"{OPENAI} and {AWS}, password: x1y2") == "[secret] and [secret], password: [secret]"


pieces = st.sampled_from(
    [
        OPENAI,
        JWT,
        PEM,
        "password is ",
        "pw:",
        "key ",
        "4111 1111 ",
        "eyJ",
        "-",
        " ",
        "://",
        ":",
        "@",
        "9",
        "a",
        "密码是",
    ]
)


@settings(deadline=None, max_examples=300)
@given(st.lists(pieces, max_size=12).map("".join) | st.text(max_size=40))
def test_what_was_cleaned_holds_no_secret(text: str) -> None:
    assert holds_secret(text) == (without_secrets(text) != text)
    assert not holds_secret(without_secrets(text))


@pytest.mark.parametrize(
    "unit",
    [
        *("a", "1", "1 ", "-", "\n", "é", "eyJ-", "-eyJaaaa", "sk-", "key ", "key", "password for ", "密码是", "pass:"),
        *("://", "://a:", "bearer ", "-----BEGIN PRIVATE KEY-----", "4111 "),
    ],
)
def test_hostile_texts_are_read_to_their_end(unit: str) -> None:
    text = unit * (100_000 // len(unit))

    assert isinstance(holds_secret(text), bool)
    assert len(without_secrets(text)) <= len(text) + 100_000
