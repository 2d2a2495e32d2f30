"""What the stores over SQL tables share: one text of SQL, run by each backend in its own way.

A backend gives `_ask`, `text`, and how words are indexed and matched. Values stand in the SQL as
`:name`. What follows from the entries (places, messages, links, the list of sessions, passages) can
be made anew from them."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from hashlib import sha256
from heapq import merge
from itertools import islice
from typing import Any, ClassVar, TypeVar, cast, get_args, get_type_hints

from kedgeline.errors import StoreDamaged, StoreFailed
from kedgeline.store.protocol import Reading
from kedgeline.store.values import (
    Entry,
    Found,
    Head,
    Kind,
    Passage,
    Place,
    SessionInfo,
    linked,
)

Made = TypeVar("Made")
Row = tuple[Any, ...] | None
"""None stands for a row that holds what is no text."""
KINDS = frozenset(get_args(Kind))
LAST_INTEGER = (1 << 63) - 1


# Values of rows. Any of them may be damaged: each is looked at before it is believed.


class Unreadable(ValueError):
    """A row that holds what nobody wrote."""


UNREADABLE = (Unreadable, UnicodeDecodeError)
"""What reading a damaged row leads to; SQLite hands texts out that are no Unicode."""


def as_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def as_json(texts: tuple[str, ...]) -> str:
    return json.dumps(texts, separators=(",", ":")) if texts else ""


def text_of(value: object) -> str:
    """A text that was kept as it is, or as its bytes."""
    if isinstance(value, str):
        return value
    if not isinstance(value, bytes):
        raise Unreadable(f"a {type(value).__name__} in the place of a text")
    return value.decode("utf-8", "surrogatepass")


def number_of(value: object) -> int:
    if not isinstance(value, int):
        raise Unreadable(f"a {type(value).__name__} in the place of a number")
    return value


def texts_of(value: object) -> tuple[str, ...]:
    if not value:
        return ()
    try:
        return tuple(map(text_of, json.loads(text_of(value))))
    except (ValueError, TypeError, RecursionError) as error:
        raise Unreadable(f"a list of texts is damaged: {error}") from error


def kind_of(value: object) -> Kind:
    kind = text_of(value)
    if kind not in KINDS:
        raise Unreadable("its kind is none that is written")
    return cast(Kind, kind)


def data_of(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise Unreadable(f"a {type(value).__name__} in the place of its data")
    return value


_READ: dict[Any, Callable[[Any], object]] = {
    int: number_of,
    str: text_of,
    tuple[str, ...]: texts_of,
    Kind: kind_of,
    bytes: data_of,
}


def reader(make: Callable[..., Made], columns: str) -> Callable[[Row], Made]:
    """Makes a value of a row with these columns, each read as its field is declared; the last may
    be missing."""
    hints = get_type_hints(make)
    named = [(name, _READ.get(hints[name], hints[name])) for name in columns.split()]

    def made(row: Row) -> Made:
        if row is None:
            raise Unreadable("it is no text")
        return make(**{name: read(value) for (name, read), value in zip(named, row, strict=False)})

    return made


def readable(rows: Iterable[Row], make: Callable[[Row], Made]) -> Iterator[Made]:
    """What the rows say that can be read: one that is damaged does not hide the others."""
    for row in rows:
        try:
            yield make(row)
        except UNREADABLE:
            continue


entry_of = reader(Entry, "number kind at thread index tokens id key chain blobs said data")
head_of = reader(Head, "number chain")
place_of = reader(Place, "index number tokens before id")
info_of = reader(SessionInfo, "name entries turns tokens compactions first last bytes")
found_of = reader(Found, "score session number thread index at id who field start size error")


# Reading.

MINE = "owner = :owner AND session = :session"
LIGHT = "number, kind, at, thread, turn, tokens, id, key, chain"
WHOLE = f"{LIGHT}, blobs, said, data"
PLACE = "turn, number, tokens, before, id"
FIRST_ROWS, MOST_ROWS, BATCH_BYTES = 4, 256, 1 << 20
"""Entries that are read at a time: few at first, as who asks for the newest seldom wants more than
one, then four times as many with each batch, as long as they are small."""
ASKED = 500
"""Ids in one statement: SQLite takes some thousands."""


class Tables(Reading):
    """Questions to the tables, within a transaction or each on its own."""

    owner: str
    place: str
    """Of the store, as messages show it."""
    by_thread: ClassVar[str] = "entry"
    """The table of entries, read by thread and kind."""

    def _ask(self, sql: str, values: Mapping[str, Any]) -> Sequence[Row]:
        raise NotImplementedError

    def text(self, text: str) -> str | bytes:
        """A text as a column keeps it."""
        raise NotImplementedError

    def same(self, column: str) -> str:
        """The test for a text that may be too long for an index."""
        return f"{column} = :{column}"

    def ask(self, sql: str, session: str = "", **values: Any) -> Sequence[Row]:
        given = {"owner": self.owner, "session": session, **values}
        return self._ask(
            sql, {k: self.text(v) if isinstance(v, str) else v for k, v in given.items()}
        )

    def _one(self, make: Callable[[Row], Made], sql: str, session: str, **values: Any) -> Made:
        rows = self.ask(sql, session, **values)
        try:
            return make(rows[0]) if rows else cast(Made, None)
        except UNREADABLE as error:
            raise StoreDamaged(self.place, f"a row cannot be read: {error}") from error

    def head(self, session: str) -> Head:
        sql = f"SELECT number, chain FROM entry WHERE {MINE} ORDER BY number DESC LIMIT 1"
        return self._one(head_of, sql, session) or Head()

    def entries(
        self,
        session: str,
        *,
        kinds: Collection[Kind] = (),
        thread: str | None = None,
        after: int = 0,
        newest_first: bool = False,
        light: bool = False,
    ) -> Iterator[Entry]:
        which = "" if thread is None else f" AND {self.same('thread')}"
        columns = LIGHT if light else WHOLE

        def read(table: str, given: dict[str, Any], which: str) -> Iterator[Entry]:
            found = self.numbered(session, columns, table, given, which, after, newest_first)
            return (entry for _, entry in found if isinstance(entry, Entry))

        given = {"thread": thread or ""}
        if not kinds:
            return read("entry", given, which)
        # Each kind by its index: asked for several at once, SQLite would look at every entry.
        table = "entry" if thread is None else self.by_thread
        ways = (
            read(table, {**given, "kind": kind}, f"{which} AND kind = :kind")
            for kind in dict.fromkeys(kinds)
        )
        return merge(*ways, key=lambda entry: entry.number, reverse=newest_first)

    def numbered(
        self,
        session: str,
        columns: str = WHOLE,
        table: str = "entry",
        given: Mapping[str, Any] = {},
        which: str = "",
        after: int = 0,
        newest_first: bool = False,
    ) -> Iterator[tuple[int, Entry | Exception]]:
        """Entries with their numbers, or why one cannot be read. Nothing stays open between two
        batches: whoever stops in the middle holds nobody up."""
        above, below, rows = after, LAST_INTEGER, FIRST_ROWS
        sql = (
            f"FROM {table} WHERE {MINE} AND number > :above AND number < :below{which}"
            f" ORDER BY number {'DESC' if newest_first else 'ASC'} LIMIT :rows"
        )
        while True:
            asked = {**given, "above": above, "below": below, "rows": rows}
            found = self.ask(f"SELECT {columns} {sql}", session, **asked)
            batch: list[tuple[int, Entry | Exception]]
            try:
                batch = [(entry.number, entry) for entry in map(entry_of, found)]
            except UNREADABLE:
                numbers = self.ask(f"SELECT number {sql}", session, **asked)
                batch = [(row[0], self._left(session, row[0])) for row in numbers if row]
            yield from batch
            if len(found) < rows:
                return
            above, below = (above, batch[-1][0]) if newest_first else (batch[-1][0], below)
            size = sum(len(one.data) for _, one in batch if isinstance(one, Entry)) // len(batch)
            rows = max(1, min(MOST_ROWS, rows * 4, BATCH_BYTES // max(1, size)))

    def _left(self, session: str, number: int) -> Entry | Exception:
        rows = self.ask(
            f"SELECT {WHOLE} FROM entry WHERE {MINE} AND number = :n", session, n=number
        )
        try:
            return entry_of(rows[0] if rows else None)
        except UNREADABLE as error:
            return error

    def entry(self, session: str, number: int) -> Entry | None:
        sql = f"SELECT {WHOLE} FROM entry WHERE {MINE} AND number = :number"
        return self._one(entry_of, sql, session, number=number)

    def places(
        self, session: str, *, thread: str = "", first: int = 0, last: int | None = None
    ) -> Sequence[Place]:
        rows = self.ask(
            f"SELECT {PLACE} FROM place WHERE {MINE} AND {self.same('thread')}"
            " AND turn BETWEEN :first AND :last ORDER BY turn",
            session,
            thread=thread,
            first=first,
            last=LAST_INTEGER if last is None else last,
        )
        return list(readable(rows, place_of))

    def last_place(self, session: str, *, thread: str = "") -> Place | None:
        sql = f"SELECT {PLACE} FROM place WHERE {MINE} AND {self.same('thread')}"
        return self._one(place_of, f"{sql} ORDER BY turn DESC LIMIT 1", session, thread=thread)

    def threads(self, session: str) -> Sequence[str]:
        sql = f"SELECT thread, min(number) FROM place WHERE {MINE} AND thread <> :main"
        rows = self.ask(f"{sql} GROUP BY thread ORDER BY min(number)", session, main="")
        return list(readable(rows, lambda row: text_of(row and row[0])))

    def said(self, session: str, last: int) -> Sequence[str]:
        sql = f"SELECT id FROM said WHERE {MINE} ORDER BY position DESC LIMIT :last"
        rows = self.ask(sql, session, last=max(0, last))
        return list(readable(reversed(rows), lambda row: text_of(row and row[0])))

    def known(self, session: str, ids: Collection[str]) -> frozenset[str]:
        given, asked = iter(ids), dict[str, str]()
        found: set[str] = set()
        while asked := {f"id{n}": id for n, id in enumerate(islice(given, ASKED))}:
            either = " OR ".join(self.same("id").replace(":id", f":{name}") for name in asked)
            rows = self.ask(f"SELECT id FROM said WHERE {MINE} AND ({either})", session, **asked)
            found.update(readable(rows, lambda row: text_of(row and row[0])))
        return frozenset(found)

    def keyed(self, session: str, key: str) -> int | None:
        sql = f"SELECT number, chain FROM entry WHERE {MINE} AND {self.same('key')}"
        found = self._one(head_of, f"{sql} AND key <> :none", session, key=key, none="")
        return found.number if found and key else None

    def blob(self, hash: str) -> bytes | None:
        rows = self.ask("SELECT data FROM blob WHERE owner = :owner AND hash = :hash", hash=hash)
        return rows[0][0] if rows and rows[0] and isinstance(rows[0][0], bytes) else None


# A session held by one writer.

MESSAGES = 1 << 20
"""Messages of one entry at the most: the place of a message is that of its entry and its own."""
PASSAGES = 1 << 16
"""Passages of one entry that are searched at the most: their ids are its rank and a number."""
PASSAGE = "id, owner, session, number, at, turn, who, error, field, start, size"
PASSAGE_VALUES = (
    ":passage, :owner, :session, :number, :at, :index, :who, :error, :field, :start, :size"
)
DERIVED = (("place", "session"), ("said", "session"), ("link", "session"), ("session", "name"))
"""Tables that follow from the entries, and their column of the session's name."""

_ENTRY = f"""
INSERT INTO entry (owner, session, {WHOLE})
VALUES (:owner, :session, :number, :kind, :at, :thread, :index, :tokens, :id, :key, :chain,
  :blobs, :said, :data)
RETURNING rank"""
_SESSION = """
INSERT INTO session (owner, name, rank, bytes) VALUES (:owner, :session, :rank, :size)
ON CONFLICT (owner, name)
DO UPDATE SET rank = excluded.rank, bytes = session.bytes + excluded.bytes"""


ITS_ENTRY = (
    "SELECT 1 FROM entry WHERE entry.owner = passage.owner AND entry.session = passage.session"
    f" AND entry.number = passage.number AND entry.rank = passage.id / {PASSAGES}"
)
FAILED = "failed"
"""Mark of a passage from a call that failed."""
HASH_LETTERS = 16
"""Of an owner or session among the marks. Two that share them cost time only: the columns say whose
a passage is."""


def owner_mark(owner: str) -> str:
    """One word for an owner, that narrows a search to what is theirs."""
    return "o" + _hashed(owner)


def session_mark(owner: str, session: str) -> str:
    return "s" + _hashed(owner, session)


def _hashed(*parts: str) -> str:
    return sha256(b"\0".join(map(as_bytes, parts))).hexdigest()[:HASH_LETTERS]


class Block(Tables):
    """A session held by one writer: what is written, and what follows from it."""

    def __init__(self, session: str) -> None:
        self.session = session
        self._half = False
        """Whether an entry was written in part: then nothing of the block may stay."""
        self._holder: tuple[int, int] | None = (os.getpid(), threading.get_ident())
        self._head: Head | None = None

    def release(self) -> None:
        self._holder = None

    def check_holder(self) -> None:
        if self._holder != (os.getpid(), threading.get_ident()):
            why = f"the session {self.session!r} is not held here"
            step = "hold it with writing(); nothing was written"
            raise StoreFailed(self.place, why, next_step=step)

    def check_whole(self) -> None:
        if self._half:
            why = f"an entry of {self.session!r} could not be written"
            step = "nothing of the block was written; try all of it again"
            raise StoreFailed(self.place, why, next_step=step)

    def add(
        self,
        entry: Entry,
        *,
        blobs: Mapping[str, bytes] = {},
        passages: Sequence[Passage] = (),
        instead_of: int | None = None,
    ) -> Entry:
        self.check_holder()
        if entry.key and self.keyed(self.session, entry.key) is not None:
            why = f"an entry of {self.session!r} has the key {entry.key!r} already"
            step = "it was not written again; ask keyed() for its number"
            raise StoreFailed(self.place, why, next_step=step)
        if self._head is None:
            self._head = self.head(self.session)
        entry = linked(entry, self._head)
        self._half = True
        rank = self._write_entry(entry)
        with self._together():
            self._write_blobs(blobs)
            self.derive(entry, rank)
            if instead_of is not None:
                self.forget(instead_of)
            self.index(rank, entry, passages)
        self._head = Head(number=entry.number, chain=entry.chain)
        self._half = False
        return entry

    def _together(self) -> AbstractContextManager[object]:
        """Around statements that have no answers."""
        return nullcontext()

    def _write_entry(self, entry: Entry) -> int:
        fields = {name: getattr(entry, name) for name in entry.__struct_fields__}
        lists = {"blobs": as_json(entry.blobs), "said": as_json(entry.said)}
        ((rank,),) = cast(list[tuple[int]], self.ask(_ENTRY, self.session, **{**fields, **lists}))
        return rank

    def _write_blobs(self, blobs: Mapping[str, bytes]) -> None:
        for hash, data in blobs.items():
            self.ask(
                "INSERT INTO blob (owner, hash, data) VALUES (:owner, :hash, :data)"
                " ON CONFLICT DO NOTHING",
                hash=hash,
                data=data,
            )

    def derive(self, entry: Entry, rank: int) -> None:
        """Write what follows from an entry behind those before it."""
        session = self.session
        self.ask(_SESSION, session, rank=rank, size=len(entry.data))
        for hash in entry.blobs:
            sql = "INSERT INTO link (owner, session, hash) VALUES (:owner, :session, :hash)"
            self.ask(f"{sql} ON CONFLICT DO NOTHING", session, hash=hash)
        for position, id in enumerate(entry.said, entry.number * MESSAGES):
            sql = "INSERT INTO said (owner, session, position, id)"
            values = {"position": position, "id": id}
            self.ask(f"{sql} VALUES (:owner, :session, :position, :id)", session, **values)
        if entry.kind not in ("turn", "cut"):
            return
        where = f"FROM place WHERE {MINE} AND {self.same('thread')}"
        given = {"thread": entry.thread, "index": entry.index}
        self.ask(f"DELETE {where} AND turn >= :index", session, **given)
        if entry.kind == "turn":
            last = f"{where} ORDER BY turn DESC LIMIT 1"
            self.ask(
                f"INSERT INTO place (owner, session, thread, ahead, {PLACE}) VALUES (:owner,"
                f" :session, :thread, coalesce((SELECT ahead + 1 {last}), 0), :index, :number,"
                f" :tokens, coalesce((SELECT before + tokens {last}), 0), :id)",
                session,
                **given,
                number=entry.number,
                tokens=entry.tokens,
                id=entry.id,
            )

    def index(self, rank: int, entry: Entry, passages: Sequence[Passage]) -> None:
        """Write passages. Their ids are as old as their entry: the newest are ranked first."""
        given = {"number": entry.number, "at": entry.at, "index": entry.index}
        whose = f"{owner_mark(self.owner)} {session_mark(self.owner, self.session)}"
        for id, one in enumerate(islice(passages, PASSAGES), rank * PASSAGES):
            fields = {"who": one.who, "field": one.field, "start": one.start}
            fields |= {"error": int(one.error), "size": len(one.text)}
            marks = f"{one.who} {FAILED}" if one.error else one.who
            self.write_passage(one, whose, marks, {"passage": id, **given, **fields})

    def write_passage(
        self, passage: Passage, whose: str, marks: str, fields: Mapping[str, Any]
    ) -> None:
        """Write a passage, and its words for the search; `whose` and `marks` are such words too."""
        raise NotImplementedError

    def forget(self, number: int | None = None) -> None:
        """Remove the passages of an entry, or of the whole session."""
        where = f"{MINE} AND number = :number" if number is not None else MINE
        self.forget_words(f"SELECT id FROM passage WHERE {where}", number=number)
        self.ask(f"DELETE FROM passage WHERE {where}", self.session, number=number)

    def forget_words(self, chosen: str, **values: Any) -> None:
        """Remove the words of these passages, where they stand in a table of their own."""

    def reindex(self, passages: Iterable[tuple[int, Sequence[Passage]]]) -> None:
        """Replace the passages of some entries."""
        for number, written in passages:
            rank = rank_of(self, self.session, f"number = {int(number)}")
            entry = self.entry(self.session, number)
            if rank is not None and entry is not None:
                self.forget(number)
                self.index(rank, entry, written)

    def derive_anew(self) -> None:
        """Make anew all that follows from the entries that can be read. Passages that are no
        entry's are removed; others get the time and turn of their entry."""
        for table, column in DERIVED:
            sql = f"DELETE FROM {table} WHERE owner = :owner AND {column} = :session"
            self.ask(sql, self.session)
        for number, entry in self.numbered(self.session):
            rank = rank_of(self, self.session, f"number = {int(number)}")
            if isinstance(entry, Entry) and rank is not None:
                self.derive(entry, rank)
        stray = f"SELECT id FROM passage WHERE {MINE} AND NOT EXISTS ({ITS_ENTRY})"
        self.forget_words(stray)
        self.ask(f"DELETE FROM passage WHERE {MINE} AND NOT EXISTS ({ITS_ENTRY})", self.session)
        of_entry = ITS_ENTRY.replace("SELECT 1", "SELECT at, turn")
        sql = f"UPDATE passage SET (at, turn) = ({of_entry}) WHERE {MINE}"
        self.ask(sql, self.session)


def rank_of(tables: Tables, session: str, which: str = "true") -> int | None:
    """Of the newest of these entries, among those of all sessions."""
    sql = f"SELECT rank FROM entry WHERE {MINE} AND {which} ORDER BY number DESC LIMIT 1"
    rows = tables.ask(sql, session)
    return rows[0][0] if rows and rows[0] else None
