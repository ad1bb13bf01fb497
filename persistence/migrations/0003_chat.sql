-- Chat memory: what is known about an owner, the sessions it came from, and how each owner wants it kept.

CREATE TABLE fact (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    owner VARCHAR NOT NULL,
    id VARCHAR NOT NULL,
    session_id VARCHAR,
    category VARCHAR NOT NULL,
    "key" VARCHAR NOT NULL,
    same_key VARCHAR NOT NULL,
    value VARCHAR NOT NULL,
    confidence FLOAT NOT NULL,
    source VARCHAR NOT NULL,
    created_at INTEGER NOT NULL,
    last_accessed_at INTEGER NOT NULL,
    access_count INTEGER NOT NULL,
    superseded_at INTEGER,
    UNIQUE (owner, id)
);

-- One value holds for a key; those before it are its history.

CREATE UNIQUE INDEX fact_that_holds ON fact (owner, same_key) WHERE superseded_at IS NULL;

CREATE INDEX fact_history ON fact (owner, same_key, seq);

CREATE INDEX fact_listed ON fact (owner, seq) WHERE superseded_at IS NULL;

CREATE INDEX fact_of_category ON fact (owner, category, seq) WHERE superseded_at IS NULL;

-- Recall walks the preferences from each end that can put one in front; eviction walks all from the other.

CREATE INDEX preference_by_access ON fact (owner, last_accessed_at) WHERE superseded_at IS NULL AND category = 'preference';

CREATE INDEX preference_by_count ON fact (owner, access_count) WHERE superseded_at IS NULL AND category = 'preference';

CREATE INDEX preference_by_confidence ON fact (owner, confidence) WHERE superseded_at IS NULL AND category = 'preference';

CREATE INDEX fact_to_evict ON fact (owner, confidence, last_accessed_at, seq) WHERE superseded_at IS NULL;

CREATE TRIGGER fact_added_is_a_change
AFTER INSERT ON fact
BEGIN
    DELETE FROM change WHERE owner = NEW.owner AND source = 'fact' AND id = NEW.id;
    INSERT INTO change (owner, source, id) VALUES (NEW.owner, 'fact', NEW.id);
END;

CREATE TRIGGER fact_removed_is_a_change
AFTER DELETE ON fact
BEGIN
    DELETE FROM change WHERE owner = OLD.owner AND source = 'fact' AND id = OLD.id;
    INSERT INTO change (owner, source, id) VALUES (OLD.owner, 'fact', OLD.id);
END;

CREATE TRIGGER fact_superseded_is_a_change
AFTER UPDATE OF superseded_at ON fact
BEGIN
    DELETE FROM change WHERE owner = NEW.owner AND source = 'fact' AND id = NEW.id;
    INSERT INTO change (owner, source, id) VALUES (NEW.owner, 'fact', NEW.id);
END;

CREATE TABLE working_memory (
    owner VARCHAR NOT NULL,
    session_id VARCHAR NOT NULL,
    current_topic VARCHAR,
    context_variables VARCHAR NOT NULL,
    turn_count INTEGER NOT NULL,
    last_emotion VARCHAR,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (owner, session_id)
);

CREATE INDEX working_memory_by_activity ON working_memory (updated_at);

-- How far a session's messages have been read, and where it is in its compaction cycle. It outlives the working memory.

CREATE TABLE session (
    owner VARCHAR NOT NULL,
    id VARCHAR NOT NULL,
    flush_stage VARCHAR NOT NULL,
    flush_cycle INTEGER NOT NULL,
    is_compacting INTEGER NOT NULL,
    began_at INTEGER,
    wanted VARCHAR,
    failures INTEGER NOT NULL,
    retry_at INTEGER,
    seen_at INTEGER NOT NULL,
    PRIMARY KEY (owner, id)
);

CREATE INDEX session_by_time ON session (seen_at);

CREATE INDEX session_wanted ON session (retry_at) WHERE wanted IS NOT NULL;

-- Only those that nothing has been learned from yet.

CREATE TABLE message (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    owner VARCHAR NOT NULL,
    session_id VARCHAR NOT NULL,
    role VARCHAR NOT NULL,
    content VARCHAR NOT NULL
);

CREATE INDEX message_of_session ON message (owner, session_id, seq);

-- A turn that is told twice is counted once, and answered alike.

CREATE TABLE turn (
    owner VARCHAR NOT NULL,
    session_id VARCHAR NOT NULL,
    id VARCHAR NOT NULL,
    recorded_at INTEGER NOT NULL,
    outcome VARCHAR,
    fact_id VARCHAR,
    supersedes_id VARCHAR,
    PRIMARY KEY (owner, session_id, id)
);

CREATE INDEX turn_by_time ON turn (recorded_at);

CREATE TABLE memory_setting (
    owner VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    value VARCHAR NOT NULL,
    PRIMARY KEY (owner, name)
);
