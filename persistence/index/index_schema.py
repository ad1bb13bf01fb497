"""The tables of an index file. There are no migrations: of another format it is built anew."""

from typing import Final

# Raise it with every change of the tables or of what is put into them.
FORMAT: Final = 1

# Both word tables hold the same: single characters, pairs and words, the context, and what a search is narrowed by;
# `finder` weighs them. In the one the terms are those of the owner, in the other those of the scope, because bm25 reads
# every occurrence of a term before it scores the first: a term of a book is met in that book alone.
SCHEMA: Final = """
    CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
    CREATE TABLE document (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        owner TEXT NOT NULL,
        source TEXT NOT NULL,
        id TEXT NOT NULL,
        scope TEXT NOT NULL,
        at INTEGER,
        day INTEGER,
        path TEXT,
        line INTEGER,
        text TEXT,
        context TEXT,
        digest BLOB NOT NULL,
        is_embedded INTEGER NOT NULL DEFAULT 0,
        UNIQUE (owner, source, id)
    );
    CREATE INDEX document_of_file ON document (owner, path) WHERE path IS NOT NULL;
    CREATE INDEX document_unembedded ON document (number) WHERE is_embedded = 0;
    CREATE INDEX document_embedded ON document (digest) WHERE is_embedded = 1;
    CREATE VIRTUAL TABLE keyword USING fts5 (
        characters, pairs, words, context, scope,
        content = '', contentless_delete = 1, tokenize = "ascii tokenchars '+#'"
    );
    CREATE VIRTUAL TABLE scoped USING fts5 (
        characters, pairs, words, context, scope,
        content = '', contentless_delete = 1, tokenize = "ascii tokenchars '+#'"
    );
    CREATE TABLE file (
        owner TEXT NOT NULL, path TEXT NOT NULL, version TEXT NOT NULL, PRIMARY KEY (owner, path)
    ) WITHOUT ROWID;
    CREATE TABLE book (
        owner TEXT NOT NULL, id TEXT NOT NULL, names_version TEXT NOT NULL, names TEXT NOT NULL,
        named_version INTEGER NOT NULL, PRIMARY KEY (owner, id)
    ) WITHOUT ROWID;
    CREATE TABLE named (
        owner TEXT NOT NULL,
        entity_type TEXT NOT NULL,
        entity_id TEXT NOT NULL,
        memory_id TEXT NOT NULL,
        revealed_in INTEGER NOT NULL,
        valid_from_chapter INTEGER,
        valid_until_chapter INTEGER,
        PRIMARY KEY (owner, entity_type, entity_id, memory_id)
    ) WITHOUT ROWID;
    CREATE INDEX named_in_memory ON named (owner, memory_id);
"""

# A partition for each scope: only what is asked for is read. Small chunks, because most scopes are small.
VECTORS: Final = """
    CREATE VIRTUAL TABLE IF NOT EXISTS vector USING vec0 (
        owner TEXT PARTITION KEY, scope TEXT PARTITION KEY, embedding FLOAT[{dimensions}], chunk_size = 64
    )"""

# sqlite-vec looks for the chunks of a partition by reading them all; of a million documents that is 16,000.
VECTORS_BY_SCOPE: Final = """
    CREATE INDEX IF NOT EXISTS vector_of_scope ON vector_chunks (partition00, partition01)"""

TABLES: Final = frozenset(
    {"meta", "document", "keyword", "keyword_docsize", "scoped", "scoped_docsize", "file", "book", "named"}
)
