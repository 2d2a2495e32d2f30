"""A server: its address, the connections to it, and its tables."""

from __future__ import annotations

import os
import selectors
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any

import psycopg
from psycopg import ProgrammingError, errors
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

from kedgeline.errors import BadSettings, StoreBusy, StoreFailed, UserError
from kedgeline.store.tables import Row
from kedgeline.store.values import WAIT_SECONDS, Durability

CONNECT_SECONDS = 10
"""How long a server may take to answer, where the address does not say."""
ALIVE = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""A connection that was cut without a word is given up after a minute, not after two hours."""
SCHEMES = ("postgresql://", "postgres://")


def arguments(place: str) -> dict[str, str | int]:
    """What to connect with."""
    parsed = _parsed(place)
    if parsed is None:
        raise BadSettings(
            "the address of the store",
            "it cannot be read; write postgresql://user@host:5432/name, and %-codes for what is "
            "neither letter nor digit in a password",
        )
    return {"connect_timeout": CONNECT_SECONDS, "application_name": "kedgeline", **ALIVE, **parsed}


def _parsed(place: str) -> dict[str, str | int] | None:
    """Nothing where it is no address. The library's own message may quote the password, so no
    error of ours may have it as its cause."""
    if not place.startswith(SCHEMES) or "\0" in place:
        return None
    try:
        return {name: value for name, value in conninfo_to_dict(place).items() if value is not None}
    except (ProgrammingError, UnicodeError):
        return None


def shown(given: dict[str, str | int]) -> str:
    """An address without passwords and without whatever else may hold one."""
    host, port = str(given.get("host", "")), given.get("port")
    folder = host.startswith("/")
    user = f"{given['user']}@" if "user" in given else ""
    server = ("" if folder else host) + (f":{port}" if port else "")
    return f"postgresql://{user}{server}/{given.get('dbname', '')}" + (
        f"?host={host}" if folder else ""
    )


# Connections to a server: taken for one piece of work, and made anew where they were lost.

Connection = psycopg.Connection[tuple[Any, ...]]

IDLE = 4
"""Connections kept for the next call: a reader and a writer, and as many again for threads."""
SHOWN = 300
"""Characters of a server's message."""
LOST = "the connection was lost"
AGAIN = "nothing was written; try again, which connects anew"
ONE_STATE = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
"""Begins a transaction whose statements all see the same."""
UNKNOWN = "the connection was lost while a write was being confirmed: it may be there or not"
APPEND_AGAIN = (
    "append the same again under the same key, which is safe: `keyed` tells if it is there"
)


class Connections:
    def __init__(self, place: str, durability: Durability, wait: float = WAIT_SECONDS) -> None:
        self._arguments, self._wait = arguments(place), wait
        self._durability = durability
        self.place = shown(self._arguments)
        self._idle: list[Connection] = []
        self._process = os.getpid()
        self._of_parent: list[Connection] = []
        self._lock = Lock()
        self._closed = False

    def ask(self, query: str, given: Mapping[str, Any]) -> Sequence[Row]:
        """All rows of one statement, which is a transaction of its own."""
        with self.taken() as connection:
            return answer(connection, query, given)

    @contextmanager
    def taken(self) -> Iterator[Connection]:
        connection, process = self._take(), os.getpid()
        try:
            yield connection
        except psycopg.Error as error:
            raise self.failure(error, connection) from error
        finally:
            if process == os.getpid():
                self._give_back(connection)
            else:
                self._of_parent.append(connection)

    @contextmanager
    def transaction(self, begin: str = "BEGIN") -> Iterator[Transaction]:
        """All or nothing."""
        with self.taken() as connection:
            transaction = Transaction(self, connection)
            try:
                connection.execute(begin)
                yield transaction
                transaction.end()
            finally:
                if (
                    transaction.process == os.getpid()
                    and connection.info.transaction_status != TransactionStatus.IDLE
                ):
                    with suppress(psycopg.Error):
                        connection.execute("ROLLBACK")

    def failure(self, error: psycopg.Error, connection: Connection | None = None) -> StoreFailed:
        """An error of the library as one of ours."""
        if isinstance(error, errors.LockNotAvailable):
            return StoreBusy(self.place, self._wait)
        if isinstance(error, errors.DeadlockDetected | errors.SerializationFailure):
            why = "two writers waited for each other"
            return StoreFailed(self.place, why, next_step="nothing was written; try again")
        if connection is not None and connection.closed:
            return StoreFailed(self.place, LOST, next_step=AGAIN)
        why = self._message(error)
        if isinstance(error, errors.InsufficientPrivilege):
            return StoreFailed(self.place, why, next_step="ask whoever runs the server for it")
        return StoreFailed(self.place, why, next_step="nothing was written; see the server's log")

    def close(self) -> None:
        with self._lock:
            self._leave_to_parent()
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> Connection:
        while (connection := self._kept()) is not None:
            if not connection.closed and _silent(connection):
                return connection
            connection.close()
        try:
            return self._connected()
        except psycopg.Error as error:
            why = f"it cannot be reached: {self._message(error)}"
            step = "check the address, and that the server runs"
            raise StoreFailed(self.place, why, next_step=step) from error

    def _kept(self) -> Connection | None:
        with self._lock:
            if self._closed:
                raise StoreFailed(self.place, "it was closed", next_step="open it again")
            self._leave_to_parent()
            return self._idle.pop() if self._idle else None

    def _leave_to_parent(self) -> None:
        """What was there before a fork is the parent's: to close it here would end it there."""
        if self._process != os.getpid():
            self._of_parent += self._idle
            self._idle, self._process = [], os.getpid()

    def _connected(self) -> Connection:
        connection: Connection = psycopg.Connection.connect(
            **self._arguments,  # type: ignore[arg-type]
            autocommit=True,
        )
        connection.execute("SET search_path = kedgeline, public")
        connection.execute(f"SET lock_timeout = {int(self._wait * 1000)}")
        if self._durability == "fast":
            connection.execute("SET synchronous_commit = off")
        else:  # a server that waits for its replicas too goes on doing so
            connection.execute(
                "SELECT set_config('synchronous_commit', 'on', false)"
                " WHERE current_setting('synchronous_commit') = 'off'"
            )
        return connection

    def _give_back(self, connection: Connection) -> None:
        with self._lock:
            if (
                not self._closed
                and not connection.closed
                and connection.info.transaction_status == TransactionStatus.IDLE
                and len(self._idle) < IDLE
            ):
                self._idle.append(connection)
                return
        connection.close()

    def _message(self, error: psycopg.Error) -> str:
        text = " ".join((error.diag.message_primary or str(error) or "no reason given").split())
        for name in ("password", "sslpassword"):
            if secret := str(self._arguments.get(name, "")):
                text = text.replace(secret, "***")
        return text[:SHOWN].rstrip(".;")


class Transaction:
    """Statements that hold together."""

    def __init__(self, connections: Connections, connection: Connection) -> None:
        self._connections, self._connection = connections, connection
        self._failed: StoreFailed | None = None
        self.process = os.getpid()

    def ask(self, query: str, given: Mapping[str, Any]) -> Sequence[Row]:
        with self._reporting():
            return answer(self._connection, query, given)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Send what is done in the block without waiting for each answer; there are none."""
        with self._reporting(), self._connection.pipeline():
            yield

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            self._failed = self._connections.failure(error, self._connection)
            raise self._failed from error

    def run(self, statements: str) -> None:
        """Several statements of ours, without values."""
        self._connection.execute(statements)

    @property
    def place(self) -> str:
        return self._connections.place

    def insist(self) -> None:
        """Raise again what failed: whoever caught it must not believe that the rest is there."""
        if self._failed is not None:
            raise self._failed

    def end(self) -> None:
        self.insist()
        if self.process != os.getpid():
            why, step = "it is held by another process", "open it in this one"
            raise StoreFailed(self.place, why, next_step=step)
        try:
            done = self._connection.execute("COMMIT").statusmessage
        except psycopg.Error as error:
            if self._connection.closed:
                raise StoreFailed(self.place, UNKNOWN, next_step=APPEND_AGAIN) from error
            raise
        if done != "COMMIT":
            step = "nothing was written; try again"
            raise StoreFailed(self.place, "the server took it back", next_step=step)


def answer(connection: Connection, query: str, given: Mapping[str, Any]) -> Sequence[Row]:
    cursor = connection.cursor(binary=True)  # bytes as they are, not as text twice their size
    cursor.execute(query, given)
    return cursor.fetchall() if cursor.description else []


def _silent(connection: Connection) -> bool:
    """Whether a connection that was not used is still good: a server that ends one says so."""
    with selectors.DefaultSelector() as selector:
        selector.register(connection.fileno(), selectors.EVENT_READ)
        return not selector.select(0)


# The tables, and how older ones become these.

MIGRATIONS = (Path(__file__).with_name("postgres_1.sql").read_text("utf-8"),)
"""Each makes the next version out of the one before. They are only ever added to."""

ONE_AT_A_TIME = 0x6B65646765
"""Key of the lock under which tables are changed: kedgeline, in ASCII."""


_MADE = """
SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = 'kedgeline' AND tablename = 'version'"""
"""By the tables of the server itself. What it remembers of a name, it may remember from before it
waited for the lock."""


def up_to_date(connections: Connections) -> None:
    """Make the tables, or change them to what this kedgeline writes."""
    if _version(connections) == len(MIGRATIONS):
        return
    with connections.transaction() as transaction:
        transaction.ask("SELECT pg_advisory_xact_lock(%(key)s)", {"key": ONE_AT_A_TIME})
        for number in range(_version(transaction), len(MIGRATIONS)):
            if number == 0:
                transaction.ask("CREATE SCHEMA IF NOT EXISTS kedgeline", {})
                transaction.ask("CREATE TABLE kedgeline.version (number integer NOT NULL)", {})
                transaction.ask("INSERT INTO kedgeline.version VALUES (0)", {})
            transaction.run(MIGRATIONS[number])
            transaction.ask("UPDATE kedgeline.version SET number = %(to)s", {"to": number + 1})


def _version(asked: Connections | Transaction) -> int:
    """0 where there are no tables yet."""
    if not asked.ask(_MADE, {}):
        return 0
    number = next(row[0] for row in asked.ask("SELECT number FROM kedgeline.version", {}) if row)
    if number > len(MIGRATIONS):
        raise UserError(
            f"the store at {asked.place!r} has schema {number}, and this kedgeline knows schemas "
            f"up to {len(MIGRATIONS)}; upgrade kedgeline: nothing was changed"
        )
    return int(number)
