"""`POST /api/sessions/{id}/events` with `message`: a turn told by a host that does not speak GraphQL."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from api.settings import Settings
from tests.api.chat.chatting import facts, working_memory
from tests.serving import Client, running

UPDATE = {"shouldStore": True, "category": "preference", "key": "drink", "value": {"tea": "green"}}


@pytest.fixture
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("data"), embedder="none")
    with running(settings) as server, server.client() as client:
        yield client


def send(client: Client, body: object, session_id: str = "s_1") -> httpx.Response:
    return client.http.post(f"/api/sessions/{session_id}/events", json=body)


def message(**fields: Any) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": "I drink green tea."} | fields


def test_message_of_the_user_is_a_turn(client: Client) -> None:
    answer = send(client, message())

    assert answer.status_code == 200
    assert answer.json()["workingMemory"]["turnCount"] == 1
    assert working_memory(client, "s_1")["turnCount"] == 1


def test_several_messages_at_once_are_one_turn(client: Client) -> None:
    said = [{"role": "user", "content": "Hello"}, {"role": "ASSISTANT", "content": "Hello!"}]

    answer = send(client, {"type": "message", "messages": said}).json()

    assert answer["workingMemory"]["turnCount"] == 1


def test_analysis_comes_with_the_message(client: Client) -> None:
    analysis = {
        "currentTopic": "tea",
        "contextVariables": {"city": "京都"},
        "emotion": "calm",
        "memoryUpdate": UPDATE,
    }

    answer = send(client, message(analysis=analysis)).json()

    memory = answer["workingMemory"]
    assert (memory["currentTopic"], memory["contextVariables"], memory["lastEmotion"]) == (
        "tea",
        {"city": "京都"},
        "calm",
    )
    (write,) = answer["factWrites"]
    assert (write["outcome"], write["fact"]["value"], write["supersedes"]) == ("ADDED", {"tea": "green"}, None)
    assert [fact["key"] for fact in facts(client)] == ["drink"]


def test_new_value_tells_what_it_supersedes(client: Client) -> None:
    send(client, message(analysis={"memoryUpdate": UPDATE}))

    answer = send(client, message(analysis={"memoryUpdate": UPDATE | {"value": "coffee"}})).json()

    (write,) = answer["factWrites"]
    assert (write["outcome"], write["supersedes"]["value"]) == ("SUPERSEDED", {"tea": "green"})


def test_message_told_again_changes_nothing(client: Client) -> None:
    first = send(client, message(turnId="t_1", analysis={"memoryUpdate": UPDATE})).json()

    assert send(client, message(turnId="t_1", analysis={"memoryUpdate": UPDATE})).json() == first


def test_secret_is_left_out_and_told(client: Client) -> None:
    update = UPDATE | {"key": "password", "value": "hunter2-hunter2"}

    answer = send(client, message(analysis={"memoryUpdate": update})).json()

    assert answer["workingMemory"]["turnCount"] == 1
    assert answer["factWrites"] == []
    assert "password" in answer["reason"]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"type": "message"}, "role and content are needed"),
        (message(role="robot"), "role must be one of user, assistant, system, tool"),
        (message(role=5), "role must be a text"),
        (message(content=5), "role and content are needed"),
        (message(content="a\x00b"), "control character"),
        (message(messages=[]), "`role` and `content`, or a list"),
        ({"type": "message", "messages": "x"}, "`role` and `content`, or a list"),
        ({"type": "message", "messages": [5]}, "messages[0] must be an object"),
        ({"type": "message", "messages": [{"role": "user", "content": "x", "name": "y"}]}, "messages[0].name"),
        (message(session="s"), "'session' is not known"),
        (message(turnId=5), "turnId must be a text"),
        (message(analysis=[]), "analysis must be an object"),
        (message(analysis={"topic": "x"}), "'analysis.topic' is not known"),
        (message(analysis={"contextVariables": []}), "analysis.contextVariables must be a JSON object"),
        (message(analysis={"memoryUpdate": {}}), "analysis.memoryUpdate.shouldStore must be true or false"),
        (message(analysis={"memoryUpdate": UPDATE | {"confidence": "high"}}), "confidence must be a number"),
        (message(analysis={"memoryUpdate": UPDATE | {"category": "taste"}}), "category must be one of"),
        (message(analysis={"memoryUpdate": UPDATE | {"key": " "}}), "analysis.memoryUpdate.key must not be empty"),
    ],
)
def test_what_cannot_be_read_is_refused_and_nothing_is_counted(client: Client, body: object, says: str) -> None:
    answer = send(client, body)

    assert answer.status_code == 422
    assert answer.json()["code"] == "BAD_INPUT"
    assert says in answer.json()["message"]
    assert working_memory(client, "s_1") is None
