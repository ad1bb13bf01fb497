"""Who is asking: every surface that answers data passes through here first."""

import hashlib
from collections.abc import Collection, Mapping
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from api.responses import Refusal
from api.settings import LOCAL_OWNER, is_loopback
from schema.problems import ProblemCode

OWNER: Final = "loregraph.owner"

_PUBLIC_PATHS: Final = ("/", "/health")

_NO_TOKEN: Final = Refusal(
    401,
    ProblemCode.UNAUTHENTICATED,
    "Send a token of this server: Authorization: Bearer <token>.",
    headers={"www-authenticate": 'Bearer realm="loregraph"'},
)
_FOREIGN_HOST: Final = Refusal(
    403, ProblemCode.FORBIDDEN, "Without tokens only this machine is served: ask for 127.0.0.1."
)

_FOREIGN_ORIGIN: Final = Refusal(
    403,
    ProblemCode.FORBIDDEN,
    "Without tokens only pages of this machine may open a WebSocket; add others to LOREGRAPH_CORS_ORIGINS.",
)


class Tokens:
    """False when there are none."""

    def __init__(self, owners: Mapping[str, str]) -> None:
        # Looked up by digest, so that the time a look-up takes says nothing about a token.
        self._owners = {_digest(token): owner for token, owner in owners.items()}

    def __bool__(self) -> bool:
        return bool(self._owners)

    def owner_of(self, authorization: str) -> str | None:
        scheme, _, token = authorization.partition(" ")
        return self._owners.get(_digest(token.strip())) if scheme.lower() == "bearer" else None


class AccessMiddleware:
    """Leaves the caller's owner in the scope, or answers 401 or 403."""

    def __init__(self, app: ASGIApp, tokens: Tokens, origins: Collection[str]) -> None:
        self.app = app
        self.tokens = tokens
        self.origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = None if scope["type"] == "lifespan" or is_public(scope) else self._admit(scope)
        await (refusal.response(scope["path"]) if refusal else self.app)(scope, receive, send)

    def _admit(self, scope: Scope) -> Refusal | None:
        headers = Headers(scope=scope)
        if self.tokens:
            scope[OWNER] = self.tokens.owner_of(headers.get("authorization", ""))
            return None if scope[OWNER] or _says_later_who_it_is(scope) else _NO_TOKEN
        if not _names_this_machine(headers.get("host", "")):
            return _FOREIGN_HOST
        if scope["type"] == "websocket" and not self._is_ours(headers.get("origin")):
            return _FOREIGN_ORIGIN
        scope[OWNER] = LOCAL_OWNER
        return None

    def _is_ours(self, origin: str | None) -> bool:
        """Browsers let a page of any site open a WebSocket to this machine, and read from it."""
        if origin is None or origin in self.origins or "*" in self.origins:
            return True
        try:
            return is_loopback(urlsplit(origin).hostname or "")
        except ValueError:
            return False


def owner_of(connection: HTTPConnection) -> str:
    return str(connection.scope[OWNER])


def owner_if_known(connection: HTTPConnection) -> str | None:
    """A WebSocket may say only later who it is."""
    owner: str | None = connection.scope[OWNER]
    return owner


def is_public(scope: Scope) -> bool:
    """Pages and programs without data; what they show is asked for with a token."""
    path = scope["path"]
    return path in _PUBLIC_PATHS or path.startswith("/static/") or (path == "/graphql" and wants_page(scope))


def wants_page(scope: Scope) -> bool:
    """A browser that opens GraphiQL, perhaps with a query to show; no client that asks for JSON."""
    return (
        scope["type"] == "http" and scope["method"] == "GET" and "text/html" in Headers(scope=scope).get("accept", "")
    )


def _says_later_who_it_is(scope: Scope) -> bool:
    """Browsers can send no token as they open a WebSocket; it comes with the first message."""
    return bool(scope["type"] == "websocket" and scope["path"] == "/graphql")


def _names_this_machine(host: str) -> bool:
    """Without tokens a page of another site must not reach us by a name that resolves to this machine."""
    name = host.rpartition(":")[0] if ":" in host.rpartition("]")[2] else host
    return is_loopback(name.strip("[]"))


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()
