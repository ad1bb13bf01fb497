"""GraphQL over HTTP, as its specification has it: parameters, media types, status codes; and CORS."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from graphql import build_client_schema, get_introspection_query

from api.settings import Settings
from tests.api.building import a_book
from tests.serving import Client, Server, running

JSON = "application/json"
GRAPHQL_JSON = "application/graphql-response+json"
NAME = "query Name($id: ID!) { book(id: $id) { name } }"
TWO = 'query One { book(id: "book_1") { name } } query Two { book(id: "book_1") { id } }'

# What keeps a request from being run, though it is one.
REQUEST_ERRORS: dict[str, dict[str, Any]] = {
    "no document": {"query": "{"},
    "no GraphQL": {"query": "SELECT 1"},
    "unknown field": {"query": "{ unknown }"},
    "field without its selection": {"query": "{ books }"},
    "argument left out": {"query": "{ book { id } }"},
    "fragment unknown": {"query": "{ ...Unknown }"},
    "variable left out": {"query": NAME},
    "variable of the wrong type": {"query": NAME, "variables": {"id": []}},
    "variable null": {"query": NAME, "variables": {"id": None}},
    "unknown operation": {"query": TWO, "operationName": "Three"},
    "unknown operation of one": {"query": "query One { books { totalCount } }", "operationName": "Two"},
    "operation not chosen": {"query": TWO},
    "no operation": {"query": "fragment Name on Book { name }"},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Read only, but for its one book."""
    with running(Settings(data_dir=tmp_path_factory.mktemp("data"))) as server, server.client() as client:
        a_book(client, "book_1", name="砂の道")
        yield server


def post(client: Client, accept: str, **body: Any) -> httpx.Response:
    return client.http.post("/graphql", json=body, headers={"accept": accept})


def get(client: Client, accept: str = JSON, **parameters: str) -> httpx.Response:
    return client.http.get("/graphql", params=parameters, headers={"accept": accept})


def codes(response: httpx.Response) -> list[str]:
    return [error["extensions"]["code"] for error in response.json()["errors"]]


# GET


def test_get_with_a_query_is_answered(client: Client) -> None:
    response = get(client, query='{ book(id: "book_1") { name } }')

    assert (response.status_code, response.json()) == (200, {"data": {"book": {"name": "砂の道"}}})


def test_get_takes_variables_as_json(client: Client) -> None:
    response = get(client, query=NAME, variables=json.dumps({"id": "book_1"}))

    assert (response.status_code, response.json()) == (200, {"data": {"book": {"name": "砂の道"}}})


@pytest.mark.parametrize("variables", ["", "null", "{}"])
def test_get_without_variables_may_say_so(client: Client, variables: str) -> None:
    response = get(client, query='{ book(id: "book_1") { name } }', variables=variables, extensions="{}")

    assert (response.status_code, response.json()) == (200, {"data": {"book": {"name": "砂の道"}}})


@pytest.mark.parametrize(("name", "answer"), [("One", {"name": "砂の道"}), ("Two", {"id": "book_1"})])
def test_operation_is_chosen_by_its_name(client: Client, name: str, answer: dict[str, str]) -> None:
    responses = [get(client, query=TWO, operationName=name), post(client, JSON, query=TWO, operationName=name)]

    assert [response.json() for response in responses] == [{"data": {"book": answer}}] * 2


def test_name_of_the_operation_may_be_empty_when_there_is_one(client: Client) -> None:
    responses = [
        get(client, query=NAME, variables='{"id": "book_1"}', operationName=""),
        post(client, JSON, query=NAME, variables={"id": "book_1"}, operationName=None),
    ]

    assert [response.json() for response in responses] == [{"data": {"book": {"name": "砂の道"}}}] * 2


def test_get_takes_text_of_any_script(client: Client) -> None:
    response = get(client, query="query($id: ID!) { book(id: $id) { name } }", variables='{"id": "𠮷🧙‍♀️"}')

    assert (response.status_code, response.json()) == (200, {"data": {"book": None}})


# Media types and status codes


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        (JSON, JSON),
        (GRAPHQL_JSON, GRAPHQL_JSON),
        ("*/*", JSON),
        ("application/*", JSON),
        (f"{GRAPHQL_JSON}, {JSON}", GRAPHQL_JSON),
        (f"{GRAPHQL_JSON}; charset=utf-8, {JSON}; charset=utf-8", GRAPHQL_JSON),
        (f"{GRAPHQL_JSON}, {JSON};q=0.9, */*;q=0.1", GRAPHQL_JSON),
        (f"{JSON};q=0.5, {GRAPHQL_JSON}", GRAPHQL_JSON),
        (f"{GRAPHQL_JSON};q=0.5, {JSON};q=0.9", JSON),
        (f"{JSON};q=0, {GRAPHQL_JSON};q=0.1", GRAPHQL_JSON),
        ("text/html, application/json;q=0.5", JSON),
        (f"TEXT/PLAIN, {GRAPHQL_JSON.upper()}", GRAPHQL_JSON),
    ],
)
def test_answer_is_of_the_type_that_is_wanted_most(client: Client, accept: str, media_type: str) -> None:
    response = post(client, accept, query='{ book(id: "book_1") { name } }')

    assert response.status_code == 200
    assert response.headers["content-type"] == f"{media_type}; charset=utf-8"
    assert response.content.decode() == '{"data":{"book":{"name":"砂の道"}}}'


def test_answer_without_a_wish_is_json(client: Client) -> None:
    request = client.http.build_request("POST", "/graphql", json={"query": "{ books { totalCount } }"})
    del request.headers["accept"]

    response = client.http.send(request)

    assert (response.status_code, response.headers["content-type"]) == (200, f"{JSON}; charset=utf-8")


@pytest.mark.parametrize("accept", ["text/html", "text/plain", "image/*", "application/xml", "application/graphql"])
def test_type_we_cannot_answer_is_not_acceptable(client: Client, accept: str) -> None:
    response = post(client, accept, query='mutation { deleteBook(id: "book_1") { deletedId } }')

    assert (response.status_code, codes(response)) == (406, ["BAD_INPUT"])
    assert client.ask('{ book(id: "book_1") { name } }') == {"book": {"name": "砂の道"}}


@pytest.mark.parametrize("body", REQUEST_ERRORS.values(), ids=REQUEST_ERRORS.keys())
def test_request_error_is_400_without_data_for_clients_of_the_specification(
    client: Client, body: dict[str, Any]
) -> None:
    response = post(client, GRAPHQL_JSON, **body)

    assert (response.status_code, set(response.json())) == (400, {"errors"})
    assert response.headers["content-type"] == f"{GRAPHQL_JSON}; charset=utf-8"
    assert set(codes(response)) == {"BAD_INPUT"}


@pytest.mark.parametrize("body", REQUEST_ERRORS.values(), ids=REQUEST_ERRORS.keys())
def test_request_error_is_200_without_data_for_older_clients(client: Client, body: dict[str, Any]) -> None:
    response = post(client, JSON, **body)

    assert (response.status_code, set(response.json())) == (200, {"errors"})
    assert response.headers["content-type"] == f"{JSON}; charset=utf-8"
    assert set(codes(response)) == {"BAD_INPUT"}


@pytest.mark.parametrize("accept", [JSON, GRAPHQL_JSON])
def test_request_that_asks_too_much_says_so(client: Client, accept: str) -> None:
    document = "{ " + " ".join(f'a{number}: book(id: "x") {{ id }}' for number in range(51)) + " }"

    response = post(client, accept, query=document)

    assert response.status_code == (400 if accept == GRAPHQL_JSON else 200)
    assert (set(response.json()), codes(response)) == ({"errors"}, ["TOO_COSTLY"])


@pytest.mark.parametrize("accept", [JSON, GRAPHQL_JSON])
def test_error_while_running_is_200_with_what_could_be_answered(client: Client, accept: str) -> None:
    document = '{ good: book(id: "book_1") { name } bad: book(id: "book_1") { terms(first: 0) { totalCount } } }'

    response = post(client, accept, query=document)

    assert (response.status_code, codes(response)) == (200, ["BAD_INPUT"])
    assert response.json()["data"] == {"good": {"name": "砂の道"}, "bad": None}
    assert response.json()["errors"][0]["path"] == ["bad", "terms"]


@pytest.mark.parametrize("accept", [JSON, GRAPHQL_JSON])
def test_error_while_running_that_leaves_nothing_is_200_with_data_null(client: Client, accept: str) -> None:
    response = post(client, accept, query="{ books(first: 0) { totalCount } }")

    assert (response.status_code, codes(response)) == (200, ["BAD_INPUT"])
    assert response.json()["data"] is None
    assert response.headers["content-type"] == f"{accept}; charset=utf-8"


@pytest.mark.parametrize("accept", [JSON, GRAPHQL_JSON])
def test_refused_mutation_is_200_with_its_problem(client: Client, accept: str) -> None:
    response = post(client, accept, query='mutation { deleteBook(id: "x") { deletedId problems { code } } }')

    assert response.status_code == 200
    assert response.json() == {"data": {"deleteBook": {"deletedId": None, "problems": [{"code": "NOT_FOUND"}]}}}


def test_body_may_name_its_charset(client: Client) -> None:
    body = json.dumps({"query": '{ book(id: "book_1") { name } }'})

    response = client.http.post("/graphql", content=body, headers={"content-type": "Application/JSON; charset=UTF-8"})

    assert (response.status_code, response.json()) == (200, {"data": {"book": {"name": "砂の道"}}})


def test_error_says_where_in_the_document_it_lies(client: Client) -> None:
    (error,) = client.errors("{\n  books { unknown }\n}")

    assert error["locations"] == [{"line": 2, "column": 11}]
    assert error["message"] == "Cannot query field 'unknown' on type 'BookConnection'."
    assert error["extensions"] == {"code": "BAD_INPUT"}


# Introspection


def test_schema_can_be_asked_for(client: Client) -> None:
    answer = client.ask(
        """{
          __schema { queryType { name } mutationType { name } types { name description } directives { name } }
          __type(name: "EntityType") { kind enumValues { name } }
          __typename
        }"""
    )

    assert answer["__schema"]["queryType"] == {"name": "Query"}
    assert answer["__schema"]["mutationType"] == {"name": "Mutation"}
    assert {"Book", "Character", "Term", "Chapter", "Memory"} < {each["name"] for each in answer["__schema"]["types"]}
    kinds = [{"name": name} for name in ("BOOK", "CHARACTER", "TERM", "CHAPTER")]
    assert answer["__type"] == {"kind": "ENUM", "enumValues": kinds}
    assert answer["__typename"] == "Query"


def test_introspection_of_the_usual_tools_is_answered(client: Client) -> None:
    schema = build_client_schema(client.ask(get_introspection_query()))

    assert schema.query_type is not None
    assert "books" in schema.query_type.fields


# CORS

APP = "https://app.example"
PREFLIGHT = {
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization, content-type",
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serves pages of one other site, with tokens."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("shared"), cors_origins=(APP,), tokens={"t-alice": "alice"})
    with running(settings) as server:
        yield server


def preflight(server: Server, origin: str) -> httpx.Response:
    return httpx.options(f"{server.url}/graphql", headers={"origin": origin, **PREFLIGHT}, trust_env=False)


def test_preflight_of_an_allowed_origin_is_granted_without_a_token(shared: Server) -> None:
    response = preflight(shared, APP)

    assert response.status_code == 200
    assert response.headers["access-control-allow-origin"] == APP
    assert "POST" in response.headers["access-control-allow-methods"]
    allowed = response.headers["access-control-allow-headers"].lower()
    assert all(name in allowed for name in ("authorization", "content-type"))


def test_answer_to_an_allowed_origin_may_be_read_by_it(shared: Server) -> None:
    with shared.client("t-alice") as client:
        response = client.http.post("/graphql", json={"query": "{ books { totalCount } }"}, headers={"origin": APP})

    assert (response.status_code, response.json()) == (200, {"data": {"books": {"totalCount": 0}}})
    assert response.headers["access-control-allow-origin"] == APP
    assert "origin" in response.headers["vary"].lower()
    assert "access-control-allow-credentials" not in response.headers


def test_refusal_may_be_read_by_an_allowed_origin(shared: Server) -> None:
    with shared.client() as stranger:
        response = stranger.http.post("/graphql", json={"query": "{ books { totalCount } }"}, headers={"origin": APP})

    assert (response.status_code, codes(response)) == (401, ["UNAUTHENTICATED"])
    assert response.headers["access-control-allow-origin"] == APP


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://app.example", "https://app.example.evil.example", "null", f"{APP}:444"]
)
def test_any_other_origin_is_granted_nothing(shared: Server, origin: str) -> None:
    with shared.client("t-alice") as client:
        answer = client.http.post("/graphql", json={"query": "{ books { totalCount } }"}, headers={"origin": origin})

    for response in (preflight(shared, origin), answer):
        assert "access-control-allow-origin" not in response.headers


def test_no_origin_is_granted_anything_by_default(server: Server, client: Client) -> None:
    answer = client.http.post("/graphql", json={"query": "{ books { totalCount } }"}, headers={"origin": APP})
    asked = preflight(server, APP)

    assert answer.status_code == 200
    for response in (answer, asked):
        assert "access-control-allow-origin" not in response.headers
    assert 400 <= asked.status_code < 500
