"""The store for teams: a PostgreSQL server. Needs the extra `postgres`.

Each owner's sessions are in the tables of the schema `kedgeline`. Writers of many machines share
it: each holds a lock of its session."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from kedgeline.errors import BadSettings, MissingExtra
from kedgeline.store.table_store import (
    Hit,
    Match,
    Spread,
    TableStore,
    conditions,
    held_already,
    words_of,
)
from kedgeline.store.tables import (
    FAILED,
    PASSAGE,
    PASSAGE_VALUES,
    Block,
    Row,
    Tables,
    as_bytes,
    owner_mark,
    session_mark,
    text_of,
)
from kedgeline.store.values import WAIT_SECONDS, Durability, Passage, Phrase, Query, words

if TYPE_CHECKING:
    from kedgeline.store.postgres_connection import Transaction


LONGEST_OWNER = 200
"""Characters: an owner is in every index, whose rows must stay small."""
LONGEST_WORD = 500
"""Characters of a word that count. PostgreSQL takes 2,046 bytes, and a character has up to four."""
MOST_WORDS = 12_000
"""Of a text that is searched: PostgreSQL keeps 16,383 places, and a megabyte."""
BLOB_BYTES = 16_000_000
"""Blobs are held back to the end of a block, or until they are so many."""
BY_LENGTH = 1
"""How ranks are made comparable: divided by the logarithm of a passage's words."""

_NAMED = re.compile(r":([a-z][a-z0-9]*)")


@cache
def translated(sql: str) -> str:
    """SQL with its values as the driver wants them."""
    return _NAMED.sub(r"%(\1)s", sql.replace("%", "%%"))


class PostgresTables(Tables):
    """Every text is kept as its bytes: it may hold a NUL, or half a surrogate pair."""

    text = staticmethod(as_bytes)

    def same(self, column: str) -> str:
        return f"sha256({column}) = sha256(:{column})"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.place!r}, owner={self.owner!r})"


class Within(PostgresTables):
    """Questions within a transaction."""

    def __init__(self, transaction: Transaction, owner: str) -> None:
        self.transaction, self.owner, self.place = transaction, owner, transaction.place

    def _ask(self, sql: str, values: Mapping[str, Any]) -> Sequence[Row]:
        return self.transaction.ask(translated(sql), values)


class PostgresWriting(Within, Block):
    """A session held within a transaction."""

    def __init__(self, transaction: Transaction, owner: str, session: str) -> None:
        Within.__init__(self, transaction, owner)
        Block.__init__(self, session)
        self._blobs: dict[str, bytes] = {}

    def _ask(self, sql: str, values: Mapping[str, Any]) -> Sequence[Row]:
        self.check_holder()
        return super()._ask(sql, values)

    def _together(self) -> AbstractContextManager[object]:
        return self.transaction.together()

    def blob(self, hash: str) -> bytes | None:
        return self._blobs[hash] if hash in self._blobs else super().blob(hash)

    def _write_blobs(self, blobs: Mapping[str, bytes]) -> None:
        for hash, data in blobs.items():
            self._blobs.setdefault(hash, data)

    def check_whole(self) -> None:
        """Write what was held back. It comes last and in the order of its hashes, so that two who
        write the same never wait for each other in a circle."""
        self.transaction.insist()
        super().check_whole()
        with self._together():
            for hash, data in sorted(self._blobs.items()):
                super()._write_blobs({hash: data})

    def write_passage(
        self, passage: Passage, whose: str, marks: str, fields: Mapping[str, Any]
    ) -> None:
        self.ask(
            f"INSERT INTO passage ({PASSAGE}, text, files, command, marks) VALUES"
            f" ({PASSAGE_VALUES}, CAST(convert_from(:text, 'UTF8') AS tsvector),"
            " CAST(convert_from(:files, 'UTF8') AS tsvector),"
            " CAST(convert_from(:command, 'UTF8') AS tsvector),"
            " CAST(convert_from(:marks, 'UTF8') AS tsvector))",
            self.session,
            text=vector(words(passage.text)),
            files=vector(words(passage.files)),
            command=vector(words(passage.command)),
            marks=" ".join(map(quoted, f"{whose} {marks}".split())),
            **fields,
        )


# Words as the index takes them.


def vector(text: Sequence[str]) -> str:
    """Words and where each stands, as the server writes them down."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(text[:MOST_WORDS], 1):
        places.setdefault(word[:LONGEST_WORD], []).append(place)
    return " ".join(f"{quoted(word)}:{','.join(map(str, at))}" for word, at in places.items())


def quoted(word: str) -> str:
    """A word that can be nothing else to the server."""
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


def expression(phrases: Sequence[Phrase]) -> str:
    """All phrases in the language of the index. Every word is one of ours, made of letters and
    digits and within quotes: nothing that is sought can become part of that language."""
    return " & ".join(f"({text})" for text in map(_phrase, phrases) if text)


def _phrase(phrase: Phrase) -> str:
    wanted = [quoted(word[:LONGEST_WORD]) for word in words_of(phrase)]
    return " <-> ".join(wanted) + (":*" if phrase.prefix and wanted else "")


def _lexeme(phrase: Phrase) -> str:
    return phrase.words[0][:LONGEST_WORD]


class PostgresStore(PostgresTables, TableStore):
    """A store that writers of many machines share."""

    def __init__(self, place: str, *, owner: str, durability: Durability, wait: float) -> None:
        from kedgeline.store.postgres_connection import Connections, up_to_date

        if len(owner) > LONGEST_OWNER:
            problem = f"it has {len(owner)} characters; use {LONGEST_OWNER} at the most"
            raise BadSettings("the owner of the store", problem)
        self._connections = Connections(place, durability, wait)
        self.owner, self.place = owner, self._connections.place
        self._holders: set[tuple[int, int]] = set()
        with ExitStack() as undone:
            undone.callback(self._connections.close)
            up_to_date(self._connections)
            undone.pop_all()

    def _ask(self, sql: str, values: Mapping[str, Any]) -> Sequence[Row]:
        return self._connections.ask(translated(sql), values)

    def held(self, session: str) -> AbstractContextManager[PostgresWriting]:
        locks = f"pg_advisory_xact_lock_shared({lock_of('blobs', self.owner)})"
        locks += f", pg_advisory_xact_lock({lock_of(self.owner, session)})"
        return self._locked(locks, session)

    def alone(self) -> AbstractContextManager[PostgresWriting]:
        """A writer may be about to need the blobs that nobody needs yet."""
        return self._locked(f"pg_advisory_xact_lock({lock_of('blobs', self.owner)})", "")

    @contextmanager
    def _locked(self, locks: str, session: str) -> Iterator[PostgresWriting]:
        me = (os.getpid(), threading.get_ident())
        if me in self._holders:  # whoever waits for what it holds itself would wait for ever
            raise held_already(self.place)
        self._holders.add(me)
        try:
            with self._connections.transaction() as transaction:
                transaction.ask(f"SELECT {locks}", {})
                yield PostgresWriting(transaction, self.owner, session)
        finally:
            self._holders.discard(me)

    @contextmanager
    def one_state(self) -> Iterator[Tables]:
        from kedgeline.store.postgres_connection import ONE_STATE

        with self._connections.transaction(ONE_STATE) as transaction:
            yield Within(transaction, self.owner)

    def matches(self, query: Query, below: int, most: int) -> Iterable[Match]:
        where, asked = self._where(query)
        rank = f"ts_rank_cd(text, CAST(convert_from(:text, 'UTF8') AS tsquery), {BY_LENGTH})"
        found = self._newest(
            f"CAST({rank if 'text' in asked else 0} AS float8), id, session, number",
            f"{where} AND id < :below",
            below=below,
            most=most,
            **asked,
        )
        return (Match(score, id, text_of(name), number) for score, id, name, number in found)

    def hits(self, query: Query, seek: Sequence[Phrase], below: int, most: int) -> Iterable[Hit]:
        """A word is counted; words side by side, and those that go on, are there or not."""
        where, asked = self._where(query, seek)
        forms = [form for one in query.topic for form in one]
        single = {form: _lexeme(form) for form in forms if len(form.words) == 1 and not form.prefix}
        others = {form: f"p{n}" for n, form in enumerate(forms) if form not in single}
        there = (f"text @@ CAST(convert_from(:{p}, 'UTF8') AS tsquery)" for p in others.values())
        of_single = "FROM unnest(text) WHERE lexeme = ANY(CAST(:single AS text[]))"
        found = self._newest(
            f"id, session, number, who, error, length(text), ARRAY(SELECT lexeme {of_single}),"
            f" ARRAY(SELECT array_length(positions, 1) {of_single}),"
            f" CAST(ARRAY[{', '.join(there)}] AS boolean[])",
            f"{where} AND id < :below",
            below=below,
            most=most,
            single=list(single.values()),
            **{name: _phrase(form) for form, name in others.items()},
            **asked,
        )
        for id, name, number, who, error, size, lexemes, times, beside in found:
            counts = dict(zip(lexemes, times, strict=True))
            has = {form: counts.get(lexeme, 0) for form, lexeme in single.items()}
            has |= dict(zip(others, map(int, beside), strict=True))
            hits = tuple(sum(has[form] for form in one) for one in query.topic)
            yield Hit(id, text_of(name), number, text_of(who), error, size, hits)

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
        either = " | ".join(map(quoted, whose or [owner_mark(self.owner)]))
        marks = f"({either}) & {quoted(FAILED)}" if query.errors else either
        sought = {"text": query.phrases, "files": query.files, "command": query.commands}
        asked = {name: text for name, of in sought.items() if (text := expression(of))}
        any_of = seek or [form for forms in query.topic for form in forms]
        tests = {name: name for name in asked}
        if any_of:
            asked["topic"] = " | ".join(f"({_phrase(form)})" for form in any_of)
            tests["topic"] = "text"
        for name, column in tests.items():
            further += f" AND {column} @@ CAST(convert_from(:{name}, 'UTF8') AS tsquery)"
        where = (
            "WHERE owner = :owner AND marks @@ CAST(convert_from(:marks, 'UTF8') AS tsquery)"
            f" {further}"
        )
        return where, {"marks": marks, **asked, **values}

    def _newest(self, chosen: str, where: str, **given: Any) -> Iterator[tuple[Any, ...]]:
        rows = self.ask(
            f"SELECT {chosen} FROM (SELECT * FROM passage {where} ORDER BY id DESC LIMIT :most)"
            " AS newest ORDER BY id DESC",
            **given,
        )
        return (row for row in rows if row)

    def give_room_back(self, removed: int) -> None:
        if removed:
            self.ask("VACUUM blob")

    def close(self) -> None:
        self._connections.close()


def lock_of(*parts: str) -> int:
    """Key of a lock: of a session, or of the blobs, which nobody sweeps while somebody writes."""
    hashed = sha256(b"\0".join(map(as_bytes, ("kedgeline", *parts)))).digest()
    return int.from_bytes(hashed[:8], signed=True)


def open_postgres(
    place: str,
    *,
    owner: str = "",
    durability: Durability = "durable",
    wait: float = WAIT_SECONDS,
) -> PostgresStore:
    """The store at an address such as `postgresql://user@host:5432/name`, with its tables made or
    brought up to date."""
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise MissingExtra("the PostgreSQL store", "postgres") from error
    return PostgresStore(place, owner=owner, durability=durability, wait=wait)
