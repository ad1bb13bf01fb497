"""Every version of a notebook file that was replaced: `.versions/MEMORY.md/20261118T104500.123456Z-<version>.md`."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from domain.notebook import KeptVersion, version_of
from domain.ports import Clock
from persistence import notebook_folder as folders

VERSIONS: Final = ".versions"

_TIME: Final = "%Y%m%dT%H%M%S.%f"
_NAME: Final = re.compile(r"(\d{8}T\d{6}\.\d{6})Z-([0-9a-f]{32})\.md", re.ASCII)


@dataclass(frozen=True, slots=True)
class NotebookVersions:
    root: Path
    clock: Clock

    def all(self, path: str) -> tuple[KeptVersion, ...]:
        """Last replaced first."""
        with suppress(FileNotFoundError), folders.opened(self.root, _parts(path)) as folder:
            return tuple(sorted(_kept_in(folder, path), key=lambda kept: kept.replaced_at, reverse=True))
        return ()

    def read(self, path: str, version: str) -> bytes | None:
        found = next((kept for kept in self.all(path) if kept.version == version), None)
        if found is None:
            return None
        with folders.opened(self.root, _parts(path)) as folder:
            return folders.read(folder, _name(found))

    def keep(self, path: str, content: bytes, mode: int | None) -> KeptVersion:
        """With the mode of the file itself: what only its owner may read stays so."""
        newest = next(iter(self.all(path)), None)
        now = self.clock()
        if newest is not None:
            # Whatever the clock says, it came after what was kept before.
            now = max(now, newest.replaced_at + timedelta(microseconds=1))
        kept = KeptVersion(path, version_of(content), now)
        with folders.opened(self.root, _parts(path), create=True) as folder:
            folders.replace(folder, _name(kept), None, content, mode)
        return kept

    def drop(self, kept: KeptVersion) -> None:
        with folders.opened(self.root, _parts(kept.path)) as folder:
            os.unlink(_name(kept), dir_fd=folder)


def _parts(path: str) -> tuple[str, ...]:
    return (VERSIONS, *path.split("/"))


def _name(kept: KeptVersion) -> str:
    return f"{kept.replaced_at.astimezone(UTC).strftime(_TIME)}Z-{kept.version}.md"


def _kept_in(folder: int, path: str) -> Iterator[KeptVersion]:
    for name, _ in folders.plain_files(folder):
        if match := _NAME.fullmatch(name):
            with suppress(ValueError):
                yield KeptVersion(path, match[2], datetime.strptime(match[1], _TIME).replace(tzinfo=UTC))
