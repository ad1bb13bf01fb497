"""Which embedder is used is set in the environment; what cannot be used is said at the start."""

import pytest
from pydantic import ValidationError

from api.settings import Settings

OPENAI = {
    "LOREGRAPH_EMBEDDER": "openai",
    "LOREGRAPH_EMBEDDING_BASE_URL": "http://127.0.0.1:11434/v1/",
    "LOREGRAPH_EMBEDDING_API_KEY": "sk-secret\n",
    "LOREGRAPH_EMBEDDING_MODEL": "bge-m3",
}


def refusals(monkeypatch: pytest.MonkeyPatch, **environment: str) -> dict[object, str]:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ValidationError) as refused:
        Settings()
    return {each["loc"][0]: each["msg"] for each in refused.value.errors()}


def test_the_built_in_embedder_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OPENAI:
        monkeypatch.delenv(name, raising=False)

    assert Settings().embedder == "use"


def test_a_server_is_set_by_its_url_key_and_model(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in OPENAI.items():
        monkeypatch.setenv(name, value)

    settings = Settings()

    assert settings.embedder == "openai"
    assert settings.embedding_base_url == "http://127.0.0.1:11434/v1"
    assert settings.embedding_model == "bge-m3"
    assert settings.embedding_api_key.get_secret_value() == "sk-secret"
    assert "sk-secret" not in repr(settings)


@pytest.mark.parametrize("written", ["none", "None", " NONE "])
def test_an_embedder_may_be_written_in_any_case(monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    monkeypatch.setenv("LOREGRAPH_EMBEDDER", written)

    assert Settings().embedder == "none"


def test_an_unknown_embedder_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusals(monkeypatch, LOREGRAPH_EMBEDDER="word2vec") == {
        "embedder": "Input should be 'use', 'openai' or 'none'"
    }


def test_a_server_needs_its_url_and_model(monkeypatch: pytest.MonkeyPatch) -> None:
    required = "Value error, it must be set when LOREGRAPH_EMBEDDER is openai"

    assert refusals(monkeypatch, LOREGRAPH_EMBEDDER="openai", LOREGRAPH_EMBEDDING_MODEL=" ") == {
        "embedding_base_url": required,
        "embedding_model": required,
    }


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:11434",
        "ftp://host/v1",
        "http://",
        "http://host:99999/v1",
        "http://a b/v1",
        "http://user:sk-secret@host/v1",
        "http://host/v1?key=sk-secret",
        "http://host/v1#part",
    ],
)
def test_a_url_that_cannot_be_used_is_refused(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    assert refusals(monkeypatch, **OPENAI | {"LOREGRAPH_EMBEDDING_BASE_URL": url}) == {
        "embedding_base_url": "Value error, write a URL such as http://127.0.0.1:11434/v1;"
        " a key belongs in LOREGRAPH_EMBEDDING_API_KEY"
    }


@pytest.mark.parametrize("key", ["sk\r\nx: y", "clé"])
def test_a_key_that_no_header_can_carry_is_refused(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    assert refusals(monkeypatch, **OPENAI | {"LOREGRAPH_EMBEDDING_API_KEY": key}) == {
        "embedding_api_key": "Value error, it holds characters that no HTTP header can carry"
    }
