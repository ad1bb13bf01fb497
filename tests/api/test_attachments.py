"""The scenarios of the attachments document, over HTTP."""

import pytest

from tests.serving import Client

ATTACHED = """query($id: ID!) { character(id: $id) { attachedMemories { totalCount nodes { id } } } }"""


@pytest.fixture
def tanaka(client: Client, book: str) -> str:
    client.mutate("createCharacter", "character { id }", id="char_001", bookId=book, name="田中太郎")
    return "char_001"


@pytest.fixture
def chapter(client: Client, book: str) -> str:
    client.mutate("createChapter", "chapter { id }", id="chap_005", bookId=book, name="海へ", number=5)
    return "chap_005"


def a_memory(client: Client, book: str, id: str, *refs: tuple[str, str], **fields: object) -> object:
    attached_to = [{"type": type_, "id": ref_id} for type_, ref_id in refs]
    return client.mutate(
        "createMemory",
        "memory { id attachedTo { type id } }",
        **{"id": id, "bookId": book, "content": "全文", "summary": "要点", "attachedTo": attached_to} | fields,
    )


def test_memory_attached_to_a_single_character_is_shown_by_it(client: Client, book: str, tanaka: str) -> None:
    payload = a_memory(client, book, "mem_1", ("CHARACTER", tanaka))

    assert payload == {"memory": {"id": "mem_1", "attachedTo": [{"type": "CHARACTER", "id": tanaka}]}, "problems": []}
    shown = client.ask(ATTACHED, id=tanaka)["character"]["attachedMemories"]
    assert shown == {"totalCount": 1, "nodes": [{"id": "mem_1"}]}
