"""Who is asking: every surface that answers data passes through here first."""

import hashlib
from collections.abc import Mapping
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from api.responses import refusal
from api.settings import LOCAL_OWNER, is_loopback
from schema.problems import ProblemCode

OWNER: Final = "loregraph.owner"

_PUBLIC_PATHS: Final = ("/", "/health")

_NO_TOKEN: Final = refusal(
    401,
    ProblemCode.UNAUTHENTICATED,
    "Send a token of this server: Authorization: Bearer <token>.",
    headers={"www-authenticate": 'Bearer realm="loregraph"'},
)
_FOREIGN_HOST: Final = refusal(
    403, ProblemCode.FORBIDDEN, "Without tokens only this machine is served: ask for 127.0.0.1."
)


class AccessMiddleware:
    """Leaves the caller's owner in the scope, or answers 401 or 403."""

    def __init__(self, app: ASGIApp, tokens: Mapping[str, str]) -> None:
        self.app = app
        # Looked up by digest, so that the time a look-up takes says nothing about a token.
        self.owner_of = {_digest(token): owner for token, owner in tokens.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or is_public(scope):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        owner = self._owner(headers)
        if owner is not None:
            scope[OWNER] = owner
            await self.app(scope, receive, send)
            return
        response = _NO_TOKEN if self.owner_of else _FOREIGN_HOST
        await response(scope, receive, send)

    def _owner(self, headers: Headers) -> str | None:
        if not self.owner_of:
            return LOCAL_OWNER if _names_this_machine(headers.get("host", "")) else None
        scheme, _, token = headers.get("authorization", "").partition(" ")
        return self.owner_of.get(_digest(token.strip())) if scheme.lower() == "bearer" else None


def owner_of(connection: HTTPConnection) -> str:
    return str(connection.scope[OWNER])


def is_public(scope: Scope) -> bool:
    """Pages and programs without data; what they show is asked for with a token."""
    path = scope["path"]
    return path in _PUBLIC_PATHS or path.startswith("/static/") or (path == "/graphql" and wants_page(scope))


def wants_page(scope: Scope) -> bool:
    """A browser that opens GraphiQL, perhaps with a query to show; no client that asks for JSON."""
    return (
        scope["type"] == "http" and scope["method"] == "GET" and "text/html" in Headers(scope=scope).get("accept", "")
    )


def _names_this_machine(host: str) -> bool:
    """Without tokens a page of another site must not reach us by a name that resolves to this machine."""
    name = host.rpartition(":")[0] if ":" in host.rpartition("]")[2] else host
    return is_loopback(name.strip("[]"))


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()
