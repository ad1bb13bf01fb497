"""What every embedder promises, whichever it is."""

import asyncio
import struct
from collections.abc import AsyncIterator, Iterator

import pytest

from domain.errors import EmbedderUnavailableError
from domain.ports import Embedder, Vector
from persistence.embedding import open_embedder
from persistence.embedding.guarded import GuardedEmbedder
from persistence.embedding.openai import OpenAIEmbedder
from persistence.embedding.use import UseEmbedder
from tests.embedding_server import MODEL, EmbeddingServer, embedding_server
from tests.fakes import HashEmbedder

EMBEDDERS = ("use", "openai", "hash", "guarded")
SEA = "退潮时，灯塔下的沙路露出了水面。"
SEA_AGAIN = "退潮后，灯塔下露出一条沙路。"
TAX = "The quarterly tax report is due on Friday."
ODD_TEXTS = {
    "empty": "",
    "blank": " \n\t\u3000",
    "nul": "\0",
    "nul_inside": "灯塔\0守",
    "emoji": "😀👩‍👩‍👧‍👦",
    "lone_surrogate": "\ud800",
    "surrogate_inside": "灯\udfff塔",
    "invisible": "\u200b\ufeff\u202e",
    "control": "\x01\x7f",
    "combining": "e\u0301" * 300,
    "endless": "字" * 100_000,
    "tokens_of_the_model": "<s></s>▁",
}


@pytest.fixture(scope="module")
def model() -> Iterator[UseEmbedder]:
    """Loaded once, since that takes a second."""
    embedder = UseEmbedder()
    yield embedder
    asyncio.run(embedder.close())


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as server:
        yield server


@pytest.fixture(params=EMBEDDERS)
async def embedder(request: pytest.FixtureRequest) -> AsyncIterator[Embedder]:
    if request.param == "use":
        yield request.getfixturevalue("model")
        return
    embedder = an_embedder(request.param, request)
    yield embedder
    await embedder.close()


def an_embedder(kind: str, request: pytest.FixtureRequest) -> Embedder:
    match kind:
        case "use":
            return UseEmbedder()
        case "openai":
            return OpenAIEmbedder(request.getfixturevalue("server").base_url, MODEL, "key")
        case "hash":
            return HashEmbedder()
    return GuardedEmbedder(HashEmbedder(), clock=lambda: 0.0)


def numbers(vector: Vector) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def cosine(a: Vector, b: Vector) -> float:
    return sum(x * y for x, y in zip(numbers(a), numbers(b), strict=True))


async def test_every_text_has_a_vector_of_unit_length_and_all_have_the_same_dimensions(embedder: Embedder) -> None:
    vectors = await embedder.embed([SEA, TAX, "a"])

    assert len(vectors) == 3
    assert len({len(vector) for vector in vectors}) == 1
    assert [cosine(vector, vector) for vector in vectors] == pytest.approx([1.0] * 3, abs=1e-4)


async def test_no_texts_have_no_vectors(embedder: Embedder) -> None:
    assert await embedder.embed([]) == ()


async def test_a_text_has_the_same_vector_alone_and_among_others(embedder: Embedder) -> None:
    (alone,) = await embedder.embed([SEA])
    _, among, _ = await embedder.embed([TAX, SEA, "a"])

    assert cosine(alone, among) == pytest.approx(1.0, abs=1e-4)


async def test_texts_that_say_the_same_lie_nearer_than_others(embedder: Embedder) -> None:
    sea, again, tax = await embedder.embed([SEA, SEA_AGAIN, TAX])

    assert cosine(sea, again) > cosine(sea, tax)


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS.keys())
async def test_any_text_has_a_vector(embedder: Embedder, text: str) -> None:
    sea, odd = await embedder.embed([SEA, text])
    (alone,) = await embedder.embed([text])

    assert len(odd) == len(alone) == len(sea)
    assert cosine(odd, odd) == pytest.approx(1.0, abs=1e-4)
    assert cosine(odd, alone) == pytest.approx(1.0, abs=1e-4)


async def test_vectors_stand_in_the_order_of_their_texts_however_many_there_are(embedder: Embedder) -> None:
    texts = [f"第{number}章 {SEA}" for number in range(150)]

    together = await embedder.embed(texts)
    apart = [(await embedder.embed([texts[at]]))[0] for at in (0, 15, 16, 31, 32, 64, 149)]

    assert len(together) == 150
    assert [cosine(together[at], one) for at, one in zip((0, 15, 16, 31, 32, 64, 149), apart, strict=True)] == (
        pytest.approx([1.0] * 7, abs=1e-4)
    )


async def test_calls_at_the_same_time_get_their_own_answers(embedder: Embedder) -> None:
    texts = [SEA, TAX, "灯塔", "lighthouse"]
    one_by_one = [await embedder.embed([text, text[::-1]]) for text in texts]

    at_once = await asyncio.gather(*(embedder.embed([text, text[::-1]]) for text in texts))

    for one, same in zip(one_by_one, at_once, strict=True):
        assert [cosine(a, b) for a, b in zip(one, same, strict=True)] == pytest.approx([1.0] * 2, abs=1e-4)


@pytest.mark.parametrize("kind", EMBEDDERS)
async def test_two_of_the_same_kind_have_one_identity(kind: str, request: pytest.FixtureRequest) -> None:
    one, other = an_embedder(kind, request), an_embedder(kind, request)

    assert one.identity == other.identity != ""
    await one.close()
    await other.close()


@pytest.mark.parametrize("kind", EMBEDDERS)
async def test_one_that_was_closed_is_unavailable(kind: str, request: pytest.FixtureRequest) -> None:
    embedder = an_embedder(kind, request)
    await embedder.close()
    await embedder.close()

    with pytest.raises(EmbedderUnavailableError) as refused:
        await embedder.embed([SEA])

    assert refused.value.reason == "it has been closed"


def test_an_embedder_is_opened_by_its_kind() -> None:
    assert isinstance(open_embedder("use"), UseEmbedder)
    assert open_embedder("openai", base_url="http://h/v1/", api_key="secret", model="m") is not None
    assert open_embedder("none") is None
    with pytest.raises(ValueError, match="word2vec"):
        open_embedder("word2vec")


def test_the_identities_of_two_embedders_differ() -> None:
    embedders = (
        open_embedder("use"),
        open_embedder("openai", base_url="http://h/v1", model="m"),
        open_embedder("openai", base_url="http://h/v1", model="n"),
        open_embedder("openai", base_url="http://other/v1", model="m"),
    )

    assert len({embedder.identity for embedder in embedders if embedder}) == 4
