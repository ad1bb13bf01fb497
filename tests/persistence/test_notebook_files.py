"""The notebook on a real disk: whole lines or none, nothing lost between writers, nothing reached through a link."""

import asyncio
import os
import random
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from domain.errors import (
    NotAPlainFileError,
    StaleVersionError,
    StorageUnavailableError,
    VersionNotFoundError,
)
from domain.notebook import (
    EMPTY_VERSION,
    MEMORY,
    Insertion,
    KeptVersion,
    notebook_file,
    place_entry,
    place_fact,
    version_of,
)
from persistence.notebook_files import NotebookFiles, make_notebook, notebook_owners, notebook_root
from tests.persistence.notebook_writer import LOG
from tests.waiting import PATIENCE_SECONDS, killed_if_silent

NOON = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
WRITERS = 8
APPENDS = 500
KILLS = 12


@dataclass
class Clock:
    """Every look at it is a second later."""

    now: datetime = NOON

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "data" / "prompts" / "memory"
    make_notebook(root)
    return root


@pytest.fixture
def files(root: Path) -> NotebookFiles:
    return NotebookFiles(root, Clock())


def fact(text: str, category: str = "General") -> Callable[[bytes], Insertion]:
    return lambda content: place_fact(content, text, category)


def entry(text: str) -> Callable[[bytes], Insertion]:
    return lambda content: place_entry(content, text)


def everything(folder: Path) -> dict[str, bytes | str]:
    """All files by their place, the lock apart; of a link, where it leads."""
    return {
        str(path.relative_to(folder)): str(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if path.name != ".lock" and (path.is_symlink() or path.is_file())
    }


# Folders and reading


def test_owner_local_is_at_home_and_others_have_a_folder_each(tmp_path: Path) -> None:
    assert notebook_root(tmp_path, "local") == tmp_path / "prompts" / "memory"
    assert notebook_root(tmp_path, "alice") == tmp_path / "owners" / "alice" / "prompts" / "memory"


async def test_owners_of_notebooks_are_found(tmp_path: Path) -> None:
    assert await notebook_owners(tmp_path) == {"local"}

    for name in ("alice", "Not an owner", "local"):
        make_notebook(tmp_path / "owners" / name / "prompts" / "memory")

    assert await notebook_owners(tmp_path) == {"local", "alice"}


async def test_folders_are_made_when_something_is_first_written(tmp_path: Path) -> None:
    root = notebook_root(tmp_path, "alice")
    files = NotebookFiles(root, Clock())
    assert await files.read(MEMORY) is None
    assert await files.paths() == ()
    assert not root.exists()

    await files.insert(MEMORY, fact("tea"))

    assert (root / "daily").is_dir()
    assert (root / MEMORY).read_bytes() == b"## General\n\n- tea\n"


async def test_folder_that_was_removed_is_made_again(files: NotebookFiles, root: Path) -> None:
    await files.insert(LOG, entry("a"))
    (root / LOG).unlink()
    (root / "daily").rmdir()

    await files.insert(LOG, entry("b"))

    assert (root / LOG).read_bytes() == b"- b\n"


async def test_paths_are_memory_then_days_newest_first(files: NotebookFiles, root: Path) -> None:
    for name in ("daily/2025-12-31.md", "daily/2026-01-31.md", MEMORY, "daily/2026-01-01.md"):
        (root / name).write_bytes(b"")
    for name in ("notes.md", "daily/today.md", "daily/2026-02-30.md", "daily/2026-01-02.txt", ".hidden"):
        (root / name).write_bytes(b"")
    (root / "daily" / "2026-01-03.md").mkdir()

    assert await files.paths() == (MEMORY, "daily/2026-01-31.md", "daily/2026-01-01.md", "daily/2025-12-31.md")


async def test_file_is_read_with_the_version_of_its_bytes(files: NotebookFiles, root: Path) -> None:
    (root / MEMORY).write_bytes(b"\xef\xbb\xbf- caf\xe9\r\n")

    file = await files.read(MEMORY)

    assert file == notebook_file(MEMORY, b"\xef\xbb\xbf- caf\xe9\r\n")


# Inserting


async def test_what_is_added_at_the_end_leaves_the_file_in_its_place(files: NotebookFiles, root: Path) -> None:
    (root / LOG).write_bytes(b"# My day\r\n\r\ncaf\xe9")
    before = (root / LOG).stat()

    file = await files.insert(LOG, entry("b"))

    assert (root / LOG).read_bytes() == b"# My day\r\n\r\ncaf\xe9\r\n- b\r\n"
    assert (root / LOG).stat().st_ino == before.st_ino
    assert file == notebook_file(LOG, (root / LOG).read_bytes())


async def test_what_is_added_in_the_middle_keeps_all_around_it(files: NotebookFiles, root: Path) -> None:
    (root / MEMORY).write_bytes(b"## A\r\n- caf\xe9\r\n\r\n## B\r\n- b")
    (root / MEMORY).chmod(0o640)

    file = await files.insert(MEMORY, fact("tea", "A"))

    assert (root / MEMORY).read_bytes() == b"## A\r\n- caf\xe9\r\n- tea\r\n\r\n## B\r\n- b"
    assert stat.S_IMODE((root / MEMORY).stat().st_mode) == 0o640
    assert file == notebook_file(MEMORY, (root / MEMORY).read_bytes())
    assert set(everything(root)) == {MEMORY}


async def test_refusal_by_the_one_who_places_changes_nothing(files: NotebookFiles, root: Path) -> None:
    def refuse(_: bytes) -> Insertion:
        raise StorageUnavailableError((), "no room")

    with pytest.raises(StorageUnavailableError):
        await files.insert(LOG, refuse)

    assert everything(root) == {}


@pytest.mark.parametrize("category", ["A", "B"])
async def test_what_a_person_saves_at_the_same_time_is_kept(files: NotebookFiles, root: Path, category: str) -> None:
    (root / MEMORY).write_text("## A\n\n## B\n", encoding="utf-8")
    drafts = iter(["## A\n- by hand\n\n## B\n", "## A\n- by hand\n\n## B\n- again\n"])

    def place(content: bytes) -> Insertion:
        placed = place_fact(content, "tea", category)
        for draft in drafts:
            # As most editors do it.
            (root / "draft").write_text(draft, encoding="utf-8")
            (root / "draft").replace(root / MEMORY)
            break
        return placed

    await files.insert(MEMORY, place)

    lines = (root / MEMORY).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("-")] == (
        ["- by hand", "- tea", "- again"] if category == "A" else ["- by hand", "- again", "- tea"]
    )


async def test_file_deleted_at_the_same_time_is_written_anew(files: NotebookFiles, root: Path) -> None:
    (root / LOG).write_bytes(b"- old\n")

    def place(content: bytes) -> Insertion:
        (root / LOG).unlink(missing_ok=True)
        return place_entry(content, "new")

    await files.insert(LOG, place)

    assert (root / LOG).read_bytes() == b"- new\n"


async def test_file_that_is_always_changing_is_given_up(files: NotebookFiles, root: Path) -> None:
    saved = iter(range(1_000_000))

    def place(content: bytes) -> Insertion:
        (root / LOG).write_text(f"- {next(saved)}\n", encoding="utf-8")
        return place_entry(content, "new")

    with pytest.raises(StorageUnavailableError):
        await files.insert(LOG, place)

    assert b"new" not in (root / LOG).read_bytes()


# Replacing and versions


async def test_replaced_version_is_kept_under_a_name_that_people_can_read(files: NotebookFiles, root: Path) -> None:
    (root / MEMORY).write_bytes(b"old\n")
    old = version_of(b"old\n")

    await files.replace(MEMORY, "new\n", old)
    await files.replace(LOG, "new\n", None)

    assert everything(root) == {
        MEMORY: b"new\n",
        LOG: b"new\n",
        f".versions/MEMORY.md/20260131T120001.000000Z-{old}.md": b"old\n",
    }


async def test_kept_version_may_be_read_by_those_who_may_read_the_file(files: NotebookFiles, root: Path) -> None:
    (root / MEMORY).write_bytes(b"secret")
    (root / MEMORY).chmod(0o600)

    await files.replace(MEMORY, "new", None)

    (kept,) = (root / ".versions" / MEMORY).iterdir()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (root / MEMORY, kept)] == [0o600, 0o600]


async def test_versions_are_listed_last_replaced_first(files: NotebookFiles) -> None:
    contents = ["a", "b", "a", "c"]

    for content in contents:
        await files.replace(LOG, content, None)

    assert await files.versions(LOG) == tuple(
        KeptVersion(LOG, version_of(content.encode()), NOON + timedelta(seconds=second))
        for second, content in ((3, "a"), (2, "b"), (1, "a"))
    )
    assert await files.versions(MEMORY) == ()


async def test_versions_stay_in_order_when_the_clock_jumps_back(root: Path) -> None:
    times = iter([NOON, NOON - timedelta(days=1), NOON - timedelta(days=2)])
    files = NotebookFiles(root, lambda: next(times))

    for content in ("a", "b", "c", "d"):
        await files.replace(MEMORY, content, None)

    kept = [await files.version(MEMORY, each.version) for each in await files.versions(MEMORY)]
    assert [file and file.content for file in kept] == ["c", "b", "a"]


async def test_replacing_a_file_by_itself_keeps_no_version(files: NotebookFiles) -> None:
    await files.replace(MEMORY, "a", None)

    await files.replace(MEMORY, "a", None)

    assert await files.versions(MEMORY) == ()


async def test_restored_version_has_every_byte(files: NotebookFiles, root: Path) -> None:
    raw = b"\xff\xfe caf\xe9\r\n"
    (root / MEMORY).write_bytes(raw)
    await files.replace(MEMORY, "new", version_of(raw))

    file = await files.restore(MEMORY, version_of(raw), version_of(b"new"))

    assert (root / MEMORY).read_bytes() == raw
    assert file == notebook_file(MEMORY, raw)
    assert [kept.version for kept in await files.versions(MEMORY)] == [version_of(b"new"), version_of(raw)]


async def test_version_that_was_never_kept_is_not_restored(files: NotebookFiles, root: Path) -> None:
    await files.replace(MEMORY, "a", None)
    before = everything(root)

    with pytest.raises(VersionNotFoundError):
        await files.restore(MEMORY, "0" * 32, None)

    assert await files.version(MEMORY, "0" * 32) is None
    assert everything(root) == before


async def test_present_version_can_be_looked_up_too(files: NotebookFiles) -> None:
    await files.replace(MEMORY, "a", None)

    assert await files.version(MEMORY, version_of(b"a")) == notebook_file(MEMORY, b"a")


async def test_stale_replacement_is_refused_and_changes_nothing(files: NotebookFiles, root: Path) -> None:
    await files.replace(MEMORY, "a", None)
    await files.replace(MEMORY, "b", None)
    before = everything(root)

    with pytest.raises(StaleVersionError) as refusal:
        await files.replace(MEMORY, "c", version_of(b"a"))

    assert refusal.value.current == notebook_file(MEMORY, b"b")
    assert everything(root) == before


async def test_replacement_of_what_is_not_there_expects_the_empty_version(files: NotebookFiles, root: Path) -> None:
    with pytest.raises(StaleVersionError):
        await files.replace(MEMORY, "a", version_of(b"a"))
    assert everything(root) == {}

    await files.replace(MEMORY, "a", EMPTY_VERSION)

    assert everything(root) == {MEMORY: b"a"}


async def test_what_a_person_saves_during_a_replacement_makes_it_stale(root: Path) -> None:
    (root / MEMORY).write_bytes(b"read")

    def save() -> datetime:
        """The clock is looked at after the file was read, and before it is replaced."""
        (root / MEMORY).write_bytes(b"saved by hand")
        return NOON

    with pytest.raises(StaleVersionError):
        await NotebookFiles(root, save).replace(MEMORY, "ours", version_of(b"read"))

    assert everything(root) == {MEMORY: b"saved by hand"}


async def test_what_a_person_saves_during_a_replacement_of_anything_is_kept_as_a_version(root: Path) -> None:
    (root / MEMORY).write_bytes(b"read")

    def save() -> datetime:
        (root / MEMORY).write_bytes(b"saved by hand")
        return NOON

    await NotebookFiles(root, save).replace(MEMORY, "ours", None)

    assert list(everything(root).values()).count(b"saved by hand") == 1
    assert (root / MEMORY).read_bytes() == b"ours"


# Links and other things that are no files


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_bytes(b"secret\n")
    (outside / "2026-01-31.md").write_bytes(b"secret\n")
    return outside


def link_to_file(root: Path, outside: Path) -> None:
    (root / LOG).symlink_to(outside / "secret.md")


def link_to_nothing(root: Path, outside: Path) -> None:
    (root / LOG).symlink_to(outside / "new.md")


def link_to_folder(root: Path, outside: Path) -> None:
    (root / "daily").rmdir()
    (root / "daily").symlink_to(outside)


def link_within(root: Path, outside: Path) -> None:
    (root / "target.md").write_bytes(b"a\n")
    (root / LOG).symlink_to(root / "target.md")


def pipe(root: Path, outside: Path) -> None:
    os.mkfifo(root / LOG)


def folder(root: Path, outside: Path) -> None:
    (root / LOG).mkdir()


@pytest.mark.parametrize("put", [link_to_file, link_to_nothing, link_to_folder, link_within, pipe, folder])
async def test_what_is_no_plain_file_is_neither_read_nor_written(
    files: NotebookFiles, root: Path, outside: Path, put: Callable[[Path, Path], None]
) -> None:
    put(root, outside)
    before, before_outside = everything(root), everything(outside)

    for attempt in (
        files.read(LOG),
        files.insert(LOG, entry("a")),
        files.replace(LOG, "a", None),
        files.replace(LOG, "a", version_of(b"secret\n")),
    ):
        with pytest.raises(NotAPlainFileError):
            await attempt

    assert await files.paths() == ()
    assert everything(root) == before
    assert everything(outside) == before_outside


@pytest.mark.parametrize("name", [".versions", ".versions/daily", ".versions/daily/2026-01-31.md"])
async def test_versions_are_neither_kept_nor_read_through_a_link(
    files: NotebookFiles, root: Path, outside: Path, name: str
) -> None:
    (root / LOG).write_bytes(b"a")
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).symlink_to(outside)
    (outside / f"20260131T120001.000000Z-{'0' * 32}.md").write_bytes(b"secret\n")
    before, before_outside = everything(root), everything(outside)

    for attempt in (files.replace(LOG, "b", None), files.versions(LOG), files.version(LOG, "0" * 32)):
        with pytest.raises(NotAPlainFileError):
            await attempt

    assert everything(root) == before
    assert everything(outside) == before_outside


async def test_lock_and_draft_are_not_written_through_a_link(files: NotebookFiles, root: Path, outside: Path) -> None:
    (root / MEMORY).write_bytes(b"a")
    (root / f".{MEMORY}.tmp").symlink_to(outside / "secret.md")
    await files.replace(MEMORY, "b", None)
    (root / ".lock").unlink()
    (root / ".lock").symlink_to(outside / "secret.md")

    with pytest.raises(NotAPlainFileError):
        await files.replace(MEMORY, "c", None)

    assert (root / MEMORY).read_bytes() == b"b"
    assert (outside / "secret.md").read_bytes() == b"secret\n"


async def test_folder_of_the_notebook_may_lead_where_its_owner_wants(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "memory").symlink_to(tmp_path / "vault")

    await NotebookFiles(tmp_path / "memory", Clock()).insert(LOG, entry("a"))

    assert (tmp_path / "vault" / LOG).read_bytes() == b"- a\n"


# A disk that is full

FULL = """
import asyncio, resource, sys
from datetime import UTC, datetime
from pathlib import Path
from domain.errors import StorageUnavailableError
from domain.notebook import place_entry, place_fact
from persistence.notebook_files import NotebookFiles

async def main(root, work):
    files = NotebookFiles(root, lambda: datetime(2026, 1, 31, tzinfo=UTC))
    works = {
        "append": lambda: files.insert("daily/2026-01-31.md", lambda content: place_entry(content, "x" * 200)),
        "create": lambda: files.insert("daily/2026-02-01.md", lambda content: place_entry(content, "x" * 2000)),
        "insert": lambda: files.insert("MEMORY.md", lambda content: place_fact(content, "x" * 200, "A")),
        "replace": lambda: files.replace("MEMORY.md", "x" * 2000, None),
    }
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    try:
        await works[work]()
    except StorageUnavailableError as error:
        sys.stdout.write(error.reason)

asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
"""


@pytest.mark.parametrize("work", ["append", "create", "insert", "replace"])
def test_full_disk_leaves_every_file_as_it_was(root: Path, work: str) -> None:
    (root / MEMORY).write_bytes(b"## A\n- a\n## B\n" + b"b" * 900)
    (root / LOG).write_bytes(b"a" * 900)
    before = everything(root)

    ended = subprocess.run(
        [sys.executable, "-c", FULL, root, work], capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS
    )

    assert ended.stdout.endswith((": File too large", ": No space left on device"))
    assert everything(root) == before


# Many writers, and writers that are killed


@contextmanager
def writer(root: Path, name: str, count: int, kind: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "tests.persistence.notebook_writer", str(root), name, str(count), kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        try:
            yield process
        finally:
            process.kill()


def items(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line.startswith("- ")]


@pytest.mark.parametrize(("kind", "path"), [("entries", LOG), ("facts", MEMORY)])
def test_eight_processes_lose_nothing(root: Path, kind: str, path: str) -> None:
    (root / MEMORY).write_text("# Notes\n\n## Middle\n\n## Last\n\n", encoding="utf-8")
    with ExitStack() as stack:
        writers = [stack.enter_context(writer(root, str(number), APPENDS, kind)) for number in range(WRITERS)]

        acknowledged = [line for each in writers for line in each.communicate(timeout=PATIENCE_SECONDS)[0].splitlines()]

    assert [each.returncode for each in writers] == [0] * WRITERS
    assert len(acknowledged) == WRITERS * APPENDS
    assert sorted(items(root / path)) == sorted(acknowledged)


async def test_many_writers_of_one_process_lose_nothing(files: NotebookFiles, root: Path) -> None:
    others = NotebookFiles(root, Clock())

    await asyncio.gather(*(each.insert(LOG, entry(str(number))) for number in range(50) for each in (files, others)))

    assert sorted(items(root / LOG)) == sorted(f"- {number}" for number in range(50) for _ in range(2))


@pytest.mark.parametrize(("kind", "path"), [("entries", LOG), ("facts", MEMORY)])
def test_killed_writer_has_kept_every_acknowledged_line_and_only_whole_ones(root: Path, kind: str, path: str) -> None:
    (root / MEMORY).write_text("## Middle\n\n## Last\n", encoding="utf-8")
    chance = random.Random()
    acknowledged: list[str] = []
    for number in range(KILLS):
        with writer(root, str(number), 100_000, kind) as process:
            assert process.stdout is not None
            with killed_if_silent(process):
                acknowledged += [process.stdout.readline().rstrip("\n") for _ in range(chance.randint(1, 60))]
            process.kill()
            acknowledged += process.stdout.read().split("\n")[:-1]

    found = items(root / path)

    assert len(found) == len(set(found))
    assert set(acknowledged) - set(found) == set()
    # One more may have been written in each round, without time to say so.
    assert len(found) <= len(acknowledged) + KILLS
    assert all(line.endswith(".") for line in found)


async def test_draft_of_a_killed_writer_is_cleared_away(files: NotebookFiles, root: Path) -> None:
    (root / MEMORY).write_bytes(b"a")
    (root / f".{MEMORY}.tmp").write_bytes(b"half a draf")

    await files.replace(MEMORY, "b", None)

    assert f".{MEMORY}.tmp" not in everything(root)
