"""Learning from idle sessions by the built-in rules: what users state becomes lines of MEMORY.md, each once."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from domain.sessions import FIRST_RETRY
from tests.api.building import a_book, a_character, a_memory, ref
from tests.api.chat.chatting import (
    Message,
    assistant,
    chat_server,
    facts,
    four_messages,
    learned,
    memory_md,
    record_turn,
    report,
    rows,
    state,
    user,
)
from tests.api.test_search_ladder import eventually
from tests.api.test_serve_command import serving
from tests.clock import SettableClock
from tests.domain.test_injected import quoted
from tests.serving import Client, Server

INTERVAL_SECONDS = 60
ALL_READ = ("EXTRACTION_SKIPPED", "0 of 4 new messages")
STARTED = ("EXTRACTION_STARTED", None)

SEARCH = "query($words: String!) { search(query: $words, sources: [NOTEBOOK]) { hits { source path text } } }"
PROMPT = "query($message: String!) { systemPrompt(message: $message) { text } }"
CHUNK = "query($book: ID!, $text: String!) { chunkContext(bookId: $book, text: $text) { memorySection } }"

# Put together here so that no scanner takes this file for a leak.
SECRETS = {
    "token": "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "password": "Tr0ub4dor" + "&3xyz",
    "card": "4111 1111 " + "1111 1111",
    "key": "sk-" + "proj4242424242424242",
}


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def memory_file(data_dir: Path) -> Path:
    """Where the notebook of the owner `local` is."""
    file = data_dir / "prompts" / "memory" / "MEMORY.md"
    file.parent.mkdir(parents=True)
    return file


def say(client: Client, session_id: str, *said: str | Message) -> None:
    """Without waiting for what is learned from it."""
    assert record_turn(client, session_id, *said)["problems"] == []
    assert report(client, session_id, "STREAM_IDLE") == STARTED


def wait_until_read(client: Client, session_id: str) -> None:
    """Until none of the session's messages waits to be learned from."""
    eventually(lambda: report(client, session_id, "STREAM_IDLE"), lambda seen: seen == ALL_READ)


def talk(client: Client, session_id: str, *said: str | Message) -> None:
    say(client, session_id, *said)
    wait_until_read(client, session_id)


def state_facts(client: Client, session_id: str, *stated: str) -> None:
    talk(client, session_id, *four_messages(*stated))


def write_notebook(client: Client, content: str) -> None:
    version = client.ask("{ notebook { version } }")["notebook"]["version"]
    payload = client.mutate("writeNotebook", "file { version }", content=content, expectedVersion=version)
    assert payload["problems"] == []


def searched(client: Client, words: str) -> list[dict[str, Any]]:
    hits: list[dict[str, Any]] = client.ask(SEARCH, words=words)["search"]["hits"]
    return hits


def prompt(client: Client, message: str) -> str:
    text: str = client.ask(PROMPT, message=message)["systemPrompt"]["text"]
    return text


def kept_messages(server: Server) -> int:
    ((kept,),) = rows(server, "SELECT COUNT(*) FROM message")
    assert isinstance(kept, int)
    return kept


def wait_for_failures(server: Server, number: int) -> None:
    """Until learning has been tried in vain so often, in a server with one session."""
    eventually(lambda: rows(server, "SELECT failures FROM session"), lambda seen: seen == [(number,)])


# What is learned


def test_extraction_after_the_turn_is_complete(client: Client) -> None:
    say(client, "s1", *four_messages("I'm allergic to peanuts.", "I live in Kyoto."))

    expected = "## Health\n\n- User is allergic to peanuts\n\n## Places\n\n- User lives in Kyoto\n"
    assert eventually(lambda: memory_md(client), lambda seen: seen.count("\n- ") == 2) == expected


def test_extraction_result_is_found_by_search(client: Client) -> None:
    state_facts(client, "s1", "I'm allergic to peanuts.")

    hits = eventually(lambda: searched(client, "peanuts"), bool)

    assert hits == [{"source": "NOTEBOOK", "path": "MEMORY.md", "text": "User is allergic to peanuts"}]


@pytest.mark.parametrize(
    ("said", "line", "heading"),
    [
        ("我对花生过敏。", "用户对花生过敏", "健康"),
        ("我住在杭州。", "用户住在杭州", "地点"),
        ("我喜歡喝烏龍茶。", "用戶喜歡喝烏龍茶", "偏好"),
        ("I prefer dark roast coffee.", "User prefers dark roast coffee", "Preferences"),
        ("My name is Anna.", "User's name is Anna", "Identity"),
        ("I work as a nurse.", "User works as a nurse", "Work"),
        ("京都に住んでいます。", "ユーザーは京都に住んでいる", "場所"),
        ("緑茶が大好きです。", "ユーザーは緑茶が大好き", "好み"),
        ("私の名前はさくらです。", "ユーザーの名前はさくら", "プロフィール"),
    ],
)
def test_a_fact_stands_under_its_category_in_the_language_of_the_user(
    client: Client, said: str, line: str, heading: str
) -> None:
    state_facts(client, "s1", said)

    assert memory_md(client) == f"## {heading}\n\n- {line}\n"


def test_only_what_the_user_says_is_learned(client: Client) -> None:
    others = ("ASSISTANT", "SYSTEM", "TOOL")
    talk(client, "s1", *({"role": role, "content": "I live in Kyoto."} for role in others), user("I live in Oslo."))

    assert learned(client) == ["User lives in Oslo"]


@pytest.mark.parametrize(
    "question",
    ["Do I like green tea?", "Am I allergic to peanuts?", "我住在哪里？", "我喜欢绿茶吗？", "私は緑茶が好きですか？"],
)
def test_questions_teach_nothing(client: Client, question: str) -> None:
    state_facts(client, "s1", question)

    assert memory_md(client) == ""


def test_a_conversation_without_facts_leaves_no_trace(client: Client) -> None:
    state_facts(client, "s1")

    assert memory_md(client) == ""


def test_all_of_a_thousand_messages_are_read(client: Client) -> None:
    stated = {1: "Rome", 200: "Oslo", 201: "Kyoto", 400: "Lima", 999: "Cairo", 1000: "Quito"}
    said = [user(f"I like {stated[n]}.") if n in stated else assistant(f"Remark {n}.") for n in range(1, 1001)]

    talk(client, "s1", *said)

    assert learned(client) == [f"User likes {city}" for city in stated.values()]


def test_the_message_count_begins_again_after_an_extraction(client: Client, clock: SettableClock) -> None:
    state_facts(client, "s1", "I like Rome.")
    clock.move(seconds=INTERVAL_SECONDS)

    record_turn(client, "s1", "I like Oslo.", assistant("So do I."), "I like Lima.")
    three = report(client, "s1", "STREAM_IDLE")
    record_turn(client, "s1", assistant("So do I."))
    four = report(client, "s1", "STREAM_IDLE")

    assert (three, four) == (("EXTRACTION_SKIPPED", "3 of 4 new messages"), STARTED)
    eventually(lambda: learned(client), lambda seen: seen == ["User likes Rome", "User likes Oslo", "User likes Lima"])


# Each fact once


SAID = ("I'm allergic to peanuts.", "我住在杭州。", "緑茶が好きです。")


def test_the_same_conversation_again_adds_nothing(client: Client, clock: SettableClock) -> None:
    state_facts(client, "s1", *SAID)
    before = memory_md(client)
    clock.move(seconds=INTERVAL_SECONDS)

    state_facts(client, "s2", *SAID)
    record_turn(client, "s1", *four_messages(*SAID))
    clock.move(seconds=INTERVAL_SECONDS)
    report(client, "s1", "STREAM_IDLE")
    wait_until_read(client, "s1")

    assert before.count("\n- ") == 3
    assert memory_md(client) == before


def test_what_was_said_twice_in_one_conversation_is_written_once(client: Client) -> None:
    state_facts(client, "s1", "I live in Kyoto.", "As I said, I live in Kyoto!")

    assert learned(client) == ["User lives in Kyoto"]


def test_a_line_that_a_person_reworded_is_not_added_again(client: Client) -> None:
    state_facts(client, "s1", *SAID)
    edited = "# About me\n\n* user is ALLERGIC to *peanuts*!\n\n用户住在杭州。\n\n1. 「ユーザーは緑茶が好き」です。\n"
    write_notebook(client, edited)

    state_facts(client, "s2", *SAID)

    assert memory_md(client) == edited


def test_a_line_that_a_person_deleted_is_learned_when_it_is_said_again(client: Client) -> None:
    state_facts(client, "s1", "I live in Kyoto.")
    write_notebook(client, "")

    state_facts(client, "s2", "I live in Kyoto.")

    assert learned(client) == ["User lives in Kyoto"]


@pytest.mark.parametrize(
    ("update", "said"),
    [
        (state("allergy", "peanuts"), "I'm allergic to peanuts."),
        (state("favourite_drink", "green tea", category="PREFERENCE"), "I like green tea."),
        (state("住在", "杭州"), "我住在杭州。"),
        (state("饮料", "绿茶", category="PREFERENCE"), "我最喜欢绿茶。"),
        (state("好きな果物", "りんご", category="PREFERENCE"), "りんごが好きです。"),
    ],
)
def test_what_a_fact_says_is_not_written_to_the_notebook(client: Client, update: dict[str, Any], said: str) -> None:
    record_turn(client, "s1", memoryUpdate=update)

    state_facts(client, "s1", said, "I live in Oslo.")

    assert learned(client) == ["User lives in Oslo"]


def test_what_a_fact_said_until_it_was_superseded_is_written(client: Client) -> None:
    record_turn(client, "s1", memoryUpdate=state("lives_in", "Kyoto"))
    record_turn(client, "s1", memoryUpdate=state("lives_in", "Osaka"))

    state_facts(client, "s1", "I live in Kyoto.")

    assert learned(client) == ["User lives in Kyoto"]


def test_what_is_learned_becomes_no_fact(client: Client) -> None:
    state_facts(client, "s1", *SAID)

    assert len(learned(client)) == 3
    assert facts(client) == []


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("我喜欢绿茶。", "我不喜欢绿茶。"),
        ("I like green tea.", "I don't like green tea."),
        ("緑茶が好きです。", "緑茶が嫌いです。"),
        ("I live in Kyoto.", "I live in Osaka."),
        ("我住在杭州。", "我住在苏州。"),
        ("I have two cats.", "I have three cats."),
        ("我的生日是三月五日。", "我的生日是五月三日。"),
        ("My name is Anna.", "My name is Hannah."),
        ("りんごが好きです。", "みかんが好きです。"),
        ("I prefer tea to coffee.", "I prefer coffee to tea."),
    ],
)
def test_what_says_otherwise_is_added(client: Client, first: str, then: str) -> None:
    state_facts(client, "s1", first)
    (before,) = learned(client)

    state_facts(client, "s2", then)

    kept, added = learned(client)
    assert kept == before
    assert added != before


def test_sessions_at_once_lose_nothing_and_repeat_nothing(client: Client) -> None:
    cities = ["Rome", "Oslo", "Lima", "Cairo", "Quito", "Kyoto"]

    with ThreadPoolExecutor(len(cities)) as pool:
        list(pool.map(lambda city: state_facts(client, city, f"I like {city}.", "I live by the sea."), cities))

    assert sorted(learned(client)) == sorted(["User lives by the sea", *(f"User likes {city}" for city in cities)])


# What was injected


NOTES = "# Notes\n\n- I live in Kyoto.\n- I like green tea.\n"
NOTES_LEARNED = ["User lives in Kyoto", "User likes green tea"]


def forgotten_prompt(client: Client) -> str:
    """A prompt whose every line would be learned, were it not recognised: the notebook knows nothing of it any more."""
    write_notebook(client, NOTES)
    text = prompt(client, "Hello")
    write_notebook(client, "")
    return text


def test_what_stands_in_the_prompt_would_be_learned_if_the_user_said_it(client: Client) -> None:
    state_facts(client, "s1", NOTES)

    assert learned(client) == NOTES_LEARNED


def test_a_prompt_pasted_whole_is_not_learned_but_what_stands_around_it_is(client: Client) -> None:
    pasted = forgotten_prompt(client)

    state_facts(client, "s1", f"I live in Oslo.\n\n{pasted}\n\nI like black tea.")

    assert learned(client) == ["User lives in Oslo", "User likes black tea"]


def test_a_prompt_that_is_quoted_is_not_learned(client: Client) -> None:
    pasted = quoted(forgotten_prompt(client))

    state_facts(client, "s1", f"{pasted}\n\nI like black tea.")

    assert learned(client) == ["User likes black tea"]


def test_a_prompt_whose_end_was_cut_off_is_not_learned(client: Client) -> None:
    pasted = forgotten_prompt(client)

    state_facts(client, "s1", f"I like black tea.\n\n{pasted[: pasted.index('green')]}green tea")

    assert learned(client) == ["User likes black tea"]


def test_a_prompt_whose_beginning_was_cut_off_is_not_learned(client: Client) -> None:
    write_notebook(client, NOTES)
    pasted = prompt(client, "Hello")

    state_facts(client, "s1", f"{pasted[pasted.index('- I live') :]}\n\nI like black tea.")

    assert memory_md(client) == f"{NOTES}\n## Preferences\n\n- User likes black tea\n"


def test_the_memory_section_of_a_chunk_is_not_learned(client: Client) -> None:
    book = a_book(client)
    tanaka = ref("CHARACTER", a_character(client, book))
    a_memory(client, book, None, tanaka, summary="I live in Kyoto.")
    section = client.ask(CHUNK, book=book, text="田中太郎が来た")["chunkContext"]["memorySection"]
    client.delete("deleteBook", book)

    state_facts(client, "s1", f"I like black tea.\n\n{section}\n\nI live in Oslo.", quoted(section))

    assert "- [Memory] I live in Kyoto." in section
    assert learned(client) == ["User likes black tea", "User lives in Oslo"]


# Secrets


def test_secrets_reach_no_file(data_dir: Path, clock: SettableClock) -> None:
    said = [
        f"My GitHub token is {SECRETS['token']}.",
        f"Please remember that my password is {SECRETS['password']}",
        f"记住，我的卡号是 {SECRETS['card']}。",
        f"I live in Kyoto. OPENAI_API_KEY={SECRETS['key']}",
    ]
    with chat_server(data_dir, clock) as server, server.client() as client:
        record_turn(client, "s1", *said)
        kept = bytes_under(data_dir)
        report(client, "s1", "STREAM_IDLE")
        wait_until_read(client, "s1")
        lines = learned(client)
        eventually(lambda: searched(client, "Kyoto"), bool)
        after_learning = bytes_under(data_dir)

    assert lines == ["User lives in Kyoto"]
    for secret in SECRETS.values():
        assert secret.encode() not in kept + after_learning + bytes_under(data_dir)


def bytes_under(folder: Path) -> bytes:
    return b"\0".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


# Files that people have a hand in


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"\xef\xbb\xbf# Mine\r\n\r\ntext\t \r\n", b"\r\n## Places\r\n\r\n- User lives in Kyoto\r\n"),
        (b"# Places\n\n- Oslo  \n* Lima \xff\xfe", b"\n- User lives in Kyoto\n"),
        (b"no end of line", b"\n\n## Places\n\n- User lives in Kyoto\n"),
    ],
)
def test_every_byte_that_a_person_wrote_stays(
    data_dir: Path, memory_file: Path, clock: SettableClock, before: bytes, after: bytes
) -> None:
    memory_file.write_bytes(before)

    with chat_server(data_dir, clock) as server, server.client() as client:
        state_facts(client, "s1", "I live in Kyoto.")

        assert memory_file.read_bytes() == before + after


def test_what_was_just_written_with_an_editor_is_not_added_again(
    data_dir: Path, memory_file: Path, clock: SettableClock
) -> None:
    with chat_server(data_dir, clock) as server, server.client() as client:
        record_turn(client, "s1", *four_messages("I live in Kyoto."))

        memory_file.write_text("* user lives in KYOTO!\n", encoding="utf-8")
        report(client, "s1", "STREAM_IDLE")
        wait_until_read(client, "s1")

        assert memory_md(client) == "* user lives in KYOTO!\n"


def test_a_full_notebook_loses_no_messages(data_dir: Path, memory_file: Path, clock: SettableClock) -> None:
    full = "- " + "x" * 100 + "\n"
    memory_file.write_text(full, encoding="utf-8")

    with chat_server(data_dir, clock, max_notebook=len(full)) as server, server.client() as client:
        say(client, "s1", *four_messages("I live in Kyoto."))
        wait_for_failures(server, 1)
        assert (kept_messages(server), memory_md(client)) == (4, full)

        write_notebook(client, "")
        clock.move(seconds=FIRST_RETRY.total_seconds())

        eventually(lambda: learned(client), lambda seen: seen == ["User lives in Kyoto"])
        wait_until_read(client, "s1")


def test_a_notebook_that_leads_elsewhere_loses_no_messages(
    tmp_path: Path, data_dir: Path, memory_file: Path, clock: SettableClock
) -> None:
    elsewhere = tmp_path / "elsewhere.md"
    elsewhere.write_text("- not ours\n", encoding="utf-8")
    with chat_server(data_dir, clock) as server, server.client() as client:
        memory_file.symlink_to(elsewhere)
        say(client, "s1", *four_messages("I live in Kyoto."))
        wait_for_failures(server, 1)
        assert (kept_messages(server), elsewhere.read_text(encoding="utf-8")) == (4, "- not ours\n")

        memory_file.unlink()
        clock.move(seconds=FIRST_RETRY.total_seconds())

        eventually(lambda: learned(client), lambda seen: seen == ["User lives in Kyoto"])
        wait_until_read(client, "s1")
    assert elsewhere.read_text(encoding="utf-8") == "- not ours\n"


# A server that stops


def many_facts() -> tuple[list[Message], list[str]]:
    said = [user(f"I like place number {number}.") for number in range(50)]
    return said, [f"User likes place number {number}" for number in range(50)]


def test_what_a_stopped_server_was_learning_is_learned_once_by_the_next(data_dir: Path, clock: SettableClock) -> None:
    said, lines = many_facts()
    with chat_server(data_dir, clock) as server, server.client() as client:
        say(client, "s1", *said)

    with chat_server(data_dir, clock) as server, server.client() as client:
        wait_until_read(client, "s1")
        assert learned(client) == lines


@pytest.mark.skipif(os.name != "posix", reason="only there is a process killed by a signal")
def test_what_a_killed_server_was_learning_is_learned_once_by_the_next(data_dir: Path) -> None:
    said, lines = many_facts()
    with serving(data_dir, LOREGRAPH_EMBEDDER="none") as command, command.client() as client:
        say(client, "s1", *said)
        command.stop(signal.SIGKILL)

    with serving(data_dir, LOREGRAPH_EMBEDDER="none") as command, command.client() as client:
        wait_until_read(client, "s1")
        assert learned(client) == lines
