"""The server: uvicorn, set up once for the command and for the tests."""

import asyncio
import socket
from pathlib import Path

import uvicorn

from api.app import build_app
from api.composition import now
from api.settings import Settings
from domain.ports import Clock

# What is still running then is cancelled.
GRACEFUL_SHUTDOWN_SECONDS = 10


class Server(uvicorn.Server):
    """Ends open event streams as it stops: uvicorn would wait for them, and by themselves they do not end."""

    def __init__(self, config: uvicorn.Config, stopping: asyncio.Event) -> None:
        super().__init__(config)
        self.stopping = stopping

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.stopping.set()
        await super().shutdown(sockets)


def build_server(settings: Settings, sample: Path | None = None, clock: Clock = now) -> Server:
    stopping = asyncio.Event()
    config = uvicorn.Config(
        build_app(settings, sample, stopping, clock),
        http="httptools",
        ws="websockets-sansio",
        ws_max_size=settings.max_body_bytes,
        ws_ping_interval=settings.keep_alive_seconds,
        # Most messages are a few hundred bytes; packing them would cost more than it saves.
        ws_per_message_deflate=False,
        access_log=False,
        log_config=None,
        timeout_graceful_shutdown=GRACEFUL_SHUTDOWN_SECONDS,
    )
    return Server(config, stopping)
