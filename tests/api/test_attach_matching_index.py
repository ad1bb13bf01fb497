"""What the index says of names and texts, against a plain look through everything, after any edits."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Any

import pytest

from api.settings import Settings
from domain.entities import EntityRef, EntityType
from domain.mentions import Matcher, Name
from domain.text import NUL, fold
from tests.api.building import (
    MAX_OWNERS,
    Owners,
    a_book,
    a_chapter,
    a_character,
    a_memory,
    a_term,
    everything,
    import_memories,
    ref,
)
from tests.serving import Client, running

BOOK = "book_1"
CHAPTERS = (1, 3, 5)
# Names that lie in one another, hide one another, have separators or readings, or need a whole word.
NAMES = [
    "田中",
    "田中太郎",
    "太郎",
    "石",
    "魔石",
    "Ann",
    "Anna",
    "ANN",
    "ホームズ",
    "シャーロック・ホームズ",
    "ムズ",
    "がん",
    "한국",
    "C++",
    "東京",
    "New York",
]
FILLERS = [
    "は",
    "と",
    "。",
    " ",
    "\n",
    "（たなか）",
    "・",
    "ann",
    "ａｎｎ",
    "か\u3099ん",
    "ｶﾞﾝ",
    "York",
    "New",
    "京",
    "、その後で",
]

CONTEXT = """query($book: ID!, $text: String!, $chapter: ID, $limit: Int!) {
  chunkContext(bookId: $book, text: $text, chapterId: $chapter, limit: $limit) {
    mentions { entity { type id } } memories { memory { id } match via { type id } } omittedCount
    omitted(first: 100) { memory { id } reason }
  }
}"""
RELEVANT = "relevantMemories(limit: $limit) { memory { id } match }"
RELEVANT_TO = {
    "CHARACTER": f"query($id: ID!, $limit: Int!) {{ entity: character(id: $id) {{ {RELEVANT} }} }}",
    "TERM": f"query($id: ID!, $limit: Int!) {{ entity: term(id: $id) {{ {RELEVANT} }} }}",
}


@pytest.fixture(scope="module")
def owners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owners]:
    tokens = {f"token-{number}": f"owner-{number}" for number in range(MAX_OWNERS)}
    with running(Settings(data_dir=tmp_path_factory.mktemp("data"), tokens=tokens, embedder="none")) as server:
        yield Owners(server, count())


@pytest.fixture
def client(owners: Owners) -> Iterator[Client]:
    with owners.next_client() as client:
        yield client


@dataclass(frozen=True)
class Stored:
    """All of a book, as its lists show it."""

    entities: Mapping[EntityRef, Sequence[tuple[str, int | None]]]
    memories: Mapping[str, Any]

    @property
    def matcher(self) -> Matcher:
        return Matcher(Name(ref, text, revealed) for ref, names in self.entities.items() for text, revealed in names)

    def naming(self, refs: Sequence[EntityRef], chapter: int | None) -> dict[EntityRef, set[str]]:
        """Memories in which a name of the entity stands that is known in the chapter."""
        matcher = self.matcher
        found: dict[EntityRef, set[str]] = {ref: set() for ref in refs}
        for id_, memory in self.memories.items():
            for mention in matcher.mentions(f"{memory['summary']}{NUL}{memory['content']}"):
                revealed = min(matcher.revealed_in(mention.ref, name) or 0 for name in mention.names)
                if mention.ref in found and (chapter is None or revealed <= chapter):
                    found[mention.ref].add(id_)
        return found

    def attached(self, ref: EntityRef) -> set[str]:
        shown = {"type": ref.type.name, "id": ref.id}
        return {id_ for id_, memory in self.memories.items() if shown in memory["attachedTo"]}

    def may_be_told(self, id_: str, chapter: int | None) -> bool:
        start, end = self.memories[id_]["validFromChapter"], self.memories[id_]["validUntilChapter"]
        return chapter is None or ((start is None or start <= chapter) and (end is None or chapter <= end))

    def ordered(self, matches: Mapping[str, str]) -> list[tuple[str, str]]:
        """Ids with how they were found: pinned first, then attached, then newest access."""

        def order(id_: str) -> tuple[bool, bool, str, str]:
            memory = self.memories[id_]
            return memory["isPinned"], matches[id_] == "ATTACHED", memory["lastAccessedAt"], id_

        return [(id_, matches[id_]) for id_ in sorted(matches, key=order, reverse=True)]

    def containing(self, query: str) -> set[str]:
        needle = fold(query)
        return {
            id_ for id_, each in self.memories.items() if needle in fold(f"{each['summary']}{NUL}{each['content']}")
        }


def stored(client: Client) -> Stored:
    (book,) = everything(client)["nodes"]
    entities = {
        EntityRef(type_, each["id"]): [
            (each["name"], None),
            *((alias["name"], alias["revealedInChapter"]) for alias in each["aliases"]),
        ]
        for type_, field in ((EntityType.CHARACTER, "characters"), (EntityType.TERM, "terms"))
        for each in book[field]["nodes"]
    }
    assert book["memories"]["totalCount"] == len(book["memories"]["nodes"])
    # With all digits, so that the order of the texts is that of the moments.
    for memory in book["memories"]["nodes"]:
        memory["lastAccessedAt"] = memory["lastAccessedAt"].replace("+00:00", "").rstrip("Z").ljust(26, ".")
    return Stored(entities, {memory["id"]: memory for memory in book["memories"]["nodes"]})


def shown_context(client: Client, text: str, chapter: int | None, limit: int) -> Any:
    chapter_id = None if chapter is None else f"chap_{chapter}"
    answer = client.ask(CONTEXT, book=BOOK, text=text, chapter=chapter_id, limit=limit)["chunkContext"]
    return {
        "mentions": [(each["entity"]["type"], each["entity"]["id"]) for each in answer["mentions"]],
        "memories": [(each["memory"]["id"], each["match"]) for each in answer["memories"]],
        "via": [{(via["type"], via["id"]) for via in each["via"]} for each in answer["memories"]],
        "omittedCount": answer["omittedCount"],
        "omitted": sorted((each["memory"]["id"], each["reason"]) for each in answer["omitted"]),
    }


def expected_context(book: Stored, text: str, chapter: int | None, limit: int) -> Any:
    mentioned = [mention.ref for mention in book.matcher.mentions(text, chapter)]
    refs = [*mentioned, *([EntityRef(EntityType.CHAPTER, f"chap_{chapter}")] if chapter is not None else [])]
    attached = {ref: book.attached(ref) for ref in refs}
    naming = book.naming(mentioned, chapter)
    everyone = set().union(*attached.values(), *naming.values())
    hanging = set().union(*attached.values())
    told = {id_ for id_ in everyone if book.may_be_told(id_, chapter)}
    ranked = book.ordered({id_: "ATTACHED" if id_ in hanging else "KEYWORD" for id_ in told})
    shown = ranked[:limit]
    hidden = {
        id_: "NOT_YET_REVEALED" if (book.memories[id_]["validFromChapter"] or 0) > (chapter or 0) else "NO_LONGER_VALID"
        for id_ in everyone - told
    }
    return {
        "mentions": [(ref.type.name, ref.id) for ref in mentioned],
        "memories": shown,
        "via": [
            {(ref.type.name, ref.id) for ref in refs if id_ in attached[ref] or id_ in naming.get(ref, ())}
            for id_, _ in shown
        ],
        "omittedCount": len(ranked) - len(shown),
        "omitted": sorted([*((id_, "LIMIT") for id_, _ in ranked[limit:]), *hidden.items()]),
    }


def expected_relevant(book: Stored, entity: EntityRef, limit: int) -> list[tuple[str, str]]:
    attached = book.attached(entity)
    naming = book.naming([entity], None)[entity]
    matches = {**dict.fromkeys(naming, "KEYWORD"), **dict.fromkeys(attached, "ATTACHED")}
    return book.ordered(matches)[:limit]


def check(client: Client, random: Random) -> None:
    book = stored(client)
    text, chapter, limit = a_text(random), random.choice([None, *CHAPTERS]), random.choice([0, 1, 2, 5, 100])
    assert shown_context(client, text, chapter, limit) == expected_context(book, text, chapter, limit)
    for entity in random.sample(sorted(book.entities, key=str), min(2, len(book.entities))):
        answer = client.ask(RELEVANT_TO[entity.type.name], id=entity.id, limit=limit or 3)["entity"]
        shown = [(each["memory"]["id"], each["match"]) for each in answer["relevantMemories"]]
        assert shown == expected_relevant(book, entity, limit or 3)


def a_text(random: Random) -> str:
    return "".join(random.choice(random.choice([NAMES, FILLERS])) for _ in range(random.randint(1, 8))) + "終"


def aliases(random: Random, name: str) -> list[dict[str, Any]]:
    """Each once however it is written: of two that are alike, it would not be said which is meant."""
    known = {fold(name)}
    given = []
    for text in random.sample(NAMES, random.choice([0, 0, 1, 2])):
        if fold(text) not in known:
            known.add(fold(text))
            given.append({"name": text, "revealedInChapter": random.choice([None, 1, 2, 3, 5])})
    return given


def validity(random: Random) -> dict[str, int | None]:
    start, end = random.choice([(None, None), (None, None), (3, None), (None, 3), (2, 4), (5, 5)])
    return {"validFromChapter": start, "validUntilChapter": end}


class Editing:
    """One random change after the other, through the API."""

    def __init__(self, client: Client, random: Random) -> None:
        self.client, self.random = client, random
        self.kinds = [
            *[self.create_memory] * 4,
            *[self.update_memory] * 3,
            *[self.delete_memory] * 2,
            *[self.rename] * 3,
            *[self.add_entity] * 2,
            self.delete_entity,
            self.import_old_memories,
            self.attach_matching,
            self.use_an_id_again_in_another_book,
        ]

    def edit(self) -> None:
        self.random.choice(self.kinds)()

    def create_memory(self) -> None:
        id_ = f"mem_{self.random.randrange(20)}"
        if id_ in stored(self.client).memories:
            return
        texts = {"content": a_text(self.random), "summary": a_text(self.random)}
        is_pinned = self.random.random() < 0.2
        a_memory(self.client, BOOK, id_, *self._refs(), **texts, isPinned=is_pinned, **validity(self.random))

    def update_memory(self) -> None:
        if id_ := self._memory():
            changes: list[dict[str, Any]] = [
                {"content": a_text(self.random)},
                {"summary": a_text(self.random)},
                {"isPinned": self.random.random() < 0.5},
                {"attachedTo": self._refs()},
                validity(self.random),
            ]
            self._done("updateMemory", "memory { id }", id=id_, **self.random.choice(changes))

    def delete_memory(self) -> None:
        if id_ := self._memory():
            assert self.client.delete("deleteMemory", id_)["problems"] == []

    def rename(self) -> None:
        if entity := self._entity():
            name = self.random.choice(NAMES)
            field = entity.type.value
            changes = {"name": name, "aliases": aliases(self.random, name)}
            self._done(f"update{field.title()}", f"{field} {{ id }}", id=entity.id, **changes)

    def add_entity(self) -> None:
        name = self.random.choice(NAMES)
        add = self.random.choice([a_character, a_term])
        add(self.client, BOOK, name=name, aliases=aliases(self.random, name))

    def delete_entity(self) -> None:
        if entity := self._entity():
            assert self.client.delete(f"delete{entity.type.value.title()}", entity.id)["problems"] == []

    def import_old_memories(self) -> None:
        """Of one and the same moment."""
        taken = stored(self.client).memories
        free = [id_ for id_ in ("old_1", "old_2", "old_3") if id_ not in taken]
        given = [
            {"id": id_, "content": a_text(self.random), "attachedTo": self._refs(), "createdAt": "2020-01-01T00:00:00Z"}
            for id_ in free
        ]
        import_memories(self.client, BOOK, *given)

    def attach_matching(self) -> None:
        entity = self._entity()
        query = self.random.choice([*NAMES, "は", "終", "a", "た", "n", " ", "と。", "中太", "ﾎｰﾑ", "石は"])
        if entity is None or not query.strip():
            return
        expected = stored(self.client).containing(query)
        target = ref(entity.type.name, entity.id)
        answer = self._done("attachMatching", "memories { id }", bookId=BOOK, query=query, entities=[target])
        assert {memory["id"] for memory in answer["memories"]} == expected

    def use_an_id_again_in_another_book(self) -> None:
        """An id is free once its memory is deleted, for any book of the owner."""
        if id_ := self._memory():
            assert self.client.delete("deleteMemory", id_)["problems"] == []
            a_book(self.client, "book_2")
            a_memory(self.client, "book_2", id_, content=a_text(self.random), summary="他")
            text = a_text(self.random)
            shown = shown_context(self.client, text, None, 100)
            assert self.client.delete("deleteBook", "book_2")["problems"] == []
            assert shown == expected_context(stored(self.client), text, None, 100)

    def _memory(self) -> str | None:
        ids = sorted(stored(self.client).memories)
        return self.random.choice(ids) if ids else None

    def _entity(self) -> EntityRef | None:
        entities = sorted(stored(self.client).entities, key=str)
        return self.random.choice(entities) if entities else None

    def _refs(self) -> list[dict[str, str]]:
        targets = [ref(each.type.name, each.id) for each in sorted(stored(self.client).entities, key=str)]
        targets += [ref("CHAPTER", f"chap_{number}") for number in CHAPTERS]
        return self.random.sample(targets, self.random.choice([0, 0, 1, 2]))

    def _done(self, mutation: str, selection: str, /, **fields: Any) -> Any:
        payload = self.client.mutate(mutation, selection, **fields)
        assert payload["problems"] == []
        return payload


def a_story(client: Client) -> None:
    a_book(client, BOOK)
    for number in CHAPTERS:
        a_chapter(client, BOOK, f"chap_{number}", number=number, name=f"第{number}章")


@pytest.mark.parametrize("seed", range(15))
def test_after_any_edits_contexts_are_those_of_a_plain_look_through_everything(owners: Owners, seed: int) -> None:
    random = Random(seed)
    with owners.next_client() as client, owners.next_client() as stranger:
        a_story(client)
        a_story(stranger)
        a_character(stranger, BOOK, name="田中")
        editing = Editing(client, random)
        for _ in range(30):
            editing.edit()
            check(editing.client, random)


def test_a_deleted_memory_is_counted_no_longer(client: Client) -> None:
    a_story(client)
    a_character(client, BOOK, "char_1", name="田中")
    a_memory(client, BOOK, "mem_1", content="田中が来た")
    assert shown_context(client, "田中", None, 10)["memories"] == [("mem_1", "KEYWORD")]

    client.delete("deleteMemory", "mem_1")

    assert shown_context(client, "田中", None, 10) == {
        "mentions": [("CHARACTER", "char_1")],
        "memories": [],
        "via": [],
        "omittedCount": 0,
        "omitted": [],
    }


def test_a_memory_that_names_nobody_any_more_is_counted_no_longer(client: Client) -> None:
    a_story(client)
    a_character(client, BOOK, "char_1", name="田中")
    a_memory(client, BOOK, "mem_1", content="田中が来た")
    shown_context(client, "田中", None, 10)

    client.mutate("updateMemory", "memory { id }", id="mem_1", content="誰かが来た")

    assert shown_context(client, "田中", None, 10)["omittedCount"] == 0
    assert shown_context(client, "田中", None, 10)["memories"] == []


def test_a_memory_of_a_former_book_with_the_same_id_is_not_shown(client: Client) -> None:
    a_story(client)
    a_character(client, BOOK, "char_1", name="田中")
    a_memory(client, BOOK, "mem_1", content="田中が来た")
    shown_context(client, "田中", None, 10)

    client.delete("deleteMemory", "mem_1")
    a_book(client, "book_2")
    a_memory(client, "book_2", "mem_1", content="他の本の田中")

    assert shown_context(client, "田中", None, 10)["memories"] == []
    relevant = client.ask(RELEVANT_TO["CHARACTER"], id="char_1", limit=10)
    assert relevant == {"entity": {"relevantMemories": []}}


def test_every_entity_that_brings_a_memory_up_is_told_whatever_the_limit(client: Client) -> None:
    a_story(client)
    tanaka = ref("CHARACTER", a_character(client, BOOK, "char_1", name="田中"))
    a_term(client, BOOK, "term_1", name="魔石")
    import_memories(
        client,
        BOOK,
        {"id": "both", "content": "魔石を拾う", "attachedTo": [tanaka], "createdAt": "2020-01-01T00:00:00Z"},
        {"id": "newer", "content": "魔石が光る", "createdAt": "2021-01-01T00:00:00Z"},
    )

    for limit in (1, 2):
        answer = shown_context(client, "田中と魔石", None, limit)

        assert answer["memories"][0] == ("both", "ATTACHED")
        assert answer["via"][0] == {("CHARACTER", "char_1"), ("TERM", "term_1")}


@pytest.mark.parametrize(
    "query",
    [
        "田中太郎",
        "中太",
        "田",
        "た",
        "ﾎｰﾑｽﾞ",
        "ホームズ ann",
        "NEW york",
        "が",
        "か\u3099",
        "。",
        "c+",
        "太郎。new",
        "郎。N",
        "石\n",
        "㍿",
        "株式",
        "𠮷",
        "한",
        "국어",
        "'",
        '"',
        "*",
        "NOT",
        "%",
        "_",
        "\\",
    ],
)
def test_attach_matching_takes_every_memory_that_contains_the_text(client: Client, query: str) -> None:
    a_story(client)
    target = ref("TERM", a_term(client, BOOK))
    texts = [
        "田中太郎。New York",
        "シャーロック・ホームズ Ann",
        "か\u3099んばる",
        "がん",
        "C++ と C#",
        "魔石\n田中",
        "㍿田中",
        "𠮷野家",
        "한국어",
        'a "quoted" * NOT 100%_\\ it\'s',
        "ホームズ",
        "田\n中",
        "株式会社",
    ]
    import_memories(client, BOOK, *({"id": f"mem_{number}", "content": text} for number, text in enumerate(texts)))
    expected = stored(client).containing(query)

    payload = client.mutate("attachMatching", "memories { id }", bookId=BOOK, query=query, entities=[target])

    assert payload["problems"] == []
    assert {memory["id"] for memory in payload["memories"]} == expected
    assert stored(client).attached(EntityRef(EntityType.TERM, target["id"])) == expected


def test_attach_matching_takes_a_text_of_five_thousand_different_characters(client: Client) -> None:
    a_story(client)
    target = ref("TERM", a_term(client, BOOK))
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 5_000)))
    import_memories(client, BOOK, {"id": "mem_1", "content": f"前{text}後"}, {"id": "mem_2", "content": text[1:]})

    payload = client.mutate("attachMatching", "memories { id }", bookId=BOOK, query=text, entities=[target])

    assert payload == {"memories": [{"id": "mem_1"}], "problems": []}
