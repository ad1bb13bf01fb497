"""Whatever is typed into a search box is searched for; nothing of it is an error."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from api.composition import Service, open_service
from api.settings import LOCAL_OWNER, Settings
from domain.entities import Alias, Book, Character, EntityRef, EntityType
from domain.memories import MemoryDraft
from domain.search import Filters, SearchEngine, SearchSource
from tests.api.building import a_book, import_memories
from tests.serving import Client, running

# Of each of the seeds.
QUERIES = 10_000
SEEDS = range(4)
OVER_HTTP = 400
# As many as one GraphQL document may ask.
AT_ONCE = 40

WORDS = [
    "stone",
    "Pyth",
    "python",
    "itgc",
    "a",
    "C++",
    "c#",
    "don't",
    "魔石",
    "田",
    "たなか",
    "ﾊﾟ",
    "한국",
    "Анна",
    "x" * 400,
]
OPERATORS = ["AND", "OR", "NOT", "NEAR", "NEAR(", "NEAR/2", "near(a b, 3)", "MATCH", "rank", "bm25(keyword)", "LIKE"]
SIGNS = [
    "*",
    "**",
    '"',
    "'",
    "''",
    '""',
    "^",
    "-",
    "--",
    "+",
    "(",
    ")",
    "((",
    "{",
    "}",
    "[",
    "]",
    ":",
    ";",
    ",",
    "\\",
    "/",
]
SIGNS += [
    "%",
    "_",
    "?",
    "?1",
    ":match",
    "@a",
    "$b",
    "#",
    "!",
    "&",
    "|",
    "||",
    "~",
    "`",
    "=",
    "<",
    ">",
    ".",
    "…",
    "。",
    "「",
    "」",
]
COLUMNS = ["words:", "scope:", "scope :", "{words pairs} :", "- words :", "-scope:", "keyword", "owner:", "^words:"]
SQL = [
    "'; DROP TABLE memory; --",
    "' OR 1=1 --",
    '" OR "" = "',
    "); DELETE FROM keyword; (",
    "UNION SELECT * FROM change",
    "/* */",
]
MARKS = [
    "\u0301",
    "\u3099",
    "\u309a",
    "ﾞ",
    "\u20e3",
    "\u200d",
    "\u200b",
    "\ufeff",
    "\u202e",
    "\u2066",
    "\u0345",
    "\ufe0f",
    "\u0489",
]
OTHERS = [
    "\x00",
    "\x01",
    "\x1a",
    "\x7f",
    "\x85",
    "\n",
    "\r\n",
    "\t",
    "\u2028",
    "\u3000",
    " ",
    "  ",
    "😀",
    "👩‍👩‍👧",
    "🇯🇵",
    "שלום",
    "مرحبا",
]
OTHERS += [
    "ไทย",
    "हिन्दी",
    "𠮷",
    "𝕏",
    "\U0010ffff",
    "\ufffe",
    "\ue000",
    "İ",
    "ß",
    "ﷺ",
    "Ⅷ",
    "½",
    "²",
    "㍿",
    "①",
    "々",
    "〇",
]
PIECES = (WORDS, OPERATORS, SIGNS, COLUMNS, SQL, MARKS, OTHERS)

TEXTS = [
    "a magic stone, and a castle of stone",
    "I like Python and C++ and C#",
    "重跑gen-itgc后检查",
    "田中は魔石を拾った",
    "ﾊﾟｿｺﾝ教室 たなか",
    "한국어 문장",
    "Анна и море",
    "שלום مرحبا ไทย हिन्दी",
    "😀 ½ ² ① ㍿",
    "words scope keyword AND OR NOT NEAR rank",
]


def queries(seed: int, number: int) -> Iterator[str]:
    random = Random(seed)
    for position in range(number):
        if position % 10 == 0:
            yield "".join(chr(_code_point(random)) for _ in range(random.randint(0, 30)))
        elif position % 997 == 0:
            yield (random.choice(random.choice(PIECES)) * 10_000)[:10_000]
        else:
            joint = random.choice(["", " ", " ", "\x00"])
            yield joint.join(random.choice(random.choice(PIECES)) for _ in range(random.randint(1, 8)))


def _code_point(random: Random) -> int:
    """Of no surrogate: those are no characters, and no JSON can carry them."""
    last = random.choice([0x7F, 0xFF, 0x2FFF, 0x9FFF, 0xFFFF, 0x10FFFF])
    code = random.randint(0, last)
    return code if not 0xD800 <= code <= 0xDFFF else 0x20


def filters(random: Random) -> Filters:
    return random.choice(
        [
            Filters(),
            Filters(),
            Filters(book_id="book_1"),
            Filters(entity=EntityRef(EntityType.CHARACTER, "char_1")),
            Filters(sources=frozenset({SearchSource.MEMORY})),
        ]
    )


async def a_library(service: Service) -> None:
    use_cases = service.use_cases(LOCAL_OWNER)
    await use_cases.entities.create(Book("book_1", "砂の道"))
    await use_cases.entities.create(Character("char_1", "book_1", 'O\'Brien "AND"', (Alias("NEAR(x)"),)))
    attached = (EntityRef(EntityType.CHARACTER, "char_1"),)
    drafts = [
        MemoryDraft(f"mem_{number}", "book_1", text, text, attached if number % 2 else ())
        for number, text in enumerate(TEXTS)
    ]
    await use_cases.memories.import_all(drafts)


@pytest.mark.parametrize("seed", SEEDS)
async def test_forty_thousand_random_queries_are_all_answered(tmp_path: Path, seed: int) -> None:
    random = Random(f"filters {seed}")
    hits = 0
    async with open_service(Settings(data_dir=tmp_path, embedder="none")) as service:
        await a_library(service)
        search = service.use_cases(LOCAL_OWNER).search
        for query in queries(seed, QUERIES):
            result = await search.run(query, random.choice([1, 10, 100]), filters(random))

            # A query that the index refuses would make it answer without the index.
            assert result.engine is SearchEngine.KEYWORD, query
            assert all(0 < hit.score <= 1 for hit in result.hits), query
            hits += len(result.hits)
    assert hits > QUERIES / 2


@pytest.mark.parametrize("text", TEXTS)
async def test_after_all_that_each_text_is_found_by_itself(tmp_path: Path, text: str) -> None:
    async with open_service(Settings(data_dir=tmp_path, embedder="none")) as service:
        await a_library(service)
        search = service.use_cases(LOCAL_OWNER).search
        for query in queries(seed=3, number=50):
            await search.run(query, 10, Filters())

        result = await search.run(text, 1, Filters())

    assert [hit.text for hit in result.hits] == [text]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("data"), embedder="none")
    with running(settings) as server, server.client() as client:
        book = a_book(client, "book_1")
        import_memories(client, book, *({"id": f"mem_{number}", "content": text} for number, text in enumerate(TEXTS)))
        yield client


def test_random_queries_are_answered_over_graphql(client: Client) -> None:
    wanted = list(queries(seed=4, number=OVER_HTTP))
    for start in range(0, OVER_HTTP, AT_ONCE):
        variables = {f"q{number}": query for number, query in enumerate(wanted[start : start + AT_ONCE])}
        fields = " ".join(f"{name}: search(query: ${name}, limit: 3) {{ engine hits {{ id }} }}" for name in variables)
        declared = ", ".join(f"${name}: String!" for name in variables)

        answer = client.ask(f"query({declared}) {{ {fields} }}", **variables)

        assert {each["engine"] for each in answer.values()} == {"KEYWORD"}


def test_random_queries_are_answered_over_rest_as_over_graphql(client: Client) -> None:
    for query in queries(seed=5, number=OVER_HTTP // 2):
        # A URL has room for less; httpx refuses to send a longer one.
        shortened = query[:2_000]
        rest: dict[str, Any] = client.http.get("/api/memory/search", params={"q": shortened, "limit": "3"}).json()
        answer = client.ask(
            "query($q: String!) { search(query: $q, limit: 3) { engine hits { id score } } }", q=shortened
        )

        assert rest["engine"] == answer["search"]["engine"] == "KEYWORD"
        found = [{"id": hit["id"], "score": hit["score"]} for hit in rest["hits"]]
        assert found == answer["search"]["hits"]


def test_the_index_is_well_after_all(client: Client) -> None:
    status = client.ask("{ indexStatus { engine documents degraded error } }")["indexStatus"]

    assert status == {"engine": "KEYWORD", "documents": len(TEXTS), "degraded": [], "error": None}
