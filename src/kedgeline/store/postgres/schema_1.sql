CREATE SEQUENCE kedgeline.writes;

-- number and chain are those of the last entry; the row is what a writer holds
CREATE TABLE kedgeline.sessions (
    owner text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    number bigint NOT NULL DEFAULT 0,
    chain text NOT NULL DEFAULT '',
    born bigint NOT NULL DEFAULT nextval('kedgeline.writes'),
    written bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (owner, name)
) WITH (fillfactor = 50);

-- what anyone may have put a NUL or half a surrogate pair into is bytea
CREATE TABLE kedgeline.entries (
    owner text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    written bigint NOT NULL DEFAULT nextval('kedgeline.writes'),
    kind text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    thread bytea NOT NULL,
    index bigint NOT NULL,
    tokens bigint NOT NULL,
    id bytea NOT NULL,
    key bytea NOT NULL,
    chain text NOT NULL,
    blobs bytea[] NOT NULL,
    said bytea[] NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (owner, session, number)
);
CREATE INDEX entries_by_kind ON kedgeline.entries (owner, session, kind, number);
CREATE UNIQUE INDEX entries_by_key ON kedgeline.entries (owner, session, sha256(key))
    WHERE key <> '';

CREATE TABLE kedgeline.places (
    owner text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    thread bytea NOT NULL,  -- hash of its name, which may be too long for an index
    index bigint NOT NULL,
    number bigint NOT NULL,
    tokens bigint NOT NULL,
    before bigint NOT NULL,
    id bytea NOT NULL,
    PRIMARY KEY (owner, session, thread, index)
);

CREATE TABLE kedgeline.messages (
    owner text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    place integer NOT NULL,  -- in the entry's `said`, from 1 on
    hash bytea NOT NULL,
    PRIMARY KEY (owner, session, number, place)
);
CREATE INDEX messages_by_hash ON kedgeline.messages (owner, session, hash);

CREATE TABLE kedgeline.blobs (
    owner text COLLATE "C" NOT NULL,
    hash bytea NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (owner, hash)
);
ALTER TABLE kedgeline.blobs ALTER data SET STORAGE EXTERNAL;  -- compressed already

CREATE TABLE kedgeline.passages (
    owner text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    row bigint GENERATED ALWAYS AS IDENTITY,
    written bigint NOT NULL,
    at bigint NOT NULL,
    index bigint NOT NULL,
    who bytea NOT NULL,
    field bytea NOT NULL,
    start bigint NOT NULL,
    size bigint NOT NULL,
    error boolean NOT NULL,
    text tsvector NOT NULL,
    files tsvector NOT NULL,
    command tsvector NOT NULL,
    marks tsvector NOT NULL,  -- owner, session and the like, to narrow a search with
    PRIMARY KEY (owner, session, number, row)
);
CREATE INDEX passages_by_time ON kedgeline.passages (owner, written, row);
CREATE INDEX passages_by_word ON kedgeline.passages USING gin (text, files, command, marks);
