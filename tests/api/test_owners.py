"""Whom data belongs to: who may ask at all, and that nobody meets another owner's rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.settings import Settings
from domain.notebook import EMPTY_VERSION, version_of
from tests.api.building import Owners, a_book, a_chapter, a_character, a_memory, a_term, everything, ref, serving_owners
from tests.serving import INPUT_TYPES, Client, Server, running
from tests.talking import connected, wait_until

TOKENS = {"t-alice": "alice", "t-bob": "bob", "t-alice-2": "alice"}
NAMES = "{ books { nodes { name } } }"


@pytest.fixture(scope="module")
def owned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with tokens."""
    with running(Settings(data_dir=tmp_path_factory.mktemp("owned"), tokens=TOKENS)) as server:
        yield server


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server without tokens."""
    with running(Settings(data_dir=tmp_path_factory.mktemp("local"))) as server:
        yield server


@pytest.fixture(scope="module")
def owners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owners]:
    with serving_owners(tmp_path_factory.mktemp("data")) as owners:
        yield owners


@pytest.fixture
def alice(owners: Owners) -> Iterator[Client]:
    with owners.next_client() as client:
        yield client


@pytest.fixture
def bob(owners: Owners) -> Iterator[Client]:
    with owners.next_client() as client:
        yield client


def ask(server: Server, **headers: str) -> httpx.Response:
    return httpx.post(f"{server.url}/graphql", json={"query": NAMES}, headers=headers, trust_env=False)


# Tokens


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        "Bearer wrong",
        "Bearer t-alice2",
        "Bearer t-alic",
        "Bearer T-ALICE",
        "Bearer alice",
        "Bearer t-alice,t-bob",
        "Bearer t-alice t-bob",
        "Basic t-alice",
        "t-alice",
        "Token t-alice",
        "Bearer \u00ff",
        "Bearer " + "x" * 10_000,
    ],
)
def test_request_without_a_token_of_this_server_is_refused(owned: Server, authorization: str | None) -> None:
    headers = [] if authorization is None else [(b"authorization", authorization.encode("latin-1"))]

    answer = httpx.post(f"{owned.url}/graphql", json={"query": NAMES}, headers=headers, trust_env=False)

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="loregraph"'
    (error,) = answer.json()["errors"]
    assert error["extensions"] == {"code": "UNAUTHENTICATED"}
    assert "data" not in answer.json()


def test_mutation_without_a_token_changes_nothing(owned: Server) -> None:
    with owned.client("t-alice") as alice, owned.client() as stranger, owned.client("wrong") as guesser:
        book = a_book(alice)
        before = everything(alice)

        answers = [
            nobody.post("mutation($id: ID!) { deleteBook(id: $id) { deletedId } }", id=book)
            for nobody in (stranger, guesser)
        ]

        assert [answer.status_code for answer in answers] == [401, 401]
        assert everything(alice) == before


@pytest.mark.parametrize("authorization", ["Bearer t-bob", "bearer t-bob", "BEARER   t-bob"])
def test_request_with_a_token_is_served(owned: Server, authorization: str) -> None:
    answer = ask(owned, authorization=authorization)

    assert (answer.status_code, answer.json()) == (200, {"data": {"books": {"nodes": []}}})


def test_two_tokens_of_one_owner_show_the_same(owned: Server) -> None:
    with owned.client("t-alice") as alice, owned.client("t-alice-2") as elsewhere:
        book = a_book(alice)

        assert everything(elsewhere)["nodes"][-1]["id"] == book
        assert everything(elsewhere) == everything(alice)


def test_with_tokens_any_name_of_the_host_is_served(owned: Server) -> None:
    assert ask(owned, authorization="Bearer t-alice", host="lore.example").status_code == 200


# Without tokens


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8000", "localhost", "localhost:8000", "[::1]", "[::1]:8000"])
def test_without_tokens_this_machine_is_served(local: Server, host: str) -> None:
    answer = ask(local, host=host)

    assert (answer.status_code, answer.json()) == (200, {"data": {"books": {"nodes": []}}})


@pytest.mark.parametrize(
    "host",
    [
        "lore.example",
        "lore.example:8000",
        "127.0.0.1.lore.example",
        "localhost.lore.example",
        "192.168.0.1",
        "0.0.0.0",
        "[::ffff:192.168.0.1]",
        "lore.example:127.0.0.1",
        "127.0.0.1@lore.example",
        "",
    ],
)
def test_without_tokens_a_host_of_any_other_name_is_refused(local: Server, host: str) -> None:
    answer = ask(local, host=host)

    assert answer.status_code == 403
    (error,) = answer.json()["errors"]
    assert error["extensions"] == {"code": "FORBIDDEN"}
    assert "data" not in answer.json()


def test_mutation_for_a_foreign_host_changes_nothing(client: Client, book: str) -> None:
    before = everything(client)

    answer = client.http.post(
        "/graphql",
        json={"query": 'mutation { deleteBook(id: "book_1") { deletedId } }'},
        headers={"host": "lore.example"},
    )

    assert answer.status_code == 403
    assert everything(client) == before


def test_health_is_open_to_everyone(owned: Server, local: Server) -> None:
    for each in (owned, local):
        answer = httpx.get(f"{each.url}/health", headers={"host": "lore.example"}, trust_env=False)

        assert answer.status_code == 200
        assert answer.json()["status"] == "ok"
        assert set(answer.json()) == {"status", "version", "degraded"}


# Every root field of the schema

ROOT_FIELDS = """{ __schema {
  queryType { fields { name } } mutationType { fields { name } } subscriptionType { fields { name } }
} }"""

MEMORY = """id content summary isPinned validFromChapter validUntilChapter
    createdAt updatedAt lastAccessedAt accessCount book { id name } attachedTo { id name } """
ENTITY = f"""id name attachedMemories {{ totalCount nodes {{ {MEMORY} }} }}
    relevantMemories {{ match memory {{ content }} via {{ name }} }} """
BOOK = f"""{ENTITY} characters {{ totalCount nodes {{ id name notes }} }} terms {{ totalCount nodes {{ id name }} }}
    chapters {{ totalCount nodes {{ id name }} }} memories {{ totalCount nodes {{ {MEMORY} }} }} """
NOTEBOOK_FILE = "file { content } current { content }"
PROBLEMS = "problems { code message path }"

REFS = [ref("CHARACTER", "char_1"), ref("TERM", "term_1"), ref("CHAPTER", "chap_1"), ref("BOOK", "book_1")]
TEXT = {"content": "new", "summary": "new"}


@dataclass(frozen=True)
class Mutation:
    """What to change, and with what problem it is refused to an owner who has nothing; none: it is allowed."""

    input: dict[str, Any]
    selection: str
    refusal: str | None = "NOT_FOUND"


DAY = "2026-01-31"
EMPTY_LIST = {"totalCount": 0, "nodes": [], "edges": []}

# What is asked of an owner who has nothing is null, unless it is in here.
ANSWERS_OF_NOTHING: dict[str, Any] = {
    "books": {"books": EMPTY_LIST},
    "search": {"search": {"hits": []}},
    "notebook": {"notebook": {"content": ""}},
    "dailyLogs": {"dailyLogs": EMPTY_LIST},
    "notebookVersions": {"notebookVersions": EMPTY_LIST},
    "notebookVersion": {"notebookVersion": None, "other": None},
    "recall": {"recall": []},
    "facts": {"facts": EMPTY_LIST},
    "systemPrompt": {"systemPrompt": {"text": ""}},
}
NOTHING = {
    "totalCount": 0,
    "nodes": [],
    "notebook": {"notebook": {"content": ""}, "dailyLogs": {"nodes": []}, "notebookVersions": {"nodes": []}},
    "chat": {
        "facts": {"nodes": []},
        "workingMemory": None,
        "memorySettings": {"enabled": True, "retrievalLimit": 5, "evictionThreshold": None},
    },
}

# Names a term of either owner: each may see only their own in it.
CHUNK = 'bookId: "book_1", chapterId: "chap_1"'
BOTH = "Ann met Term of alice and Term of bob."
CONTEXT = f"""mentions {{ entity {{ {ENTITY} }} spans {{ text }} }} memories {{ match memory {{ {MEMORY} }} }}
    omitted {{ memory {{ {MEMORY} }} }} entitySection memorySection"""

QUERIES: dict[str, str] = {
    "book": f'{{ book(id: "book_1") {{ {BOOK} }} }}',
    "books": f"{{ books {{ totalCount nodes {{ {BOOK} }} edges {{ node {{ name }} }} }} }}",
    "character": f'{{ character(id: "char_1") {{ {ENTITY} notes book {{ {BOOK} }} }} }}',
    "term": f'{{ term(id: "term_1") {{ {ENTITY} book {{ name }} }} }}',
    "chapter": f'{{ chapter(id: "chap_1") {{ {ENTITY} book {{ name }} }} }}',
    "memory": f'{{ memory(id: "mem_1") {{ {MEMORY} }} }}',
    "memories": f"""{{ memories(bookId: "book_1", attachedTo: [
        {{type: BOOK, id: "book_1"}}, {{type: CHARACTER, id: "char_1"}}, {{type: TERM, id: "term_1"}},
        {{type: CHAPTER, id: "chap_1"}}]) {{ totalCount nodes {{ {MEMORY} }} }} }}""",
    "search": f'{{ search(query: "{BOTH}") {{ hits {{ text snippet path memory {{ {MEMORY} }} }} }} }}',
    "mentions": f'{{ mentions({CHUNK}, text: "{BOTH}") {{ entity {{ {ENTITY} }} spans {{ text }} }} }}',
    "chunkContext": f'{{ chunkContext({CHUNK}, text: "{BOTH}") {{ {CONTEXT} }} }}',
    "chunkContexts": f'{{ chunkContexts({CHUNK}, texts: ["{BOTH}"]) {{ {CONTEXT} }} }}',
    "checkTranslation": f"""{{ checkTranslation({CHUNK}, source: "{BOTH}", target: "") {{
        entity {{ {ENTITY} }} use expected found }} }}""",
    "notebook": "{ notebook { content } }",
    "dailyLog": f'{{ dailyLog(date: "{DAY}") {{ content }} }}',
    "dailyLogs": "{ dailyLogs { totalCount nodes { content } edges { node { content } } } }",
    "notebookVersions": "{ notebookVersions { totalCount nodes { file { content } } edges { node { path } } } }",
    # A version is named by its content, so that no two owners have different ones of one name.
    "notebookVersion": f"""{{ notebookVersion(version: "{version_of(b"Replaced by alice")}") {{ content }}
        other: notebookVersion(version: "{version_of(b"Replaced by bob")}") {{ content }} }}""",
    "compareNotebookVersions": f"""{{
        compareNotebookVersions(fromVersion: "{version_of(b"Of everyone")}") {{ diff }} }}""",
    "recall": '{ recall(message: "Which drink?") { fact { value } } }',
    "facts": "{ facts { totalCount nodes { value } edges { node { value history { value } } } } }",
    "workingMemory": '{ workingMemory(sessionId: "s_1") { currentTopic contextVariables } }',
    "systemPrompt": '{ systemPrompt(message: "Which drink?", sessionId: "s_1") { text } }',
}
# Named by an id that each owner gets, or the same for all who have set nothing: tested by themselves.
OTHER_QUERIES = {"indexStatus", "fact", "memorySettings"}

MUTATIONS: dict[str, Mutation] = {
    "createBook": Mutation({"id": "book_2", "name": "new"}, f"book {{ {BOOK} }}", refusal=None),
    "createCharacter": Mutation({"id": "char_2", "bookId": "book_1", "name": "new"}, f"character {{ {ENTITY} }}"),
    "createTerm": Mutation({"id": "term_2", "bookId": "book_1", "name": "new"}, f"term {{ {ENTITY} }}"),
    "createChapter": Mutation(
        {"id": "chap_2", "bookId": "book_1", "name": "new", "number": 2}, f"chapter {{ {ENTITY} }}"
    ),
    "updateBook": Mutation({"id": "book_1", "name": "new"}, f"book {{ {BOOK} }}"),
    "updateCharacter": Mutation({"id": "char_1", "notes": "new"}, f"character {{ {ENTITY} }}"),
    "updateTerm": Mutation({"id": "term_1", "notes": "new"}, f"term {{ {ENTITY} }}"),
    "updateChapter": Mutation({"id": "chap_1", "number": 7}, f"chapter {{ {ENTITY} }}"),
    "deleteBook": Mutation({"id": "book_1"}, "deletedId"),
    "deleteCharacter": Mutation({"id": "char_1"}, "deletedId"),
    "deleteTerm": Mutation({"id": "term_1"}, "deletedId"),
    "deleteChapter": Mutation({"id": "chap_1"}, "deletedId"),
    "createMemory": Mutation({"id": "mem_2", "bookId": "book_1", "attachedTo": REFS, **TEXT}, f"memory {{ {MEMORY} }}"),
    "updateMemory": Mutation({"id": "mem_1", "attachedTo": REFS, **TEXT}, f"memory {{ {MEMORY} }}"),
    "deleteMemory": Mutation({"id": "mem_1"}, "deletedId"),
    "attachMemories": Mutation(
        {"bookId": "book_1", "memoryIds": ["mem_keyword"], "entities": REFS}, f"memories {{ {MEMORY} }}"
    ),
    "detachMemories": Mutation(
        {"bookId": "book_1", "memoryIds": ["mem_1"], "entities": REFS}, f"memories {{ {MEMORY} }}"
    ),
    "attachMatching": Mutation({"bookId": "book_1", "query": "met", "entities": REFS}, f"memories {{ {MEMORY} }}"),
    "importMemories": Mutation(
        {"bookId": "book_1", "memories": [{"id": "mem_3", "attachedTo": REFS, **TEXT}]}, f"memories {{ {MEMORY} }}"
    ),
    "appendMemory": Mutation({"fact": "new"}, NOTEBOOK_FILE, refusal=None),
    "appendDailyLog": Mutation({"entry": "new", "date": DAY}, NOTEBOOK_FILE, refusal=None),
    "writeNotebook": Mutation(
        {"content": "new", "expectedVersion": version_of(b"Fact of alice")}, NOTEBOOK_FILE, refusal="STALE_VERSION"
    ),
    "writeDailyLog": Mutation({"date": DAY, "content": "new"}, NOTEBOOK_FILE, refusal=None),
    "restoreNotebookVersion": Mutation({"version": version_of(b"Of everyone")}, NOTEBOOK_FILE),
    "recordTurn": Mutation(
        {"sessionId": "s_1", "messages": [{"role": "USER", "content": "new"}], "analysis": {"currentTopic": "new"}},
        "workingMemory { currentTopic contextVariables } factWrites { fact { value } }",
        refusal=None,
    ),
    "updateMemorySettings": Mutation({"retrievalLimit": 7}, "memorySettings { retrievalLimit }", refusal=None),
}
OTHER_MUTATIONS = {"rebuildIndex", "reportSessionEvent", "deleteFact", "clearFacts"}


def fill(client: Client, owner: str) -> None:
    """The same ids for everyone; every text names its owner."""
    a_book(client, "book_1", name=f"Book of {owner}")
    a_character(client, "book_1", "char_1", name="Ann", notes=f"known to {owner}")
    a_term(client, "book_1", "term_1", name=f"Term of {owner}", translation=f"Word of {owner}")
    a_chapter(client, "book_1", "chap_1", name=f"Chapter of {owner}")
    a_memory(client, "book_1", "mem_1", *REFS, content=f"Ann: secret of {owner}", summary=f"Summary of {owner}")
    a_memory(client, "book_1", "mem_keyword", content=f"Ann met {owner}", summary=f"Keyword of {owner}")
    record_turn(client, owner)
    client.mutate("appendDailyLog", "file { path }", entry=f"Log of {owner}", date=DAY)
    version = EMPTY_VERSION
    for content in ("Of everyone", f"Replaced by {owner}", f"Fact of {owner}"):
        written = client.mutate("writeNotebook", "file { version }", content=content, expectedVersion=version)
        version = written["file"]["version"]


def record_turn(client: Client, owner: str) -> str:
    """Answers the id of the fact that it leaves."""
    payload = client.mutate(
        "recordTurn",
        "factWrites { fact { id } }",
        sessionId="s_1",
        messages=[{"role": "USER", "content": f"My name is {owner.title()}."}],
        analysis={
            "currentTopic": f"Topic of {owner}",
            "contextVariables": {"place": f"Place of {owner}"},
            "memoryUpdate": {"shouldStore": True, "key": "drink", "value": f"Tea of {owner}"},
        },
    )
    ((fact_id,),) = (write["fact"].values() for write in payload["factWrites"])
    return str(fact_id)


def run(client: Client, name: str) -> httpx.Response:
    mutation = MUTATIONS[name]
    if name.startswith("delete"):
        document = f"mutation($id: ID!) {{ {name}(id: $id) {{ {mutation.selection} {PROBLEMS} }} }}"
        return client.post(document, **mutation.input)
    input_type = INPUT_TYPES.get(name, f"{name[0].upper()}{name[1:]}Input")
    document = f"mutation($input: {input_type}!) {{ {name}(input: $input) {{ {mutation.selection} {PROBLEMS} }} }}"
    return client.post(document, input=mutation.input)


def test_every_root_field_is_walked(alice: Client) -> None:
    schema = alice.ask(ROOT_FIELDS)["__schema"]

    assert {each["name"] for each in schema["queryType"]["fields"]} == {*QUERIES, *OTHER_QUERIES}
    assert {each["name"] for each in schema["mutationType"]["fields"]} == {*MUTATIONS, *OTHER_MUTATIONS}
    assert {each["name"] for each in schema["subscriptionType"]["fields"]} == {"indexStatusChanged"}


def test_fact_of_another_owner_can_be_neither_read_nor_deleted(alice: Client, bob: Client) -> None:
    of_alice = record_turn(alice, "alice")
    record_turn(bob, "bob")
    before = everything(alice)

    shown = bob.ask("query($id: ID!) { fact(id: $id) { value } }", id=of_alice)
    refusal = bob.delete("deleteFact", of_alice)
    rest = bob.http.get(f"/memory/long-term/{of_alice}"), bob.http.delete(f"/memory/long-term/{of_alice}")

    assert shown == {"fact": None}
    assert [problem["code"] for problem in refusal["problems"]] == ["NOT_FOUND"]
    assert [answer.status_code for answer in rest] == [404, 404]
    assert everything(alice) == before


def test_clearing_facts_takes_those_of_its_owner_alone(alice: Client, bob: Client) -> None:
    record_turn(alice, "alice")
    record_turn(bob, "bob")
    before = everything(alice)

    cleared = bob.ask("mutation { clearFacts { deletedCount } }")["clearFacts"]

    assert cleared == {"deletedCount": 1}
    assert everything(bob)["chat"]["facts"] == {"nodes": []}
    assert everything(alice) == before


def test_settings_are_those_of_their_owner(alice: Client, bob: Client) -> None:
    alice.mutate("updateMemorySettings", "memorySettings { enabled }", enabled=False)

    assert alice.ask("{ memorySettings { enabled } }") == {"memorySettings": {"enabled": False}}
    assert bob.ask("{ memorySettings { enabled } }") == {"memorySettings": {"enabled": True}}


def test_what_is_said_in_sessions_of_one_name_is_learned_by_each_owner_alone(alice: Client, bob: Client) -> None:
    for client, owner in ((alice, "alice"), (bob, "bob")):
        record_turn(client, owner)

    alice.mutate("reportSessionEvent", "action", sessionId="s_1", type="COMPACTION_START")
    wait_until(lambda: "Alice" in alice.ask("{ notebook { content } }")["notebook"]["content"])

    assert bob.ask("{ notebook { content } }") == {"notebook": {"content": ""}}
    assert "Bob" not in alice.ask("{ notebook { content } }")["notebook"]["content"]


def test_status_of_the_index_counts_what_its_owner_has(alice: Client, bob: Client) -> None:
    fill(alice, "alice")
    # A search brings the index up to date.
    alice.ask('{ search(query: "Ann") { engine } }')

    of_alice, of_bob = documents(alice), documents(bob)

    assert min(of_alice) > 0
    assert of_bob == [0, 0, 0]


def documents(client: Client) -> list[int]:
    """How many documents there are by query, by mutation and by subscription."""
    asked = client.ask("{ indexStatus { documents } }")["indexStatus"]
    rebuilt = client.ask("mutation { rebuildIndex { indexStatus { documents } } }")["rebuildIndex"]["indexStatus"]
    with connected(str(client.http.base_url), authorization=client.http.headers["authorization"]) as talk:
        talk.subscribe("1", "subscription { indexStatusChanged { documents } }")
        followed = talk.next_status("1")
    return [each["documents"] for each in (asked, rebuilt, followed)]


@pytest.mark.parametrize("name", QUERIES)
def test_query_shows_each_owner_their_own_under_the_same_ids(alice: Client, bob: Client, name: str) -> None:
    fill(alice, "alice")
    fill(bob, "bob")

    shown_to_alice, shown_to_bob = alice.post(QUERIES[name]).text, bob.post(QUERIES[name]).text

    assert "errors" not in shown_to_alice + shown_to_bob
    assert "alice" in shown_to_alice
    assert "bob" not in shown_to_alice
    assert "bob" in shown_to_bob
    assert "alice" not in shown_to_bob


@pytest.mark.parametrize("name", QUERIES)
def test_query_finds_nothing_that_only_another_owner_has(alice: Client, bob: Client, name: str) -> None:
    fill(alice, "alice")

    answer = bob.post(QUERIES[name])

    # What is asked of a book or a version needs one; what is looked up by its id need not be there.
    needs_one = name in {
        *("memories", "mentions", "chunkContext", "chunkContexts", "checkTranslation", "compareNotebookVersions"),
    }
    assert answer.json()["data"] == (None if needs_one else ANSWERS_OF_NOTHING.get(name, {name: None}))
    assert [error["extensions"]["code"] for error in answer.json().get("errors", ())] == ["NOT_FOUND"] * needs_one
    assert "alice" not in answer.text


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutation_changes_only_what_its_owner_has_under_the_same_ids(alice: Client, bob: Client, name: str) -> None:
    fill(alice, "alice")
    fill(bob, "bob")
    before_of_alice, before_of_bob = everything(alice), everything(bob)

    answer = run(alice, name)

    assert answer.json()["data"][name]["problems"] == []
    assert "bob" not in answer.text
    assert everything(alice) != before_of_alice
    assert everything(bob) == before_of_bob


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutation_cannot_touch_what_only_another_owner_has(alice: Client, bob: Client, name: str) -> None:
    fill(alice, "alice")
    before = everything(alice)

    answer = run(bob, name)

    (payload,) = answer.json()["data"].values()
    expected = MUTATIONS[name].refusal
    assert [problem["code"] for problem in payload["problems"]] == ([] if expected is None else [expected])
    assert "alice" not in answer.text
    assert everything(alice) == before
    assert (everything(bob) != NOTHING) == (expected is None)


@pytest.mark.parametrize("name", ["createMemory", "updateMemory", "attachMemories", "attachMatching", "importMemories"])
def test_memory_cannot_be_attached_to_an_entity_of_another_owner(alice: Client, bob: Client, name: str) -> None:
    a_book(bob, "book_1", name="Book of bob")
    a_memory(bob, "book_1", "mem_1")
    a_memory(bob, "book_1", "mem_keyword", content="Ann met bob")
    fill(alice, "alice")
    before = everything(bob)

    (payload,) = run(bob, name).json()["data"].values()

    (problem,) = payload["problems"]
    assert (problem["code"], problem["path"][-1]) == ("NOT_FOUND", "0")
    assert "there is no character 'char_1' here." in problem["message"]
    assert everything(bob) == before


def test_reading_a_memory_moves_the_access_of_its_owner_alone(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data", tokens=TOKENS)
    with running(settings) as server, server.client("t-alice") as alice, server.client("t-bob") as bob:
        fill(alice, "alice")
        fill(bob, "bob")
        before = everything(bob)
        alice.ask('{ memory(id: "mem_1") { id } }')

    with running(settings) as server, server.client("t-alice") as alice, server.client("t-bob") as bob:
        counts = {memory["id"]: memory["accessCount"] for memory in everything(alice)["nodes"][0]["memories"]["nodes"]}

        assert counts == {"mem_1": 1, "mem_keyword": 0}
        assert everything(bob) == before


def test_cursor_of_one_owner_shows_another_only_their_own(alice: Client, bob: Client) -> None:
    fill(alice, "alice")
    fill(bob, "bob")
    page = '{ book(id: "book_1") { memories(first: 1) { pageInfo { endCursor } } } }'
    cursor = alice.ask(page)["book"]["memories"]["pageInfo"]["endCursor"]

    answer = bob.post(
        'query($after: String!) { book(id: "book_1") { memories(first: 9, after: $after) { nodes { summary } } } }',
        after=cursor,
    )

    assert answer.status_code == 200
    assert "alice" not in answer.text


def test_owners_share_no_data_with_the_machine_without_tokens(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with running(Settings(data_dir=data_dir)) as server, server.client() as local:
        fill(local, "local")
        before = everything(local)

    with running(Settings(data_dir=data_dir, tokens=TOKENS)) as server, server.client("t-alice") as alice:
        assert everything(alice) == NOTHING
        fill(alice, "alice")

    with running(Settings(data_dir=data_dir)) as server, server.client() as local:
        assert everything(local) == before
