"""How the owner wants chat memory to work: what was set, over what the service was started with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from domain import memory_settings
from domain.chat_ports import ChatReader, ChatStore, ChatWriter
from domain.memory_settings import MemorySettings


@dataclass(frozen=True, slots=True)
class Settings:
    """`forget` makes sure, soon, that nothing of what was evicted is left in any file."""

    store: ChatStore
    defaults: MemorySettings
    forget: Callable[[], object]

    async def read(self) -> MemorySettings:
        return await self.within(self.store)

    async def within(self, store: ChatReader) -> MemorySettings:
        """As they are in the transaction."""
        known = {name: value for name, value in (await store.settings()).items() if name in memory_settings.NAMES}
        return replace(self.defaults, **known)  # type: ignore[arg-type]

    async def update(self, changes: Mapping[str, object]) -> MemorySettings:
        """Only what is named changes; with a lower threshold facts are evicted at once."""

        async def work(store: ChatWriter) -> MemorySettings:
            settings = memory_settings.changed(await self.within(store), changes)
            await store.put_settings(changes)
            await self.evict(store, settings)
            return settings

        return await self.store.write(work)

    async def evict(self, store: ChatWriter, settings: MemorySettings) -> None:
        """What is over the threshold, if there is one."""
        if settings.eviction_threshold is not None and await store.evict(settings.eviction_threshold):
            self.forget()
