"""How the owner wants chat memory to work: what was set, over what the service was started with."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

from domain import memory_settings
from domain.chat_ports import ChatReader, ChatStore, ChatWriter
from domain.memory_settings import MemorySettings


@dataclass(frozen=True, slots=True)
class Settings:
    """`forget` is called when facts were deleted for good."""

    store: ChatStore
    defaults: MemorySettings
    forget: Callable[[], Awaitable[None]]

    async def read(self) -> MemorySettings:
        return await self.within(self.store)

    async def within(self, store: ChatReader) -> MemorySettings:
        """As they are in the transaction."""
        known = {name: value for name, value in (await store.settings()).items() if name in memory_settings.NAMES}
        return replace(self.defaults, **known)  # type: ignore[arg-type]

    async def update(self, changes: Mapping[str, object]) -> MemorySettings:
        """Only what is named changes; with a lower threshold facts are evicted at once."""

        async def work(store: ChatWriter) -> tuple[MemorySettings, int]:
            settings = memory_settings.changed(await self.within(store), changes)
            await store.put_settings(changes)
            return settings, await evict(store, settings)

        settings, evicted = await self.store.write(work)
        if evicted:
            await self.forget()
        return settings


async def evict(store: ChatWriter, settings: MemorySettings) -> int:
    return 0 if settings.eviction_threshold is None else await store.evict(settings.eviction_threshold)
