"""How tests play the host of a chat: they tell what is said and what happens, and look at what is remembered."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from api.settings import Settings
from persistence import sqlite
from tests.clock import SettableClock
from tests.serving import Client, Server, running

Message = dict[str, str]
Said = str | Message

PROBLEMS = "problems { code message path }"
FACT = "id sessionId category key value confidence source createdAt lastAccessedAt accessCount supersededAt"
WORKING_MEMORY = "sessionId currentTopic contextVariables turnCount lastEmotion createdAt updatedAt"
TURN = f"workingMemory {{ {WORKING_MEMORY} }} factWrites {{ outcome fact {{ {FACT} }} supersedes {{ {FACT} }} }}"

REPORT = f"""mutation($input: SessionEventInput!) {{
  reportSessionEvent(input: $input) {{ action reason {PROBLEMS} }}
}}"""


@contextmanager
def chat_server(data_dir: Path, clock: SettableClock, **settings: Any) -> Iterator[Server]:
    """Looks for what is due all the time, by a clock that stands still until it is moved."""
    quick: dict[str, Any] = {"embedder": "none", "sweep_seconds": 0.05}
    with running(Settings(data_dir=data_dir, **(quick | settings)), clock=clock) as server:
        yield server


def user(content: str) -> Message:
    return {"role": "USER", "content": content}


def assistant(content: str) -> Message:
    return {"role": "ASSISTANT", "content": content}


def four_messages(*stated: str) -> tuple[Message, ...]:
    """A conversation just long enough to be learned from; what the user states comes first."""
    small_talk = (assistant("Noted."), user("Thank you!"), assistant("You are welcome."))
    return tuple(map(user, stated or ("Good morning!",))) + small_talk


def record_turn(client: Client, session_id: str, *said: Said, turn_id: str | None = None, **analysis: Any) -> Any:
    """What is said as plain text is said by the user; `analysis` is given as in `currentTopic="tea"`."""
    messages = [user(each) if isinstance(each, str) else each for each in said]
    fields = {"sessionId": session_id, "messages": messages, "turnId": turn_id, "analysis": analysis or None}
    return client.mutate("recordTurn", TURN, **fields)


def state(key: str, value: Any, **fields: Any) -> dict[str, Any]:
    """The `memoryUpdate` of an analysis, for a fact that is to be stored."""
    return {"shouldStore": True, "key": key, "value": value} | fields


def report_event(client: Client, session_id: str, type: str, used: int | None = None, limit: int | None = None) -> Any:
    """The whole payload."""
    event = {"sessionId": session_id, "type": type, "usedTokens": used, "tokenLimit": limit}
    return client.ask(REPORT, input=event)["reportSessionEvent"]


def report(
    client: Client, session_id: str, type: str, used: int | None = None, limit: int | None = None
) -> tuple[str, str | None]:
    """The action and its reason, for an event that is in order."""
    payload = report_event(client, session_id, type, used, limit)
    assert payload["problems"] == []
    return payload["action"], payload["reason"]


def working_memory(client: Client, session_id: str) -> Any:
    """Null when there is none."""
    query = f"query($id: ID!) {{ workingMemory(sessionId: $id) {{ {WORKING_MEMORY} }} }}"
    return client.ask(query, id=session_id)["workingMemory"]


def facts(client: Client) -> list[dict[str, Any]]:
    """Those that hold, the newest first."""
    found: list[dict[str, Any]] = client.ask(f"{{ facts(first: 100) {{ nodes {{ {FACT} }} }} }}")["facts"]["nodes"]
    return found


def set_memory(client: Client, **settings: Any) -> None:
    payload = client.mutate("updateMemorySettings", "memorySettings { enabled }", **settings)
    assert payload["problems"] == []


def memory_md(client: Client) -> str:
    content: str = client.ask("{ notebook { content } }")["notebook"]["content"]
    return content


def learned(client: Client) -> list[str]:
    """The items of MEMORY.md: what extraction has written there."""
    return [line.removeprefix("- ") for line in memory_md(client).splitlines() if line.startswith("- ")]


def rows(server: Server, sql: str) -> list[tuple[Any, ...]]:
    """What stands in the database file, whatever the server would say of it."""
    connection = sqlite.open_connection(server.data_dir / "loregraph.db", read_only=True)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()
