-- What the search index must look at again: the last change of every document has a number of its own.
-- A deleted document keeps its row, so that an index that was away learns of it.

CREATE TABLE change (
    number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    owner VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    id VARCHAR NOT NULL,
    UNIQUE (owner, source, id)
);

-- Tells one database from another, so that no index is taken for that of a different one.

CREATE TABLE property (
    name VARCHAR NOT NULL,
    value VARCHAR NOT NULL,
    PRIMARY KEY (name)
);

INSERT INTO property VALUES ('database_id', lower(hex(randomblob(16))));

-- The keyword half of retrieval walks a book's memories by access and shows the pinned first.

CREATE INDEX memory_pinned ON memory (owner, book_id, last_accessed_at DESC, id DESC) WHERE is_pinned = 1;

CREATE TRIGGER memory_added_is_a_change
AFTER INSERT ON memory
BEGIN
    DELETE FROM change WHERE owner = NEW.owner AND source = 'memory' AND id = NEW.id;
    INSERT INTO change (owner, source, id) VALUES (NEW.owner, 'memory', NEW.id);
END;

CREATE TRIGGER memory_removed_is_a_change
AFTER DELETE ON memory
BEGIN
    DELETE FROM change WHERE owner = OLD.owner AND source = 'memory' AND id = OLD.id;
    INSERT INTO change (owner, source, id) VALUES (OLD.owner, 'memory', OLD.id);
END;

CREATE TRIGGER memory_rewritten_is_a_change
AFTER UPDATE OF summary, content, valid_from_chapter, valid_until_chapter ON memory
WHEN (OLD.summary, OLD.content, OLD.valid_from_chapter, OLD.valid_until_chapter)
  IS NOT (NEW.summary, NEW.content, NEW.valid_from_chapter, NEW.valid_until_chapter)
BEGIN
    DELETE FROM change WHERE owner = NEW.owner AND source = 'memory' AND id = NEW.id;
    INSERT INTO change (owner, source, id) VALUES (NEW.owner, 'memory', NEW.id);
END;

CREATE TRIGGER memory_attached_is_a_change
AFTER INSERT ON attachment
BEGIN
    DELETE FROM change WHERE owner = NEW.owner AND source = 'memory' AND id = NEW.memory_id;
    INSERT INTO change (owner, source, id) VALUES (NEW.owner, 'memory', NEW.memory_id);
END;

CREATE TRIGGER memory_detached_is_a_change
AFTER DELETE ON attachment
BEGIN
    DELETE FROM change WHERE owner = OLD.owner AND source = 'memory' AND id = OLD.memory_id;
    INSERT INTO change (owner, source, id) VALUES (OLD.owner, 'memory', OLD.memory_id);
END;

-- A memory is found by the names of what it is attached to.

CREATE TRIGGER character_renamed_is_a_change_of_its_memories
AFTER UPDATE OF name, aliases ON character
WHEN (OLD.name, OLD.aliases) IS NOT (NEW.name, NEW.aliases)
BEGIN
    DELETE FROM change WHERE owner = NEW.owner AND source = 'memory' AND id IN (
        SELECT memory_id FROM attachment
        WHERE owner = NEW.owner AND entity_type = 'character' AND entity_id = NEW.id);
    INSERT INTO change (owner, source, id)
        SELECT owner, 'memory', memory_id FROM attachment
        WHERE owner = NEW.owner AND entity_type = 'character' AND entity_id = NEW.id;
END;

CREATE TRIGGER term_renamed_is_a_change_of_its_memories
AFTER UPDATE OF name, aliases ON term
WHEN (OLD.name, OLD.aliases) IS NOT (NEW.name, NEW.aliases)
BEGIN
    DELETE FROM change WHERE owner = NEW.owner AND source = 'memory' AND id IN (
        SELECT memory_id FROM attachment
        WHERE owner = NEW.owner AND entity_type = 'term' AND entity_id = NEW.id);
    INSERT INTO change (owner, source, id)
        SELECT owner, 'memory', memory_id FROM attachment
        WHERE owner = NEW.owner AND entity_type = 'term' AND entity_id = NEW.id;
END;

CREATE TRIGGER chapter_renamed_is_a_change_of_its_memories
AFTER UPDATE OF name ON chapter
WHEN OLD.name <> NEW.name
BEGIN
    DELETE FROM change WHERE owner = NEW.owner AND source = 'memory' AND id IN (
        SELECT memory_id FROM attachment
        WHERE owner = NEW.owner AND entity_type = 'chapter' AND entity_id = NEW.id);
    INSERT INTO change (owner, source, id)
        SELECT owner, 'memory', memory_id FROM attachment
        WHERE owner = NEW.owner AND entity_type = 'chapter' AND entity_id = NEW.id;
END;
