"""What is not let in, or not there, is told in the shape of the surface that was asked."""

from pathlib import Path

import pytest

from api.settings import Settings
from tests.serving import Client, running

REST = ["/api/memory/main", "/memory/long-term", "/api/tools"]


@pytest.mark.parametrize("path", REST)
def test_rest_tells_a_stranger_as_it_tells_all_problems(tmp_path: Path, path: str) -> None:
    settings = Settings(data_dir=tmp_path, tokens={"t-alice": "alice"}, embedder="none")
    with running(settings) as server, server.client() as stranger:
        answer = stranger.http.get(path)

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert (answer.json()["code"], answer.json()["path"]) == ("UNAUTHENTICATED", [])
    assert "Authorization: Bearer" in answer.json()["message"]


@pytest.mark.parametrize("path", ["/api/nothing", "/memory/nothing"])
def test_path_that_is_not_there_is_a_problem(client: Client, path: str) -> None:
    answer = client.http.get(path)

    assert answer.status_code == 404
    assert answer.json() == {"code": "NOT_FOUND", "message": f"GET {path}: Not Found.", "path": []}


@pytest.mark.parametrize("path", REST)
def test_method_that_is_not_there_is_a_problem(client: Client, path: str) -> None:
    answer = client.http.patch(path, json={})

    assert answer.status_code == 405
    assert "GET" in answer.headers["allow"]
    assert answer.json()["code"] == "BAD_INPUT"
    assert path in answer.json()["message"]


def test_elsewhere_it_is_told_as_graphql_does(client: Client) -> None:
    answer = client.http.get("/nothing")

    assert answer.status_code == 404
    assert [error["extensions"]["code"] for error in answer.json()["errors"]] == ["NOT_FOUND"]
