-- Texts are kept as their bytes: each may hold a NUL, or half a surrogate pair. One that may be too
-- long for an index is found by its hash.
CREATE TABLE kedgeline.entry (
    rank bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner bytea NOT NULL, session bytea NOT NULL, number bigint NOT NULL,
    kind bytea NOT NULL, at bigint NOT NULL, thread bytea NOT NULL, turn bigint NOT NULL,
    tokens bigint NOT NULL, id bytea NOT NULL, key bytea NOT NULL, chain bytea NOT NULL,
    blobs bytea NOT NULL, said bytea NOT NULL, data bytea NOT NULL,
    UNIQUE (owner, session, number)
);
CREATE INDEX entry_kind ON kedgeline.entry (owner, session, kind, number);
CREATE INDEX entry_thread ON kedgeline.entry (owner, session, sha256(thread), kind, number);
CREATE UNIQUE INDEX entry_key ON kedgeline.entry (owner, session, sha256(key)) WHERE key <> '';
CREATE TABLE kedgeline.session (
    owner bytea NOT NULL, name bytea NOT NULL, rank bigint NOT NULL, bytes bigint NOT NULL,
    PRIMARY KEY (owner, name)
) WITH (fillfactor = 50);
CREATE TABLE kedgeline.place (
    owner bytea NOT NULL, session bytea NOT NULL, thread bytea NOT NULL, turn bigint NOT NULL,
    number bigint NOT NULL, tokens bigint NOT NULL, before bigint NOT NULL,
    ahead bigint NOT NULL, id bytea NOT NULL
);
CREATE UNIQUE INDEX place_turn ON kedgeline.place (owner, session, sha256(thread), turn);
CREATE TABLE kedgeline.said (
    owner bytea NOT NULL, session bytea NOT NULL, position bigint NOT NULL, id bytea NOT NULL,
    PRIMARY KEY (owner, session, position)
);
CREATE INDEX said_id ON kedgeline.said (owner, session, sha256(id));
CREATE TABLE kedgeline.blob (
    owner bytea NOT NULL, hash bytea NOT NULL, data bytea NOT NULL,
    PRIMARY KEY (owner, hash)
);
ALTER TABLE kedgeline.blob ALTER data SET STORAGE EXTERNAL;  -- compressed already
CREATE TABLE kedgeline.link (
    owner bytea NOT NULL, session bytea NOT NULL, hash bytea NOT NULL,
    PRIMARY KEY (owner, session, hash)
);
CREATE INDEX link_hash ON kedgeline.link (owner, hash);
CREATE TABLE kedgeline.passage (
    id bigint PRIMARY KEY,  -- the rank of its entry times 65,536, and its number
    owner bytea NOT NULL, session bytea NOT NULL, number bigint NOT NULL,
    at bigint NOT NULL, turn bigint NOT NULL, who bytea NOT NULL, error bigint NOT NULL,
    field bytea NOT NULL, start bigint NOT NULL, size bigint NOT NULL,
    text tsvector NOT NULL, files tsvector NOT NULL, command tsvector NOT NULL,
    marks tsvector NOT NULL  -- owner, session and the like, to narrow a search with
);
CREATE INDEX passage_entry ON kedgeline.passage (owner, session, number);
CREATE INDEX passage_words ON kedgeline.passage USING gin (text, files, command, marks);
