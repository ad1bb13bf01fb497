"""Starts servers as processes of their own and asks them as fast as they answer."""

import asyncio
import contextlib
import os
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

CONNECTIONS = 8
SECONDS_PER_ROUND = 2.0
ROUNDS = 5


@dataclass(frozen=True)
class Target:
    """A server and the request it is measured with."""

    name: str
    port: int
    request: bytes


@contextlib.contextmanager
def serving(command: Sequence[str], port: int, data_dir: Path) -> Iterator[None]:
    environment = os.environ | {"LOREGRAPH_DATA_DIR": str(data_dir), "LOREGRAPH_LOG_LEVEL": "WARNING"}
    process = subprocess.Popen([sys.executable, *command], env=environment, stdout=subprocess.DEVNULL)
    try:
        _wait_until_healthy(port, process)
        yield
    finally:
        process.terminate()
        process.wait()


def http_post(path: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    return f"{head}\r\n\r\n".encode() + body


def http_get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode()


def answer(target: Target) -> bytes:
    return asyncio.run(_answer_once(target))


def rates(targets: Sequence[Target], rounds: int = ROUNDS) -> dict[str, float]:
    """Requests per second, the median of rounds in which the targets take turns."""
    measured: dict[str, list[float]] = {target.name: [] for target in targets}
    for target in targets:
        asyncio.run(_rate(target, 0.5))
    for _ in range(rounds):
        for target in targets:
            measured[target.name].append(asyncio.run(_rate(target, SECONDS_PER_ROUND)))
    return {name: statistics.median(each) for name, each in measured.items()}


async def _rate(target: Target, seconds: float) -> float:
    deadline = time.perf_counter() + seconds

    async def keep_asking() -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
        asked = 0
        while time.perf_counter() < deadline:
            writer.write(target.request)
            await read_response(reader)
            asked += 1
        writer.close()
        return asked

    started = time.perf_counter()
    asked = sum(await asyncio.gather(*(keep_asking() for _ in range(CONNECTIONS))))
    return asked / (time.perf_counter() - started)


async def _answer_once(target: Target) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
    writer.write(target.request)
    body = await read_response(reader)
    writer.close()
    return body


async def read_response(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(head.decode())
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    return await reader.readexactly(length)


def _wait_until_healthy(port: int, process: "subprocess.Popen[bytes]") -> None:
    for _ in range(200):
        if process.poll() is not None:
            raise RuntimeError(f"the server stopped with {process.returncode}")
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
            return
        time.sleep(0.05)
    raise RuntimeError("the server did not start")
