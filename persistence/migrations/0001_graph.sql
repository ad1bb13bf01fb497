-- Books, what they own, and the memories that hang on it. Times are microseconds since 1970, UTC.

CREATE TABLE book (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    owner VARCHAR NOT NULL,
    id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    context_limit INTEGER NOT NULL,
    names_version INTEGER DEFAULT 0 NOT NULL,
    texts_version INTEGER DEFAULT 0 NOT NULL,
    links_version INTEGER DEFAULT 0 NOT NULL,
    UNIQUE (owner, id)
);

CREATE INDEX book_of_owner ON book (owner);

CREATE TABLE chapter (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    owner VARCHAR NOT NULL,
    id VARCHAR NOT NULL,
    book_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    number INTEGER NOT NULL,
    UNIQUE (owner, id),
    UNIQUE (owner, book_id, number),
    FOREIGN KEY(owner, book_id) REFERENCES book (owner, id) ON DELETE CASCADE
);

CREATE TABLE character (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    owner VARCHAR NOT NULL,
    id VARCHAR NOT NULL,
    book_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    aliases VARCHAR NOT NULL,
    translation VARCHAR,
    description VARCHAR,
    gender VARCHAR,
    speaking_style VARCHAR,
    notes VARCHAR,
    folded_names VARCHAR NOT NULL,
    UNIQUE (owner, id),
    FOREIGN KEY(owner, book_id) REFERENCES book (owner, id) ON DELETE CASCADE
);

CREATE INDEX character_of_book ON character (owner, book_id);

CREATE TABLE memory (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    owner VARCHAR NOT NULL,
    id VARCHAR NOT NULL,
    book_id VARCHAR NOT NULL,
    content VARCHAR NOT NULL,
    summary VARCHAR NOT NULL,
    is_pinned INTEGER NOT NULL,
    valid_from_chapter INTEGER,
    valid_until_chapter INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    last_accessed_at INTEGER NOT NULL,
    access_count INTEGER NOT NULL,
    UNIQUE (owner, id),
    FOREIGN KEY(owner, book_id) REFERENCES book (owner, id) ON DELETE CASCADE,
    CHECK (is_pinned IN (0, 1))
);

CREATE INDEX memory_by_access ON memory (owner, book_id, last_accessed_at DESC, id DESC);

CREATE TABLE term (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    owner VARCHAR NOT NULL,
    id VARCHAR NOT NULL,
    book_id VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    aliases VARCHAR NOT NULL,
    translation VARCHAR,
    description VARCHAR,
    notes VARCHAR,
    folded_names VARCHAR NOT NULL,
    UNIQUE (owner, id),
    FOREIGN KEY(owner, book_id) REFERENCES book (owner, id) ON DELETE CASCADE
);

CREATE INDEX term_of_book ON term (owner, book_id);

CREATE TABLE attachment (
    seq INTEGER NOT NULL,
    owner VARCHAR NOT NULL,
    entity_type VARCHAR NOT NULL,
    entity_id VARCHAR NOT NULL,
    memory_id VARCHAR NOT NULL,
    is_pinned INTEGER NOT NULL,
    last_accessed_at INTEGER NOT NULL,
    valid_from_chapter INTEGER,
    valid_until_chapter INTEGER,
    PRIMARY KEY (seq),
    UNIQUE (owner, memory_id, entity_type, entity_id),
    FOREIGN KEY(owner, memory_id) REFERENCES memory (owner, id) ON DELETE CASCADE
);

CREATE INDEX attachment_by_access ON attachment (owner, entity_type, entity_id, last_accessed_at DESC, memory_id DESC, valid_from_chapter, valid_until_chapter);

CREATE INDEX attachment_pinned ON attachment (owner, entity_type, entity_id, last_accessed_at DESC, memory_id DESC, valid_from_chapter, valid_until_chapter) WHERE is_pinned = 1;


CREATE TRIGGER attachment_follows_its_memory
AFTER UPDATE OF is_pinned, last_accessed_at, valid_from_chapter, valid_until_chapter ON memory
BEGIN
    UPDATE attachment
    SET is_pinned = NEW.is_pinned, last_accessed_at = NEW.last_accessed_at,
        valid_from_chapter = NEW.valid_from_chapter, valid_until_chapter = NEW.valid_until_chapter
    WHERE owner = NEW.owner AND memory_id = NEW.id
      AND (is_pinned, last_accessed_at, valid_from_chapter, valid_until_chapter)
       IS NOT (NEW.is_pinned, NEW.last_accessed_at, NEW.valid_from_chapter, NEW.valid_until_chapter);
END;

-- Tells every process when what it keeps of a book's names, texts and links is out of date.

CREATE TRIGGER names_change_with_character_added
AFTER INSERT ON character
BEGIN
    UPDATE book SET names_version = names_version + 1 WHERE owner = NEW.owner AND id = NEW.book_id;
END;

CREATE TRIGGER names_change_with_character_removed
AFTER DELETE ON character
BEGIN
    UPDATE book SET names_version = names_version + 1 WHERE owner = OLD.owner AND id = OLD.book_id;
END;

CREATE TRIGGER names_change_with_character_renamed
AFTER UPDATE OF name, aliases ON character
BEGIN
    UPDATE book SET names_version = names_version + 1 WHERE owner = NEW.owner AND id = NEW.book_id;
END;

CREATE TRIGGER names_change_with_term_added
AFTER INSERT ON term
BEGIN
    UPDATE book SET names_version = names_version + 1 WHERE owner = NEW.owner AND id = NEW.book_id;
END;

CREATE TRIGGER names_change_with_term_removed
AFTER DELETE ON term
BEGIN
    UPDATE book SET names_version = names_version + 1 WHERE owner = OLD.owner AND id = OLD.book_id;
END;

CREATE TRIGGER names_change_with_term_renamed
AFTER UPDATE OF name, aliases ON term
BEGIN
    UPDATE book SET names_version = names_version + 1 WHERE owner = NEW.owner AND id = NEW.book_id;
END;

CREATE TRIGGER texts_change_with_memory_added
AFTER INSERT ON memory
BEGIN
    UPDATE book SET texts_version = texts_version + 1 WHERE owner = NEW.owner AND id = NEW.book_id;
END;

CREATE TRIGGER texts_change_with_memory_removed
AFTER DELETE ON memory
BEGIN
    UPDATE book SET texts_version = texts_version + 1 WHERE owner = OLD.owner AND id = OLD.book_id;
END;

CREATE TRIGGER texts_change_with_memory_rewritten
AFTER UPDATE OF summary, content, valid_from_chapter, valid_until_chapter ON memory
BEGIN
    UPDATE book SET texts_version = texts_version + 1 WHERE owner = NEW.owner AND id = NEW.book_id;
END;

CREATE TRIGGER links_change_with_attachment_added
AFTER INSERT ON attachment
BEGIN
    UPDATE book SET links_version = links_version + 1
    WHERE owner = NEW.owner AND id = (SELECT book_id FROM memory WHERE owner = NEW.owner AND id = NEW.memory_id);
END;

CREATE TRIGGER links_change_with_attachment_removed
AFTER DELETE ON attachment
BEGIN
    UPDATE book SET links_version = links_version + 1
    WHERE owner = OLD.owner AND id = (SELECT book_id FROM memory WHERE owner = OLD.owner AND id = OLD.memory_id);
END;
