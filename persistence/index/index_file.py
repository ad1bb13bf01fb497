"""One file of the index: documents with their words, their vectors, and who is named in them."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

import aiosqlite

from domain.documents import Document
from domain.entities import EntityRef
from domain.ports import Vector
from domain.search import SearchSource
from domain.segmentation import Terms
from persistence import sqlite
from persistence.embedding.vectors import FLOAT_BYTES
from persistence.engine import Engine, Transaction
from persistence.index.index_schema import SCHEMA, TABLES, VECTORS, VECTORS_BY_SCOPE
from persistence.index.scopes import scope_of, scope_tokens, term_prefix
from persistence.index.tasks import finish
from persistence.index.truth import Key
from persistence.mapping import json_of, to_microseconds

READERS: Final = 2
MERGED_PAGES: Final = 200
TO_FORGET: Final = "to_forget"

_KNOWN: Final = """
    SELECT number, document.owner, source, document.id, digest, is_embedded, scope FROM json_each(:keys) AS wanted
    CROSS JOIN document ON document.owner = wanted.value ->> 0 AND source = wanted.value ->> 1
     AND document.id = wanted.value ->> 2"""

_PUT_DOCUMENT: Final = """
    INSERT INTO document (owner, source, id, scope, at, day, path, line, text, context, digest)
    VALUES (:owner, :source, :id, :scope, :at, :day, :path, :line, :text, :context, :digest)
    ON CONFLICT (owner, source, id) DO UPDATE SET
        scope = excluded.scope, at = excluded.at, day = excluded.day, path = excluded.path, line = excluded.line,
        text = excluded.text, context = excluded.context, digest = excluded.digest,
        is_embedded = is_embedded AND digest = excluded.digest AND scope = excluded.scope"""

_WORD_TABLES: Final = ("keyword", "scoped")
_PUT_WORDS: Final = "INSERT INTO {table} (rowid, characters, pairs, words, context, scope) VALUES (?, ?, ?, ?, ?, ?)"
_PUT_VECTOR: Final = "INSERT INTO vector (rowid, owner, scope, embedding) VALUES (?, ?, ?, ?)"
_PUT_META: Final = "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
_PUT_FILE: Final = "INSERT INTO file VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version"
_TOUCH_BOOK: Final = "UPDATE book SET named_version = named_version + 1 WHERE owner = ? AND 'book:' || id = ?"
_PUT_NAMED: Final = "INSERT INTO named VALUES (?, ?, ?, ?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class NamedIn:
    """An entity whose name stands in a memory that may be told between two chapters."""

    ref: EntityRef
    revealed_in: int
    valid_from_chapter: int | None
    valid_until_chapter: int | None


@dataclass(frozen=True, slots=True)
class Entry:
    """A document ready to be written."""

    owner: str
    document: Document
    terms: Terms
    context: Terms
    named: tuple[NamedIn, ...] = ()

    @property
    def key(self) -> Key:
        return self.owner, self.document.source.value, self.document.id


@dataclass(frozen=True, slots=True)
class Batch:
    """All of it or nothing: what is put in and taken out, and how far the index has come with it."""

    entries: Sequence[Entry] = ()
    removed: Collection[Key] = ()
    moved: Mapping[Key, int] = field(default_factory=dict)
    files: Mapping[tuple[str, str], str | None] = field(default_factory=dict)
    meta: Mapping[str, object] = field(default_factory=dict)


@dataclass
class IndexFile:
    """Open with `open_index`, borrow with `in_use`, and close: it waits for the last borrower, cancelled or not."""

    engine: Engine
    meta: dict[str, Any]
    has_vectors: bool
    _users: int = 0
    _unused: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def applied(self) -> int:
        return int(self.meta.get("applied", 0))

    @asynccontextmanager
    async def in_use(self) -> AsyncIterator["IndexFile"]:
        self._users += 1
        try:
            yield self
        finally:
            self._users -= 1
            if not self._users:
                self._unused.set()

    async def put(self, batch: Batch) -> None:
        await self.engine.write(lambda transaction: self._put(transaction, batch))
        self.meta |= batch.meta

    async def put_vectors(self, vectors: Mapping[int, tuple[bytes, Vector]]) -> None:
        """By document number, each with the digest of the text it was made of; one that has changed since is left."""
        if vectors:
            # A search that waits no longer must not leave vectors behind that nobody knows of.
            await finish(self._write_vectors(vectors))

    async def put_names(
        self, owner: str, book_id: str, names_version: str, names: str, named: Mapping[str, Sequence[NamedIn]]
    ) -> None:
        """The names the book has now, and who is named in the memories that this concerns."""

        async def work(transaction: Transaction) -> None:
            await _put_named(transaction, {(owner, memory_id): each for memory_id, each in named.items()})
            await transaction.execute(
                "INSERT INTO book VALUES (?, ?, ?, ?, 1) ON CONFLICT DO UPDATE SET names = excluded.names,"
                " names_version = excluded.names_version, named_version = named_version + 1",
                (owner, book_id, names_version, names),
            )

        await self.engine.write(work)

    async def seal(self) -> None:
        """Everything into the one file, so that it can be given another name."""
        await self.engine.write(_optimize)
        await self.engine.leave_wal()

    async def forget(self) -> None:
        """The words of what was taken out are afterwards in no file any more: FTS5 only marks them as deleted."""
        for table in _WORD_TABLES:
            # A large index takes seconds: in steps, so that others can write in between.
            pages = -MERGED_PAGES
            while await self.engine.write(partial(_merge, table=table, pages=pages)):
                pages = MERGED_PAGES
        await self.put(Batch(meta={TO_FORGET: 0}))
        await self.engine.forget()

    @property
    def has_to_forget(self) -> bool:
        """A fact was taken out whose words are still in the file."""
        return bool(self.meta.get(TO_FORGET))

    async def close(self) -> None:
        await finish(self._close())

    async def _close(self) -> None:
        while self._users:
            self._unused.clear()
            await self._unused.wait()
        await self.engine.close()

    async def _put(self, transaction: Transaction, batch: Batch) -> None:
        entries = {entry.key: entry for entry in batch.entries}
        gone = [*batch.removed, *entries]
        known = cast("list[Any]", await transaction.fetch(_KNOWN, {"keys": json_of(gone)}))
        numbers = [(row[0],) for row in known]
        for table in _WORD_TABLES:
            await transaction.execute_many(f"DELETE FROM {table} WHERE rowid = ?", numbers)
        removed = [row for row in known if (row[1], row[2], row[3]) not in entries]
        await transaction.execute_many("DELETE FROM document WHERE number = ?", [(row[0],) for row in removed])
        named: dict[tuple[str, str], Sequence[NamedIn]] = {
            (owner, id_): () for owner, source, id_ in batch.removed if source == SearchSource.MEMORY
        }
        await transaction.execute_many(_PUT_DOCUMENT, [_document_row(entry) for entry in entries.values()])
        now = cast("list[Any]", await transaction.fetch(_KNOWN, {"keys": json_of(entries)}))
        await self._drop_outdated_vectors(transaction, known, now)
        await self._put_words(transaction, entries, now)
        named |= {(each.owner, each.document.id): each.named for each in entries.values() if each.document.book_id}
        await _put_named(transaction, named)
        await transaction.execute_many(
            "UPDATE document SET line = ? WHERE owner = ? AND source = ? AND id = ?",
            [(line, *key) for key, line in batch.moved.items()],
        )
        await _put_files(transaction, batch.files)
        # Also the book in which something stood before.
        await transaction.execute_many(_TOUCH_BOOK, list({(row[1], row[6]) for row in (*known, *now)}))
        await transaction.execute_many(_PUT_META, list(batch.meta.items()))

    async def _put_words(self, transaction: Transaction, entries: Mapping[Key, Entry], now: Sequence[Any]) -> None:
        # In the order of their numbers: FTS5 starts a new segment whenever a number goes back.
        numbered = [(number, entries[owner, source, id_]) for number, owner, source, id_, *_ in sorted(now)]
        for table in _WORD_TABLES:
            rows = [_words_row(number, entry, in_scope=table == "scoped") for number, entry in numbered]
            await transaction.execute_many(_PUT_WORDS.format(table=table), rows)

    async def _write_vectors(self, vectors: Mapping[int, tuple[bytes, Vector]]) -> None:
        dimensions = len(next(vector for _, vector in vectors.values())) // FLOAT_BYTES
        await self.engine.write(lambda transaction: self._put_vectors(transaction, vectors, dimensions))
        # Only now, when every reader can see the table.
        self.meta["dimensions"] = dimensions
        self.has_vectors = True

    async def _drop_outdated_vectors(self, transaction: Transaction, before: Sequence[Any], now: Sequence[Any]) -> None:
        still = {row[0] for row in now if row[5]}
        outdated = [(row[0],) for row in before if row[5] and row[0] not in still]
        if self.has_vectors:
            await transaction.execute_many("DELETE FROM vector WHERE rowid = ?", outdated)

    async def _put_vectors(
        self, transaction: Transaction, vectors: Mapping[int, tuple[bytes, Vector]], dimensions: int
    ) -> None:
        if not self.has_vectors:
            await transaction.execute(VECTORS.format(dimensions=dimensions))
            await transaction.execute(VECTORS_BY_SCOPE)
            await transaction.execute(_PUT_META, ("dimensions", dimensions))
        rows = cast(
            "list[Any]",
            await transaction.fetch(
                "SELECT number, owner, scope, digest FROM document"
                " WHERE is_embedded = 0 AND number IN (SELECT value FROM json_each(?))",
                (json_of(vectors),),
            ),
        )
        fitting = [row for row in rows if vectors[row[0]][0] == row[3]]
        # Left by a process that could not load sqlite-vec, and so could not take it out.
        await transaction.execute_many("DELETE FROM vector WHERE rowid = ?", [(row[0],) for row in fitting])
        await transaction.execute_many(
            _PUT_VECTOR, [(number, owner, scope, vectors[number][1]) for number, owner, scope, _ in fitting]
        )
        await transaction.execute_many(
            "UPDATE document SET is_embedded = 1 WHERE number = ?", [(row[0],) for row in fitting]
        )


class DamagedIndexError(Exception):
    """A part of it is missing, or its parts do not agree."""


async def create_index(path: Path, meta: Mapping[str, object]) -> IndexFile:
    engine = await Engine.open(path, _create, readers=READERS)

    async def begin(transaction: Transaction) -> None:
        await transaction.execute_many(_PUT_META, list(meta.items()))

    try:
        await engine.write(begin)
    except BaseException:
        await engine.close()
        raise
    return IndexFile(engine, dict(meta), has_vectors=False)


async def open_index(path: Path) -> IndexFile:
    """Raises DamagedIndexError, or what SQLite does."""
    engine = await Engine.open(path, _relax, readers=READERS)
    try:
        return await _checked(engine)
    except BaseException:
        await engine.close()
        raise


async def _checked(engine: Engine) -> IndexFile:
    tables = {str(row[0]) for row in await engine.read("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if missing := TABLES - tables:
        raise DamagedIndexError(f"it has no table {', '.join(sorted(missing))}")
    for table in _WORD_TABLES:
        ((documents, indexed),) = await engine.fetch(
            f"SELECT (SELECT COUNT(*) FROM document), (SELECT COUNT(*) FROM {table}_docsize)"
        )
        if documents != indexed:
            raise DamagedIndexError(f"it has the words of {indexed} of its {documents} documents")
    meta = dict(cast("Any", await engine.read("SELECT name, value FROM meta")))
    return IndexFile(engine, meta, has_vectors="vector" in tables and sqlite.why_no_vectors() is None)


async def _create(db: aiosqlite.Connection, path: Path) -> None:
    await _relax(db, path)
    await db.executescript(SCHEMA)


async def _relax(db: aiosqlite.Connection, _: Path) -> None:
    # After a power cut the last changes may be missing, and are applied again.
    await db.execute_fetchall("PRAGMA synchronous = NORMAL")


def _words_row(number: int, entry: Entry, *, in_scope: bool) -> tuple[object, ...]:
    owner, document, terms, context = entry.owner, entry.document, entry.terms, entry.context
    prefix = term_prefix(owner, scope_of(document) if in_scope else None)
    columns = (terms.characters, terms.pairs, terms.words, (*context.characters, *context.pairs, *context.words))
    words = (" ".join([prefix + term for term in column]) for column in columns)
    return number, *words, " ".join(scope_tokens(owner, document))


def _document_row(entry: Entry) -> Mapping[str, object]:
    document = entry.document
    return {
        "owner": entry.owner,
        "source": document.source.value,
        "id": document.id,
        "scope": scope_of(document),
        "at": None if document.at is None else to_microseconds(document.at),
        "day": None if document.day is None else document.day.toordinal(),
        "path": document.path,
        "line": document.line,
        # The text of a row is read from its row; that of a file would have to be cut out again.
        "text": document.text if document.path is not None else None,
        "context": document.context if document.path is not None else None,
        "digest": document.digest,
    }


async def _merge(transaction: Transaction, table: str, pages: int) -> bool:
    """False when there was nothing left to merge."""
    ((before,),) = cast("Any", await transaction.fetch("SELECT total_changes()"))
    await transaction.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", (pages,))
    ((after,),) = cast("Any", await transaction.fetch("SELECT total_changes()"))
    # The command itself counts as one.
    return bool(after - before > 1)


async def _optimize(transaction: Transaction) -> None:
    for table in _WORD_TABLES:
        await transaction.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")


async def _put_named(transaction: Transaction, named: Mapping[tuple[str, str], Sequence[NamedIn]]) -> None:
    """By owner and memory id, all who are named there now."""
    await transaction.execute_many(
        "DELETE FROM named INDEXED BY named_in_memory WHERE owner = ? AND memory_id = ?", list(named)
    )
    await transaction.execute_many(
        _PUT_NAMED,
        [
            (
                owner,
                each.ref.type.value,
                each.ref.id,
                memory_id,
                each.revealed_in,
                each.valid_from_chapter,
                each.valid_until_chapter,
            )
            for (owner, memory_id), found in named.items()
            for each in found
        ],
    )


async def _put_files(transaction: Transaction, files: Mapping[tuple[str, str], str | None]) -> None:
    kept = [(*key, version) for key, version in files.items() if version is not None]
    gone = [key for key, version in files.items() if version is None]
    await transaction.execute_many(_PUT_FILE, kept)
    await transaction.execute_many("DELETE FROM file WHERE owner = ? AND path = ?", gone)
