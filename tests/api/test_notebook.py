"""The notebook over GraphQL: what is written stands in files that people can read and edit."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from api.settings import Settings
from domain.notebook import EMPTY_VERSION, version_of
from tests.serving import Client, Server, running

FILE = "file { path content version date } current { content version }"
MEMORY = "MEMORY.md"


@pytest.fixture
def root(server: Server) -> Path:
    return server.data_dir / "prompts" / "memory"


def append(client: Client, fact: str, category: str | None = None) -> Any:
    return client.mutate("appendMemory", FILE, fact=fact, category=category)


def log(client: Client, entry: str, date: str | None = None) -> Any:
    return client.mutate("appendDailyLog", FILE, entry=entry, date=date)


def write(client: Client, content: str, expected: str) -> Any:
    return client.mutate("writeNotebook", FILE, content=content, expectedVersion=expected)


def notebook(client: Client) -> Any:
    return client.ask("{ notebook { path content version date } }")["notebook"]


def shown(path: str, content: str, date: str | None = None) -> dict[str, Any]:
    return {"path": path, "content": content, "version": version_of(content.encode()), "date": date}


def versions(client: Client, path: str = MEMORY, **page: Any) -> Any:
    query = """query($path: String!, $first: Int! = 20, $after: String) {
      notebookVersions(path: $path, first: $first, after: $after) {
        totalCount pageInfo { hasNextPage endCursor } nodes { path version replacedAt file { content } }
      }
    }"""
    return client.ask(query, path=path, **page)["notebookVersions"]


def code(payload: Any) -> str:
    (problem,) = payload["problems"]
    assert payload["file"] is None
    return str(problem["code"])


def everything(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*.md") if path.is_file()}


# The scenarios of the Markdown memory


def test_folders_of_the_notebook_are_made_at_start(server: Server, root: Path) -> None:
    assert root.is_dir()
    assert (root / "daily").is_dir()
    assert everything(root) == {}


def test_fact_is_appended_to_memory_md(client: Client, root: Path) -> None:
    append(client, "喜欢用 Python 写代码", "偏好")
    payload = append(client, "likes tea", "偏好")

    content = "## 偏好\n\n- 喜欢用 Python 写代码\n- likes tea\n"
    assert (root / MEMORY).read_text(encoding="utf-8") == content
    assert payload == {"file": shown(MEMORY, content), "current": None, "problems": []}


def test_dated_note_is_appended_to_the_log_of_the_day(client: Client, root: Path) -> None:
    log(client, "met Tanaka", "2026-01-31")
    payload = log(client, "第二章\nを訳した", "2026-01-31")

    content = "- met Tanaka\n- 第二章\n  を訳した\n"
    assert (root / "daily" / "2026-01-31.md").read_text(encoding="utf-8") == content
    assert payload == {"file": shown("daily/2026-01-31.md", content, "2026-01-31"), "current": None, "problems": []}


# Appending


def test_notebook_without_a_file_is_empty(client: Client) -> None:
    assert notebook(client) == {"path": MEMORY, "content": "", "version": EMPTY_VERSION, "date": None}


def test_what_a_person_wrote_is_kept_byte_for_byte(client: Client, root: Path) -> None:
    by_hand = (
        b"\xef\xbb\xbf---\r\ntags: [x]\r\n---\r\n# Me\r\n\r\n## Work  \r\n* caf\xe9\r\n\r\n<!-- ## Work -->\r\n## End"
    )
    (root / MEMORY).write_bytes(by_hand)

    append(client, "Python", "work")

    assert (root / MEMORY).read_bytes() == by_hand.replace(b"Work -->\r\n", b"Work -->\r\n- Python\r\n")


def test_edit_by_hand_is_read_at_once(client: Client, root: Path) -> None:
    append(client, "tea")

    (root / MEMORY).write_text("by hand\n", encoding="utf-8")

    assert notebook(client) == shown(MEMORY, "by hand\n")


def test_note_without_a_date_goes_to_today(tmp_path: Path) -> None:
    """In the zones where the day begins first and last, whatever the time is."""
    for name in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        settings = Settings(data_dir=tmp_path / name.partition("/")[2], timezone=name)
        with running(settings) as server, server.client() as client:
            before = datetime.now(ZoneInfo(name)).date()
            path = log(client, "a")["file"]["path"]
            after = datetime.now(ZoneInfo(name)).date()

        assert path in {f"daily/{before}.md", f"daily/{after}.md"}


def test_note_without_a_zone_goes_to_the_day_of_this_machine(client: Client) -> None:
    before = datetime.now(UTC).astimezone().date()
    date = log(client, "a")["file"]["date"]
    after = datetime.now(UTC).astimezone().date()

    assert date in {str(before), str(after)}


@pytest.mark.parametrize(
    ("mutation", "fields", "message"),
    [
        ("appendMemory", {"fact": " \n"}, "fact must not be empty."),
        ("appendMemory", {"fact": "x" * 5_001}, "fact has 5001 characters; the limit is 5000."),
        ("appendMemory", {"fact": "x", "category": "x" * 201}, "category has 201 characters; the limit is 200."),
        (
            "appendMemory",
            {"fact": "x", "category": "a\nb"},
            "category must not contain the control character '\\n' (at position 1).",
        ),
        ("appendMemory", {"fact": "a\0"}, "fact must not contain the control character '\\x00' (at position 1)."),
        ("appendDailyLog", {"entry": "\t"}, "entry must not be empty."),
        ("appendDailyLog", {"entry": "x" * 20_001}, "entry has 20001 characters; the limit is 20000."),
        (
            "appendDailyLog",
            {"entry": "x", "date": "1066-10-14"},
            "date: '1066-10-14' is not a day; write it as in 2026-01-31, from 1900-01-01 to 2999-12-31.",
        ),
        (
            "writeNotebook",
            {"content": "x" * 1_000_001, "expectedVersion": EMPTY_VERSION},
            "content has 1000001 characters; the limit is 1000000.",
        ),
        (
            "restoreNotebookVersion",
            {"version": "x", "path": "../../x"},
            "path: '../../x' is not a file of the notebook; name MEMORY.md or daily/YYYY-MM-DD.md.",
        ),
    ],
)
def test_what_cannot_be_written_is_refused_with_the_reason(
    client: Client, root: Path, mutation: str, fields: dict[str, Any], message: str
) -> None:
    payload = client.mutate(mutation, FILE, **fields)

    (problem,) = payload["problems"]
    assert (problem["code"], problem["message"]) == ("BAD_INPUT", message)
    assert payload["file"] is None
    assert everything(root) == {}


def test_full_file_takes_no_more(tmp_path: Path) -> None:
    with running(Settings(data_dir=tmp_path / "data", max_notebook=30)) as server, server.client() as client:
        # 29 characters, but 71 bytes.
        written = append(client, "字" * 20, "字")
        refused = append(client, "字" * 20, "字")

    content = f"## 字\n\n- {'字' * 20}\n"
    assert written["file"]["content"] == content
    assert code(refused) == "CONFLICT"
    assert "MEMORY.md would have 52 characters; the limit is 30." in refused["problems"][0]["message"]
    root = tmp_path / "data" / "prompts" / "memory"
    assert everything(root) == {MEMORY: content.encode()}


# Replacing


def test_notebook_is_replaced_at_the_version_it_was_read(client: Client, root: Path) -> None:
    version = append(client, "tea")["file"]["version"]

    payload = write(client, "# 全部\r\n", version)

    assert payload == {"file": shown(MEMORY, "# 全部\r\n"), "current": None, "problems": []}
    assert (root / MEMORY).read_bytes() == "# 全部\r\n".encode()


def test_stale_write_is_refused_with_what_stands_there_now(client: Client, root: Path) -> None:
    version = append(client, "tea")["file"]["version"]
    append(client, "coffee")
    before = everything(root)

    payload = write(client, "mine", version)

    content = "## General\n\n- tea\n- coffee\n"
    assert code(payload) == "STALE_VERSION"
    assert payload["current"] == {"content": content, "version": version_of(content.encode())}
    assert payload["problems"][0]["path"] == ["expectedVersion"]
    assert everything(root) == before


def test_of_two_writers_who_read_the_same_only_the_first_succeeds(client: Client) -> None:
    version = notebook(client)["version"]

    first, second = (write(client, content, version) for content in ("first", "second"))

    assert first["problems"] == []
    assert code(second) == "STALE_VERSION"
    assert second["current"]["content"] == notebook(client)["content"] == "first"


def test_edit_by_hand_makes_a_write_stale(client: Client, root: Path) -> None:
    version = append(client, "tea")["file"]["version"]
    (root / MEMORY).write_text("by hand\n", encoding="utf-8")

    payload = write(client, "mine", version)

    assert code(payload) == "STALE_VERSION"
    assert (root / MEMORY).read_text(encoding="utf-8") == "by hand\n"


def test_daily_log_is_replaced_with_or_without_a_version(client: Client, root: Path) -> None:
    path = root / "daily" / "2026-01-31.md"

    payload = client.mutate("writeDailyLog", FILE, date="2026-01-31", content="a")
    stale = client.mutate("writeDailyLog", FILE, date="2026-01-31", content="b", expectedVersion=EMPTY_VERSION)

    assert payload["file"] == shown("daily/2026-01-31.md", "a", "2026-01-31")
    assert code(stale) == "STALE_VERSION"
    assert path.read_text(encoding="utf-8") == "a"


# Versions


def test_every_replaced_version_is_listed_last_first(client: Client) -> None:
    append(client, "tea")
    for content in ("a", "b", "c"):
        write(client, content, notebook(client)["version"])

    listed = versions(client)

    assert listed["totalCount"] == 3
    assert [node["file"]["content"] for node in listed["nodes"]] == ["b", "a", "## General\n\n- tea\n"]
    assert [node["path"] for node in listed["nodes"]] == [MEMORY] * 3
    times = [datetime.fromisoformat(node["replacedAt"]) for node in listed["nodes"]]
    assert times == sorted(times, reverse=True)
    assert datetime.now(UTC) - times[0] < timedelta(hours=1)


def test_appending_replaces_no_version(client: Client) -> None:
    for number in range(3):
        append(client, str(number))
        log(client, str(number), "2026-01-31")

    assert versions(client)["totalCount"] == versions(client, "daily/2026-01-31.md")["totalCount"] == 0


def test_versions_are_listed_page_by_page(client: Client) -> None:
    for number in range(6):
        write(client, str(number), notebook(client)["version"])

    pages, after = [], None
    for _ in range(3):
        page = versions(client, first=2, after=after)
        pages.append([node["file"]["content"] for node in page["nodes"]])
        after = page["pageInfo"]["endCursor"]

    assert pages == [["4", "3"], ["2", "1"], ["0"]]
    assert page["pageInfo"]["hasNextPage"] is False


def test_version_is_looked_up_by_its_name(client: Client) -> None:
    write(client, "a", EMPTY_VERSION)
    write(client, "b", version_of(b"a"))
    query = "query($version: String!) { notebookVersion(version: $version) { path content version date } }"

    found = [client.ask(query, version=each)["notebookVersion"] for each in (version_of(b"a"), version_of(b"b"), "x")]

    assert found == [shown(MEMORY, "a"), shown(MEMORY, "b"), None]


def test_versions_are_compared_with_what_stands_there_now_or_each_other(client: Client) -> None:
    for content in ("a\nb\n", "a\nc\n", "a\nc\nd\n"):
        write(client, content, notebook(client)["version"])
    old, new, now = (version_of(content) for content in (b"a\nb\n", b"a\nc\n", b"a\nc\nd\n"))
    query = """query($from: String!, $to: String) {
      compareNotebookVersions(fromVersion: $from, toVersion: $to) { path fromVersion toVersion diff }
    }"""

    with_now = client.ask(query, **{"from": old})["compareNotebookVersions"]
    with_each_other = client.ask(query, **{"from": old, "to": new})["compareNotebookVersions"]

    assert with_now == {
        "path": MEMORY,
        "fromVersion": old,
        "toVersion": now,
        "diff": f"--- MEMORY.md@{old}\n+++ MEMORY.md@{now}\n@@ -1,2 +1,3 @@\n a\n-b\n+c\n+d\n",
    }
    assert with_each_other["diff"] == f"--- MEMORY.md@{old}\n+++ MEMORY.md@{new}\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"


def test_version_that_was_not_kept_cannot_be_compared(client: Client) -> None:
    errors = client.errors('{ compareNotebookVersions(fromVersion: "x") { diff } }')

    assert [(error["extensions"]["code"], error["message"]) for error in errors] == [
        ("NOT_FOUND", "fromVersion: no version 'x' of MEMORY.md was kept.")
    ]


def test_restored_version_stands_there_again_and_what_it_replaced_is_kept(client: Client, root: Path) -> None:
    write(client, "good\r\n", EMPTY_VERSION)
    write(client, "bad", version_of(b"good\r\n"))

    payload = client.mutate("restoreNotebookVersion", FILE, version=version_of(b"good\r\n"))

    assert payload == {"file": shown(MEMORY, "good\r\n"), "current": None, "problems": []}
    assert (root / MEMORY).read_bytes() == b"good\r\n"
    assert [node["file"]["content"] for node in versions(client)["nodes"]] == ["bad", "good\r\n"]


def test_version_of_a_daily_log_is_restored(client: Client, root: Path) -> None:
    path = "daily/2026-01-31.md"
    for content in ("a", "b"):
        client.mutate("writeDailyLog", FILE, date="2026-01-31", content=content)

    client.mutate("restoreNotebookVersion", FILE, path=path, version=version_of(b"a"), expectedVersion=version_of(b"b"))

    assert (root / path).read_bytes() == b"a"
    assert versions(client)["totalCount"] == 0


def test_stale_or_unknown_restoration_is_refused(client: Client, root: Path) -> None:
    write(client, "a", EMPTY_VERSION)
    write(client, "b", version_of(b"a"))
    before = everything(root)

    stale = client.mutate("restoreNotebookVersion", FILE, version=version_of(b"a"), expectedVersion=version_of(b"a"))
    unknown = client.mutate("restoreNotebookVersion", FILE, version="0" * 32)

    assert (code(stale), stale["current"]["content"]) == ("STALE_VERSION", "b")
    assert (code(unknown), unknown["current"]) == ("NOT_FOUND", None)
    assert everything(root) == before


# Daily logs


def test_daily_log_is_looked_up_by_its_day(client: Client) -> None:
    log(client, "a", "2026-01-31")

    answer = client.ask(
        '{ a: dailyLog(date: "2026-01-31") { path content version date } b: dailyLog(date: "2026-02-01") { path } }'
    )

    assert answer == {"a": shown("daily/2026-01-31.md", "- a\n", "2026-01-31"), "b": None}


def test_daily_logs_are_listed_newest_first_page_by_page(client: Client, root: Path) -> None:
    for date in ("2026-01-31", "2025-12-31", "2026-02-01"):
        log(client, date, date)
    (root / "daily" / "notes.md").write_text("no log", encoding="utf-8")
    query = """query($after: String) {
      dailyLogs(first: 2, after: $after) { totalCount nodes { date content } pageInfo { hasNextPage endCursor } }
    }"""

    first = client.ask(query)["dailyLogs"]
    second = client.ask(query, after=first["pageInfo"]["endCursor"])["dailyLogs"]

    assert [node["date"] for page in (first, second) for node in page["nodes"]] == [
        "2026-02-01",
        "2026-01-31",
        "2025-12-31",
    ]
    assert first["nodes"][0]["content"] == "- 2026-02-01\n"
    assert [page["totalCount"] for page in (first, second)] == [3, 3]
    assert [page["pageInfo"]["hasNextPage"] for page in (first, second)] == [True, False]


@pytest.mark.parametrize(
    "date",
    ["", "today", "2026-02-30", "20260131", "2026-W05-6", "2026-01-31T00:00", "../../x", "２０２６-01-31", "2026-1-31"],
)
def test_what_is_no_day_is_refused(client: Client, root: Path, date: str) -> None:
    query = client.errors("query($date: Date!) { dailyLog(date: $date) { path } }", date=date)
    mutation = client.errors(
        'mutation($date: Date!) { writeDailyLog(input: {date: $date, content: "x"}) { file { path } } }', date=date
    )

    for (error,) in (query, mutation):
        assert error["extensions"]["code"] == "BAD_INPUT"
        assert "A Date is a day of the calendar, written as in 2026-01-31." in error["message"]
    assert everything(root) == {}


# Owners and links


@pytest.fixture
def owned(tmp_path: Path) -> Iterator[Server]:
    with running(Settings(data_dir=tmp_path / "owned", tokens={"t-alice": "alice", "t-bob": "bob"})) as server:
        yield server


def test_every_owner_has_a_notebook_of_their_own(owned: Server) -> None:
    with owned.client("t-alice") as alice, owned.client("t-bob") as bob:
        append(alice, "tea")
        log(alice, "secret", "2026-01-31")

        assert notebook(bob)["content"] == ""
        assert bob.ask('{ dailyLog(date: "2026-01-31") { path } dailyLogs { totalCount } }') == {
            "dailyLog": None,
            "dailyLogs": {"totalCount": 0},
        }

    home = owned.data_dir / "owners"
    assert everything(home) == {
        "alice/prompts/memory/MEMORY.md": b"## General\n\n- tea\n",
        "alice/prompts/memory/daily/2026-01-31.md": b"- secret\n",
    }
    assert not (home / "bob").exists()


def test_version_of_another_owner_is_not_found(owned: Server) -> None:
    with owned.client("t-alice") as alice, owned.client("t-bob") as bob:
        write(alice, "secret", EMPTY_VERSION)
        write(alice, "other", version_of(b"secret"))

        payload = bob.mutate("restoreNotebookVersion", FILE, version=version_of(b"secret"))

        assert code(payload) == "NOT_FOUND"
        assert notebook(bob)["content"] == ""


def test_link_out_of_the_notebook_is_not_followed(client: Client, root: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("secret", encoding="utf-8")
    (root / MEMORY).symlink_to(secret)

    (error,) = client.errors("{ notebook { content } }")
    payload = append(client, "tea")

    assert error["extensions"]["code"] == code(payload) == "FORBIDDEN"
    assert "secret" not in error["message"]
    assert secret.read_text(encoding="utf-8") == "secret"
