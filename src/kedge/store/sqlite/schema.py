"""The tables, and the steps from each version of them to the next."""

from __future__ import annotations

from collections.abc import Callable

import apsw

from kedge.errors import FileRefused, StoreTooNew

APPLICATION = 0x6B656467
"""`kedg`: tells our databases from those of others."""
PAGE_BYTES = 4_096

Step = Callable[[apsw.Connection], None]
"""Takes a database from one version to the next, within a transaction that it leaves open."""

# The columns are looked at before `data`, which may run over many pages; an owner, a thread, an id
# or a key that is no Unicode is kept as its bytes, so these columns have no type.
# An entry has a rowid of its own: the order in which all sessions were written to.
# A passage has the rowid of its words; `owner` in the words are hashes of owner and session.
FIRST = """
CREATE TABLE entry (
  rank INTEGER PRIMARY KEY,
  owner NOT NULL, session TEXT NOT NULL, number INTEGER NOT NULL,
  kind TEXT NOT NULL, at INTEGER NOT NULL, thread NOT NULL, turn INTEGER NOT NULL,
  tokens INTEGER NOT NULL, id NOT NULL, key NOT NULL, chain TEXT NOT NULL,
  blobs TEXT NOT NULL, said TEXT NOT NULL, data BLOB NOT NULL,
  UNIQUE (owner, session, number)
);
CREATE INDEX entry_kind ON entry (owner, session, kind, number) WHERE kind <> 'turn';
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
"""

WORD_TABLE = """
CREATE VIRTUAL TABLE words USING fts5 (
  text, files, command, owner, marks,
  content = '', contentless_delete = 1, tokenize = 'ascii', detail = 'full'
);
"""


def _first(database: apsw.Connection) -> None:
    database.execute(FIRST)
    database.execute(WORD_TABLE)


MIGRATIONS: tuple[Step, ...] = (_first,)
"""Step n leads from version n to n + 1. A step that was released is never changed."""


def is_current(database: apsw.Connection, place: str, steps: tuple[Step, ...]) -> bool:
    """Whether the database is of the last version. One of somebody else, or of a newer kedge, is
    refused before anything is changed."""
    with database:  # all as of one moment: somebody else may be making the tables
        version = database.pragma("user_version")
        application = database.pragma("application_id")
        empty = not database.execute("SELECT count(*) FROM sqlite_schema").get
    if application != APPLICATION and (application or version or not empty):
        raise FileRefused(place, "it is a database of another program; move it away")
    if version > len(steps):
        raise StoreTooNew(place, found=version, known=len(steps))
    return bool(version == len(steps))


def migrate(database: apsw.Connection, place: str, steps: tuple[Step, ...] = MIGRATIONS) -> None:
    """Bring a database to the last version, a transaction for each step: a crash within one leaves
    what was before it, and the next to open goes on from there."""
    while not is_current(database, place, steps):
        database.execute("BEGIN EXCLUSIVE")
        try:
            if not is_current(database, place, steps):  # somebody else was faster
                version = database.pragma("user_version")
                steps[version](database)
                database.pragma("application_id", APPLICATION)
                database.pragma("user_version", version + 1)
            database.execute("COMMIT")
        finally:
            if database.in_transaction:
                database.execute("ROLLBACK")
