"""Settings, read once from the environment and handed on."""

import ipaddress
import re
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from domain.limits import Limits

LOCAL_OWNER = "local"
OWNER_NAME = re.compile(r"[a-z0-9_-]{1,64}")


class Settings(BaseSettings):
    """Each field is the environment variable LOREGRAPH_<FIELD>."""

    model_config = SettingsConfigDict(env_prefix="LOREGRAPH_", frozen=True)

    data_dir: Path = Path("data")
    tokens: Annotated[dict[str, str], NoDecode] = Field(default={}, description="owner=token, separated by commas")
    cors_origins: Annotated[tuple[str, ...], NoDecode] = Field(default=(), description="separated by commas")
    log_level: str = "INFO"
    max_body_bytes: int = Field(default=32 * 1024 * 1024, gt=0)
    max_name: int = Field(default=Limits().name, gt=0)
    max_summary: int = Field(default=Limits().summary, gt=0)
    max_content: int = Field(default=Limits().content, gt=0)
    max_note: int = Field(default=Limits().note, gt=0)
    max_text: int = Field(default=Limits().text, gt=0)

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

    @property
    def limits(self) -> Limits:
        return Limits(self.max_name, self.max_summary, self.max_content, self.max_note, self.max_text)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
