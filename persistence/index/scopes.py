"""Whose a document is and what it belongs to, as partitions of vectors and as words inside the keyword index."""

import hashlib

import orjson

from domain.documents import Document
from domain.entities import EntityRef
from domain.search import SearchSource

# Long enough that no two scopes of a library share theirs by chance.
_PREFIX_LENGTH = 12


def scope_of(document: Document) -> str:
    """The partition a document lies in."""
    return document.source.value if document.book_id is None else scope_of_book(document.book_id)


def scope_of_book(book_id: str) -> str:
    return f"book:{book_id}"


def scope_tokens(owner: str, document: Document) -> tuple[str, ...]:
    """Words by which a search is kept to a source or an entity, inside the index itself."""
    return source_token(owner, document.source), *(entity_token(owner, ref) for ref in document.attached_to)


def term_prefix(owner: str, scope: str | None = None) -> str:
    """What every term of an owner, or of a scope, begins with; the same word of another is another term."""
    return f"{_token('terms', owner, *((scope,) if scope is not None else ()))[:_PREFIX_LENGTH]}+"


def source_token(owner: str, source: SearchSource) -> str:
    return _token("source", owner, source.value)


def entity_token(owner: str, ref: EntityRef) -> str:
    return _token("entity", owner, ref.type.value, ref.id)


def _token(*parts: str) -> str:
    return hashlib.blake2b(orjson.dumps(parts), digest_size=8).hexdigest()
