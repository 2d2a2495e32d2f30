-- The columns are looked at before `data`, which may run over many pages; an owner, a thread, an id
-- or a key that is no Unicode is kept as its bytes, so these columns have no type.
-- An entry has a rowid of its own: the order in which all sessions were written to.
-- A passage has the rowid of its words, which is the rank of its entry times 65,536 and its number;
-- `owner` in the words are hashes of owner and session.
CREATE TABLE entry (
  rank INTEGER PRIMARY KEY,
  owner NOT NULL, session TEXT NOT NULL, number INTEGER NOT NULL,
  kind TEXT NOT NULL, at INTEGER NOT NULL, thread NOT NULL, turn INTEGER NOT NULL,
  tokens INTEGER NOT NULL, id NOT NULL, key NOT NULL, chain TEXT NOT NULL,
  blobs TEXT NOT NULL, said TEXT NOT NULL, data BLOB NOT NULL,
  UNIQUE (owner, session, number)
);
CREATE INDEX entry_kind ON entry (owner, session, kind, number);
CREATE INDEX entry_thread ON entry (owner, session, thread, kind, number);
CREATE UNIQUE INDEX entry_key ON entry (owner, session, key) WHERE key <> '';
CREATE TABLE session (
  owner NOT NULL, name TEXT NOT NULL, rank INTEGER NOT NULL, bytes INTEGER NOT NULL,
  PRIMARY KEY (owner, name)
) WITHOUT ROWID;
CREATE TABLE place (
  owner NOT NULL, session TEXT NOT NULL, thread NOT NULL, turn INTEGER NOT NULL,
  number INTEGER NOT NULL, tokens INTEGER NOT NULL, before INTEGER NOT NULL,
  ahead INTEGER NOT NULL, id NOT NULL,
  PRIMARY KEY (owner, session, thread, turn)
) WITHOUT ROWID;
CREATE TABLE said (
  owner NOT NULL, session TEXT NOT NULL, position INTEGER NOT NULL, id NOT NULL,
  PRIMARY KEY (owner, session, position)
) WITHOUT ROWID;
CREATE INDEX said_id ON said (owner, session, id);
CREATE TABLE blob (
  owner NOT NULL, hash NOT NULL, data BLOB NOT NULL,
  PRIMARY KEY (owner, hash)
);
CREATE TABLE link (
  owner NOT NULL, session TEXT NOT NULL, hash NOT NULL,
  PRIMARY KEY (owner, session, hash)
) WITHOUT ROWID;
CREATE INDEX link_hash ON link (owner, hash);
CREATE TABLE passage (
  id INTEGER PRIMARY KEY,
  owner NOT NULL, session TEXT NOT NULL, number INTEGER NOT NULL,
  at INTEGER NOT NULL, turn INTEGER NOT NULL, who TEXT NOT NULL, error INTEGER NOT NULL,
  field NOT NULL, start INTEGER NOT NULL, size INTEGER NOT NULL
);
CREATE INDEX passage_entry ON passage (owner, session, number);
