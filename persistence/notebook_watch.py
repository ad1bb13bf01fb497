"""Sees what people do to notebook files with any editor, once they have paused."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import structlog
from watchfiles import Change, awatch

from persistence.notebook_files import NOTEBOOK, OWNERS, notebook_root, owners_in
from persistence.notebook_folder import notebook_files

QUIET_SECONDS: Final = 1.5
# How often it is made sure that the folders that are watched are still there, or there by now.
CHECK_SECONDS: Final = 1.0
RETRY_SECONDS: Final = 5.0

# Changes that come together are told together; how long the pause after them lasts is our own affair.
_GROUP_MILLISECONDS: Final = 100
_STEP_MILLISECONDS: Final = 20

OwnedPath = tuple[str, str]
OnSettled = Callable[[frozenset[OwnedPath]], Awaitable[None]]

# Device and inode tell a file from one that replaced it, size and times from what it was before.
_Signature = tuple[int, int, int, int, int]
_Snapshot = Mapping[OwnedPath, _Signature]
_Folders = Mapping[Path, tuple[int, int] | None]

_log: Final = structlog.get_logger(__name__)


@dataclass
class NotebookWatch:
    """Of all owners. Events only say when to look; what changed is found by looking at the files."""

    data_dir: Path
    quiet_seconds: float = QUIET_SECONDS
    check_seconds: float = CHECK_SECONDS
    # Set as soon as `run` will tell of any change made from then on.
    started: asyncio.Event = field(default_factory=asyncio.Event)
    _moved: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, on_settled: OnSettled) -> None:
        """Until cancelled, tells of the files that were added, changed or deleted, as (owner, path)."""
        seen = await asyncio.to_thread(self._look, {})
        self.started.set()
        listening = asyncio.create_task(self._listen(), name="notebook-watch")
        try:
            while True:
                await self._moved.wait()
                await self._pause()
                seen = await self._tell(seen, on_settled)
        finally:
            listening.cancel()
            with suppress(asyncio.CancelledError):
                await listening

    async def _pause(self) -> None:
        """Every further change begins it anew."""
        with suppress(TimeoutError):
            while True:
                self._moved.clear()
                # Before Python 3.12, `wait_for` forgets that it was cancelled if a change comes at the same moment.
                async with asyncio.timeout(self.quiet_seconds):
                    await self._moved.wait()

    async def _tell(self, seen: _Snapshot, on_settled: OnSettled) -> _Snapshot:
        present = await asyncio.to_thread(self._look, seen)
        changed = frozenset(path for path, _ in seen.items() ^ present.items())
        if not changed:
            return present
        try:
            await on_settled(changed)
        except Exception:
            # Told once more, with what changes next.
            _log.exception("notebook_change_not_followed", files=len(changed))
            return seen
        return present

    async def _listen(self) -> None:
        """Where no watch can be had, for want of descriptors perhaps, the files are looked at now and then."""
        trouble = ""
        while True:
            folders = await asyncio.to_thread(self._folders)
            try:
                await self._listen_to(folders)
                trouble = ""
            except Exception as error:
                if str(error) != trouble:
                    trouble = str(error)
                    _log.warning("notebook_not_watched", reason=trouble)
                await asyncio.sleep(RETRY_SECONDS)
            self._moved.set()

    async def _listen_to(self, folders: _Folders) -> None:
        """Until a folder is another than it was: a watch stays with the one that was moved away or deleted."""
        watching = awatch(
            *(path for path, identity in folders.items() if identity),
            watch_filter=self._is_of_interest,
            debounce=_GROUP_MILLISECONDS,
            step=_STEP_MILLISECONDS,
            rust_timeout=round(self.check_seconds * 1000),
            yield_on_timeout=True,
            ignore_permission_denied=True,
        )
        is_sure = False
        async with aclosing(watching):
            async for changes in watching:
                # The first time also for what happened before the watch began.
                if changes or not is_sure:
                    self._moved.set()
                is_sure = True
                if await asyncio.to_thread(self._folders) != folders:
                    return

    def _folders(self) -> _Folders:
        """Those to be watched, and which ones they are now; None for one that is not there."""
        return {path: _identity(path) for path in (self.data_dir / NOTEBOOK[0], self.data_dir / OWNERS)}

    def _is_of_interest(self, _: Change, path: str) -> bool:
        """Not what was kept, nor locks and drafts, ours or an editor's: all their names begin with a dot."""
        return not any(part.startswith(".") for part in Path(path).parts[len(self.data_dir.parts) :])

    def _look(self, seen: _Snapshot) -> _Snapshot:
        """What cannot be read now is taken to be as it was seen."""
        present: dict[OwnedPath, _Signature] = {}
        for owner in owners_in(self.data_dir):
            try:
                files = notebook_files(notebook_root(self.data_dir, owner))
                present |= {(owner, path): _signature(status) for path, status in files.items()}
            except OSError as error:
                _log.warning("notebook_not_readable", owner=owner, reason=str(error))
                present |= {(name, path): signature for (name, path), signature in seen.items() if name == owner}
        return present


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _signature(file: os.stat_result) -> _Signature:
    return file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns, file.st_ctime_ns
