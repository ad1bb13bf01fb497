"""Vectors for documents that have none yet: taken from where the same text was embedded before, or made."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from domain.documents import Document
from domain.ports import Embedder, Vector
from domain.search import SearchSource
from persistence import sqlite
from persistence.index.index_file import IndexFile
from persistence.index.truth import Truth
from persistence.mapping import json_of

# Small, so that a batch does not keep others from their turn with the embedder.
BATCH: Final = 32

_WAITING: Final = """
    SELECT number, owner, source, id, text, context, digest FROM document
    WHERE is_embedded = 0 AND number > :after ORDER BY number LIMIT :limit"""
_FEW_WAITING: Final = "SELECT number FROM document WHERE is_embedded = 0 LIMIT :limit"
_WAITING_OF: Final = """
    SELECT number, owner, source, id, text, context, digest FROM document
    WHERE is_embedded = 0 AND number IN (SELECT value FROM json_each(:numbers))"""
_MADE_BEFORE: Final = """
    SELECT lower(hex(digest)), embedding FROM json_each(:digests) AS wanted
    CROSS JOIN document ON document.digest = unhex(wanted.value) AND is_embedded = 1
    CROSS JOIN vector ON vector.rowid = document.number"""


@dataclass(frozen=True, slots=True)
class Waiting:
    number: int
    digest: bytes
    meaning: str


@dataclass(frozen=True, slots=True)
class EmbeddingQueue:
    truth: Truth
    embedder: Embedder

    async def embed(self, file: IndexFile, waiting: Sequence[Waiting], reuse: IndexFile | None = None) -> None:
        """Raises EmbedderUnavailableError; what could be taken from elsewhere is kept all the same."""
        digests = {each.digest for each in waiting}
        known = {**(await made_before(reuse, digests) if reuse else {}), **await made_before(file, digests)}
        await file.put_vectors(_of_each(waiting, known))
        new = {each.digest: each.meaning for each in waiting if each.digest not in known}
        if not new:
            return
        made = dict(zip(new, await self.embedder.embed(list(new.values())), strict=True))
        await file.put_vectors(_of_each(waiting, made))

    async def next_batch(self, file: IndexFile, after: int) -> tuple[list[Waiting], int]:
        """Those behind number `after`, and the number of the last one looked at; (…, after) when there is none."""
        rows = cast("list[Any]", await file.engine.fetch(_WAITING, {"after": after, "limit": BATCH}))
        return await self._with_texts(rows), rows[-1][0] if rows else after

    async def few_waiting(self, file: IndexFile, most: int) -> list[int]:
        """The numbers of all that wait, if there are not too many to be embedded at once."""
        rows = cast("list[Any]", await file.engine.read(_FEW_WAITING, {"limit": most + 1}))
        return [number for (number,) in rows] if len(rows) <= most else []

    async def of_numbers(self, file: IndexFile, numbers: Collection[int]) -> list[Waiting]:
        rows = cast("list[Any]", await file.engine.fetch(_WAITING_OF, {"numbers": json_of(numbers)}))
        return await self._with_texts(rows)

    async def _with_texts(self, rows: Sequence[Any]) -> list[Waiting]:
        """A row that has changed since it was indexed is left for the change to be applied first."""
        keys = [(owner, source, id_) for _, owner, source, id_, text, *_ in rows if text is None]
        documents = {
            (each.owner, each.document.source.value, each.document.id): each.document
            for each in await self.truth.documents(keys)
        }
        waiting = []
        for number, owner, source, id_, text, context, digest in rows:
            passage = None if text is None else Document(SearchSource(source), id_, text, context)
            document = passage or documents.get((owner, source, id_))
            if document is not None and document.digest == digest:
                waiting.append(Waiting(number, digest, document.meaning))
        return waiting


def _of_each(waiting: Sequence[Waiting], vectors: Mapping[bytes, Vector]) -> dict[int, tuple[bytes, Vector]]:
    return {each.number: (each.digest, vectors[each.digest]) for each in waiting if each.digest in vectors}


async def made_before(file: IndexFile, digests: Collection[bytes]) -> dict[bytes, Vector]:
    if not file.has_vectors:
        return {}
    try:
        rows = await file.engine.fetch(_MADE_BEFORE, {"digests": json_of([digest.hex() for digest in digests])})
    except sqlite.Error:
        return {}
    return {bytes.fromhex(digest): vector for digest, vector in cast("Any", rows)}
