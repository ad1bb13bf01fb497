"""Whose a document is and what it belongs to, as partitions of vectors and as words inside the keyword index."""

import hashlib

import orjson

from domain.documents import Document
from domain.entities import EntityRef
from domain.search import SearchSource


def scope_of(document: Document) -> str:
    """The partition a document lies in."""
    return f"book:{document.book_id}" if document.book_id is not None else document.source.value


def scope_tokens(owner: str, document: Document) -> tuple[str, ...]:
    """Words by which a search is kept to an owner, a source, a book or an entity, inside the index itself."""
    return (
        owner_token(owner),
        source_token(owner, document.source),
        *((book_token(owner, document.book_id),) if document.book_id is not None else ()),
        *(entity_token(owner, ref) for ref in document.attached_to),
    )


def owner_token(owner: str) -> str:
    return _token("owner", owner)


def source_token(owner: str, source: SearchSource) -> str:
    return _token("source", owner, source.value)


def book_token(owner: str, book_id: str) -> str:
    return _token("book", owner, book_id)


def entity_token(owner: str, ref: EntityRef) -> str:
    return _token("entity", owner, ref.type.value, ref.id)


def _token(*parts: str) -> str:
    return hashlib.blake2b(orjson.dumps(parts), digest_size=8).hexdigest()
