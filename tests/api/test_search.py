"""Search over HTTP: the scenarios of the Markdown-memory document, and what other memory systems get wrong."""

import math
import re
import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.settings import Settings
from tests.api.building import (
    MAX_OWNERS,
    Owners,
    a_book,
    a_chapter,
    a_character,
    a_memory,
    a_term,
    import_memories,
    ref,
)
from tests.embedding_server import DIMENSIONS, MODEL, EmbeddingServer, embedding_server
from tests.fakes import hashed_numbers
from tests.serving import Client, Server, running

MEMORY = """id content summary isPinned validFromChapter validUntilChapter
    createdAt updatedAt lastAccessedAt accessCount"""
SEARCH = f"""query(
  $q: String!, $limit: Int! = 10, $sources: [SearchSource!], $bookId: ID, $entity: EntityRefInput,
  $from: Date, $until: Date
) {{
  search(
    query: $q, limit: $limit, sources: $sources, bookId: $bookId, entity: $entity, from: $from, until: $until
  ) {{
    engine
    hits {{
      source id text snippet highlights {{ start end text }} score vectorScore keywordScore
      memory {{ {MEMORY} }} fact {{ key }} path line
    }}
  }}
}}"""
ROUTE = "/api/memory/search"


TOKENS = {f"token-{number}": f"owner-{number}" for number in range(MAX_OWNERS)}


@pytest.fixture(scope="module")
def owners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owners]:
    with running(Settings(data_dir=tmp_path_factory.mktemp("data"), tokens=TOKENS, embedder="none")) as server:
        yield Owners(server, count())


@pytest.fixture
def server(owners: Owners) -> Server:
    return owners.server


@pytest.fixture
def client(owners: Owners) -> Iterator[Client]:
    with owners.next_client() as client:
        yield client


@pytest.fixture(scope="module")
def embeddings() -> Iterator[EmbeddingServer]:
    with embedding_server() as server:
        yield server


@pytest.fixture(scope="module")
def hybrid_owners(tmp_path_factory: pytest.TempPathFactory, embeddings: EmbeddingServer) -> Iterator[Owners]:
    """Their vectors count the characters and pairs of a text: whoever knows the texts knows the cosines."""
    given = Settings(
        data_dir=tmp_path_factory.mktemp("data"),
        tokens=TOKENS,
        embedder="openai",
        embedding_base_url=embeddings.base_url,
        embedding_model=MODEL,
    )
    with running(given) as server:
        # An index without any vector has nothing to compare with yet.
        with server.client("token-0") as client:
            write(client, a_book(client), first="the first text of all")
            assert search(client, "first")["engine"] == "HYBRID"
        yield Owners(server, count(1))


@pytest.fixture
def hybrid(hybrid_owners: Owners) -> Iterator[Client]:
    with hybrid_owners.next_client() as client:
        yield client


def write(client: Client, book: str, **texts: str) -> None:
    """By id, each with a summary that says nothing of its own."""
    given = [{"id": id_, "content": text, "summary": text[:400]} for id_, text in texts.items()]
    import_memories(client, book, *given)


def search(client: Client, query: str, **filters: Any) -> Any:
    return client.ask(SEARCH, q=query, **filters)["search"]


def found(client: Client, query: str, **filters: Any) -> list[str]:
    """Ids, best first, of a search that ran on the index."""
    answer = search(client, query, **filters)
    assert answer["engine"] in ("KEYWORD", "HYBRID")
    return [hit["id"] for hit in answer["hits"]]


def refused(client: Client, query: str, **filters: Any) -> tuple[str, list[str]]:
    """Code and path of the one error, which also answers no data."""
    body = client.post(SEARCH, q=query, **filters).json()
    (error,) = body["errors"]
    assert body.get("data") is None
    return error["extensions"]["code"], error["extensions"].get("path", [])


def get(client: Client, **parameters: str) -> httpx.Response:
    return client.http.get(ROUTE, params=parameters)


def refusal(response: httpx.Response) -> tuple[int, str, list[str]]:
    """Status, code and path of an error that also has words."""
    assert response.headers["content-type"] == "application/json"
    body = response.json()
    assert body.keys() == {"code", "message", "path"}
    assert body["message"]
    return response.status_code, body["code"], body["path"]


def settle(client: Client) -> None:
    """Until every text has its vector: what shares no word with a query is found only by it."""
    # Whoever searches makes the index catch up with what was written before.
    search(client, "")
    deadline = time.monotonic() + 10
    while client.ask("{ indexStatus { unembedded } }")["indexStatus"]["unembedded"]:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def cosine(one: str, other: str) -> float:
    """Of the vectors that the embedding server makes of two texts."""
    a, b = hashed_numbers(one, DIMENSIONS), hashed_numbers(other, DIMENSIONS)
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.hypot(*a) / math.hypot(*b)


# FTS5 full-text search


def test_search_answers_a_list_by_bm25(client: Client, book: str) -> None:
    write(
        client,
        book,
        both="the magic stone glows in the castle",
        stone="the magic stone lies in the garden",
        neither="nobody walks along the river today",
        castle="rain falls on the castle by the sea",
    )

    answer = search(client, "stone castle")

    assert answer["engine"] == "KEYWORD"
    assert answer["hits"][0]["id"] == "both"
    assert {hit["id"] for hit in answer["hits"]} == {"both", "stone", "castle"}
    scores = [hit["score"] for hit in answer["hits"]]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] == 1.0


def test_a_hit_is_told_whole(client: Client, book: str) -> None:
    import_memories(client, book, {"id": "mem_1", "content": "田中は魔石を\n拾った", "summary": "拾い物"})

    answer = search(client, "魔石")

    memory = client.ask(f'{{ book(id: "{book}") {{ memories {{ nodes {{ {MEMORY} }} }} }} }}')
    assert answer == {
        "engine": "KEYWORD",
        "hits": [
            {
                "source": "MEMORY",
                "id": "mem_1",
                "text": "拾い物\n田中は魔石を\n拾った",
                "snippet": "拾い物 田中は**魔石**を 拾った",
                "highlights": [{"start": 7, "end": 9, "text": "魔石"}],
                "score": 1.0,
                "vectorScore": None,
                "keywordScore": 1.0,
                "memory": memory["book"]["memories"]["nodes"][0],
                "fact": None,
                "path": None,
                "line": None,
            }
        ],
    }


def test_searching_is_no_access(client: Client, book: str) -> None:
    write(client, book, mem_1="魔石")
    before = search(client, "魔石")["hits"][0]["memory"]

    assert search(client, "魔石")["hits"][0]["memory"] == before
    assert before["accessCount"] == 0


def test_both_summary_and_content_are_searched(client: Client, book: str) -> None:
    import_memories(client, book, {"id": "mem_1", "content": "左利きの医者", "summary": "田中の職業"})

    assert found(client, "職業") == ["mem_1"]
    assert found(client, "医者") == ["mem_1"]


@pytest.mark.parametrize("words", ["stone", "stone castle", "stone castle river"])
def test_more_matching_words_never_rank_lower(client: Client, book: str, words: str) -> None:
    write(
        client,
        book,
        m3="stone castle river filler",
        m2="stone castle other filler",
        m1="stone something other filler",
        m0="nothing something other filler",
        common_1="river river river other",
        common_2="castle castle nothing other",
    )

    hits = search(client, words)["hits"]

    scores = {hit["id"]: hit["score"] for hit in hits}
    assert scores["m3"] >= scores["m2"] >= scores["m1"] > 0
    assert "m0" not in scores


def test_more_matching_han_characters_never_rank_lower(client: Client, book: str) -> None:
    write(client, book, m3="魔石城河天地", m2="魔石城川天地", m1="魔石塔川天地", m0="風雨塔川天地")

    scores = {hit["id"]: hit["score"] for hit in search(client, "魔石城河")["hits"]}

    assert scores["m3"] > scores["m2"] > scores["m1"] > 0
    assert "m0" not in scores


def test_a_word_in_every_memory_still_finds_them(client: Client, book: str) -> None:
    write(client, book, **{f"mem_{number}": f"stone number {number}" for number in range(5)})

    answer = search(client, "stone")

    assert [(hit["id"], hit["score"]) for hit in answer["hits"]] == [(f"mem_{number}", 1.0) for number in range(5)]


def test_equal_hits_always_come_in_the_same_order(client: Client, book: str) -> None:
    ids = [f"mem_{letter}" for letter in "gacfbed"]
    write(client, book, **dict.fromkeys(ids, "魔石"))

    assert found(client, "魔石") == sorted(ids)
    assert found(client, "魔石", limit=3) == sorted(ids)[:3]


def test_a_limit_takes_the_best(client: Client, book: str) -> None:
    write(client, book, **{f"mem_{number:03}": "stone " + "filler " * number for number in range(120)})

    everything = found(client, "stone", limit=100)

    assert len(everything) == 100
    assert everything[0] == "mem_000"
    assert found(client, "stone") == everything[:10]
    assert found(client, "stone", limit=1) == everything[:1]


# Words of every kind


@pytest.mark.parametrize("query", ["Pyth*", "pyth*", "ＰＹＴＨ＊", "code Pyth*", "P*", "python*", "py*  "])
def test_a_prefix_finds_the_whole_word(client: Client, book: str, query: str) -> None:
    write(client, book, mem_1="I like Python best", mem_2="A snake in the grass")

    assert found(client, query) == ["mem_1"]


@pytest.mark.parametrize("word", ["Alice", "happy", "running", "preferences", "memory", "castle", "apple", "studies"])
@pytest.mark.parametrize("missing", [0, 1, 2])
def test_every_beginning_of_a_word_is_a_prefix_of_it(client: Client, book: str, word: str, missing: int) -> None:
    """Though words are counted by their stems: Alice is alic, happy is happi."""
    write(client, book, mem_1=f"about {word} and others")

    assert found(client, f"{word[: len(word) - missing]}*") == ["mem_1"]


def test_a_prefix_is_no_more_than_a_prefix(client: Client, book: str) -> None:
    write(client, book, mem_1="Python", mem_2="Monty", mem_3="Pyramid")

    assert found(client, "Pyt*") == ["mem_1"]
    assert found(client, "Pyt") == []
    assert found(client, "on*") == []


@pytest.mark.parametrize("query", ["*thon", "Py*thon", "Pyt*?", '"Pyt*"', "(Pyt*)", "Pyt**", "Pyt *", "^Pyt", "Pyt?"])
def test_only_a_star_at_the_end_of_a_word_is_syntax(client: Client, book: str, query: str) -> None:
    write(client, book, mem_1="Python")

    assert found(client, query) == []


@pytest.mark.parametrize(
    "query",
    [
        "stone AND castle",
        "stone NOT castle",
        "NOT stone",
        "-stone",
        '"stone castle"',
        "NEAR(stone castle)",
        "words:stone",
        "scope : stone",
        "{words} : stone",
        "stone + castle",
        "^stone",
        "(stone",
        "stone)",
        "stone'; DROP TABLE memory; --",
        'stone" OR "1',
        "stone\x00",
        "\x00stone",
    ],
)
def test_query_syntax_is_read_as_words(client: Client, book: str, query: str) -> None:
    write(client, book, mem_1="a stone", mem_2="nothing of it")

    assert found(client, query) == ["mem_1"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("田中は魔石を拾った", "石"),
        ("田中は魔石を拾った", "魔石"),
        ("田中は魔石を拾った", "拾"),
        ("我喜欢喝茶", "茶"),
        ("我喜欢喝茶", "喝茶"),
        ("猫がいる", "猫"),
        ("東京へ行く", "東京"),
        ("りんごを食べた", "りんご"),
        ("りんごを食べた", "んご"),
        ("りんごを食べた", "た"),
        ("りんごを食べた", "ん"),
        ("カメラ", "カ"),
        ("カメラ", "ラ"),
        ("한국어 문장", "한국"),
        ("한국어 문장", "어"),
        ("𠮷野家", "𠮷"),
        ("時々雨", "時々"),
    ],
)
def test_cjk_words_of_one_and_two_characters_are_found(client: Client, book: str, text: str, query: str) -> None:
    write(client, book, mem_1=text, mem_2="全然関係ないこと")

    assert found(client, query)[0] == "mem_1"


def test_a_two_character_word_comes_before_its_characters_apart(client: Client, book: str) -> None:
    write(client, book, apart="石の中に魔がある所", whole="魔石がその中にある", none="何もない広い草原だ")

    assert found(client, "魔石") == ["whole", "apart"]


@pytest.mark.parametrize(
    "query", ["itgc", "gen-itgc", "ITGC", "gen", "重跑", "后", "跑", "重跑gen-itgc后", "gen-itgc后"]
)
def test_ascii_glued_to_cjk_is_found(client: Client, book: str, query: str) -> None:
    write(client, book, mem_1="重跑gen-itgc后检查结果", mem_2="明日の天気は晴れ")

    assert found(client, query) == ["mem_1"]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("田中太郎对花粉过敏", "田中太郎对什么过敏？"),
        ("用户的生日是三月五日", "你知道我的生日是什么时候吗"),
        ("魔石在满月时会发光", "魔石什么时候会发光呢？"),
        ("项目的截止日期是下周五", "请问这个项目的截止日期是哪天？"),
        ("田中は左利きの医者だ", "田中さんの職業は何ですか？"),
        ("魔石は満月の夜に光る", "魔石はいつ光るのでしょうか"),
        ("花子の誕生日は三月三日", "花子の誕生日を教えてください。"),
        ("会議は毎週金曜日に開かれる", "会議はいつ開かれますか"),
        ("Tanaka keeps his keys in the drawer", "Where does Tanaka keep his keys?"),
    ],
)
def test_a_question_in_plain_language_finds_its_answer_first(
    client: Client, book: str, text: str, question: str
) -> None:
    write(
        client,
        book,
        answer=text,
        zh_1="他们昨天去了什么地方，你知道吗",
        zh_2="这是我的，那是你的，请问可以吗",
        ja_1="それはどうでしょうか、教えてくださいますか",
        ja_2="今日はいい天気ですね、そうですか",
        en_1="Where does he go and what does she do",
    )

    assert found(client, question)[0] == "answer"


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Ｐｙｔｈｏｎで書く", "python"),
        ("pythonで書く", "Ｐｙｔｈｏｎ"),
        ("ﾊﾟｿｺﾝを買う", "パソコン"),
        ("パソコンを買う", "ﾊﾟｿｺﾝ"),
        ("か\u3099っこうへ行く", "がっこう"),
        ("がっこうへ行く", "か\u3099っこう"),
        ("㍿田中", "株式会社"),
        ("第１２章", "第12章"),
        ("Straße", "STRASSE"),
        ("cafe\u0301", "CAFÉ"),
        ("O’Brien", "o'brien"),
        ("C++ を学ぶ", "ｃ＋＋"),
        ("C# を学ぶ", "c#"),
        ("АННА", "анна"),
    ],
)
def test_width_case_and_forms_of_kana_do_not_matter(client: Client, book: str, text: str, query: str) -> None:
    write(client, book, mem_1=text, mem_2="others")

    assert found(client, query) == ["mem_1"]


def test_forms_of_an_english_word_are_one(client: Client, book: str) -> None:
    write(client, book, mem_1="She preferred running", mem_2="others")

    assert found(client, "preferences") == ["mem_1"]
    assert found(client, "run") == ["mem_1"]


@pytest.mark.parametrize(
    "query", ["", " ", "\n\t\u3000", "?!。、…", "*", "* *", "「」", '"', "--", "\x00", "😀", "\u0301"]
)
def test_a_query_without_words_finds_nothing(client: Client, book: str, query: str) -> None:
    write(client, book, mem_1="田中 stone", mem_2="?!。、… 😀")

    assert search(client, query) == {"engine": "KEYWORD", "hits": []}


def test_a_query_may_have_ten_thousand_characters(client: Client, book: str) -> None:
    write(client, book, mem_1="魔石 stone")

    for query in ("魔石" * 5_000, "stone " * 1_666 + "ston", "魔石" + "".join(map(chr, range(0x4E00, 0x4E00 + 9_998)))):
        assert len(query) == 10_000
        assert found(client, query) == ["mem_1"]
        assert refused(client, query + "x") == ("BAD_INPUT", ["query"])


def test_a_memory_of_twenty_thousand_characters_is_found_by_its_last_word(client: Client, book: str) -> None:
    text = "あいうえお " * 3_333 + "石"
    import_memories(client, book, {"id": "long", "content": f"{text:末<20000}", "summary": "長い話"})
    write(client, book, word="a" * 20_000, greek="α" * 20_000)

    (hit,) = search(client, "石")["hits"]

    assert hit["id"] == "long"
    assert hit["highlights"] == [{"start": 4 + len(text) - 1, "end": 4 + len(text), "text": "石"}]
    assert "**石**" in hit["snippet"]
    assert found(client, "a" * 10_000) == []
    assert found(client, f"{'a' * 9_999}*") == ["word"]


def test_snippets_and_highlights_mark_the_words(client: Client, book: str) -> None:
    write(client, book, mem_1=f"😀 {'x ' * 200}The Magic stones of 魔石城 {'y ' * 200}")

    (hit,) = search(client, "magic stone 魔石")["hits"]

    assert re.fullmatch(r"…[x ]+The \*\*Magic\*\* \*\*stones\*\* of \*\*魔石\*\*城 [y ]+…", hit["snippet"])
    assert [each["text"] for each in hit["highlights"]] == ["Magic", "stones", "魔石"]
    assert [hit["text"][each["start"] : each["end"]] for each in hit["highlights"]] == ["Magic", "stones", "魔石"]


def test_a_hit_by_context_alone_shows_the_beginning(client: Client, book: str) -> None:
    character = ref("CHARACTER", a_character(client, book, name="田中"))
    a_memory(client, book, "mem_1", character, content="左利き", summary="左利き")

    (hit,) = search(client, "田中")["hits"]

    assert (hit["snippet"], hit["highlights"]) == ("左利き", [])


# Always the present state


def test_a_memory_is_found_at_once(client: Client, book: str) -> None:
    for number in range(20):
        a_memory(client, book, f"mem_{number}", content=f"unique{number}x", summary="要点")

        assert found(client, f"unique{number}x") == [f"mem_{number}"]


def test_a_deleted_memory_is_not_found(client: Client, book: str) -> None:
    write(client, book, mem_1="魔石", mem_2="魔石")
    assert found(client, "魔石") == ["mem_1", "mem_2"]

    client.delete("deleteMemory", "mem_1")

    assert found(client, "魔石") == ["mem_2"]


def test_an_updated_memory_is_found_by_its_new_text_alone(client: Client, book: str) -> None:
    a_memory(client, book, "mem_1", content="old stone", summary="first summary")
    assert found(client, "stone") == ["mem_1"]

    client.mutate("updateMemory", "memory { id }", id="mem_1", content="new castle")
    assert found(client, "stone") == []
    assert found(client, "castle") == ["mem_1"]
    assert found(client, "first") == ["mem_1"]

    client.mutate("updateMemory", "memory { id }", id="mem_1", summary="second summary")
    assert found(client, "first") == []
    assert found(client, "second") == ["mem_1"]


def test_an_id_used_again_finds_the_new_memory_alone(client: Client, book: str) -> None:
    other = a_book(client, "book_2")
    write(client, book, mem_1="魔石")
    client.delete("deleteMemory", "mem_1")
    write(client, other, mem_1="古城")

    assert found(client, "魔石") == []
    assert found(client, "古城", bookId=other) == ["mem_1"]
    assert found(client, "古城", bookId=book) == []


def test_with_a_book_all_of_its_memories_are_gone(client: Client, book: str) -> None:
    other = a_book(client, "book_2")
    write(client, book, mem_1="魔石")
    write(client, other, mem_2="魔石")

    client.delete("deleteBook", book)

    assert found(client, "魔石") == ["mem_2"]


def test_a_thousand_imported_memories_are_all_there_at_once(client: Client, book: str) -> None:
    write(client, book, **{f"mem_{number:04}": f"number{number:04} in a row" for number in range(1_000)})

    assert found(client, "number0999") == ["mem_0999"]
    assert found(client, "number0000") == ["mem_0000"]
    assert client.ask("{ indexStatus { documents } }")["indexStatus"]["documents"] == 1_000


def test_a_memory_is_found_by_the_names_of_what_it_is_attached_to(client: Client, book: str) -> None:
    character = ref("CHARACTER", a_character(client, book, name="田中太郎", aliases=[{"name": "Doctor"}]))
    term = ref("TERM", a_term(client, book, name="魔石"))
    chapter = ref("CHAPTER", a_chapter(client, book, name="夜明け"))
    a_memory(client, book, "mem_1", character, term, chapter, content="左利き", summary="左利き")
    a_memory(client, book, "mem_2", content="右利き", summary="右利き")

    for query in ("田中太郎", "doctor", "魔石", "夜明け"):
        assert found(client, query) == ["mem_1"]


def test_a_renamed_entity_brings_its_memories_under_the_new_name(client: Client, book: str) -> None:
    character = a_character(client, book, name="Tanaka", aliases=[{"name": "Doctor"}])
    term = a_term(client, book, name="Stone")
    chapter = a_chapter(client, book, name="Dawn")
    refs = [ref("CHARACTER", character), ref("TERM", term), ref("CHAPTER", chapter)]
    a_memory(client, book, "mem_1", *refs, content="左利き", summary="左利き")
    assert found(client, "tanaka doctor stone dawn") == ["mem_1"]

    client.mutate("updateCharacter", "character { id }", id=character, name="Suzuki", aliases=[{"name": "Pilot"}])
    client.mutate("updateTerm", "term { id }", id=term, name="Gem")
    client.mutate("updateChapter", "chapter { id }", id=chapter, name="Dusk")

    assert found(client, "tanaka doctor stone dawn") == []
    for query in ("suzuki", "pilot", "gem", "dusk"):
        assert found(client, query) == ["mem_1"]


def test_a_deleted_entity_gives_its_name_to_no_memory(client: Client, book: str) -> None:
    character = a_character(client, book, name="Tanaka")
    a_memory(client, book, "mem_1", ref("CHARACTER", character), content="左利き", summary="左利き")
    assert found(client, "tanaka") == ["mem_1"]

    client.delete("deleteCharacter", character)

    assert found(client, "tanaka") == []
    assert found(client, "左利き", entity=ref("BOOK", book)) == ["mem_1"]


def test_attaching_and_detaching_is_seen_at_once(client: Client, book: str) -> None:
    character = ref("CHARACTER", a_character(client, book, name="Tanaka"))
    write(client, book, mem_1="魔石", mem_2="魔石")
    assert found(client, "魔石", entity=character) == []

    client.mutate("attachMemories", "memories { id }", bookId=book, memoryIds=["mem_1"], entities=[character])
    assert found(client, "魔石", entity=character) == ["mem_1"]
    assert found(client, "tanaka") == ["mem_1"]

    client.mutate("detachMemories", "memories { id }", bookId=book, memoryIds=["mem_1"], entities=[character])
    assert found(client, "魔石", entity=character) == []
    assert found(client, "tanaka") == []


# Filters


def test_a_book_is_searched_by_itself(client: Client, book: str) -> None:
    other = a_book(client, "book_2")
    write(client, book, mem_1="魔石")
    write(client, other, mem_2="魔石")

    assert found(client, "魔石", bookId=book) == ["mem_1"]
    assert found(client, "魔石", bookId=other) == ["mem_2"]
    assert found(client, "魔石") == ["mem_1", "mem_2"]


def test_an_entity_is_searched_by_itself(client: Client, book: str) -> None:
    character = ref("CHARACTER", a_character(client, book, "same"))
    term = ref("TERM", a_term(client, book, "same"))
    a_memory(client, book, "of_character", character, content="古城", summary="古城")
    a_memory(client, book, "of_term", term, content="古城", summary="古城")
    a_memory(client, book, "of_both", term, character, content="古城", summary="古城")
    a_memory(client, book, "of_book", content="古城", summary="古城")

    assert sorted(found(client, "古城", entity=character)) == ["of_both", "of_character"]
    assert sorted(found(client, "古城", entity=term, bookId=book)) == ["of_both", "of_term"]
    assert found(client, "古城", entity=ref("BOOK", book)) == ["of_book"]
    assert sorted(found(client, "古城", bookId=book)) == ["of_book", "of_both", "of_character", "of_term"]


def test_memories_are_one_source(client: Client, book: str) -> None:
    write(client, book, mem_1="魔石")

    assert found(client, "魔石", sources=["MEMORY"]) == ["mem_1"]
    assert found(client, "魔石", sources=["NOTEBOOK", "MEMORY"]) == ["mem_1"]
    assert found(client, "魔石", sources=[]) == ["mem_1"]
    assert found(client, "魔石", sources=["FACT"]) == []
    assert found(client, "魔石", sources=["NOTEBOOK", "FACT"]) == []
    assert found(client, "魔石", sources=["NOTEBOOK"], bookId=book) == []
    assert found(client, "魔石", sources=["NOTEBOOK", "MEMORY"], bookId=book) == ["mem_1"]


@pytest.mark.parametrize(
    ("zone", "day", "moments"),
    [
        (
            "Asia/Shanghai",
            "2026-03-11",
            (
                "2026-03-10T15:59:59.999999Z",
                "2026-03-10T16:00:00Z",
                "2026-03-11T15:59:59.999999Z",
                "2026-03-11T16:00:00Z",
            ),
        ),
        (
            "America/Los_Angeles",
            "2026-01-31",
            (
                "2026-01-31T07:59:59.999999Z",
                "2026-01-31T08:00:00Z",
                "2026-02-01T07:59:59.999999Z",
                "2026-02-01T08:00:00Z",
            ),
        ),
        # A day of 23 hours, and one of 25.
        (
            "America/Los_Angeles",
            "2026-03-08",
            (
                "2026-03-08T07:59:59.999999Z",
                "2026-03-08T08:00:00Z",
                "2026-03-09T06:59:59.999999Z",
                "2026-03-09T07:00:00Z",
            ),
        ),
        (
            "America/Los_Angeles",
            "2026-11-01",
            (
                "2026-11-01T06:59:59.999999Z",
                "2026-11-01T07:00:00Z",
                "2026-11-02T07:59:59.999999Z",
                "2026-11-02T08:00:00Z",
            ),
        ),
    ],
)
@pytest.mark.parametrize("embedder", ["none", "openai"])
def test_days_begin_at_midnight_where_the_owner_lives(
    tmp_path: Path, embeddings: EmbeddingServer, zone: str, day: str, *, moments: Sequence[str], embedder: str
) -> None:
    names = ("day_before", "first", "last", "day_after")
    given = Settings(
        data_dir=tmp_path,
        timezone=zone,
        embedder="openai" if embedder == "openai" else "none",
        embedding_base_url=embeddings.base_url,
        embedding_model=MODEL,
    )
    with running(given) as server, server.client() as client:
        book = a_book(client)
        memories = [
            {"id": name, "content": "魔石", "summary": "魔石", "createdAt": moment}
            for name, moment in zip(names, moments, strict=True)
        ]
        import_memories(client, book, *memories)

        assert sorted(found(client, "魔石", **{"from": day, "until": day})) == ["first", "last"]
        assert sorted(found(client, "魔石", **{"from": day})) == ["day_after", "first", "last"]
        assert sorted(found(client, "魔石", until=day)) == ["day_before", "first", "last"]
        assert sorted(found(client, "魔石", until=day, bookId=book)) == ["day_before", "first", "last"]
        assert len(found(client, "魔石")) == 4


@pytest.mark.parametrize("zone", ["", "UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_the_first_and_the_last_day_there_is_are_days(tmp_path: Path, zone: str) -> None:
    with running(Settings(data_dir=tmp_path, timezone=zone, embedder="none")) as server, server.client() as client:
        write(client, a_book(client), mem_1="魔石")

        assert found(client, "魔石", **{"from": "0001-01-01"}) == ["mem_1"]
        assert found(client, "魔石", **{"from": "0001-01-01", "until": "9999-12-31"}) == ["mem_1"]
        assert found(client, "魔石", **{"from": "0001-01-01", "until": "0001-01-01"}) == []
        assert found(client, "魔石", **{"from": "9999-12-31", "until": "9999-12-31"}) == []
        assert found(client, "魔石", **{"from": "9999-12-31"}) == []
        assert found(client, "魔石", until="9999-12-31") == ["mem_1"]
        assert found(client, "魔石", until="9999-12-30") == ["mem_1"]
        assert found(client, "魔石", until="0001-01-01") == []


def test_dates_are_those_of_creation(client: Client, book: str) -> None:
    import_memories(
        client,
        book,
        {"id": "old", "content": "魔石", "createdAt": "2020-05-05T12:00:00Z", "lastAccessedAt": "2026-01-01T12:00:00Z"},
    )
    client.mutate("updateMemory", "memory { id }", id="old", content="魔石の力")

    assert found(client, "魔石", **{"from": "2020-05-04", "until": "2020-05-06"}) == ["old"]
    assert found(client, "魔石", **{"from": "2020-05-07"}) == []


def test_filters_narrow_each_other(client: Client, book: str) -> None:
    character = ref("CHARACTER", a_character(client, book))
    other = a_book(client, "book_2")
    same_day = {"content": "古城", "createdAt": "2026-01-10T12:00:00Z"}
    import_memories(
        client,
        book,
        {"id": "right", **same_day, "attachedTo": [character]},
        {"id": "of_book", **same_day},
        {"id": "later", **same_day, "createdAt": "2026-01-20T12:00:00Z", "attachedTo": [character]},
    )
    import_memories(client, other, {"id": "elsewhere", **same_day})

    filters = {"bookId": book, "entity": character, "sources": ["MEMORY"], "from": "2026-01-09", "until": "2026-01-11"}
    assert found(client, "古城", **filters) == ["right"]


@pytest.mark.parametrize(
    ("filters", "code", "path"),
    [
        ({"bookId": "no_book"}, "NOT_FOUND", ["bookId"]),
        ({"entity": ref("CHARACTER", "nobody")}, "NOT_FOUND", ["entity"]),
        ({"entity": ref("BOOK", "no_book")}, "NOT_FOUND", ["entity"]),
        ({"entity": ref("CHARACTER", "char_1"), "bookId": "book_2"}, "NOT_FOUND", ["entity"]),
        ({"entity": ref("TERM", "char_1")}, "NOT_FOUND", ["entity"]),
        ({"from": "2026-01-02", "until": "2026-01-01"}, "BAD_INPUT", ["until"]),
        ({"limit": 0}, "BAD_INPUT", ["limit"]),
        ({"limit": 101}, "BAD_INPUT", ["limit"]),
        ({"limit": -1}, "BAD_INPUT", ["limit"]),
        ({"from": "2026-02-30"}, "BAD_INPUT", []),
        ({"from": "2026-W01-1"}, "BAD_INPUT", []),
        ({"until": "yesterday"}, "BAD_INPUT", []),
        ({"sources": ["DIARY"]}, "BAD_INPUT", []),
    ],
)
def test_a_filter_that_cannot_be_is_refused(
    client: Client, book: str, filters: dict[str, Any], code: str, path: list[str]
) -> None:
    a_book(client, "book_2")
    a_character(client, book, "char_1")
    write(client, book, mem_1="魔石")

    assert refused(client, "魔石", **filters) == (code, path)


def test_a_wrong_filter_is_refused_even_where_the_query_says_nothing(client: Client) -> None:
    assert refused(client, "", bookId="no_book") == ("NOT_FOUND", ["bookId"])


def test_one_day_is_a_range(client: Client, book: str) -> None:
    import_memories(client, book, {"id": "mem_1", "content": "魔石", "createdAt": "2026-01-10T12:00:00Z"})

    assert found(client, "魔石", **{"from": "2026-01-09", "until": "2026-01-09"}) == []
    assert found(client, "魔石", **{"from": "2026-01-09", "until": "2026-01-11"}) == ["mem_1"]


# Owners


def test_owners_never_see_each_other(owners: Owners) -> None:
    with owners.next_client() as one, owners.next_client() as other:
        for client, word in ((one, "alpha"), (other, "omega")):
            a_book(client, "book_1")
            a_character(client, "book_1", "char_1", name=f"Captain {word}")
            write(client, "book_1", mem_1=f"the {word} secret", mem_2="common ground")

        assert found(one, "alpha omega secret captain") == found(other, "alpha omega secret captain") == ["mem_1"]
        assert found(one, "omega") == found(other, "alpha") == []
        assert found(one, "ome*") == []
        assert [hit["text"] for hit in search(one, "secret")["hits"]] == ["the alpha secret"]
        assert found(one, "common", bookId="book_1", entity=ref("BOOK", "book_1")) == ["mem_2"]


def test_owners_never_see_each_other_by_meaning(hybrid_owners: Owners) -> None:
    with hybrid_owners.next_client() as one, hybrid_owners.next_client() as other:
        write(one, a_book(one, "book_1"), mem_1="the secret of the stone")
        a_book(other, "book_1")
        a_character(other, "book_1", "char_1")

        assert search(other, "the secret of the stone") == {"engine": "HYBRID", "hits": []}
        assert search(other, "the secret of the stone", bookId="book_1")["hits"] == []
        assert search(other, "the secret of the stone", entity=ref("CHARACTER", "char_1"))["hits"] == []
        assert search(other, "the secret of the stone", sources=["MEMORY"])["hits"] == []
        assert search(other, "the secret of the stone", **{"from": "2020-01-01"})["hits"] == []


# Hybrid search


def test_the_score_is_seven_tenths_vector_and_three_tenths_keywords(hybrid: Client) -> None:
    book = a_book(hybrid)
    texts = {
        "both": "the magic stone glows",
        "words": "stone",
        "near": "mgaic sotne golws teh",
        "far": "zzzz qqqq jjjj",
    }
    write(hybrid, book, **texts)
    settle(hybrid)

    answer = search(hybrid, "the magic stone glows", limit=100)

    assert answer["engine"] == "HYBRID"
    hits = {hit["id"]: hit for hit in answer["hits"]}
    assert {"both", "words", "near"} <= hits.keys()
    for id_, hit in hits.items():
        assert hit["score"] == 0.7 * hit["vectorScore"] + 0.3 * hit["keywordScore"]
        assert hit["vectorScore"] == pytest.approx(cosine("the magic stone glows", texts[id_]), abs=1e-5)
    assert hits["both"]["vectorScore"] == pytest.approx(1, abs=1e-5)
    assert hits["both"]["keywordScore"] == 1
    assert 0 < hits["words"]["keywordScore"] < 1
    assert hits["near"]["keywordScore"] == 0
    scores = [hit["score"] for hit in answer["hits"]]
    assert scores == sorted(scores, reverse=True)


def test_keyword_scores_are_those_of_a_search_by_words_alone(hybrid: Client, client: Client) -> None:
    """Adding meaning changes the weight of the words, not their order."""
    texts = {"a": "stone stone castle", "b": "stone and water and sky", "c": "a castle by the sea", "d": "nothing"}
    write(hybrid, a_book(hybrid), **texts)

    hits = search(hybrid, "stone castle")["hits"]

    keyword = sorted((hit for hit in hits if hit["keywordScore"]), key=lambda hit: -hit["keywordScore"])
    assert keyword[0]["id"] == "a"
    assert keyword[0]["keywordScore"] == 1
    assert {hit["id"] for hit in keyword} == {"a", "b", "c"}


def test_a_hit_by_words_alone_survives_a_hundred_nearer_ones(hybrid: Client) -> None:
    """Its own vector is as far away as one can be; it is among the hits all the same."""
    book = a_book(hybrid)
    far = "zq" * 400 + " xylophone " + "jv" * 400
    write(hybrid, book, exact=far, **{f"near_{number:03}": f"xylo phone {number}" for number in range(150)})

    hits = search(hybrid, "xylophone", limit=100)["hits"]

    exact = next(hit for hit in hits if hit["id"] == "exact")
    assert exact["keywordScore"] == 1
    assert exact["vectorScore"] == pytest.approx(max(0, cosine("xylophone", far)), abs=1e-5)
    assert exact["score"] == 0.7 * exact["vectorScore"] + 0.3


def test_a_fresh_memory_has_its_vector_at_once(hybrid: Client) -> None:
    book = a_book(hybrid)
    for number in range(10):
        text = f"fresh note number {number}"
        a_memory(hybrid, book, f"mem_{number}", content=text, summary=text)

        answer = search(hybrid, text, limit=1)

        assert (answer["engine"], answer["hits"][0]["id"]) == ("HYBRID", f"mem_{number}")
        assert answer["hits"][0]["vectorScore"] == pytest.approx(1, abs=1e-5)


def test_a_fresh_memory_is_found_by_its_meaning_at_once(hybrid: Client) -> None:
    book = a_book(hybrid)
    for number in range(10):
        text = f"abcdefghij{number}klmnop"
        a_memory(hybrid, book, f"mem_{number}", content=text, summary=text)

        hits = search(hybrid, f"abcdefghij{number}klmno", limit=100)["hits"]

        assert f"mem_{number}" in [hit["id"] for hit in hits]


def test_a_changed_memory_has_the_vector_of_its_new_text(hybrid: Client) -> None:
    book = a_book(hybrid)
    a_memory(hybrid, book, "mem_1", content="the old stone", summary="the old stone")
    settle(hybrid)

    hybrid.mutate("updateMemory", "memory { id }", id="mem_1", content="a new castle", summary="a new castle")
    settle(hybrid)

    (hit,) = search(hybrid, "a new castle")["hits"]
    assert hit["vectorScore"] == pytest.approx(1, abs=1e-5)
    assert [hit["vectorScore"] for hit in search(hybrid, "the old stone")["hits"]] in (
        [],
        [pytest.approx(max(0, cosine("the old stone", "a new castle")), abs=1e-5)],
    )


def test_the_very_first_search_of_all_is_by_words_and_meaning(tmp_path: Path, embeddings: EmbeddingServer) -> None:
    """The first vectors are being written while the first searches read."""
    for attempt in range(5):
        given = Settings(
            data_dir=tmp_path / str(attempt),
            embedder="openai",
            embedding_base_url=embeddings.base_url,
            embedding_model=MODEL,
        )
        with running(given) as server, server.client() as client:
            a_memory(client, a_book(client), "mem_1", content="abcdefg", summary="abcdefg")

            engines = [search(client, "abcdef")["engine"] for _ in range(20)]

            status = client.ask("{ indexStatus { engine degraded } }")["indexStatus"]
            assert {*engines} == {"HYBRID"}
            assert status == {"engine": "HYBRID", "degraded": []}


def test_an_empty_library_is_searched_by_meaning_too(tmp_path: Path, embeddings: EmbeddingServer) -> None:
    given = Settings(
        data_dir=tmp_path, embedder="openai", embedding_base_url=embeddings.base_url, embedding_model=MODEL
    )
    with running(given) as server, server.client() as client:
        assert search(client, "魔石") == {"engine": "HYBRID", "hits": []}


@pytest.mark.parametrize("query", ["", " ", "?!。、…", "*", "\x00", "\u3000"])
def test_a_query_without_words_means_nothing(hybrid: Client, query: str) -> None:
    write(hybrid, a_book(hybrid), mem_1="田中 stone?!。、…", mem_2="* \u3000")

    assert search(hybrid, query)["hits"] == []


@pytest.mark.parametrize("filters", [{"sources": ["MEMORY"]}, {"bookId": "book_1"}, {"entity": ref("BOOK", "book_1")}])
def test_filters_hold_for_meaning_as_for_words(hybrid: Client, filters: dict[str, Any]) -> None:
    book = a_book(hybrid, "book_1")
    other = a_book(hybrid, "book_2")
    character = ref("CHARACTER", a_character(hybrid, other))
    write(hybrid, book, mem_1="abcdefg")
    a_memory(hybrid, other, "mem_2", character, content="abcdefg", summary="abcdefg")
    settle(hybrid)

    ids = {hit["id"] for hit in search(hybrid, "abcdef", **filters)["hits"]}

    assert ids == ({"mem_1", "mem_2"} if "sources" in filters else {"mem_1"})
    assert search(hybrid, "abcdef", sources=["FACT"])["hits"] == []
    assert search(hybrid, "abcdef", sources=["NOTEBOOK"])["hits"] == []
    assert [hit["id"] for hit in search(hybrid, "abcdef", entity=character)["hits"]] == ["mem_2"]


def test_a_memory_is_found_across_languages_by_the_built_in_embedder(tmp_path: Path) -> None:
    with running(Settings(data_dir=tmp_path)) as server, server.client() as client:
        write(
            client,
            a_book(client),
            allergy="田中对花生过敏，不能吃含有花生的点心",
            weather="明天下午可能会下大雨，记得带伞",
            music="她每天晚上练习两个小时钢琴",
        )
        settle(client)

        answer = search(client, "Tanaka is allergic to peanuts")
        japanese = search(client, "ピアノの練習")

    assert answer["engine"] == japanese["engine"] == "HYBRID"
    assert answer["hits"][0]["id"] == "allergy"
    assert answer["hits"][0]["keywordScore"] == 0
    assert japanese["hits"][0]["id"] == "music"


# REST


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": "魔石"},
        {"query": "stone castle", "limit": 2},
        {"query": "sto*"},
        {"query": ""},
        {"query": "石", "bookId": "book_1"},
        {"query": "stone", "entity": ref("CHARACTER", "char_1")},
        {"query": "stone", "entity": ref("CHARACTER", "char_1"), "bookId": "book_1"},
        {"query": "stone", "sources": ["MEMORY"]},
        {"query": "stone", "sources": ["NOTEBOOK", "FACT"]},
        {"query": "stone", "from": "2020-01-01", "until": "2020-12-31"},
        {"query": "no such word"},
        {"query": "stone & castle = 魔石 + # %41"},
    ],
)
@pytest.mark.parametrize("engine", ["KEYWORD", "HYBRID"])
def test_rest_answers_as_graphql_does(client: Client, hybrid: Client, arguments: dict[str, Any], engine: str) -> None:
    asking = client if engine == "KEYWORD" else hybrid
    book = a_book(asking, "book_1")
    character = ref("CHARACTER", a_character(asking, book, "char_1", name="Alice"))
    import_memories(
        asking,
        book,
        {
            "id": "mem_1",
            "content": "a stone\nand a castle",
            "summary": "😀 魔石",
            "createdAt": "2020-05-05T12:00:00.000001Z",
        },
        {"id": "mem_2", "content": "another stone", "summary": "二", "attachedTo": [character], "accessCount": 3},
        {"id": "mem_3", "content": "nothing", "summary": "三"},
    )
    settle(asking)
    parameters = {"q" if name == "query" else name: value for name, value in arguments.items() if name != "entity"}
    if "sources" in parameters:
        parameters["sources"] = ",".join(parameters["sources"])
    if "entity" in arguments:
        parameters |= {"entityType": "CHARACTER", "entityId": "char_1"}

    response = get(asking, **parameters)

    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    assert response.json() == search(asking, **arguments)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, (422, "BAD_INPUT", [])),
        ({"q": "a", "query": "b"}, (422, "BAD_INPUT", [])),
        ({"q": "a", "limit": "0"}, (422, "BAD_INPUT", ["limit"])),
        ({"q": "a", "limit": "101"}, (422, "BAD_INPUT", ["limit"])),
        ({"q": "a", "limit": "9" * 30}, (422, "BAD_INPUT", ["limit"])),
        ({"q": "a", "limit": "ten"}, (422, "BAD_INPUT", [])),
        ({"q": "a", "limit": ""}, (422, "BAD_INPUT", [])),
        ({"q": "a", "limit": "1.0"}, (422, "BAD_INPUT", [])),
        ({"q": "a", "limit": "1_0"}, (422, "BAD_INPUT", [])),
        ({"q": "a", "limit": "٣"}, (422, "BAD_INPUT", [])),
        ({"q": "a", "limit": "9" * 5_000}, (422, "BAD_INPUT", [])),
        ({"q": "a", "sources": "memory"}, (422, "BAD_INPUT", [])),
        ({"q": "a", "sources": "MEMORY,DIARY"}, (422, "BAD_INPUT", [])),
        ({"q": "a", "from": "yesterday"}, (422, "BAD_INPUT", [])),
        ({"q": "a", "from": ""}, (422, "BAD_INPUT", [])),
        ({"q": "a", "from": "2026-02-30"}, (422, "BAD_INPUT", [])),
        ({"q": "a", "from": "20260131"}, (422, "BAD_INPUT", [])),
        ({"q": "a", "until": "2026-W01-1"}, (422, "BAD_INPUT", [])),
        ({"q": "a", "until": "2026-01-31T00:00:00"}, (422, "BAD_INPUT", [])),
        ({"q": "a", "from": "2026-01-02", "until": "2026-01-01"}, (422, "BAD_INPUT", ["until"])),
        ({"q": "a", "bookId": "no_book"}, (404, "NOT_FOUND", ["bookId"])),
        ({"q": "a", "entityType": "CHARACTER"}, (422, "BAD_INPUT", [])),
        ({"q": "a", "entityId": "char_1"}, (422, "BAD_INPUT", [])),
        ({"q": "a", "entityType": "character", "entityId": "char_1"}, (422, "BAD_INPUT", [])),
        ({"q": "a", "entityType": "CHARACTER", "entityId": "nobody"}, (404, "NOT_FOUND", ["entity"])),
        ({"q": "a" * 10_001}, (422, "BAD_INPUT", ["query"])),
    ],
)
def test_a_wrong_parameter_is_refused_by_rest(
    client: Client, book: str, parameters: dict[str, str], expected: tuple[int, str, list[str]]
) -> None:
    assert refusal(get(client, **parameters)) == expected


def test_rest_takes_a_query_of_ten_thousand_latin_characters(client: Client, book: str) -> None:
    write(client, book, mem_1="stone")

    response = get(client, q=f"{'stone ' * 1_666}ston")

    assert (response.status_code, [hit["id"] for hit in response.json()["hits"]]) == (200, ["mem_1"])


@pytest.mark.parametrize("raw", ["%ff%fe", "a%00b", "%ED%A0%80", "%F0%9F%98%80", "a&q=stone", "%", "%zz", "a+b%20c"])
def test_rest_reads_any_bytes_as_a_query(client: Client, book: str, raw: str) -> None:
    write(client, book, mem_1="stone")

    response = client.http.get(f"{ROUTE}?q={raw}")

    assert response.status_code == 200
    assert [hit["id"] for hit in response.json()["hits"]] == (["mem_1"] if "stone" in raw else [])


def test_rest_is_only_read(client: Client) -> None:
    responses = [client.http.request(method, f"{ROUTE}?q=a") for method in ("POST", "PUT", "DELETE", "PATCH")]

    assert [response.status_code for response in responses] == [405] * 4


def test_rest_asks_for_a_token(server: Server) -> None:
    with server.client() as stranger:
        assert stranger.http.get(f"{ROUTE}?q=a").status_code == 401
