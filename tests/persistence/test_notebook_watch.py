"""An edit by any editor is told of when it has settled, whatever the editor did to the file."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from domain.notebook import MEMORY, place_entry, place_fact
from persistence.notebook_files import NotebookFiles, make_notebook, notebook_root
from persistence.notebook_watch import QUIET_SECONDS, NotebookWatch, OwnedPath

QUIET = 0.15
PATIENCE_SECONDS = 30.0
LOG = "daily/2026-01-31.md"


@dataclass
class Told:
    """What a watch has told so far."""

    data_dir: Path
    watch: NotebookWatch
    calls: list[frozenset[OwnedPath]] = field(default_factory=list)
    fails_without: OwnedPath | None = None
    news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def root(self) -> Path:
        return notebook_root(self.data_dir, "local")

    async def hear(self, changed: frozenset[OwnedPath]) -> None:
        self.calls.append(changed)
        self.news.set()
        if self.fails_without is not None and self.fails_without not in changed:
            raise RuntimeError("the index is broken")

    async def until(self, is_true: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not is_true():
                self.news.clear()
                await self.news.wait()

    async def until_told_of(self, *expected: OwnedPath) -> None:
        await self.until(lambda: set().union(*self.calls) >= set(expected))


@pytest.fixture
async def told(tmp_path: Path) -> AsyncIterator[Told]:
    data_dir = tmp_path / "data"
    make_notebook(notebook_root(data_dir, "local"))
    watch = NotebookWatch(data_dir, quiet_seconds=QUIET, check_seconds=0.05)
    told = Told(data_dir, watch)
    running = asyncio.create_task(watch.run(told.hear))
    await watch.started.wait()
    yield told
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def saved_and_told(told: Told, path: str, content: str) -> None:
    (told.root / path).write_text(content, encoding="utf-8")
    await told.until_told_of(("local", path))
    told.calls.clear()


def test_the_pause_is_a_second_and_a_half() -> None:
    assert QUIET_SECONDS == NotebookWatch(Path()).quiet_seconds == 1.5


async def test_file_that_is_new_is_told_of(told: Told) -> None:
    (told.root / LOG).write_text("- a\n", encoding="utf-8")

    await told.until_told_of(("local", LOG))

    assert told.calls == [{("local", LOG)}]


async def test_file_written_in_place_is_told_of(told: Told) -> None:
    await saved_and_told(told, MEMORY, "- a\n")

    (told.root / MEMORY).write_text("- b\n", encoding="utf-8")
    await told.until_told_of(("local", MEMORY))

    assert told.calls == [{("local", MEMORY)}]


async def test_file_replaced_by_another_is_told_of_again_and_again(told: Told) -> None:
    for number in range(3):
        draft = told.root / f"draft-{number}"
        draft.write_text(f"- {number}\n", encoding="utf-8")
        draft.replace(told.root / MEMORY)

        await told.until_told_of(("local", MEMORY))

        assert told.calls == [{("local", MEMORY)}]
        told.calls.clear()


async def test_deleted_file_is_told_of(told: Told) -> None:
    await saved_and_told(told, MEMORY, "- a\n")

    (told.root / MEMORY).unlink()
    await told.until_told_of(("local", MEMORY))

    assert told.calls == [{("local", MEMORY)}]


async def test_burst_of_changes_is_told_of_once(told: Told) -> None:
    for number in range(40):
        (told.root / MEMORY).write_text(f"- {number}\n", encoding="utf-8")
        (told.root / LOG).write_text(f"- {number}\n", encoding="utf-8")

    await told.until_told_of(("local", MEMORY), ("local", LOG))

    assert told.calls == [{("local", MEMORY), ("local", LOG)}]


async def test_what_is_written_through_the_notebook_is_told_of_without_its_locks_and_versions(told: Told) -> None:
    files = NotebookFiles(told.root, lambda: datetime.now(UTC))

    await files.insert(MEMORY, lambda content: place_fact(content, "a"))
    await files.replace(MEMORY, "- b\n", None)
    await files.insert(LOG, lambda content: place_entry(content, "c"))
    await told.until_told_of(("local", MEMORY), ("local", LOG))

    assert set().union(*told.calls) == {("local", MEMORY), ("local", LOG)}


async def test_other_files_and_the_drafts_of_editors_are_not_told_of(told: Told) -> None:
    for name in ("notes.txt", ".MEMORY.md.swp", "MEMORY.md~", "daily/today.md", "daily/2026-02-30.md", ".versions"):
        (told.root / name).write_text("x", encoding="utf-8")
    (told.root / LOG).write_text("- a\n", encoding="utf-8")

    await told.until_told_of(("local", LOG))

    assert told.calls == [{("local", LOG)}]


async def test_owner_who_appears_is_watched(told: Told) -> None:
    root = notebook_root(told.data_dir, "alice")
    make_notebook(root)
    (root / MEMORY).write_text("- a\n", encoding="utf-8")
    await told.until_told_of(("alice", MEMORY))

    (root / LOG).write_text("- b\n", encoding="utf-8")
    await told.until_told_of(("alice", LOG))

    assert set().union(*told.calls) == {("alice", MEMORY), ("alice", LOG)}


@pytest.mark.parametrize("removed", ["prompts", "prompts/memory", "prompts/memory/daily"])
async def test_folder_that_is_removed_and_made_again_is_watched_on(told: Told, removed: str) -> None:
    await saved_and_told(told, LOG, "- a\n")
    shutil.rmtree(told.data_dir / removed)
    await told.until_told_of(("local", LOG))
    told.calls.clear()

    make_notebook(told.root)
    (told.root / LOG).write_text("- b\n", encoding="utf-8")
    await told.until_told_of(("local", LOG))
    told.calls.clear()
    (told.root / LOG).write_text("- c\n", encoding="utf-8")

    await told.until_told_of(("local", LOG))


async def test_files_of_a_folder_that_is_moved_away_are_told_of(told: Told) -> None:
    await saved_and_told(told, MEMORY, "- a\n")
    await saved_and_told(told, LOG, "- a\n")

    told.root.rename(told.data_dir / "elsewhere")
    await told.until_told_of(("local", MEMORY), ("local", LOG))

    assert set().union(*told.calls) == {("local", MEMORY), ("local", LOG)}


async def test_link_that_leads_out_is_not_told_of(told: Told, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret", encoding="utf-8")
    (told.root / MEMORY).symlink_to(tmp_path / "secret.md")
    (told.root / LOG).write_text("- a\n", encoding="utf-8")

    await told.until_told_of(("local", LOG))

    assert told.calls == [{("local", LOG)}]


async def test_notebook_that_cannot_be_read_holds_up_nobody(told: Told) -> None:
    alice = notebook_root(told.data_dir, "alice")
    make_notebook(alice)
    (alice / MEMORY).write_text("- a\n", encoding="utf-8")
    await told.until_told_of(("alice", MEMORY))
    alice.rename(told.data_dir / "elsewhere")
    alice.write_text("no folder", encoding="utf-8")
    told.calls.clear()

    (told.root / LOG).write_text("- b\n", encoding="utf-8")

    await told.until_told_of(("local", LOG))


async def test_failing_listener_is_told_again_with_the_next_change(told: Told) -> None:
    told.fails_without = ("local", LOG)
    (told.root / MEMORY).write_text("- a\n", encoding="utf-8")
    await told.until_told_of(("local", MEMORY))

    (told.root / LOG).write_text("- b\n", encoding="utf-8")
    await told.until_told_of(("local", LOG))

    assert told.calls[0] == {("local", MEMORY)}
    assert told.calls[-1] == {("local", MEMORY), ("local", LOG)}


async def test_change_made_while_the_listener_is_busy_is_told_of_after_it(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    root = notebook_root(data_dir, "local")
    make_notebook(root)
    watch = NotebookWatch(data_dir, quiet_seconds=QUIET, check_seconds=0.05)
    calls: list[frozenset[OwnedPath]] = []
    is_busy, may_go_on, is_done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def hear(changed: frozenset[OwnedPath]) -> None:
        calls.append(changed)
        if len(calls) > 1:
            is_done.set()
            return
        is_busy.set()
        await may_go_on.wait()

    running = asyncio.create_task(watch.run(hear))
    await watch.started.wait()
    (root / MEMORY).write_text("- a\n", encoding="utf-8")
    async with asyncio.timeout(PATIENCE_SECONDS):
        await is_busy.wait()
        (root / LOG).write_text("- b\n", encoding="utf-8")
        may_go_on.set()
        await is_done.wait()
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running

    assert calls == [{("local", MEMORY)}, {("local", LOG)}]


async def test_edit_that_keeps_size_and_time_is_told_of(told: Told) -> None:
    await saved_and_told(told, MEMORY, "- a\n")
    before = (told.root / MEMORY).stat()

    (told.root / MEMORY).write_text("- b\n", encoding="utf-8")
    os.utime(told.root / MEMORY, ns=(before.st_atime_ns, before.st_mtime_ns))
    await told.until_told_of(("local", MEMORY))

    assert told.calls[-1] == {("local", MEMORY)}


async def test_watch_ends_when_it_is_cancelled(tmp_path: Path) -> None:
    watch = NotebookWatch(tmp_path)

    async def hear(_: frozenset[OwnedPath]) -> None:
        raise AssertionError

    running = asyncio.create_task(watch.run(hear))
    await watch.started.wait()
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running


@pytest.mark.parametrize("turns", range(6))
async def test_watch_ends_when_it_is_cancelled_as_a_change_begins_the_pause_anew(tmp_path: Path, turns: int) -> None:
    watch = NotebookWatch(tmp_path)

    async def hear(_: frozenset[OwnedPath]) -> None:
        raise AssertionError

    running = asyncio.create_task(watch.run(hear))
    await watch.started.wait()
    watch._moved.set()
    await turn(10)
    watch._moved.set()
    await turn(turns)
    running.cancel()

    ended, _ = await asyncio.wait({running}, timeout=PATIENCE_SECONDS)
    assert ended == {running}
    assert running.cancelled()


async def turn(times: int) -> None:
    """Lets everything that is ready go on, so many times."""
    for _ in range(times):
        await asyncio.sleep(0)
