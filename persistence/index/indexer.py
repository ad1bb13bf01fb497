"""Brings an index file up to what rows and files say now, touching only what changed."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import orjson

from domain.documents import Document, passage_documents
from domain.entities import EntityRef, EntityType
from domain.errors import NotAPlainFileError
from domain.mentions import Name
from domain.naming import touched_by, who_is_named
from domain.notebook import day_of, passages
from domain.ports import GraphReader, NotebookStore
from domain.search import SearchSource
from domain.segmentation import document_terms
from domain.text import NUL
from domain.usecases.matchers import Matchers
from persistence.index.index_file import TO_FORGET, Batch, Entry, IndexFile, NamedIn
from persistence.index.truth import Change, Key, MemoryText, OwnedDocument, Truth

BATCH: Final = 500

_NAMES_VERSION: Final = "SELECT names_version FROM book WHERE owner = ? AND id = ?"
_NAMES: Final = "SELECT names FROM book WHERE owner = ? AND id = ?"
_PASSAGES: Final = "SELECT id, digest, line FROM document WHERE owner = ? AND path = ?"
_FILES: Final = "SELECT path, version FROM file WHERE owner = ?"
_OWNERS_OF_FILES: Final = "SELECT DISTINCT owner FROM file"


@dataclass(frozen=True, slots=True)
class Holdings:
    """What one owner has, apart from the rows that `Truth` reads for all."""

    graph: GraphReader
    matchers: Matchers
    notebook: NotebookStore


@dataclass
class Indexer:
    """One for the whole process: whoever asks for the present state waits for the same work."""

    truth: Truth
    holdings_of: Callable[[str], Holdings]
    _working: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def catch_up(self, file: IndexFile) -> bool:
        """Applies every change of a row; True when there was any."""
        if file.applied >= await self.truth.newest_change():
            return False
        async with self._working:
            while changes := await self.truth.changes(file.applied, BATCH):
                await self.apply(file, changes, {"applied": changes[-1].number})
        return True

    async def apply(self, file: IndexFile, changes: Sequence[Change], meta: Mapping[str, object]) -> int:
        """Answers how many documents were put in."""
        found = await self.truth.documents([change.key for change in changes])
        books = {(each.owner, each.document.book_id) for each in found}
        for owner, book_id in books:
            if book_id is None:
                continue
            await self._follow_names(file, owner, book_id)
        named = await self._named(found)
        entries = await self._entries([(each.owner, each.document) for each in found], named)
        there = {entry.key for entry in entries}
        removed = [change.key for change in changes if change.key not in there]
        to_forget = {TO_FORGET: 1} if any(source == SearchSource.FACT for _, source, _ in removed) else {}
        await file.put(Batch(entries, removed, meta={**meta, **to_forget}))
        return len(entries)

    async def follow_names(self, file: IndexFile, owner: str, book_id: str) -> None:
        """When the book's names have changed, looks again at the memories in which a changed one stands."""
        if await self._new_names_version(file, owner, book_id) is not None:
            async with self._working:
                await self._follow_names(file, owner, book_id)

    async def _new_names_version(self, file: IndexFile, owner: str, book_id: str) -> str | None:
        """None while the index has the names as they are, and when the book is gone."""
        frame = await self.holdings_of(owner).graph.chunk_frame(book_id, None)
        if frame is None:
            return None
        rows = await file.engine.read(_NAMES_VERSION, (owner, book_id))
        return None if rows and rows[0][0] == frame.names_version else frame.names_version

    async def _follow_names(self, file: IndexFile, owner: str, book_id: str) -> None:
        version = await self._new_names_version(file, owner, book_id)
        if version is None:
            return
        holdings = self.holdings_of(owner)
        names = await holdings.graph.names(book_id)
        matcher = await holdings.matchers.of_book(book_id, version)
        rows = cast("list[Any]", await file.engine.fetch(_NAMES, (owner, book_id)))
        before = {_name_from_json(each) for each in orjson.loads(rows[0][0])} if rows else set()
        changed = before.symmetric_difference(names)
        texts = await self.truth.texts(owner, book_id) if changed else ()

        def look_again() -> Mapping[str, tuple[NamedIn, ...]]:
            touched = touched_by(changed, [(each.id, _text(each)) for each in texts])
            of_interest = [each for each in texts if each.id in touched]
            named = who_is_named(matcher, [(each.id, _text(each)) for each in of_interest])
            return {each.id: _named_in(each, named.get(each.id, {})) for each in of_interest}

        await file.put_names(
            owner,
            book_id,
            version,
            orjson.dumps([_name_to_json(name) for name in names]).decode(),
            await asyncio.to_thread(look_again),
        )

    async def follow_files(self, file: IndexFile, owner: str, paths: Collection[str] | None = None) -> bool:
        """Of the notebook, all files or the given ones; True when a file was another than the index knew."""
        notebook = self.holdings_of(owner).notebook
        async with self._working:
            known = dict(cast("Any", await file.engine.fetch(_FILES, (owner,))))
            wanted = set(paths) if paths is not None else {*known, *await notebook.paths()}
            changed = False
            for path in sorted(wanted):
                changed |= await self._follow_file(file, owner, path, known.get(path))
        return changed

    async def _follow_file(self, file: IndexFile, owner: str, path: str, known: str | None) -> bool:
        try:
            found = await self.holdings_of(owner).notebook.read(path)
        except NotAPlainFileError:
            # What a link leads to is not part of the notebook.
            found = None
        version = None if found is None else found.version
        if version == known:
            return False
        documents = (
            ()
            if found is None
            else passage_documents(path, day_of(path), await asyncio.to_thread(passages, found.content))
        )
        rows = cast("list[Any]", await file.engine.fetch(_PASSAGES, (owner, path)))
        before = {id_: (digest, line) for id_, digest, line in rows}
        fresh = [each for each in documents if before.get(each.id, (None, None))[0] != each.digest]
        new = {each.id for each in fresh}
        moved: dict[Key, int] = {
            (owner, SearchSource.NOTEBOOK.value, each.id): each.line
            for each in documents
            if each.id not in new and each.line is not None and before[each.id][1] != each.line
        }
        gone = before.keys() - {each.id for each in documents}
        await file.put(
            Batch(
                await self._entries([(owner, each) for each in fresh], {}),
                [(owner, SearchSource.NOTEBOOK.value, id_) for id_ in gone],
                moved,
                {(owner, path): version},
            )
        )
        return True

    async def owners_of_files(self, file: IndexFile) -> set[str]:
        return {str(row[0]) for row in await file.engine.fetch(_OWNERS_OF_FILES)}

    async def _named(self, found: Sequence[OwnedDocument]) -> Mapping[tuple[str, str], tuple[NamedIn, ...]]:
        by_book: dict[tuple[str, str], list[MemoryText]] = {}
        for each in found:
            memory = each.memory
            if memory is None:
                continue
            by_book.setdefault((each.owner, memory.book_id), []).append(
                MemoryText(
                    memory.id, memory.summary, memory.content, memory.valid_from_chapter, memory.valid_until_chapter
                )
            )
        named: dict[tuple[str, str], tuple[NamedIn, ...]] = {}
        for (owner, book_id), texts in by_book.items():
            holdings = self.holdings_of(owner)
            frame = await holdings.graph.chunk_frame(book_id, None)
            if frame is None:
                continue
            matcher = await holdings.matchers.of_book(book_id, frame.names_version)
            refs = await asyncio.to_thread(who_is_named, matcher, [(each.id, _text(each)) for each in texts])
            named |= {(owner, each.id): _named_in(each, refs.get(each.id, {})) for each in texts}
        return named

    async def _entries(
        self,
        documents: Sequence[tuple[str, Document]],
        named: Mapping[tuple[str, str], tuple[NamedIn, ...]],
    ) -> list[Entry]:
        def cut() -> list[Entry]:
            return [
                Entry(
                    owner,
                    document,
                    document_terms(document.text),
                    document_terms(document.context),
                    named.get((owner, document.id), ()),
                )
                for owner, document in documents
            ]

        return await asyncio.to_thread(cut)


def _text(memory: MemoryText) -> str:
    return f"{memory.summary}{NUL}{memory.content}"


def _named_in(memory: MemoryText, refs: Mapping[EntityRef, int]) -> tuple[NamedIn, ...]:
    return tuple(
        NamedIn(ref, revealed_in, memory.valid_from_chapter, memory.valid_until_chapter)
        for ref, revealed_in in refs.items()
    )


def _name_to_json(name: Name) -> tuple[str, str, str, int | None]:
    return name.ref.type.value, name.ref.id, name.text, name.revealed_in


def _name_from_json(given: Sequence[Any]) -> Name:
    entity_type, entity_id, text, revealed_in = given
    return Name(EntityRef(EntityType(entity_type), entity_id), text, revealed_in)
