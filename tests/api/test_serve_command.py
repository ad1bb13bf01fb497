"""The real command in a process of its own: how it starts, what it refuses, how it stops."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import httpx
import pytest

from persistence import migrations, sqlite
from tests.conftest import SAMPLE
from tests.serving import Client
from tests.waiting import PATIENCE_SECONDS, killed_if_silent

COMMAND = Path(sys.executable).parent / "loregraph"

BOOKS = "{ books { nodes { id } } }"


@dataclass(frozen=True)
class Command:
    """`loregraph serve` on a free port of this machine, once it answers."""

    process: "subprocess.Popen[str]"
    url: str
    shown: str
    errors: Path

    @contextlib.contextmanager
    def client(self, token: str | None = None) -> Iterator[Client]:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        with httpx.Client(base_url=self.url, headers=headers, timeout=PATIENCE_SECONDS, trust_env=False) as http:
            yield Client(http)

    def stop(self, with_signal: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(with_signal)
        return self.process.wait(PATIENCE_SECONDS)


@contextlib.contextmanager
def serving(data_dir: Path, *options: str, **settings: str) -> Iterator[Command]:
    errors = data_dir.with_suffix(".log")
    with errors.open("a", encoding="utf-8") as log:
        process = subprocess.Popen(
            [COMMAND, "serve", "--port", "0", *options],
            env=environment(data_dir, **settings),
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        with killed_if_silent(process):
            shown = "".join(process.stdout.readline() for _ in range(4)) if process.stdout else ""
            found = re.search(r"http://127\.0\.0\.1:\d+", shown)
            assert found, errors.read_text(encoding="utf-8")
            wait_until_it_answers(process, found[0])
        yield Command(process, found[0], shown, errors)
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE_SECONDS)


def wait_until_it_answers(process: "subprocess.Popen[str]", url: str) -> None:
    """The URLs are shown a moment before the first connection is taken."""
    while process.poll() is None:
        with contextlib.suppress(httpx.ConnectError):
            httpx.get(f"{url}/health", timeout=PATIENCE_SECONDS, trust_env=False)
            return


def environment(data_dir: Path, **settings: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LOREGRAPH_")}
    return inherited | {"LOREGRAPH_DATA_DIR": str(data_dir)} | settings


def run(data_dir: Path, *arguments: str, **settings: str) -> tuple[int, str, str]:
    """For what ends by itself."""
    ended = subprocess.run(
        [COMMAND, *arguments],
        env=environment(data_dir, **settings),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    return ended.returncode, ended.stdout, ended.stderr


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_serving_shows_every_url_with_the_real_port(data_dir: Path) -> None:
    with serving(data_dir) as command:
        assert command.shown == (
            f"Loregraph {metadata.version('loregraph')}\n"
            f"  GraphQL and GraphiQL  {command.url}/graphql\n"
            f"  Health                {command.url}/health\n"
            f"  Data                  {data_dir}\n"
        )
        assert not command.url.endswith((":0", ":8000"))


def test_a_running_server_says_that_it_is_well(data_dir: Path) -> None:
    with serving(data_dir) as command:
        answer = httpx.get(f"{command.url}/health", trust_env=False)

        assert answer.status_code == 200
        assert answer.json() == {"status": "ok", "version": metadata.version("loregraph"), "degraded": []}


@pytest.mark.parametrize("stopped_by", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_it_cleanly(data_dir: Path, stopped_by: signal.Signals) -> None:
    with serving(data_dir) as command, command.client() as client:
        client.mutate("createBook", "book { id }", id="book_1", name="砂の道")
        code = command.stop(stopped_by)
        events = [json.loads(line)["event"] for line in command.errors.read_text(encoding="utf-8").splitlines()]

    # 0, or what says "ended by this signal": to a parent process, or to a shell.
    assert code in (0, -stopped_by, 128 + stopped_by)
    assert "stopped" in events
    assert sorted(file.name for file in data_dir.iterdir()) == ["index", "loregraph.db", "prompts"]
    assert all(not wal.stat().st_size for wal in data_dir.rglob("*-wal"))


def test_what_was_written_is_there_after_a_restart(data_dir: Path) -> None:
    with serving(data_dir) as command, command.client() as client:
        client.mutate("createBook", "book { id }", id="book_1", name="砂の道")
        command.stop()

    with serving(data_dir) as command, command.client() as client:
        assert client.ask(BOOKS) == {"books": {"nodes": [{"id": "book_1"}]}}


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_an_open_door_without_tokens_is_refused(data_dir: Path, host: str) -> None:
    code, shown, errors = run(data_dir, "serve", "--port", "0", "--host", host)

    assert (code, shown) == (2, "")
    assert errors == (
        f"Refusing to serve {host} without tokens: anyone who can reach it could read and change everything."
        " Set LOREGRAPH_TOKENS=owner=token, or serve 127.0.0.1.\n"
    )
    assert not data_dir.exists()


@pytest.mark.parametrize("tokens", ["", "ann", "Ann=secret", "ann=secret,bob=secret"])
def test_tokens_that_cannot_be_read_are_refused_by_name(data_dir: Path, tokens: str) -> None:
    code, shown, errors = run(data_dir, "serve", "--port", "0", LOREGRAPH_TOKENS=tokens)

    assert (code, shown) == (2, "")
    assert errors.startswith("These settings cannot be used:\n  LOREGRAPH_TOKENS: ")
    assert "secret" not in errors
    assert not data_dir.exists()


@pytest.mark.parametrize(
    ("setting", "value"),
    [("LOREGRAPH_LOG_LEVEL", "LOUD"), ("LOREGRAPH_MAX_NAME", "0")],
)
def test_another_setting_that_cannot_be_read_is_refused_by_name(data_dir: Path, setting: str, value: str) -> None:
    code, _, errors = run(data_dir, "serve", "--port", "0", **{setting: value})

    assert code == 2
    assert errors.startswith(f"These settings cannot be used:\n  {setting}: ")


def test_a_database_of_a_newer_version_is_refused_and_left_alone(data_dir: Path) -> None:
    data_dir.mkdir()
    database = data_dir / "loregraph.db"
    connection = sqlite.open_connection(database, read_only=False)
    connection.execute("PRAGMA user_version = 99")

    code, shown, errors = run(data_dir, "serve", "--port", "0")

    assert (code, shown) == (2, "")
    assert errors == (
        f"{database} cannot be used: it was written by a newer Loregraph"
        f" (format 99, this one knows up to {len(migrations.scripts())});"
        " upgrade Loregraph or choose another data folder.\n"
    )
    assert connection.execute("PRAGMA user_version").fetchall() == [(99,)]
    connection.close()


def test_a_file_that_is_no_database_is_refused(data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "loregraph.db").write_text("dear diary, " * 1_000, encoding="utf-8")

    code, shown, errors = run(data_dir, "serve", "--port", "0")

    assert (code, shown) == (2, "")
    assert errors == f"{data_dir / 'loregraph.db'} cannot be used: file is not a database.\n"


def test_a_data_folder_that_is_a_file_is_refused(data_dir: Path) -> None:
    data_dir.write_text("", encoding="utf-8")

    code, shown, errors = run(data_dir, "serve", "--port", "0")

    assert (code, shown) == (2, "")
    assert str(data_dir) in errors
    assert "Traceback" not in errors


def test_a_port_in_use_is_refused(data_dir: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        code, shown, errors = run(data_dir, "serve", "--port", str(port))

    assert (code, shown) == (2, "")
    assert errors == (
        f"Cannot serve 127.0.0.1:{port}: Address already in use. Choose another with --host and --port.\n"
    )


def test_the_sample_book_is_loaded_whole_on_the_first_start(data_dir: Path) -> None:
    document = json.loads(SAMPLE.read_text(encoding="utf-8"))
    counted = "id characters { totalCount } terms { totalCount } chapters { totalCount } memories { totalCount }"

    with serving(data_dir, "--sample", str(SAMPLE)) as command, command.client() as client:
        (book,) = client.ask(f"{{ books {{ nodes {{ {counted} }} }} }}")["books"]["nodes"]

    counts = {kind: {"totalCount": len(document[kind])} for kind in ("characters", "terms", "chapters", "memories")}
    assert book == {"id": document["book"]["id"], **counts}


def test_a_deleted_sample_book_does_not_come_back(data_dir: Path) -> None:
    with serving(data_dir, "--sample", str(SAMPLE)) as command, command.client() as client:
        ((book_id,),) = (book.values() for book in client.ask(BOOKS)["books"]["nodes"])
        client.delete("deleteBook", book_id)
        command.stop()

    with serving(data_dir, "--sample", str(SAMPLE)) as command, command.client() as client:
        assert client.ask(BOOKS) == {"books": {"nodes": []}}


def test_the_sample_book_is_not_loaded_beside_books_of_ones_own(data_dir: Path) -> None:
    with serving(data_dir) as command, command.client() as client:
        client.mutate("createBook", "book { id }", id="book_1", name="砂の道")
        command.stop()

    with serving(data_dir, "--sample", str(SAMPLE)) as command, command.client() as client:
        assert client.ask(BOOKS) == {"books": {"nodes": [{"id": "book_1"}]}}


def test_the_sample_book_is_not_loaded_for_the_owners_of_tokens(data_dir: Path) -> None:
    tokens = {"LOREGRAPH_TOKENS": "ann=secret_a,bob=secret_b"}

    with (
        serving(data_dir, "--sample", str(SAMPLE), **tokens) as command,
        command.client("secret_a") as ann,
        command.client("secret_b") as bob,
    ):
        assert ann.ask(BOOKS) == {"books": {"nodes": []}}
        assert bob.ask(BOOKS) == {"books": {"nodes": []}}


def test_a_sample_that_is_not_there_is_refused(data_dir: Path) -> None:
    code, shown, errors = run(data_dir, "serve", "--port", "0", "--sample", str(data_dir / "nowhere.json"))

    assert (code, shown) == (2, "")
    assert "--sample" in errors
    assert not data_dir.exists()


def test_the_version_is_told(data_dir: Path) -> None:
    assert run(data_dir, "--version") == (0, f"loregraph {metadata.version('loregraph')}\n", "")


def test_help_is_shown_when_nothing_is_asked(data_dir: Path) -> None:
    _, shown, errors = run(data_dir)

    assert "serve" in shown + errors
    assert "Traceback" not in errors
