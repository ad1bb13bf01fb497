"""The notebook over REST: reading, replacing, and the conditions of RFC 9110 on both."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.settings import Settings
from domain.notebook import EMPTY_VERSION, version_of
from tests.serving import Client, Server, running

MAIN = "/api/memory/main"
DAILY = "/api/memory/daily"
LOG = "/api/memory/daily/2026-01-31"
MISSING = "/api/memory/daily/2026-02-01"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One for all: each test begins with what it writes itself."""
    with running(Settings(data_dir=tmp_path_factory.mktemp("data"))) as server:
        yield server


@pytest.fixture
def root(server: Server) -> Path:
    return server.data_dir / "prompts" / "memory"


@pytest.fixture
def http(client: Client, root: Path) -> httpx.Client:
    """MEMORY.md and the log of one day hold `old`, and there is nothing else."""
    for path in root.rglob("*.md"):
        if path.is_file():
            path.unlink()
    (root / "MEMORY.md").write_bytes(b"old\n")
    (root / "daily" / "2026-01-31.md").write_bytes(b"old\n")
    return client.http


def shown(content: str) -> dict[str, str]:
    return {"content": content, "version": version_of(content.encode())}


def tag(content: str) -> str:
    return f'"{version_of(content.encode())}"'


OLD = tag("old\n")


def put(http: httpx.Client, url: str, content: str, **headers: str) -> httpx.Response:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return http.put(url, json={"content": content}, headers=names)


def refused(response: httpx.Response) -> tuple[int, str, list[str]]:
    """Status, code and path of an error that also has words."""
    assert response.headers["content-type"] == "application/json"
    body = response.json()
    assert body.keys() >= {"code", "message", "path"}
    assert body["message"]
    return response.status_code, body["code"], body["path"]


def everything(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*.md") if path.is_file()}


# Reading and writing


@pytest.mark.parametrize("url", [MAIN, LOG])
def test_file_is_read_with_its_version_and_tag(http: httpx.Client, url: str) -> None:
    answer = http.get(url)

    assert (answer.status_code, answer.json()) == (200, shown("old\n"))
    assert answer.headers["etag"] == OLD


@pytest.mark.parametrize(("url", "path"), [(MAIN, "MEMORY.md"), (LOG, "daily/2026-01-31.md")])
def test_file_is_replaced_and_what_stood_there_is_kept(http: httpx.Client, root: Path, url: str, path: str) -> None:
    answer = put(http, url, "# 全部\r\n")

    assert (answer.status_code, answer.json()) == (200, shown("# 全部\r\n"))
    assert answer.headers["etag"] == tag("# 全部\r\n")
    assert (root / path).read_bytes() == "# 全部\r\n".encode()
    (kept,) = (root / ".versions" / path).iterdir()
    assert kept.read_bytes() == b"old\n"


def test_main_without_a_file_is_empty(http: httpx.Client, root: Path) -> None:
    (root / "MEMORY.md").unlink()

    answer = http.get(MAIN)

    assert (answer.status_code, answer.json()) == (200, {"content": "", "version": EMPTY_VERSION})


def test_new_daily_log_is_created(http: httpx.Client, root: Path) -> None:
    missing = http.get(MISSING)
    answer = put(http, MISSING, "new")

    assert refused(missing) == (404, "NOT_FOUND", [])
    assert (answer.status_code, answer.json()) == (201, shown("new"))
    assert (root / "daily" / "2026-02-01.md").read_bytes() == b"new"


def test_file_can_be_emptied(http: httpx.Client, root: Path) -> None:
    answer = put(http, MAIN, "")

    assert answer.json() == {"content": "", "version": EMPTY_VERSION}
    assert (root / "MEMORY.md").read_bytes() == b""


@pytest.mark.parametrize("url", [MAIN, LOG])
def test_head_answers_the_tag_alone(http: httpx.Client, url: str) -> None:
    answer = http.head(url)

    assert (answer.status_code, answer.content, answer.headers["etag"]) == (200, b"", OLD)


def test_rest_and_graphql_speak_of_the_same_file(http: httpx.Client, client: Client) -> None:
    put(http, MAIN, "by REST")

    assert client.ask("{ notebook { content version } }") == {"notebook": http.get(MAIN).json()}


# Conditions


@pytest.mark.parametrize("url", [MAIN, LOG])
@pytest.mark.parametrize("condition", [OLD, "*", f'"x", {OLD} ,W/"y"', f",{OLD},,"])
def test_write_of_what_was_read_is_accepted(http: httpx.Client, url: str, condition: str) -> None:
    answer = put(http, url, "new", if_match=condition)

    assert (answer.status_code, answer.json()) == (200, shown("new"))


@pytest.mark.parametrize("url", [MAIN, LOG])
@pytest.mark.parametrize("condition", ['"x"', '""', "", f"W/{OLD}", f'"{EMPTY_VERSION}"', '"x", "y"'])
def test_write_of_anything_else_is_stale_and_shows_what_stands_there(
    http: httpx.Client, root: Path, url: str, condition: str
) -> None:
    before = everything(root)

    answer = put(http, url, "new", if_match=condition)

    assert refused(answer) == (412, "STALE_VERSION", ["If-Match"])
    assert answer.json()["current"] == shown("old\n")
    assert everything(root) == before


def test_lost_update_is_refused(http: httpx.Client) -> None:
    read = http.get(MAIN).headers["etag"]

    first, second = put(http, MAIN, "first", if_match=read), put(http, MAIN, "second", if_match=read)

    assert (first.status_code, second.status_code) == (200, 412)
    assert second.json()["current"] == http.get(MAIN).json() == shown("first")


def test_condition_on_what_is_not_there_is_not_met(http: httpx.Client, root: Path) -> None:
    before = everything(root)

    for condition in ("*", OLD, tag("")):
        assert refused(put(http, MISSING, "new", if_match=condition))[:2] == (412, "STALE_VERSION")

    assert everything(root) == before


def test_what_is_there_already_is_not_created_again(http: httpx.Client, root: Path) -> None:
    before = everything(root)

    for url in (MAIN, LOG):
        assert refused(put(http, url, "new", if_none_match="*"))[:2] == (412, "STALE_VERSION")

    assert everything(root) == before
    assert put(http, MISSING, "new", if_none_match="*").status_code == 201


@pytest.mark.parametrize("condition", ["x", "W/x", '"x" y', '"x', "* , *"])
def test_condition_that_is_none_is_refused(http: httpx.Client, root: Path, condition: str) -> None:
    before = everything(root)

    assert refused(put(http, MAIN, "new", if_match=condition)) == (400, "BAD_INPUT", [])
    assert everything(root) == before


@pytest.mark.parametrize("url", [MAIN, LOG])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("condition", [OLD, f"W/{OLD}", f'"x", {OLD}', "*"])
def test_what_the_reader_has_already_is_not_sent_again(
    http: httpx.Client, url: str, method: str, condition: str
) -> None:
    answer = http.request(method, url, headers={"if-none-match": condition})

    assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", OLD)


def test_what_the_reader_has_not_is_sent(http: httpx.Client) -> None:
    answer = http.get(MAIN, headers={"if-none-match": '"x", W/"y"'})

    assert (answer.status_code, answer.json()) == (200, shown("old\n"))


# The list of daily logs


def test_daily_logs_are_listed_newest_first(http: httpx.Client) -> None:
    for day in ("2025-12-31", "2026-03-01"):
        put(http, f"{DAILY}/{day}", day)

    answer = http.get(DAILY).json()
    part = http.get(DAILY, params={"limit": 1, "offset": 1}).json()

    items = [
        {"date": day, "path": f"daily/{day}.md", "version": version_of(content)}
        for day, content in (("2026-03-01", b"2026-03-01"), ("2026-01-31", b"old\n"), ("2025-12-31", b"2025-12-31"))
    ]
    assert answer == {"items": items, "total": 3, "limit": 20, "offset": 0}
    assert part == {"items": items[1:2], "total": 3, "limit": 1, "offset": 1}
    assert http.get(DAILY, params={"offset": 9}).json()["items"] == []


@pytest.mark.parametrize(
    ("parameters", "path"),
    [
        ({"limit": "0"}, ["limit"]),
        ({"limit": "101"}, ["limit"]),
        ({"limit": "ten"}, []),
        ({"limit": "1" * 5_000}, []),
        ({"offset": "-1"}, ["offset"]),
        ({"offset": "1.5"}, []),
        ({"page": "2"}, []),
    ],
)
def test_part_of_the_list_that_cannot_be_is_refused(
    http: httpx.Client, parameters: dict[str, str], path: list[str]
) -> None:
    assert refused(http.get(DAILY, params=parameters)) == (422, "BAD_INPUT", path)


# What cannot be


@pytest.mark.parametrize("method", ["GET", "PUT"])
@pytest.mark.parametrize(
    "date",
    [
        *("today", "2026-02-30", "2026-1-31", "20260131", "2026-W05-6", "1899-12-31", "3000-01-01", "2026-01-31.md"),
        *("..%2F..%2Fx", "..%2fMEMORY", "%2e%2e%2f%2e%2e%2fMEMORY.md", "2026-01-31%2F..%2F2026-02-01", "%5c..%5cx"),
        *("2026-01-31%00", "%EF%BC%92026-01-31", "2026-01-31/", "/etc/passwd"),
    ],
)
def test_what_is_no_day_is_refused(http: httpx.Client, root: Path, method: str, date: str) -> None:
    before = everything(root)

    answer = http.request(method, f"{DAILY}/{date}", json={"content": "x"})

    assert refused(answer) == (422, "BAD_INPUT", ["date"])
    assert everything(root) == before


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b'{"content": "\\ud800"}', 400),
        (b"null", 422),
        (b"[]", 422),
        (b'"x"', 422),
        (b"{}", 422),
        (b'{"content": null}', 422),
        (b'{"content": 5}', 422),
        (b'{"content": ["x"]}', 422),
        (b'{"content": "x", "version": "y"}', 422),
        (b'{"content": "x", "unknown": 1}', 422),
        (b'{"Content": "x"}', 422),
    ],
)
@pytest.mark.parametrize("url", [MAIN, LOG])
def test_body_that_is_no_file_is_refused(http: httpx.Client, root: Path, url: str, body: bytes, status: int) -> None:
    before = everything(root)

    answer = http.put(url, content=body, headers={"content-type": "application/json"})

    assert refused(answer) == (status, "BAD_INPUT", [])
    assert everything(root) == before


def test_body_that_is_no_json_is_refused(http: httpx.Client, root: Path) -> None:
    before = everything(root)

    answer = http.put(MAIN, content=b"# text", headers={"content-type": "text/markdown"})

    assert refused(answer) == (415, "BAD_INPUT", [])
    assert everything(root) == before


@pytest.mark.parametrize("content", ["x" * 1_000_001, "a\0b"])
def test_content_that_is_too_long_or_no_text_is_refused(http: httpx.Client, root: Path, content: str) -> None:
    before = everything(root)

    assert refused(put(http, MAIN, content)) == (422, "BAD_INPUT", ["content"])
    assert everything(root) == before


def test_megabyte_is_written_and_read(http: httpx.Client) -> None:
    content = "字" * 1_000_000

    answer = put(http, MAIN, content)

    assert answer.status_code == 200
    assert http.get(MAIN).json() == shown(content)


@pytest.mark.parametrize("method", ["POST", "DELETE", "PATCH"])
@pytest.mark.parametrize("url", [MAIN, LOG, DAILY])
def test_other_methods_are_refused(http: httpx.Client, root: Path, url: str, method: str) -> None:
    before = everything(root)

    answer = http.request(method, url, json={"content": "x"})

    assert answer.status_code == 405
    assert everything(root) == before


def test_link_out_of_the_notebook_is_not_followed(http: httpx.Client, root: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("secret", encoding="utf-8")
    (root / "daily" / "2026-02-01.md").symlink_to(secret)

    answers: list[httpx.Response] = [http.get(MISSING), put(http, MISSING, "x"), put(http, MISSING, "x", if_match="*")]
    listed: Any = http.get(DAILY).json()
    (root / "daily" / "2026-02-01.md").unlink()

    assert [refused(answer) for answer in answers] == [(403, "FORBIDDEN", [])] * 3
    assert [item["date"] for item in listed["items"]] == ["2026-01-31"]
    assert secret.read_text(encoding="utf-8") == "secret"


# Whose notebook it is


def test_notebook_is_that_of_the_token(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", tokens={"t-alice": "alice", "t-bob": "bob"})
    with running(settings) as server, server.client("t-alice") as alice, server.client("t-bob") as bob:
        put(alice.http, MAIN, "of alice")
        put(alice.http, LOG, "of alice")

        assert bob.http.get(MAIN).json() == {"content": "", "version": EMPTY_VERSION}
        assert bob.http.get(LOG).status_code == 404
        assert bob.http.get(DAILY).json()["items"] == []
        assert alice.http.get(MAIN).json() == shown("of alice")


def test_nobody_without_a_token_is_served(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", tokens={"t-alice": "alice"})
    with running(settings) as server, server.client() as nobody:
        answers = [*(nobody.http.get(url) for url in (MAIN, LOG, DAILY)), put(nobody.http, MAIN, "x")]

    assert [answer.status_code for answer in answers] == [401] * 4
    assert everything(tmp_path / "data") == {}
