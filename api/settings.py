"""Settings, read once from the environment and handed on."""

import ipaddress
import re
from datetime import tzinfo
from pathlib import Path
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, HttpUrl, SecretStr, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from domain.limits import Limits
from domain.memory_settings import EVICTION_THRESHOLDS, RETRIEVAL_LIMITS, MemorySettings

LOCAL_OWNER = "local"
OWNER_NAME = re.compile(r"[a-z0-9_-]{1,64}")


class Settings(BaseSettings):
    """Each field is the environment variable LOREGRAPH_<FIELD>."""

    model_config = SettingsConfigDict(env_prefix="LOREGRAPH_", frozen=True, populate_by_name=True)

    data_dir: Path = Path("data")
    tokens: Annotated[dict[str, str], NoDecode] = Field(default={}, description="owner=token, separated by commas")
    timezone: str = Field(default="", description="an IANA name; the zone of this machine when empty")
    cors_origins: Annotated[tuple[str, ...], NoDecode] = Field(default=(), description="separated by commas")
    log_level: str = "INFO"
    max_body_bytes: int = Field(default=32 * 1024 * 1024, gt=0)
    keep_alive_seconds: float = Field(default=15, gt=0, description="between signs of life on an open stream")
    connection_init_seconds: float = Field(default=10, gt=0, description="for a WebSocket to say who it is")
    llm_base_url: str = Field(default="", description="a chat endpoint that extracts facts; rules do when empty")
    llm_api_key: SecretStr = SecretStr("")
    llm_model: str = Field(default="", validate_default=True)
    sweep_seconds: float = Field(default=1, gt=0, description="between looks for sessions that have ended")
    retrieval_limit: int = Field(default=MemorySettings().retrieval_limit, validation_alias="MEMORY_RETRIEVAL_LIMIT")
    eviction_threshold: int | None = Field(default=None, validation_alias="MEMORY_EVICTION_THRESHOLD")
    embedder: Literal["use", "openai", "none"] = "use"
    embedding_base_url: str = Field(default="", validate_default=True, description="such as http://127.0.0.1:11434/v1")
    embedding_api_key: SecretStr = SecretStr("")
    embedding_model: str = Field(default="", validate_default=True)
    max_name: int = Field(default=Limits().name, gt=0)
    max_summary: int = Field(default=Limits().summary, gt=0)
    max_content: int = Field(default=Limits().content, gt=0)
    max_note: int = Field(default=Limits().note, gt=0)
    max_text: int = Field(default=Limits().text, gt=0)
    max_notebook: int = Field(default=Limits().notebook, gt=0)

    @field_validator("tokens", mode="before")
    @classmethod
    def _read_tokens(cls, given: object) -> object:
        """From owner=token to token → owner."""
        if not isinstance(given, str):
            return given
        tokens: dict[str, str] = {}
        for pair in filter(None, (part.strip() for part in given.split(","))):
            owner, separator, token = pair.partition("=")
            if not separator or not token or not OWNER_NAME.fullmatch(owner):
                raise ValueError("write owner=token,owner=token with owners of a-z, 0-9, _ and -")
            if token in tokens:
                raise ValueError("every token may stand only once")
            tokens[token] = owner
        if not tokens:
            raise ValueError("it is set but names no token; unset it to serve this machine alone")
        return tokens

    @field_validator("cors_origins", mode="before")
    @classmethod
    def _read_origins(cls, given: object) -> object:
        if not isinstance(given, str):
            return given
        return tuple(origin.strip() for origin in given.split(",") if origin.strip())

    @field_validator("log_level")
    @classmethod
    def _read_level(cls, given: str) -> str:
        level = given.upper()
        if level not in ("DEBUG", "INFO", "WARNING", "ERROR"):
            raise ValueError("choose DEBUG, INFO, WARNING or ERROR")
        return level

    @field_validator("embedder", mode="before")
    @classmethod
    def _read_embedder(cls, given: object) -> object:
        return given.strip().lower() if isinstance(given, str) else given

    @field_validator("embedding_base_url", "embedding_model")
    @classmethod
    def _require_for_openai(cls, given: str, info: ValidationInfo) -> str:
        if info.data.get("embedder") == "openai" and not given.strip():
            raise ValueError("it must be set when LOREGRAPH_EMBEDDER is openai")
        return given.strip()

    @field_validator("embedding_base_url", "llm_base_url")
    @classmethod
    def _read_base_url(cls, given: str, info: ValidationInfo) -> str:
        if given and not _is_base_url(given):
            key = f"LOREGRAPH_{str(info.field_name).upper().removesuffix('BASE_URL')}API_KEY"
            raise ValueError(f"write a URL such as http://127.0.0.1:11434/v1; a key belongs in {key}")
        return given.strip().rstrip("/")

    @field_validator("llm_model")
    @classmethod
    def _require_for_llm(cls, given: str, info: ValidationInfo) -> str:
        if info.data.get("llm_base_url") and not given.strip():
            raise ValueError("it must be set when LOREGRAPH_LLM_BASE_URL is")
        return given.strip()

    @field_validator("retrieval_limit", "eviction_threshold")
    @classmethod
    def _check_range(cls, given: int | None, info: ValidationInfo) -> int | None:
        low, high = RETRIEVAL_LIMITS if info.field_name == "retrieval_limit" else EVICTION_THRESHOLDS
        if given is not None and not low <= given <= high:
            raise ValueError(f"write a number from {low} to {high}")
        return given

    @field_validator("eviction_threshold", mode="before")
    @classmethod
    def _read_threshold(cls, given: object) -> object:
        """Set to nothing is not set."""
        return None if isinstance(given, str) and not given.strip() else given

    @field_validator("embedding_api_key", "llm_api_key")
    @classmethod
    def _read_api_key(cls, given: SecretStr) -> SecretStr:
        key = given.get_secret_value().strip()
        if not (key.isascii() and key.isprintable()):
            raise ValueError("it holds characters that no HTTP header can carry")
        return SecretStr(key)

    @field_validator("timezone")
    @classmethod
    def _check_zone(cls, given: str) -> str:
        try:
            return ZoneInfo(given).key if given else ""
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError("name a zone as in Asia/Tokyo, or unset it for the zone of this machine") from error

    @property
    def zone(self) -> tzinfo | None:
        """None is the zone of this machine, with its summer time."""
        return ZoneInfo(self.timezone) if self.timezone else None

    @property
    def memory(self) -> MemorySettings:
        """What holds for every owner who has not set it otherwise."""
        return MemorySettings(retrieval_limit=self.retrieval_limit, eviction_threshold=self.eviction_threshold)

    @property
    def limits(self) -> Limits:
        return Limits(
            self.max_name,
            self.max_summary,
            self.max_content,
            self.max_note,
            self.max_text,
            notebook=self.max_notebook,
        )


def _is_base_url(given: str) -> bool:
    try:
        url = HttpUrl(given)
    except ValueError:
        return False
    return not (url.username or url.password or url.query or url.fragment)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
