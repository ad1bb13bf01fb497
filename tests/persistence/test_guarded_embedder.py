"""The guard decides whether the embedder is up: by what happened, a clock, and one call that tries."""

import asyncio
import math
import struct
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import pytest

from domain.errors import EmbedderUnavailableError
from domain.ports import Embedder, Vector
from persistence.embedding.guarded import CALL_TEXTS, RECENT_QUERIES, GuardedEmbedder
from persistence.embedding.openai import OpenAIEmbedder, Patience
from persistence.embedding.vectors import unit_vector
from tests import embedding_server as server_that_is
from tests.embedding_server import MODEL, embedding_server
from tests.fakes import HashEmbedder

SEA = "退潮"
ONCE = Patience(seconds=5, attempts=1, longest_wait=0)

Answer = Callable[[Sequence[str]], Awaitable[tuple[Vector, ...]]]


@dataclass(eq=False)
class Told(Embedder):
    """Answers as it is told to."""

    answer: Answer
    identity: str = "told"
    calls: list[list[str]] = field(default_factory=list)

    async def embed(self, texts: Sequence[str]) -> tuple[Vector, ...]:
        self.calls.append(list(texts))
        return await self.answer(texts)

    async def close(self) -> None:
        pass


@dataclass
class Watch:
    """A clock that is set by hand, and what the guard told while it ran."""

    seconds: float = 100.0
    changes: list[str | None] = field(default_factory=list)

    def guard(self, embedder: Embedder, query_seconds: float = 30, call_seconds: float = 30) -> GuardedEmbedder:
        guard = GuardedEmbedder(
            embedder,
            clock=lambda: self.seconds,
            on_change=lambda: self.changes.append(guard.reason),
            query_seconds=query_seconds,
            call_seconds=call_seconds,
        )
        return guard


@pytest.fixture
def watch() -> Watch:
    return Watch()


well = HashEmbedder().embed


async def broken(texts: Sequence[str]) -> tuple[Vector, ...]:
    raise EmbedderUnavailableError((), "broken")


async def buggy(texts: Sequence[str]) -> tuple[Vector, ...]:
    raise ZeroDivisionError


async def hanging(texts: Sequence[str]) -> tuple[Vector, ...]:
    await asyncio.Event().wait()
    raise AssertionError


def always(*vectors: Vector) -> Answer:
    async def answer(texts: Sequence[str]) -> tuple[Vector, ...]:
        return vectors

    return answer


async def reason_of(guard: GuardedEmbedder, *texts: str) -> str:
    with pytest.raises(EmbedderUnavailableError) as refused:
        await guard.embed(texts)
    return refused.value.reason


async def test_an_embedder_that_was_never_asked_is_up(watch: Watch) -> None:
    guard = watch.guard(HashEmbedder(identity="model 7"))

    assert guard.reason is None
    assert guard.identity == "model 7"
    assert watch.changes == []


async def test_after_a_failure_it_is_down_and_every_call_fails_at_once(watch: Watch) -> None:
    told = Told(broken)
    guard = watch.guard(told)

    reasons = [await reason_of(guard, SEA) for _ in range(3)]

    assert reasons == ["broken"] * 3
    assert told.calls == [[SEA]]
    assert guard.reason == "broken"
    assert guard.retry_at == watch.seconds + 1
    assert watch.changes == ["broken"]


async def test_after_a_pause_one_call_finds_out_that_it_is_back(watch: Watch) -> None:
    told = Told(broken)
    guard = watch.guard(told)
    await reason_of(guard, SEA)
    told.answer = well

    watch.seconds += 0.9
    await reason_of(guard, SEA)
    watch.seconds += 0.1
    vectors = await guard.embed([SEA, SEA])

    assert len(vectors) == 2
    assert guard.reason is None
    assert watch.changes == ["broken", None]


async def test_the_pause_doubles_from_a_second_to_a_minute_and_starts_anew_when_it_was_up(watch: Watch) -> None:
    told = Told(broken)
    guard = watch.guard(told)
    pauses = []
    for _ in range(8):
        await reason_of(guard, SEA)
        pauses.append(guard.retry_at - watch.seconds)
        watch.seconds = guard.retry_at

    told.answer = well
    await guard.embed([SEA])
    told.answer = broken
    await reason_of(guard, "other")

    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    assert guard.retry_at - watch.seconds == 1
    assert watch.changes == ["broken", None, "broken"]


async def test_a_new_reason_is_told(watch: Watch) -> None:
    told = Told(broken)
    guard = watch.guard(told)
    await reason_of(guard, SEA)

    watch.seconds = guard.retry_at
    told.answer = always()

    assert await reason_of(guard, SEA) == "it answered 0 vectors for 1 texts"
    assert watch.changes == ["broken", "it answered 0 vectors for 1 texts"]


async def test_only_one_call_is_let_through_to_find_out(watch: Watch) -> None:
    told = Told(broken)
    guard = watch.guard(told)
    await reason_of(guard, SEA)
    watch.seconds = guard.retry_at
    may_answer = asyncio.Event()

    async def later(texts: Sequence[str]) -> tuple[Vector, ...]:
        await may_answer.wait()
        return await well(texts)

    told.answer = later
    first = asyncio.create_task(guard.embed(["first"]))
    await asyncio.sleep(0)
    second = await reason_of(guard, "second")
    may_answer.set()
    await first

    assert second == "broken"
    assert told.calls == [[SEA], ["first"]]
    assert guard.reason is None


async def test_calls_that_fail_together_count_as_one_failure(watch: Watch) -> None:
    may_fail = asyncio.Event()

    async def later(texts: Sequence[str]) -> tuple[Vector, ...]:
        await may_fail.wait()
        return await broken(texts)

    guard = watch.guard(Told(later))
    calls = [asyncio.create_task(guard.embed([f"{number}"])) for number in range(5)]
    await asyncio.sleep(0)
    may_fail.set()
    answers = await asyncio.gather(*calls, return_exceptions=True)

    assert [type(answer) for answer in answers] == [EmbedderUnavailableError] * 5
    assert guard.retry_at - watch.seconds == 1
    assert watch.changes == ["broken"]


async def test_a_call_that_began_before_it_went_down_does_not_bring_it_up(watch: Watch) -> None:
    told = Told(well)
    guard = watch.guard(told)
    may_answer = asyncio.Event()

    async def later(texts: Sequence[str]) -> tuple[Vector, ...]:
        await may_answer.wait()
        return await well(texts)

    told.answer = later
    slow = asyncio.create_task(guard.embed([SEA]))
    await asyncio.sleep(0)
    told.answer = broken
    await reason_of(guard, "other")
    may_answer.set()
    await slow

    assert guard.reason == "broken"
    assert await reason_of(guard, SEA) == "broken"


async def test_a_call_that_hangs_is_cut_off(watch: Watch) -> None:
    guard = watch.guard(Told(hanging), query_seconds=0.01, call_seconds=0.02)

    one = await reason_of(guard, SEA)
    watch.seconds = guard.retry_at
    many = await reason_of(guard, SEA, SEA)

    assert (one, many) == ("no answer within 0.01 s", "no answer within 0.02 s")
    assert watch.changes == [one, many]


async def test_a_caller_that_gives_up_does_not_take_it_down(watch: Watch) -> None:
    told = Told(hanging)
    guard = watch.guard(told)

    call = asyncio.create_task(guard.embed([SEA]))
    await asyncio.sleep(0)
    call.cancel()
    await asyncio.wait([call])

    assert call.cancelled()
    assert guard.reason is None
    assert watch.changes == []


async def test_when_the_caller_that_finds_out_gives_up_the_next_one_does(watch: Watch) -> None:
    told = Told(broken)
    guard = watch.guard(told)
    await reason_of(guard, SEA)
    watch.seconds = guard.retry_at

    told.answer = hanging
    call = asyncio.create_task(guard.embed([SEA]))
    await asyncio.sleep(0)
    call.cancel()
    await asyncio.wait([call])
    told.answer = well

    assert await guard.embed([SEA]) == await well([SEA])
    assert watch.changes == ["broken", None]


async def test_a_bug_in_an_embedder_takes_it_down_and_nothing_else(watch: Watch) -> None:
    guard = watch.guard(Told(buggy))

    assert await reason_of(guard, SEA) == "it failed unexpectedly: ZeroDivisionError"
    assert guard.reason == "it failed unexpectedly: ZeroDivisionError"


@pytest.mark.parametrize(
    ("vectors", "reason"),
    [
        ((), "it answered 0 vectors for 2 texts"),
        ((unit_vector([1, 0]),), "it answered 1 vectors for 2 texts"),
        ((unit_vector([1, 0]),) * 3, "it answered 3 vectors for 2 texts"),
        ((unit_vector([1, 0]), unit_vector([1, 0, 0])), "its vectors have 3 dimensions, not 2 as before"),
        ((unit_vector([1, 0]), b"\0\0\0\0\0"), "its vectors have 1 dimensions, not 2 as before"),
        ((b"", b""), "its vectors are not finite and of unit length"),
        ((struct.pack("<2f", 0, 0),) * 2, "its vectors are not finite and of unit length"),
        ((struct.pack("<2f", 1, 1),) * 2, "its vectors are not finite and of unit length"),
        ((struct.pack("<2f", 1, math.nan),) * 2, "its vectors are not finite and of unit length"),
        ((struct.pack("<2f", math.inf, 0),) * 2, "its vectors are not finite and of unit length"),
    ],
)
async def test_nonsense_is_refused_and_sense_is_taken_again(
    watch: Watch, vectors: tuple[Vector, ...], reason: str
) -> None:
    told = Told(always(*vectors))
    guard = watch.guard(told)

    assert await reason_of(guard, SEA, SEA) == reason
    assert guard.expected_dimensions is None

    watch.seconds = guard.retry_at
    told.answer = well

    assert await guard.embed([SEA, SEA]) == await well([SEA, SEA])
    assert guard.expected_dimensions == 64
    assert watch.changes == [reason, None]


async def test_other_dimensions_than_the_first_are_refused(watch: Watch) -> None:
    told = Told(HashEmbedder(dimensions=16).embed)
    guard = watch.guard(told)
    await guard.embed([SEA])

    told.answer = HashEmbedder(dimensions=32).embed

    assert await reason_of(guard, "other") == "its vectors have 32 dimensions, not 16 as before"


async def test_other_dimensions_than_the_index_has_are_refused_until_it_is_told_to_expect_them(watch: Watch) -> None:
    guard = watch.guard(HashEmbedder(dimensions=16))
    guard.expected_dimensions = 512
    reason = await reason_of(guard, SEA)

    guard.expected_dimensions = None
    watch.seconds = guard.retry_at
    await guard.embed([SEA])

    assert reason == "its vectors have 16 dimensions, not 512 as before"
    assert guard.expected_dimensions == 16


async def test_many_texts_are_given_on_in_calls_that_each_have_their_time(watch: Watch) -> None:
    told = Told(well)
    texts = [f"第{number}章" for number in range(2 * CALL_TEXTS + 1)]

    vectors = await watch.guard(told).embed(texts)

    assert vectors == await well(texts)
    assert [len(call) for call in told.calls] == [CALL_TEXTS, CALL_TEXTS, 1]


async def test_a_query_asked_again_is_not_embedded_again(watch: Watch) -> None:
    told = Told(well)
    guard = watch.guard(told)

    vectors = [await guard.embed([text]) for text in (SEA, "tax", SEA)]

    assert vectors == [await well([SEA]), await well(["tax"]), await well([SEA])]
    assert told.calls == [[SEA], ["tax"]]


async def test_of_many_queries_those_not_asked_for_longest_are_forgotten(watch: Watch) -> None:
    told = Told(well)
    guard = watch.guard(told)
    for number in range(RECENT_QUERIES):
        await guard.embed([f"query {number}"])
    await guard.embed(["query 0"])
    await guard.embed(["one more"])
    told.calls.clear()

    await guard.embed(["query 0"])
    await guard.embed(["query 1"])

    assert told.calls == [["query 1"]]


async def test_a_long_text_is_not_kept(watch: Watch) -> None:
    told = Told(well)
    guard = watch.guard(told)

    await guard.embed(["字" * 1_000])
    await guard.embed(["字" * 1_000])

    assert len(told.calls) == 2


async def test_nothing_is_kept_over_a_failure_since_another_model_may_come_back(watch: Watch) -> None:
    told = Told(well)
    guard = watch.guard(told)
    await guard.embed([SEA])
    told.answer = broken
    await reason_of(guard, "other")
    watch.seconds = guard.retry_at
    told.answer = well

    await guard.embed([SEA])

    assert told.calls == [[SEA], ["other"], [SEA]]


async def test_with_a_real_server_it_goes_down_and_up_as_the_server_does(watch: Watch) -> None:
    with embedding_server() as server:
        embedder = OpenAIEmbedder(server.base_url, MODEL, for_a_query=ONCE, for_a_batch=ONCE)
        guard = watch.guard(embedder, query_seconds=0.5)
        await guard.embed([SEA])
        for ail in (
            server_that_is.refusing(500),
            server_that_is.with_dimensions(7),
            server_that_is.saying("{"),
            server_that_is.hanging,
        ):
            server.behave(ail)
            await reason_of(guard, "other")
            server.behave(server_that_is.well)
            watch.seconds = guard.retry_at
            await guard.embed([SEA])
        server.stop()
        await reason_of(guard, "other")
        server.start()
        watch.seconds = guard.retry_at
        await guard.embed([SEA])
        await guard.close()

    assert watch.changes == [
        "it answered 500 Internal Server Error: try later",
        None,
        "its vectors have 7 dimensions, not 48 as before",
        None,
        "its answer is not JSON: unexpected end of data: line 1 column 2 (char 1)",
        None,
        "no answer within 0.5 s",
        None,
        "it cannot be reached: All connection attempts failed",
        None,
    ]
