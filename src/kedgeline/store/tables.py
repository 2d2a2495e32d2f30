"""What the stores over SQL share: connections, reading rows, and writing a session.

The SQL is the same for all backends; values stand in it as `:name`. Places, messages, links, the
session list and passages are derived from the entries and can be rebuilt from them."""

from __future__ import annotations

import json
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from hashlib import sha256
from heapq import merge
from itertools import islice
from typing import Any, ClassVar, Generic, TypeVar, get_type_hints

import msgspec

from kedgeline.errors import KedgelineError, StoreDamaged, StoreFailed
from kedgeline.store.protocol import (
    Entry,
    Found,
    Head,
    Kind,
    Passage,
    Place,
    SessionInfo,
    StoreReading,
    linked,
)

Made = TypeVar("Made")
Row = tuple[Any, ...] | None
"""None stands for a row with text that cannot be decoded."""
LAST_INTEGER = (1 << 63) - 1


# Connections: each is taken for one piece of work, by any thread, and never by a forked process.


class Database(ABC):
    """A database that holds a store."""

    error: ClassVar[type[Exception]]
    """The base of what its driver raises."""
    by_thread: ClassVar[str] = "entry"
    """The table of entries, read by thread and kind."""
    words: ClassVar[bool] = False
    """Whether the words of passages are in a table of their own."""
    snapshot: ClassVar[str]
    """Begins a transaction whose queries all see the same state."""
    most_idle: ClassVar[int]
    """Connections kept for the next call."""

    def __init__(self, place: str, wait: float) -> None:
        """`place` is shown in messages, `wait` the timeout for locks in seconds."""
        self.place, self.wait = place, wait
        self._idle: list[Any] = []
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._of_parent: list[Any] = []
        """Held so that they are not closed: that would act for the process we were forked from."""
        self._closed = False

    @abstractmethod
    def connect(self) -> Any: ...

    @abstractmethod
    def rows(self, connection: Any, sql: str, values: Mapping[str, Any]) -> list[Row]: ...

    @abstractmethod
    def many(self, connection: Any, sql: str, values: Sequence[Mapping[str, Any]]) -> None:
        """Execute a statement once for each set of values."""

    @abstractmethod
    def begin(self, connection: Any, owner: str, session: str | None) -> None:
        """Begin a transaction that locks a session; with None, all sessions of the owner."""

    @abstractmethod
    def commit(self, connection: Any) -> None: ...

    @abstractmethod
    def is_clean(self, connection: Any) -> bool:
        """Whether a connection can be used again."""

    @abstractmethod
    def translated(self, error: Exception, connection: Any = None) -> KedgelineError:
        """An error of the driver as one of ours."""

    @abstractmethod
    def text(self, text: str) -> str | bytes:
        """A text as a column stores it."""

    def same(self, column: str) -> str:
        """The test for a text that may be too long for an index."""
        return f"{column} = :{column}"

    def batched(self, _connection: Any) -> AbstractContextManager[object]:
        """Around statements whose results nobody needs."""
        return nullcontext()

    @abstractmethod
    def add_passages(
        self, block: Block, passages: Sequence[tuple[Passage, dict[str, Any]]]
    ) -> None:
        """Write passages and their words; each with its columns, and `marks` to search by."""

    @contextmanager
    def taken(self) -> Iterator[Any]:
        connection, process = self._take(), os.getpid()
        sound = True
        try:
            yield connection
        except self.error as error:
            sound = False
            raise self.translated(error, connection) from error
        except StoreFailed:
            sound = False
            raise
        finally:
            if process != os.getpid():
                self._of_parent.append(connection)
            else:
                self._give_back(connection, sound)

    @contextmanager
    def transaction(self, owner: str, session: str | None) -> Iterator[Any]:
        """All or nothing."""
        with self.taken() as connection:
            process, done = os.getpid(), False
            try:
                self.begin(connection, owner, session)
                yield connection
                if process != os.getpid():
                    step = "open it in this process; nothing was written"
                    raise StoreFailed(self.place, "another process locks it", next_step=step)
                self.commit(connection)
                done = True
            finally:
                if not done and process == os.getpid():
                    with suppress(self.error):
                        self.rows(connection, "ROLLBACK", {})

    @contextmanager
    def unchanging(self) -> Iterator[Any]:
        """For several queries of one state."""
        with self.taken() as connection:
            self.rows(connection, self.snapshot, {})
            try:
                yield connection
            finally:
                with suppress(self.error):  # damage may have ended it
                    self.rows(connection, "ROLLBACK", {})

    def close(self) -> None:
        with self._lock:
            self._leave_to_parent()
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> Any:
        while True:
            with self._lock:
                if self._closed:
                    raise StoreFailed(self.place, "it was closed", next_step="open it again")
                self._leave_to_parent()
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self.connect()
            if self.is_clean(connection):
                return connection
            connection.close()

    def _give_back(self, connection: Any, sound: bool) -> None:
        with self._lock:
            if (
                sound
                and not self._closed
                and len(self._idle) < self.most_idle
                and self.is_clean(connection)
            ):
                self._idle.append(connection)
                return
        connection.close()

    def _leave_to_parent(self) -> None:
        if self._process != os.getpid():
            self._of_parent += self._idle
            self._idle, self._process = [], os.getpid()


# Rows into values. The database may be damaged, so each is checked.


class Unreadable(ValueError):
    """A row that holds what nobody wrote."""


def text_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _as_json(texts: tuple[str, ...]) -> str:
    return json.dumps(texts, separators=(",", ":")) if texts else ""


def column_text(value: object) -> str:
    """A text that was stored as it is, or as its bytes."""
    if isinstance(value, str):
        return value
    if not isinstance(value, bytes):
        raise Unreadable(f"a {type(value).__name__} in the place of a text")
    return value.decode("utf-8", "surrogatepass")


class Columns(Generic[Made]):
    """Makes a value of a row with these columns; the last columns may be missing."""

    def __init__(self, make: type[Made], names: str) -> None:
        self._make, self._names = make, names.split()
        hints = get_type_hints(make)
        self._read: dict[str, Callable[[Any], object]] = {
            name: read
            for read, types in ((column_text, (str, Kind)), (bool, (bool,)), (_texts_of, (_TEXTS,)))
            for name in self._names
            if hints[name] in types
        } | {name: _moment for name in self._names if name in ("at", "first", "last")}

    def __call__(self, row: Row) -> Made:
        if row is None:
            raise Unreadable("its text cannot be decoded")
        values = dict(zip(self._names, row, strict=False))
        if not isinstance(values.get("data", b""), bytes):
            raise Unreadable("its data is not bytes")
        for name, read in self._read.items():
            if name in values:
                values[name] = read(values[name])
        return msgspec.convert(values, self._make)


_TEXTS = tuple[str, ...]
FIRST_MOMENT, LAST_MOMENT = -62_135_596_800_000_000, 253_402_300_799_000_000
"""Microseconds since 1970 of the years 1 and 9999: what calendars take."""


def _moment(value: object) -> object:
    """A time that can be shown: a damaged one may be beyond all calendars."""
    return max(FIRST_MOMENT, min(LAST_MOMENT, value)) if isinstance(value, int) else value


def _texts_of(value: object) -> list[str]:
    try:
        found: list[str] = json.loads(column_text(value)) if value else []
    except (TypeError, RecursionError) as error:
        raise Unreadable(f"a list of texts is damaged: {error}") from error
    return found


entry_of = Columns(Entry, "number kind at thread index tokens id key chain blobs said data")
head_of = Columns(Head, "number chain")
place_of = Columns(Place, "index number tokens before id")
info_of = Columns(SessionInfo, "name entries turns tokens compactions first last bytes")
found_of = Columns(Found, "score session number thread index at id who field start size error")


def readable_rows(rows: Iterable[Row], make: Callable[[Row], Made]) -> Iterator[Made]:
    """The rows that can be read: a damaged one does not hide the others."""
    for row in rows:
        with suppress(ValueError):
            yield make(row)


def first_column(row: Row) -> str:
    return column_text(row and row[0])


# Reading.

MINE = "owner = :owner AND session = :session"
LIGHT = "number, kind, at, thread, turn, tokens, id, key, chain"
WHOLE = f"{LIGHT}, blobs, said, data"
PLACE = "turn, number, tokens, before, id"
FIRST_ROWS, MOST_ROWS, BATCH_BYTES = 4, 256, 1 << 20
"""Entries that are read at a time: few at first, as a caller that asks for the newest seldom needs
more than one, then four times as many with each batch while they are small."""
MOST_IDS = 500
"""Ids in one statement: SQLite takes some thousands."""


class Tables(StoreReading):
    """Queries of one owner; within a transaction where there is a connection, else each alone."""

    def __init__(self, database: Database, owner: str, connection: Any = None) -> None:
        self.database, self.owner, self.place = database, owner, database.place
        self.connection = connection

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.place!r}, owner={self.owner!r})"

    def ask(self, sql: str, session: str = "", **values: Any) -> list[Row]:
        given = self._given(session, values)
        if self.connection is not None:
            with self._reporting():
                return self.database.rows(self.connection, sql, given)
        with self.database.taken() as connection:
            return self.database.rows(connection, sql, given)

    def _given(self, session: str, values: Mapping[str, Any]) -> dict[str, Any]:
        text = self.database.text
        given = {"owner": self.owner, "session": session, **values}
        return {k: text(v) if isinstance(v, str) else v for k, v in given.items()}

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except self.database.error as error:
            raise self.database.translated(error, self.connection) from error

    def _one(
        self, make: Callable[[Row], Made], sql: str, session: str, **values: Any
    ) -> Made | None:
        rows = self.ask(sql, session, **values)
        try:
            return make(rows[0]) if rows else None
        except ValueError as error:
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
        columns = LIGHT if light else WHOLE
        which = "" if thread is None else f" AND {self.database.same('thread')}"
        given: dict[str, Any] = {"thread": thread or ""}
        if not kinds:
            return self._read(session, columns, "entry", which, given, after, newest_first)
        # Each kind by its index: asked for several at once, SQLite would look at every entry.
        table = "entry" if thread is None else self.database.by_thread
        each = (
            self._read(
                session,
                columns,
                table,
                f"{which} AND kind = :kind",
                {**given, "kind": kind},
                after,
                newest_first,
            )
            for kind in dict.fromkeys(kinds)
        )
        return merge(*each, key=lambda entry: entry.number, reverse=newest_first)

    def _read(
        self,
        session: str,
        columns: str,
        table: str,
        which: str,
        given: dict[str, Any],
        after: int,
        newest_first: bool,
    ) -> Iterator[Entry]:
        """In batches; nothing is locked or open between two of them."""
        above, below, rows = after, LAST_INTEGER, FIRST_ROWS
        sql = (
            f"FROM {table} WHERE {MINE} AND number > :above AND number < :below{which}"
            f" ORDER BY number {'DESC' if newest_first else 'ASC'} LIMIT :rows"
        )
        while True:
            asked = {**given, "above": above, "below": below, "rows": rows}
            found = self.ask(f"SELECT {columns} {sql}", session, **asked)
            batch = list(readable_rows(found, entry_of))
            yield from batch
            if len(found) < rows:
                return
            if len(batch) == len(found):
                last = batch[-1].number
            else:
                numbers = self.ask(f"SELECT number {sql}", session, **asked)
                last = numbers[-1][0] if numbers and numbers[-1] else LAST_INTEGER
            above, below = (above, last) if newest_first else (last, below)
            size = sum(len(one.data) for one in batch) // len(found)
            rows = max(1, min(MOST_ROWS, rows * 4, BATCH_BYTES // max(1, size)))

    def entry(self, session: str, number: int) -> Entry | None:
        sql = f"SELECT {WHOLE} FROM entry WHERE {MINE} AND number = :number"
        return self._one(entry_of, sql, session, number=number)

    def places(
        self, session: str, *, thread: str = "", first: int = 0, last: int | None = None
    ) -> Sequence[Place]:
        rows = self.ask(
            f"SELECT {PLACE} FROM place WHERE {MINE} AND {self.database.same('thread')}"
            " AND turn BETWEEN :first AND :last ORDER BY turn",
            session,
            thread=thread,
            first=first,
            last=LAST_INTEGER if last is None else last,
        )
        return list(readable_rows(rows, place_of))

    def last_place(self, session: str, *, thread: str = "") -> Place | None:
        sql = f"SELECT {PLACE} FROM place WHERE {MINE} AND {self.database.same('thread')}"
        return self._one(place_of, f"{sql} ORDER BY turn DESC LIMIT 1", session, thread=thread)

    def threads(self, session: str) -> Sequence[str]:
        sql = f"SELECT thread, min(number) FROM place WHERE {MINE} AND thread <> :main"
        rows = self.ask(f"{sql} GROUP BY thread ORDER BY min(number)", session, main="")
        return list(readable_rows(rows, first_column))

    def said(self, session: str, last: int) -> Sequence[str]:
        sql = f"SELECT id FROM said WHERE {MINE} ORDER BY position DESC LIMIT :last"
        rows = self.ask(sql, session, last=max(0, last))
        return list(readable_rows(reversed(rows), first_column))

    def known(self, session: str, ids: Collection[str]) -> frozenset[str]:
        given, found = iter(ids), set[str]()
        while asked := {f"id{n}": id for n, id in enumerate(islice(given, MOST_IDS))}:
            same = self.database.same("id")
            either = " OR ".join(same.replace(":id", f":{name}") for name in asked)
            rows = self.ask(f"SELECT id FROM said WHERE {MINE} AND ({either})", session, **asked)
            found.update(readable_rows(rows, first_column))
        return frozenset(found)

    def keyed(self, session: str, key: str) -> int | None:
        sql = f"SELECT number, chain FROM entry WHERE {MINE} AND {self.database.same('key')}"
        found = self._one(head_of, f"{sql} AND key <> :none", session, key=key, none="")
        return found.number if found and key else None

    def blob(self, hash: str) -> bytes | None:
        rows = self.ask("SELECT data FROM blob WHERE owner = :owner AND hash = :hash", hash=hash)
        return rows[0][0] if rows and rows[0] and isinstance(rows[0][0], bytes) else None

    def rank(self, session: str, number: int | None = None) -> int | None:
        """Of an entry among those of all sessions; of the last one where no number is given."""
        sql = f"SELECT rank FROM entry WHERE {MINE} AND number <= :number ORDER BY number DESC"
        rows = self.ask(
            f"{sql} LIMIT 1", session, number=LAST_INTEGER if number is None else number
        )
        return rows[0][0] if rows and rows[0] else None


# Writing one session.

MESSAGES = 1 << 20
"""Most messages of one entry: the position of a message is that of its entry and its own."""
PASSAGES = 1 << 16
"""Most passages of one entry that are indexed: their ids are its rank and a number."""
PASSAGE = "id, owner, session, number, at, turn, who, error, field, start, size"
PASSAGE_VALUES = (
    ":passage, :owner, :session, :number, :at, :index, :who, :error, :field, :start, :size"
)
DERIVED = (("place", "session"), ("said", "session"), ("link", "session"), ("session", "name"))
"""Tables that are derived from the entries, and their column of the session's name."""
ITS_ENTRY = (
    "SELECT 1 FROM entry WHERE entry.owner = passage.owner AND entry.session = passage.session"
    f" AND entry.number = passage.number AND entry.rank = passage.id / {PASSAGES}"
)
_ENTRY = f"""
INSERT INTO entry (owner, session, {WHOLE})
VALUES (:owner, :session, :number, :kind, :at, :thread, :index, :tokens, :id, :key, :chain,
  :blobs, :said, :data)
RETURNING rank"""
_SESSION = """
INSERT INTO session (owner, name, rank, bytes) VALUES (:owner, :session, :rank, :size)
ON CONFLICT (owner, name)
DO UPDATE SET rank = excluded.rank, bytes = session.bytes + excluded.bytes"""
_LINK = "INSERT INTO link (owner, session, hash) VALUES (:owner, :session, :hash)"
_BLOB = "INSERT INTO blob (owner, hash, data) VALUES (:owner, :hash, :data) ON CONFLICT DO NOTHING"
_SAID = "INSERT INTO said (owner, session, position, id) VALUES (:owner, :session, :position, :id)"

FAILED = "failed"
"""Mark of a passage from a call that failed."""
HASH_LETTERS = 16
"""Of an owner or session in a mark."""


def owner_mark(owner: str) -> str:
    """One word for an owner, by which the index is searched."""
    return "o" + _hashed(owner)


def session_mark(owner: str, session: str) -> str:
    return "s" + _hashed(owner, session)


def _hashed(*parts: str) -> str:
    return sha256(b"\0".join(map(text_bytes, parts))).hexdigest()[:HASH_LETTERS]


class Block(Tables):
    """One locked session: what is written, and what is derived from it."""

    def __init__(self, database: Database, owner: str, connection: Any, session: str) -> None:
        super().__init__(database, owner, connection)
        self.session = session
        self._head: Head | None = None
        self._half = False
        """Whether an entry was written in part: then nothing of the block may stay."""
        self._blobs: dict[str, bytes] = {}
        self._holder: tuple[int, int] | None = (os.getpid(), threading.get_ident())

    def ask(self, sql: str, session: str = "", **values: Any) -> list[Row]:
        self._check_holder()
        return super().ask(sql, session, **values)

    def _check_holder(self) -> None:
        if self._holder != (os.getpid(), threading.get_ident()):
            why = f"the session {self.session!r} is not locked here"
            step = "lock it with writing(); nothing was written"
            raise StoreFailed(self.place, why, next_step=step)

    def each(self, sql: str, values: Iterable[Mapping[str, Any]]) -> None:
        """Execute a statement for each set of values."""
        if rows := [self._given(self.session, one) for one in values]:
            with self._reporting():
                self.database.many(self.connection, sql, rows)

    def blob(self, hash: str) -> bytes | None:
        return self._blobs[hash] if hash in self._blobs else super().blob(hash)

    def add(
        self,
        entry: Entry,
        *,
        blobs: Mapping[str, bytes] = {},
        passages: Sequence[Passage] = (),
        instead_of: int | None = None,
    ) -> Entry:
        self._check_holder()
        if entry.key and self.keyed(self.session, entry.key) is not None:
            why = f"an entry of {self.session!r} has the key {entry.key!r} already"
            step = "it was not written again; ask keyed() for its number"
            raise StoreFailed(self.place, why, next_step=step)
        entry = linked(entry, self._head or self.head(self.session))
        fields = {name: getattr(entry, name) for name in entry.__struct_fields__}
        lists = {"blobs": _as_json(entry.blobs), "said": _as_json(entry.said)}
        self._half = True
        ((rank,),) = self.ask(_ENTRY, self.session, **{**fields, **lists})  # type: ignore[misc]
        with self._reporting(), self.database.batched(self.connection):
            self.derive(entry, rank)
            if instead_of is not None:
                self.forget("number = :number", number=instead_of)
            self.index(rank, entry, passages)
        self._blobs = {**blobs, **self._blobs}
        self._head = Head(number=entry.number, chain=entry.chain)
        self._half = False
        return entry

    def finish(self) -> None:
        """Write the blobs, in the order of their hashes: two writers of the same ones never wait
        for each other in a circle."""
        if self._half:
            why = f"an entry of {self.session!r} could not be written"
            step = "nothing of the block was written; try all of it again"
            raise StoreFailed(self.place, why, next_step=step)
        self.each(_BLOB, ({"hash": h, "data": data} for h, data in sorted(self._blobs.items())))

    def release(self) -> None:
        self._holder = None

    def derive(self, entry: Entry, rank: int) -> None:
        """Write what is derived from an entry."""
        self.ask(_SESSION, self.session, rank=rank, size=len(entry.data))
        self.each(f"{_LINK} ON CONFLICT DO NOTHING", ({"hash": hash} for hash in entry.blobs))
        positions = enumerate(entry.said, entry.number * MESSAGES)
        self.each(_SAID, ({"position": position, "id": id} for position, id in positions))
        if entry.kind not in ("turn", "cut"):
            return
        where = f"FROM place WHERE {MINE} AND {self.database.same('thread')}"
        given = {"thread": entry.thread, "index": entry.index}
        self.ask(f"DELETE {where} AND turn >= :index", self.session, **given)
        if entry.kind == "turn":
            last = f"{where} ORDER BY turn DESC LIMIT 1"
            self.ask(
                f"INSERT INTO place (owner, session, thread, ahead, {PLACE}) VALUES (:owner,"
                f" :session, :thread, coalesce((SELECT ahead + 1 {last}), 0), :index, :number,"
                f" :tokens, coalesce((SELECT before + tokens {last}), 0), :id)",
                self.session,
                **given,
                number=entry.number,
                tokens=entry.tokens,
                id=entry.id,
            )

    def index(self, rank: int, entry: Entry, passages: Sequence[Passage]) -> None:
        """Write passages. Their ids are as old as their entry: the newest are ranked first."""
        whose = f"{owner_mark(self.owner)} {session_mark(self.owner, self.session)}"
        fields = {"number": entry.number, "at": entry.at, "index": entry.index, "owners": whose}
        made = [
            (
                one,
                {
                    **fields,
                    "passage": id,
                    "who": one.who,
                    "field": one.field,
                    "start": one.start,
                    "error": int(one.error),
                    "size": len(one.text),
                    "marks": f"{one.who} {FAILED}" if one.error else one.who,
                },
            )
            for id, one in enumerate(islice(passages, PASSAGES), rank * PASSAGES)
        ]
        if made:
            self.database.add_passages(self, made)

    def forget(self, which: str, **values: Any) -> None:
        """Delete the passages of the session that meet a condition."""
        where = f"FROM passage WHERE {MINE} AND {which}"
        if self.database.words:
            sql = f"DELETE FROM words WHERE rowid IN (SELECT id {where})"
            self.ask(sql, self.session, **values)
        self.ask(f"DELETE {where}", self.session, **values)

    def reindex(self, passages: Iterable[tuple[int, Sequence[Passage]]]) -> None:
        for number, written in passages:
            entry = self.entry(self.session, number)
            rank = self.rank(self.session, number)
            if rank is not None and entry is not None:
                self.forget("number = :number", number=number)
                self.index(rank, entry, written)

    def rebuild(self) -> None:
        """Rebuild all that is derived from the entries that can be read. A turn that is lost keeps
        its place, so that whoever reads the session sees that it is. Passages without an entry are
        deleted; others get the time and turn of their entry."""
        for table, column in DERIVED:
            sql = f"DELETE FROM {table} WHERE owner = :owner AND {column} = :session"
            self.ask(sql, self.session)
        lost: list[int] = []
        before = 0
        for entry in self.entries(self.session):
            lost += range(before + 1, entry.number)
            before = entry.number
            rank = self.rank(self.session, entry.number)
            if rank is None:
                continue
            if entry.kind == "turn" and lost:
                last = self.last_place(self.session, thread=entry.thread)
                between = range(last.index + 1 if last else 0, entry.index)
                for index, number in zip(between, lost, strict=False):
                    gone = Entry(kind="turn", thread=entry.thread, index=index, number=number)
                    self.derive(gone, rank)
                del lost[: len(between)]
            self.derive(entry, rank)
        self.forget(f"NOT EXISTS ({ITS_ENTRY})")
        of_entry = ITS_ENTRY.replace("SELECT 1", "SELECT at, turn")
        self.ask(f"UPDATE passage SET (at, turn) = ({of_entry}) WHERE {MINE}", self.session)
