"""The tables, and how older ones become these."""

from __future__ import annotations

from kedge.errors import StoreTooNew
from kedge.store.postgres.connections import Connections, Transaction

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE SEQUENCE kedge.writes;

    -- number and chain are those of the last entry; the row is what a writer holds
    CREATE TABLE kedge.sessions (
        owner text COLLATE "C" NOT NULL,
        name text COLLATE "C" NOT NULL,
        number bigint NOT NULL DEFAULT 0,
        chain text NOT NULL DEFAULT '',
        born bigint NOT NULL DEFAULT nextval('kedge.writes'),
        written bigint NOT NULL DEFAULT 0,
        PRIMARY KEY (owner, name)
    ) WITH (fillfactor = 50);

    -- what anyone may have put a NUL or half a surrogate pair into is bytea
    CREATE TABLE kedge.entries (
        owner text COLLATE "C" NOT NULL,
        session text COLLATE "C" NOT NULL,
        number bigint NOT NULL,
        written bigint NOT NULL DEFAULT nextval('kedge.writes'),
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
    CREATE INDEX entries_by_kind ON kedge.entries (owner, session, kind, number);
    CREATE UNIQUE INDEX entries_by_key ON kedge.entries (owner, session, sha256(key))
        WHERE key <> '';

    CREATE TABLE kedge.places (
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

    CREATE TABLE kedge.messages (
        owner text COLLATE "C" NOT NULL,
        session text COLLATE "C" NOT NULL,
        number bigint NOT NULL,
        place integer NOT NULL,  -- in the entry's `said`, from 1 on
        hash bytea NOT NULL,
        PRIMARY KEY (owner, session, number, place)
    );
    CREATE INDEX messages_by_hash ON kedge.messages (owner, session, hash);

    CREATE TABLE kedge.blobs (
        owner text COLLATE "C" NOT NULL,
        hash bytea NOT NULL,
        data bytea NOT NULL,
        PRIMARY KEY (owner, hash)
    );
    ALTER TABLE kedge.blobs ALTER data SET STORAGE EXTERNAL;  -- compressed already

    CREATE TABLE kedge.passages (
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
    CREATE INDEX passages_by_time ON kedge.passages (owner, written, row);
    CREATE INDEX passages_by_word ON kedge.passages USING gin (text, files, command, marks);
    """,
)
"""Each makes the next version out of the one before. They are only ever added to."""

ONE_AT_A_TIME = 0x6B65646765
"""Key of the lock under which tables are changed: kedge, in ASCII."""


_MADE = """
SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = 'kedge' AND tablename = 'version'"""
"""By the tables of the server itself. What it remembers of a name, it may remember from before it
waited for the lock."""


def up_to_date(connections: Connections) -> None:
    """Make the tables, or change them to what this kedge writes."""
    if _version(connections) == len(MIGRATIONS):
        return
    with connections.transaction() as transaction:
        transaction.ask("SELECT pg_advisory_xact_lock(%(key)s)", {"key": ONE_AT_A_TIME})
        for number in range(_version(transaction), len(MIGRATIONS)):
            if number == 0:
                transaction.ask("CREATE SCHEMA IF NOT EXISTS kedge", {})
                transaction.ask("CREATE TABLE kedge.version (number integer NOT NULL)", {})
                transaction.ask("INSERT INTO kedge.version VALUES (0)", {})
            transaction.run(MIGRATIONS[number])
            transaction.ask("UPDATE kedge.version SET number = %(to)s", {"to": number + 1})


def _version(asked: Connections | Transaction) -> int:
    """0 where there are no tables yet."""
    if not asked.ask(_MADE, {}):
        return 0
    ((number,),) = asked.ask("SELECT number FROM kedge.version", {})
    if number > len(MIGRATIONS):
        raise StoreTooNew(asked.place, found=number, known=len(MIGRATIONS))
    return int(number)
