"""An OpenAI-compatible server that misbehaves: each way has its reason, and when it is well again so are we."""

from collections.abc import AsyncIterator, Iterator

import pytest

from domain.errors import EmbedderUnavailableError
from domain.ports import Vector
from persistence.embedding.openai import BATCH_TEXTS, LONGEST_TEXT, OpenAIEmbedder, Patience
from persistence.embedding.vectors import unit_vector
from tests import embedding_server as server_that_is
from tests.embedding_server import DIMENSIONS, MODEL, Behaviour, EmbeddingServer, embedding_server
from tests.fakes import hashed_numbers

KEY = "sk-very-secret"
SHORT = Patience(seconds=0.2, attempts=1, longest_wait=0)
TWICE = Patience(seconds=30, attempts=2, longest_wait=1)
TEXTS = ["灯塔", "lighthouse", "燈台"]
NAN_BODY = '{"data": [{"index": 0, "embedding": NaN}]}'


@pytest.fixture(scope="module")
def lasting_server() -> Iterator[EmbeddingServer]:
    with embedding_server() as server:
        yield server


@pytest.fixture
def server(lasting_server: EmbeddingServer) -> EmbeddingServer:
    lasting_server.behave(server_that_is.well)
    lasting_server.asked.clear()
    lasting_server.keys.clear()
    lasting_server.paths.clear()
    return lasting_server


@pytest.fixture
async def embedder(server: EmbeddingServer) -> AsyncIterator[OpenAIEmbedder]:
    embedder = OpenAIEmbedder(f"{server.base_url}/", MODEL, KEY, for_a_query=TWICE, for_a_batch=TWICE)
    yield embedder
    await embedder.close()


def vectors_of(texts: list[str], dimensions: int = DIMENSIONS) -> tuple[Vector, ...]:
    return tuple(unit_vector(hashed_numbers(text, dimensions)) for text in texts)


async def reason_of(embedder: OpenAIEmbedder, texts: list[str]) -> str:
    with pytest.raises(EmbedderUnavailableError) as refused:
        await embedder.embed(texts)
    assert refused.value.path == ()
    return refused.value.reason


async def test_texts_are_asked_for_by_model_with_the_key(server: EmbeddingServer, embedder: OpenAIEmbedder) -> None:
    vectors = await embedder.embed(TEXTS)

    assert vectors == vectors_of(TEXTS)
    assert server.asked == [{"model": MODEL, "input": TEXTS, "encoding_format": "float"}]
    assert server.keys == [f"Bearer {KEY}"]
    assert server.paths == ["/v1/embeddings"]


async def test_without_a_key_none_is_sent(server: EmbeddingServer) -> None:
    embedder = OpenAIEmbedder(server.base_url, MODEL)

    await embedder.embed(["灯塔"])
    await embedder.close()

    assert server.keys == [None]


async def test_a_server_on_this_machine_is_asked_past_any_proxy(
    server: EmbeddingServer, embedder: OpenAIEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)

    assert await embedder.embed(TEXTS) == vectors_of(TEXTS)


async def test_many_texts_are_asked_for_in_batches(server: EmbeddingServer, embedder: OpenAIEmbedder) -> None:
    texts = [f"第{number}章" for number in range(2 * BATCH_TEXTS + 1)]

    assert await embedder.embed(texts) == vectors_of(texts)
    assert [len(asked["input"]) for asked in server.asked] == [BATCH_TEXTS, BATCH_TEXTS, 1]


async def test_vectors_are_put_in_order_by_their_index(server: EmbeddingServer, embedder: OpenAIEmbedder) -> None:
    server.behave(server_that_is.shuffled)

    assert await embedder.embed(TEXTS) == vectors_of(TEXTS)


async def test_what_no_server_takes_is_not_sent(server: EmbeddingServer, embedder: OpenAIEmbedder) -> None:
    await embedder.embed(["", " \n", "灯\0塔", "灯\ud800塔", "字" * 10_000])

    assert server.asked[0]["input"] == [".", ".", "灯 塔", "灯?塔", "字" * LONGEST_TEXT]


async def test_texts_longer_than_the_model_reads_are_cut_until_it_does(
    server: EmbeddingServer, embedder: OpenAIEmbedder
) -> None:
    server.behave(server_that_is.reading_at_most(600))

    vectors = await embedder.embed(["字典" * 1_000, "灯塔"])

    assert vectors == vectors_of(["字典" * 250, "灯塔"])
    assert [len(asked["input"][0]) for asked in server.asked] == [2_000, 1_000, 500]


async def test_texts_that_no_cut_makes_acceptable_are_given_up(
    server: EmbeddingServer, embedder: OpenAIEmbedder
) -> None:
    server.behave(server_that_is.reading_at_most(1))

    reason = await reason_of(embedder, ["灯塔", "字" * 700])

    assert reason == "it answered 400 Bad Request: the input length exceeds the context length"
    assert [len(asked["input"][1]) for asked in server.asked] == [700, 350, 175]


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (server_that_is.saying('{"data": [{"index'), "its answer is not JSON: "),
        (server_that_is.saying("<html>Sign in</html>", "text/html"), "its answer is not JSON: "),
        (server_that_is.saying(""), "its answer is not JSON: "),
        (server_that_is.saying(NAN_BODY), "its answer is not JSON: "),
        (server_that_is.saying("null"), "its answer is not a list of embeddings"),
        (server_that_is.saying("[1, 2]"), "its answer is not a list of embeddings"),
        (server_that_is.saying('{"object": "list"}'), "its answer is not a list of embeddings"),
        (server_that_is.saying('{"data": null}'), "its answer is not a list of embeddings"),
        (server_that_is.saying('{"data": {"index": 0}}'), "its answer is not a list of embeddings"),
        (server_that_is.saying('{"data": []}'), "its answer does not hold one vector for each of the 3 texts"),
        (server_that_is.one_too_few, "its answer does not hold one vector for each of the 3 texts"),
        (server_that_is.all_with_index_0, "its answer does not hold one vector for each of the 3 texts"),
        (server_that_is.with_first_embedding(None), "its vectors hold something that is not a finite number"),
        (server_that_is.with_first_embedding([]), "its vectors hold something that is not a finite number"),
        (server_that_is.with_first_embedding("AACAPw=="), "its vectors hold something that is not a finite number"),
        (server_that_is.with_first_embedding([0.1, None]), "its vectors hold something that is not a finite number"),
        (server_that_is.with_first_embedding([1e308] * 48), "its vectors hold something that is not a finite number"),
        (server_that_is.with_first_embedding([0.1] * 49), "its vectors are not all of one length"),
        (server_that_is.huge, "its answer is larger than 16,777,216 bytes"),
        (server_that_is.redirecting, "it answered 307 Temporary Redirect; redirects are not followed"),
        (server_that_is.refusing(404, "no model 'x'"), "it answered 404 Not Found: no model 'x'"),
        (server_that_is.refusing(429), "it answered 429 Too Many Requests: try later"),
        (server_that_is.refusing(500), "it answered 500 Internal Server Error: try later"),
        (server_that_is.refusing(503), "it answered 503 Service Unavailable: try later"),
    ],
)
async def test_a_bad_answer_has_a_reason_and_a_good_one_is_taken_again(
    server: EmbeddingServer, embedder: OpenAIEmbedder, behaviour: Behaviour, reason: str
) -> None:
    server.behave(behaviour)
    assert (await reason_of(embedder, TEXTS)).startswith(reason)

    server.behave(server_that_is.well)

    assert await embedder.embed(TEXTS) == vectors_of(TEXTS)


@pytest.mark.parametrize("behaviour", [server_that_is.hanging, server_that_is.trickling])
async def test_a_server_that_never_comes_to_an_end_is_given_up(server: EmbeddingServer, behaviour: Behaviour) -> None:
    embedder = OpenAIEmbedder(server.base_url, MODEL, for_a_query=SHORT, for_a_batch=SHORT)
    server.behave(behaviour)

    assert await reason_of(embedder, ["灯塔"]) == "no answer within 0.2 s"
    assert await reason_of(embedder, TEXTS) == "no answer within 0.2 s"

    await embedder.close()


async def test_a_server_that_is_not_there_is_found_when_it_is_back(
    server: EmbeddingServer, embedder: OpenAIEmbedder
) -> None:
    server.stop()
    gone = await reason_of(embedder, TEXTS)
    server.start()
    back = await embedder.embed(TEXTS)

    assert gone == "it cannot be reached: All connection attempts failed"
    assert back == vectors_of(TEXTS)


async def test_a_server_that_was_started_anew_is_found_at_once(
    server: EmbeddingServer, embedder: OpenAIEmbedder
) -> None:
    await embedder.embed(TEXTS)
    server.stop()
    server.start()

    assert await embedder.embed(TEXTS) == vectors_of(TEXTS)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
async def test_a_server_that_is_busy_is_asked_again(
    server: EmbeddingServer, embedder: OpenAIEmbedder, status: int
) -> None:
    server.behave(server_that_is.refusing(status), server_that_is.well)

    assert await embedder.embed(TEXTS) == vectors_of(TEXTS)
    assert len(server.asked) == 2


async def test_a_server_is_asked_again_when_it_says_so(server: EmbeddingServer, embedder: OpenAIEmbedder) -> None:
    server.behave(server_that_is.refusing(429, retry_after="1"), server_that_is.well)

    assert await embedder.embed(TEXTS) == vectors_of(TEXTS)


async def test_a_server_that_wants_to_be_left_alone_for_long_is_given_up(
    server: EmbeddingServer, embedder: OpenAIEmbedder
) -> None:
    server.behave(server_that_is.refusing(429, retry_after="3600"), server_that_is.well)

    assert await reason_of(embedder, TEXTS) == "it answered 429 Too Many Requests: try later"
    assert len(server.asked) == 1


@pytest.mark.parametrize("said", ["soon", "-1", "1.5", "Wed, 21 Oct 2015 07:28:00 GMT", "²"])
async def test_a_time_that_is_no_number_of_seconds_is_passed_over(
    server: EmbeddingServer, embedder: OpenAIEmbedder, said: str
) -> None:
    server.behave(server_that_is.refusing(503, retry_after=said), server_that_is.well)

    assert await embedder.embed(TEXTS) == vectors_of(TEXTS)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_what_will_not_change_is_not_asked_again(
    server: EmbeddingServer, embedder: OpenAIEmbedder, status: int
) -> None:
    server.behave(server_that_is.refusing(status), server_that_is.well)

    await reason_of(embedder, TEXTS)

    assert len(server.asked) == 1


async def test_a_redirect_is_not_followed(server: EmbeddingServer, embedder: OpenAIEmbedder) -> None:
    server.behave(server_that_is.redirecting, server_that_is.well)

    await reason_of(embedder, TEXTS)

    assert server.paths == ["/v1/embeddings"]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
async def test_the_key_is_told_to_nobody(server: EmbeddingServer, embedder: OpenAIEmbedder, status: int) -> None:
    server.behave(server_that_is.quoting_the_key(status))

    reason = await reason_of(embedder, TEXTS)

    assert str(status) in reason
    assert KEY not in reason
    assert KEY not in repr(embedder)
    assert KEY not in embedder.identity


async def test_a_key_that_no_header_can_carry_is_told_to_nobody(server: EmbeddingServer) -> None:
    embedder = OpenAIEmbedder(server.base_url, MODEL, f"{KEY}\r\nx: y")

    assert await reason_of(embedder, TEXTS) == "it cannot be asked: LocalProtocolError"
    await embedder.close()


async def test_the_words_of_the_server_are_shown_in_one_short_line(
    server: EmbeddingServer, embedder: OpenAIEmbedder
) -> None:
    server.behave(server_that_is.refusing(404, "no\n such\tmodel " + "x" * 1_000))

    reason = await reason_of(embedder, TEXTS)

    assert reason == f"it answered 404 Not Found: {('no such model ' + 'x' * 1_000)[:200]}"


@pytest.mark.parametrize("body", ['{"error": "gone"}', '{"message": "gone"}', '{"error": {"message": "gone"}}'])
async def test_the_words_of_a_server_are_found_where_servers_put_them(
    server: EmbeddingServer, embedder: OpenAIEmbedder, body: str
) -> None:
    server.behave(server_that_is.saying(body, status=404))

    assert await reason_of(embedder, TEXTS) == "it answered 404 Not Found: gone"


@pytest.mark.parametrize("body", ["<html>", "[]", "null", '{"error": 7}', '{"detail": []}'])
async def test_a_server_without_words_still_has_a_reason(
    server: EmbeddingServer, embedder: OpenAIEmbedder, body: str
) -> None:
    server.behave(server_that_is.saying(body, status=404))

    assert await reason_of(embedder, TEXTS) == "it answered 404 Not Found"


async def test_a_vector_without_direction_becomes_the_first_axis(
    server: EmbeddingServer, embedder: OpenAIEmbedder
) -> None:
    server.behave(server_that_is.with_first_embedding([0.0] * DIMENSIONS))

    first, *others = await embedder.embed(TEXTS)

    assert first == unit_vector([1.0] + [0.0] * (DIMENSIONS - 1))
    assert tuple(others) == vectors_of(TEXTS[1:])
