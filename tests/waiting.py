"""Waiting as long as anybody would, and no longer: what does not end fails the test that waits for it."""

import contextlib
import subprocess
import threading
from collections.abc import Iterator

# Much longer than anything takes on a machine that is busy with other tests, and shorter than the limit of a test.
PATIENCE_SECONDS = 120


def join(thread: threading.Thread) -> None:
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive(), f"{thread.name} has not ended after {PATIENCE_SECONDS} s"


@contextlib.contextmanager
def killed_if_silent(process: "subprocess.Popen[str]") -> Iterator[None]:
    """For reading what it says, which ends with the process."""
    killing = threading.Timer(PATIENCE_SECONDS, process.kill)
    killing.start()
    try:
        yield
    finally:
        killing.cancel()
