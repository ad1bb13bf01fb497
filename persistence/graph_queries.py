"""The graph's SQL for reading: whole batches in one statement, pages along an index.

SQLite has no LATERAL join. `json_each((SELECT json_group_array(…) FROM (… LIMIT n)))` is one: for every
parent it walks the index no further than its page, where a window function would read all of them.
CROSS JOIN keeps SQLite from turning the order of the tables round: what was asked for always comes first.
"""

from collections.abc import Mapping
from typing import Final

from domain.entities import EntityType
from persistence.mapping import MEMORY_COLUMNS, SHAPES, Shape


def _one_row(columns: str, order: str) -> str:
    """All rows as one text: a thread that reads rows one by one fights for the interpreter's lock at each."""
    return f"json_group_array(json_array({columns}) ORDER BY {order})"


def _entities(shape: Shape) -> str:
    return f"""
        SELECT {shape.columns} FROM json_each(:ids) AS wanted
        CROSS JOIN {shape.table} ON {shape.table}.owner = :owner AND {shape.table}.id = wanted.value"""


def _entities_of(shape: Shape) -> str:
    return f"""
        SELECT {_one_row(f"parent.value, {shape.table}.{shape.position}, {shape.columns}", "parent.key, page.key")}
        FROM json_each(:book_ids) AS parent
        CROSS JOIN json_each((
            SELECT json_group_array(seq) FROM (
                SELECT seq FROM {shape.table}
                WHERE owner = :owner AND book_id = parent.value AND {_name_filter(shape)}
                  AND ({shape.position}, id) > (:position, :id)
                ORDER BY {shape.position}, id LIMIT :limit)
        )) AS page
        CROSS JOIN {shape.table} ON {shape.table}.seq = page.value"""


def _count_entities_of(shape: Shape) -> str:
    return f"""
        SELECT book_id, COUNT(*) FROM {shape.table}
        WHERE owner = :owner AND book_id IN (SELECT value FROM json_each(:book_ids)) AND {_name_filter(shape)}
        GROUP BY book_id"""


def _name_filter(shape: Shape) -> str:
    column = "folded_names" if "aliases" in shape.columns else "name"
    # Names are kept one on a line, so a text of several lines is in none of them.
    return f"(:needle = '' OR (instr({column}, :needle) > 0 AND instr(:needle, char(10)) = 0))"


ENTITIES: Final = {entity_type: _entities(shape) for entity_type, shape in SHAPES.items()}
_LISTED: Final[Mapping[EntityType, Shape]] = {
    entity_type: shape for entity_type, shape in SHAPES.items() if entity_type is not EntityType.BOOK
}
ENTITIES_OF: Final = {entity_type: _entities_of(shape) for entity_type, shape in _LISTED.items()}
COUNT_ENTITIES_OF: Final = {entity_type: _count_entities_of(shape) for entity_type, shape in _LISTED.items()}

BOOKS: Final = f"""
    SELECT seq, {SHAPES[EntityType.BOOK].columns} FROM book
    WHERE owner = :owner AND (seq, id) > (:position, :id)
    ORDER BY seq, id LIMIT :limit"""

COUNT_BOOKS: Final = "SELECT COUNT(*) FROM book WHERE owner = :owner"

CHAPTER_WITH_NUMBER: Final = "SELECT id FROM chapter WHERE owner = :owner AND book_id = :book_id AND number = :number"

MEMORIES: Final = f"""
    SELECT {MEMORY_COLUMNS} FROM json_each(:ids) AS wanted
    CROSS JOIN memory ON memory.owner = :owner AND memory.id = wanted.value"""

ATTACHMENTS: Final = """
    SELECT attachment.memory_id, entity_type, entity_id FROM json_each(:ids) AS wanted
    CROSS JOIN attachment ON attachment.owner = :owner AND attachment.memory_id = wanted.value
    ORDER BY attachment.seq"""

MEMORIES_OF: Final = f"""
    SELECT {_one_row(f"parent.value, memory.last_accessed_at, {MEMORY_COLUMNS}", "parent.key, page.key")}
    FROM json_each(:book_ids) AS parent
    CROSS JOIN json_each((
        SELECT json_group_array(seq) FROM (
            SELECT seq FROM memory
            WHERE owner = :owner AND book_id = parent.value AND (last_accessed_at, id) < (:position, :id)
            ORDER BY last_accessed_at DESC, id DESC LIMIT :limit)
    )) AS page
    CROSS JOIN memory ON memory.seq = page.value"""

COUNT_MEMORIES_OF: Final = """
    SELECT book_id, COUNT(*) FROM memory
    WHERE owner = :owner AND book_id IN (SELECT value FROM json_each(:book_ids)) GROUP BY book_id"""

_PAGE_OF_REF: Final = """
    json_each((
        SELECT json_group_array(memory_id) FROM (
            SELECT memory_id FROM attachment
            WHERE owner = :owner AND entity_type = ref.value ->> 0 AND entity_id = ref.value ->> 1
              AND (last_accessed_at, memory_id) < (:position, :id)
            ORDER BY last_accessed_at DESC, memory_id DESC LIMIT :limit)
    )) AS page"""

ATTACHED_TO: Final = f"""
    SELECT {_one_row(f"ref.key, memory.last_accessed_at, {MEMORY_COLUMNS}", "ref.key, page.key")}
    FROM json_each(:refs) AS ref
    CROSS JOIN {_PAGE_OF_REF}
    CROSS JOIN memory ON memory.owner = :owner AND memory.id = page.value"""

COUNT_ATTACHED_TO: Final = """
    SELECT ref.key, (
        SELECT COUNT(*) FROM attachment
        WHERE owner = :owner AND entity_type = ref.value ->> 0 AND entity_id = ref.value ->> 1)
    FROM json_each(:refs) AS ref"""

# Each ref's own page is enough to fill the merged one. A ref of another book has none to give.
ATTACHED_TO_ANY: Final = f"""
    SELECT DISTINCT memory.last_accessed_at, {MEMORY_COLUMNS}
    FROM json_each(:refs) AS ref
    CROSS JOIN {_PAGE_OF_REF}
    CROSS JOIN memory ON memory.owner = :owner AND memory.id = page.value AND memory.book_id = :book_id
    ORDER BY memory.last_accessed_at DESC, memory.id DESC LIMIT :limit"""

COUNT_ATTACHED_TO_ANY: Final = """
    SELECT COUNT(DISTINCT memory.id) FROM json_each(:refs) AS ref
    CROSS JOIN attachment ON attachment.owner = :owner
     AND attachment.entity_type = ref.value ->> 0 AND attachment.entity_id = ref.value ->> 1
    CROSS JOIN memory ON memory.owner = :owner AND memory.id = attachment.memory_id AND memory.book_id = :book_id"""

_MAY_BE_TOLD: Final = """
    (:chapter IS NULL OR (COALESCE(valid_from_chapter, :chapter) <= :chapter
                      AND COALESCE(valid_until_chapter, :chapter) >= :chapter))"""

_OF_REF: Final = "owner = :owner AND entity_type = ref.value ->> 0 AND entity_id = ref.value ->> 1"


_ATTACHMENTS_OF_MEMORY: Final = """
    (SELECT json_group_array(json_array(entity_type, entity_id)) FROM attachment
     WHERE attachment.owner = memory.owner AND attachment.memory_id = memory.id)"""


def _foremost(condition: str) -> str:
    """The pinned have a small index of their own, so neither half reads more than the limit."""
    order = "ref.key, memory.is_pinned DESC, memory.last_accessed_at DESC, memory.id DESC"
    return f"""
    SELECT {_one_row(f"ref.key, {MEMORY_COLUMNS}, {_ATTACHMENTS_OF_MEMORY}", order)}
    FROM json_each(:refs) AS ref
    CROSS JOIN json_each((
        SELECT json_group_array(memory_id) FROM (
            SELECT * FROM (
                SELECT memory_id FROM attachment WHERE {_OF_REF} AND is_pinned = 1 AND {condition}
                ORDER BY last_accessed_at DESC, memory_id DESC LIMIT :limit)
            UNION
            SELECT * FROM (
                SELECT memory_id FROM attachment WHERE {_OF_REF} AND {condition}
                ORDER BY last_accessed_at DESC, memory_id DESC LIMIT :limit))
    )) AS page
    CROSS JOIN memory ON memory.owner = :owner AND memory.id = page.value"""


FOREMOST_ATTACHED: Final = _foremost(_MAY_BE_TOLD)
FOREMOST_HIDDEN: Final = _foremost(f"NOT {_MAY_BE_TOLD}")

CHUNK_FRAME: Final = f"""
    SELECT book.seq || '.' || book.names_version, book.seq || '.' || book.texts_version,
           book.seq || '.' || book.texts_version || '.' || book.links_version, chapter.number,
           {SHAPES[EntityType.BOOK].columns} FROM book
    LEFT JOIN chapter ON chapter.owner = book.owner AND chapter.book_id = book.id AND chapter.id = :chapter_id
    WHERE book.owner = :owner AND book.id = :book_id"""

NAMES: Final = f"""
    SELECT {_one_row("kind, id, name, aliases", "kind, seq")} FROM (
        SELECT 'character' AS kind, seq, id, name, aliases FROM character WHERE owner = :owner AND book_id = :book_id
        UNION ALL
        SELECT 'term', seq, id, name, aliases FROM term WHERE owner = :owner AND book_id = :book_id)"""

# The few best of each of several lists of ids.
FOREMOST_OF_IDS: Final = f"""
    SELECT list.key, {MEMORY_COLUMNS} FROM json_each(:lists) AS list
    CROSS JOIN json_each((
        SELECT json_group_array(seq) FROM (
            SELECT memory.seq FROM json_each(list.value) AS wanted
            CROSS JOIN memory ON memory.owner = :owner AND memory.id = wanted.value
            GROUP BY memory.seq
            ORDER BY memory.is_pinned DESC, memory.last_accessed_at DESC, memory.id DESC LIMIT :limit)
    )) AS page
    CROSS JOIN memory ON memory.seq = page.value
    ORDER BY list.key, memory.is_pinned DESC, memory.last_accessed_at DESC, memory.id DESC"""

PINNED_IDS: Final = """
    SELECT id FROM memory WHERE owner = :owner AND book_id = :book_id AND is_pinned = 1
    ORDER BY last_accessed_at DESC, id DESC"""

IDS_BY_ACCESS: Final = """
    SELECT last_accessed_at, id FROM memory
    WHERE owner = :owner AND book_id = :book_id AND (last_accessed_at, id) < (:position, :id)
    ORDER BY last_accessed_at DESC, id DESC LIMIT :limit"""
