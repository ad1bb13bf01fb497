"""One value that changes, and those who follow it."""

import asyncio
import gc
import threading
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from domain.broadcast import Broadcast
from tests.waiting import join


async def rest_of(values: AsyncIterator[str]) -> list[str]:
    return [value async for value in values]


async def let_others_run() -> None:
    """Long enough for whoever was woken to wait again."""
    for _ in range(5):
        await asyncio.sleep(0)


def follow(broadcast: Broadcast[str]) -> asyncio.Task[list[str]]:
    """All that a reader is given who always waits for more."""
    return asyncio.create_task(rest_of(broadcast.subscribe()))


async def test_reader_gets_the_latest_value_at_once() -> None:
    broadcast = Broadcast("first")
    broadcast.publish("second")

    assert await anext(broadcast.subscribe()) == "second"
    assert broadcast.latest == "second"


async def test_waiting_reader_gets_every_change() -> None:
    broadcast = Broadcast("a")
    reading = follow(broadcast)

    for value in ("b", "c", "d"):
        await let_others_run()
        broadcast.publish(value)
    broadcast.close()

    assert await reading == ["a", "b", "c", "d"]


async def test_all_readers_get_the_same() -> None:
    broadcast = Broadcast("a")
    reading = [follow(broadcast) for _ in range(3)]

    await let_others_run()
    broadcast.publish("b")
    await let_others_run()
    broadcast.close()

    assert await asyncio.gather(*reading) == [["a", "b"]] * 3


async def test_slow_reader_skips_to_the_newest() -> None:
    broadcast = Broadcast("a")
    values = broadcast.subscribe()
    await anext(values)

    for number in range(1_000):
        broadcast.publish(f"step {number}")

    assert await anext(values) == "step 999"


async def test_slow_reader_gets_the_last_value_even_after_closing() -> None:
    broadcast = Broadcast("a")
    values = broadcast.subscribe()
    await anext(values)

    broadcast.publish("b")
    broadcast.publish("last")
    broadcast.close()

    assert await rest_of(values) == ["last"]


async def test_equal_values_are_not_repeated() -> None:
    broadcast = Broadcast("a")
    reading = follow(broadcast)

    for value in ("a", "b", "b", "b", "a"):
        await let_others_run()
        broadcast.publish(value)
    broadcast.close()

    assert await reading == ["a", "b", "a"]


async def test_reader_that_missed_a_change_and_its_return_is_told_nothing() -> None:
    broadcast = Broadcast("a")
    values = broadcast.subscribe()
    await anext(values)

    broadcast.publish("b")
    broadcast.publish("a")
    broadcast.close()

    assert await rest_of(values) == []


async def test_closing_ends_a_waiting_reader() -> None:
    broadcast = Broadcast("a")
    reading = follow(broadcast)
    await let_others_run()

    broadcast.close()

    assert await reading == ["a"]


async def test_nothing_is_published_after_closing() -> None:
    broadcast = Broadcast("a")

    broadcast.close()
    broadcast.close()
    broadcast.publish("b")

    assert await rest_of(broadcast.subscribe()) == ["a"]


async def test_reader_that_stops_leaves_the_others_alone() -> None:
    broadcast = Broadcast("a")
    reading = follow(broadcast)
    cancelled = follow(broadcast)
    async with aclosing(broadcast.subscribe()) as closed:
        await anext(closed)
    await let_others_run()

    cancelled.cancel()
    await asyncio.wait([cancelled])
    broadcast.publish("b")
    await let_others_run()
    broadcast.close()

    assert await reading == ["a", "b"]
    assert cancelled.cancelled()
    assert await rest_of(closed) == []


async def test_reader_that_stopped_is_not_kept() -> None:
    class Value:
        pass

    broadcast = Broadcast(Value())
    values = broadcast.subscribe()
    await anext(values)
    broadcast.publish(Value())
    await values.aclose()
    del values

    gc.collect()

    assert [each for each in gc.get_objects() if isinstance(each, Value)] == [broadcast.latest]


@pytest.mark.parametrize("readers", [1, 3])
async def test_another_thread_publishes_through_the_loop(readers: int) -> None:
    broadcast = Broadcast("a")
    reading = [follow(broadcast) for _ in range(readers)]
    await let_others_run()
    loop = asyncio.get_running_loop()

    def work() -> None:
        for number in range(1_000):
            loop.call_soon_threadsafe(broadcast.publish, f"step {number}")
        loop.call_soon_threadsafe(broadcast.close)

    thread = threading.Thread(target=work)
    thread.start()
    seen = await asyncio.gather(*reading)
    join(thread)

    assert [(each[0], each[-1]) for each in seen] == [("a", "step 999")] * readers
