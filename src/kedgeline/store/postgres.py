"""The store for teams: a PostgreSQL server. Needs the extra `postgres`.

Each owner's sessions are in the tables of the schema `kedgeline`. Writers on many machines share
it: each takes an advisory lock on its session."""

from __future__ import annotations

import re
import selectors
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedgeline.errors import BadSettings, MissingExtra, StoreBusy, StoreFailed, UserError
from kedgeline.store.protocol import WAIT_SECONDS, Durability, Passage, Phrase, Query, words
from kedgeline.store.table_store import PassageHit, Spread, TableStore, conditions, rank_by
from kedgeline.store.tables import (
    FAILED,
    MINE,
    PASSAGE,
    PASSAGE_VALUES,
    Block,
    Database,
    Row,
    column_text,
    owner_mark,
    session_mark,
    text_bytes,
)

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.pq import TransactionStatus
except ImportError:  # `open_postgres` says how to install it
    if not TYPE_CHECKING:
        psycopg = None

# The address of a server.

CONNECT_SECONDS = 10
"""How long a server may take to answer, where the address does not say."""
ALIVE = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""A silently cut connection is given up after a minute, not after two hours."""
SCHEMES = ("postgresql://", "postgres://")


def arguments(place: str) -> dict[str, str | int]:
    """What to connect with. The library's own message may quote the password, so no error of ours
    may have it as its cause."""
    parsed: dict[str, Any] | None = None
    if place.startswith(SCHEMES) and "\0" not in place:
        try:
            parsed = conninfo_to_dict(place)
        except (psycopg.ProgrammingError, UnicodeError):
            parsed = None
    if parsed is None:
        raise BadSettings(
            "the address of the store",
            "it cannot be read; write postgresql://user@host:5432/name, and %-codes for what is "
            "neither letter nor digit in a password",
        )
    given = {name: value for name, value in parsed.items() if value is not None}
    return {"connect_timeout": CONNECT_SECONDS, "application_name": "kedgeline", **ALIVE, **given}


def shown_address(given: Mapping[str, str | int]) -> str:
    """An address without passwords and without whatever else may hold one."""
    host, port = str(given.get("host", "")), given.get("port")
    folder = host.startswith("/")
    user = f"{given['user']}@" if "user" in given else ""
    server = ("" if folder else host) + (f":{port}" if port else "")
    return f"postgresql://{user}{server}/{given.get('dbname', '')}" + (
        f"?host={host}" if folder else ""
    )


# Connections.

SHOWN = 300
"""Characters of a server's message."""
UNKNOWN = "the connection was lost while a write was being confirmed: it may be there or not"
APPEND_AGAIN = (
    "append the same again under the same key, which is safe: `keyed` tells if it is there"
)
_NAMED = re.compile(r":([a-z][a-z0-9]*)")


@cache
def driver_sql(sql: str) -> str:
    """SQL with its values as the driver wants them."""
    return _NAMED.sub(r"%(\1)s", sql.replace("%", "%%"))


class Postgres(Database):
    """Every text is stored as its bytes: it may hold a NUL, or half a surrogate pair."""

    snapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    most_idle = 4

    def __init__(self, place: str, durability: Durability, wait: float) -> None:
        self._arguments = arguments(place)
        super().__init__(shown_address(self._arguments), wait)
        self._durability = durability
        self.error = psycopg.Error  # type: ignore[misc]

    def connect(self) -> psycopg.Connection[Any]:
        try:
            connection: psycopg.Connection[Any] = psycopg.Connection.connect(
                **self._arguments,  # type: ignore[arg-type]
                autocommit=True,
            )
            connection.execute("SET search_path = kedgeline, public")
            connection.execute(f"SET lock_timeout = {int(self.wait * 1000)}")
            if self._durability == "fast":
                connection.execute("SET synchronous_commit = off")
            else:  # a server that waits for its replicas too goes on doing so
                connection.execute(
                    "SELECT set_config('synchronous_commit', 'on', false)"
                    " WHERE current_setting('synchronous_commit') = 'off'"
                )
        except psycopg.Error as error:
            why = f"it cannot be reached: {self._message(error)}"
            step = "check the address, and that the server runs"
            raise StoreFailed(self.place, why, next_step=step) from error
        return connection

    def rows(
        self, connection: psycopg.Connection[Any], sql: str, values: Mapping[str, Any]
    ) -> list[Row]:
        cursor = connection.cursor(binary=True)  # bytes as they are, not as text twice their size
        cursor.execute(driver_sql(sql), values)
        return cursor.fetchall() if cursor.description else []

    def many(
        self,
        connection: psycopg.Connection[Any],
        sql: str,
        values: Sequence[Mapping[str, Any]],
    ) -> None:
        connection.cursor().executemany(driver_sql(sql), values)

    def batched(self, connection: psycopg.Connection[Any]) -> AbstractContextManager[object]:
        return connection.pipeline()

    def begin(self, connection: psycopg.Connection[Any], owner: str, session: str | None) -> None:
        """A sweep locks all sessions: a writer may be about to need the blobs."""
        connection.execute("BEGIN")
        blobs = lock_of("blobs", owner)
        if session is None:
            connection.execute(f"SELECT pg_advisory_xact_lock({blobs})")
        else:
            own = lock_of(owner, session)
            connection.execute(
                f"SELECT pg_advisory_xact_lock_shared({blobs}), pg_advisory_xact_lock({own})"
            )

    def commit(self, connection: psycopg.Connection[Any]) -> None:
        try:
            done = connection.execute("COMMIT").statusmessage
        except psycopg.Error as error:
            if connection.closed:
                raise StoreFailed(self.place, UNKNOWN, next_step=APPEND_AGAIN) from error
            raise
        if done != "COMMIT":
            step = "nothing was written; try again"
            raise StoreFailed(self.place, "the server rolled the transaction back", next_step=step)

    def is_clean(self, connection: psycopg.Connection[Any]) -> bool:
        """A server that ends an idle connection says so: what it sends can be read."""
        if connection.closed or connection.info.transaction_status != TransactionStatus.IDLE:
            return False
        with selectors.DefaultSelector() as selector:
            selector.register(connection.fileno(), selectors.EVENT_READ)
            return not selector.select(0)

    def translated(self, error: Exception, connection: Any = None) -> StoreFailed:
        assert isinstance(error, psycopg.Error)
        errors = psycopg.errors
        if isinstance(error, errors.LockNotAvailable):
            return StoreBusy(self.place, self.wait)
        step = "nothing was written; try again"
        if isinstance(error, errors.DeadlockDetected | errors.SerializationFailure):
            return StoreFailed(self.place, "two writers waited for each other", next_step=step)
        if connection is not None and connection.closed:
            return StoreFailed(self.place, "the connection was lost", next_step=step)
        why = self._message(error)
        if isinstance(error, errors.InsufficientPrivilege):
            return StoreFailed(self.place, why, next_step="ask whoever runs the server for it")
        return StoreFailed(self.place, why, next_step="nothing was written; see the server's log")

    def _message(self, error: psycopg.Error) -> str:
        text = " ".join((error.diag.message_primary or str(error) or "no reason given").split())
        for name in ("password", "sslpassword"):
            if secret := str(self._arguments.get(name, "")):
                text = text.replace(secret, "***")
        return text[:SHOWN].rstrip(".;")

    def text(self, text: str) -> bytes:
        return text_bytes(text)

    def same(self, column: str) -> str:
        return f"sha256({column}) = sha256(:{column})"

    def add_passages(
        self, block: Block, passages: Sequence[tuple[Passage, dict[str, Any]]]
    ) -> None:
        vectors = ", ".join(
            f"CAST(convert_from(:{name}, 'UTF8') AS tsvector)"
            for name in ("text", "files", "command", "marks")
        )
        block.each(
            f"INSERT INTO passage ({PASSAGE}, text, files, command, marks)"
            f" VALUES ({PASSAGE_VALUES}, {vectors})",
            (
                {
                    **fields,
                    "text": vector(words(one.text)),
                    "files": vector(words(one.files)),
                    "command": vector(words(one.command)),
                    "marks": " ".join(
                        map(_quoted, f"{fields['owners']} {fields['marks']}".split())
                    ),
                }
                for one, fields in passages
            ),
        )


def lock_of(*parts: str) -> int:
    """Key of a lock."""
    hashed = sha256(b"\0".join(map(text_bytes, ("kedgeline", *parts)))).digest()
    return int.from_bytes(hashed[:8], signed=True)


# Searching the index of words.

LONGEST_WORD = 500
"""Characters of a word that count. PostgreSQL takes 2,046 bytes, and a character has up to four."""
MOST_WORDS = 12_000
"""Of a text that is searched: PostgreSQL keeps 16,383 positions, and a megabyte."""


def vector(text: Sequence[str]) -> str:
    """Words with their positions, as the server writes them."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(text[:MOST_WORDS], 1):
        places.setdefault(word[:LONGEST_WORD], []).append(place)
    return " ".join(f"{_quoted(word)}:{','.join(map(str, at))}" for word, at in places.items())


def _quoted(word: str) -> str:
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


def _expression(phrase: Phrase) -> str:
    """A phrase in the language of the index. Every word consists of letters and digits and is
    quoted: nothing that is searched for can become part of that language."""
    wanted = [_quoted(word[:LONGEST_WORD]) for word in phrase.words]
    return "(" + " <-> ".join(wanted) + (":*" if phrase.prefix else "") + ")"


class PostgresStore(TableStore):
    indexed_passages = f"SELECT number, count(*) FROM passage WHERE {MINE} GROUP BY number"

    def __init__(self, database: Postgres, owner: str) -> None:
        super().__init__(database, owner)
        self._holders = set()

    def hits(
        self, query: Query, seek: Sequence[Phrase], below: int, most: int
    ) -> Iterator[PassageHit]:
        """A word is counted; words side by side, and beginnings, are there or not."""
        where, asked = self._where(query, seek)
        ranking = rank_by(query)
        forms = [form for one in ranking for form in one]
        single = {
            form: form.words[0][:LONGEST_WORD]
            for form in forms
            if len(form.words) == 1 and not form.prefix
        }
        others = {form: f"p{n}" for n, form in enumerate(forms) if form not in single}
        there = (f"text @@ CAST(convert_from(:{p}, 'UTF8') AS tsquery)" for p in others.values())
        of_single = "FROM unnest(text) WHERE lexeme = ANY(CAST(:single AS text[]))"
        rows = self.ask(
            f"SELECT id, session, number, who, error, length(text), ARRAY(SELECT lexeme"
            f" {of_single}), ARRAY(SELECT array_length(positions, 1) {of_single}),"
            f" CAST(ARRAY[{', '.join(there)}] AS boolean[])"
            f" FROM (SELECT * FROM passage {where} AND id < :below ORDER BY id DESC LIMIT :most)"
            " AS newest ORDER BY id DESC",
            below=below,
            most=most,
            single=list(single.values()),
            **{name: _expression(form) for form, name in others.items()},
            **asked,
        )
        for row in rows:
            assert row is not None
            id, name, number, who, error, size, lexemes, times, beside = row
            counts = dict(zip(lexemes, times, strict=True))
            has = {form: counts.get(lexeme, 0) for form, lexeme in single.items()}
            has |= dict(zip(others, map(int, beside), strict=True))
            hits = tuple(sum(has[form] for form in one) for one in ranking)
            yield PassageHit(id, column_text(name), number, column_text(who), error, size, hits)

    def spread(self, query: Query, most: int) -> Spread:
        where, asked = self._where(query)
        rows = self.ask(
            "SELECT count(*), min(id), max(id) FROM"
            f" (SELECT id FROM passage {where} ORDER BY id DESC LIMIT :most) AS newest",
            most=most,
            **asked,
        )
        return Spread(*rows[0]) if rows and rows[0] else Spread()

    def _where(self, query: Query, seek: Sequence[Phrase] = ()) -> tuple[str, dict[str, Any]]:
        further, values = conditions(query)
        whose = [session_mark(self.owner, name) for name in query.sessions]
        marks = f"({' | '.join(map(_quoted, whose or [owner_mark(self.owner)]))})"
        marks += "".join(
            f" & {_quoted(mark)}" for mark in (query.who, FAILED * query.errors) if mark
        )
        any_of = seek or [form for forms in query.topic for form in forms]
        tests = {
            "marks": ("marks", marks),
            "text": ("text", " & ".join(map(_expression, query.phrases))),
            "files": ("files", " & ".join(map(_expression, query.files))),
            "command": ("command", " & ".join(map(_expression, query.commands))),
            "topic": ("text", " | ".join(map(_expression, any_of))),
        }
        chosen = {name: test for name, test in tests.items() if test[1]}
        matching = "".join(
            f" AND {column} @@ CAST(convert_from(:{name}, 'UTF8') AS tsquery)"
            for name, (column, _) in chosen.items()
        )
        asked = {name: text for name, (_, text) in chosen.items()}
        return f"WHERE owner = :owner{matching}{further}", {**asked, **values}

    def free_space(self, removed: int) -> None:
        if removed:
            self.ask("VACUUM blob")


# The tables, and the steps from each version of them to the next.

MIGRATIONS = (Path(__file__).with_name("postgres_1.sql").read_text("utf-8"),)
"""Each leads to the next version. A released one is never changed."""
ONE_AT_A_TIME = 0x6B65646765
"""Key of the lock under which tables are migrated."""
_MADE = """
SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = 'kedgeline' AND tablename = 'version'"""
"""What the server caches about a name may be from before it waited for the lock."""


def _migrate(database: Postgres) -> None:
    with database.taken() as connection:
        if _version(database, connection) == len(MIGRATIONS):
            return
        with connection.transaction():
            connection.execute(f"SELECT pg_advisory_xact_lock({ONE_AT_A_TIME})")
            for number in range(_version(database, connection), len(MIGRATIONS)):
                if number == 0:
                    connection.execute("CREATE SCHEMA IF NOT EXISTS kedgeline")
                    connection.execute("CREATE TABLE kedgeline.version (number integer NOT NULL)")
                    connection.execute("INSERT INTO kedgeline.version VALUES (0)")
                connection.execute(MIGRATIONS[number])
                connection.execute(f"UPDATE kedgeline.version SET number = {number + 1}")


def _version(database: Postgres, connection: psycopg.Connection[Any]) -> int:
    """0 where there are no tables yet."""
    if not connection.execute(_MADE).fetchall():
        return 0
    ((number,),) = connection.execute("SELECT number FROM kedgeline.version").fetchall()
    if number > len(MIGRATIONS):
        raise UserError(
            f"the store at {database.place!r} has schema {number}, and this kedgeline knows schemas"
            f" up to {len(MIGRATIONS)}; upgrade kedgeline: nothing was changed"
        )
    return int(number)


LONGEST_OWNER = 200
"""Characters: an owner is in every index, whose rows must stay small."""


def open_postgres(
    place: str,
    *,
    owner: str = "",
    durability: Durability = "durable",
    wait: float = WAIT_SECONDS,
) -> PostgresStore:
    """The store at an address such as `postgresql://user@host:5432/name`; its tables are created or
    migrated."""
    if psycopg is None:
        raise MissingExtra("the PostgreSQL store", "postgres")
    if len(owner) > LONGEST_OWNER:
        problem = f"it has {len(owner)} characters; use {LONGEST_OWNER} at the most"
        raise BadSettings("the owner of the store", problem)
    database = Postgres(place, durability, wait)
    with ExitStack() as failing:
        failing.callback(database.close)
        _migrate(database)
        failing.pop_all()
    return PostgresStore(database, owner)
