"""What a batch writes: shards of rows, each whole or not at all, errors, and the manifest that says
which sources are in which shard. A source counts as done from its line in the manifest on."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Protocol
from uuid import uuid4

import msgspec

from kedgeline.batch.inputs import InputSource, arrow_of, file_system
from kedgeline.batch.tasks import SCHEMA_VERSION, Column, Row
from kedgeline.errors import MissingExtra, UserError
from kedgeline.model import Value

Format = Literal["parquet", "jsonl"]
DATABASES = ("postgresql://", "postgres://")
SCHEMA = "kedgeline_batch"
MANIFEST = "manifest.jsonl"
ROWS = 256
"""Rows of a shard at the most, and of a row group."""
SHARD_BYTES = 32 << 20
"""Characters of a shard's rows, about, from which the next one begins."""


class Record(Value, frozen=True):
    """A line of the manifest: a source that is done."""

    source: str
    stamp: str
    rows: int
    sha256: str = ""
    """Of the hashes of its sessions: with the same, another stamp means nothing."""
    shards: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    """Why something of it is not among the rows."""
    seconds: float = 0.0
    bytes: int = 0


class Target(Protocol):
    """What a batch writes into."""

    place: str

    def write(self, name: str, data: bytes) -> None:
        """A file, whole or not at all."""

    def write_rows(self, name: str, rows: Sequence[Row], columns: Sequence[Column]) -> None:
        """A shard of rows, whole or not at all."""

    def add(self, name: str, lines: bytes) -> None:
        """Lines behind those of a file, written through to the disk."""

    def read(self, name: str) -> bytes:
        """A file with all that was added to it; empty where there is none."""

    def names(self, below: str) -> list[str]: ...

    def forget(self, name: str) -> None: ...


@cache
def target_of(place: str) -> Target:
    return _Database(place) if place.startswith(DATABASES) else ShardFolder(place)


class ShardFolder:
    """A folder to write into, here or at an address of fsspec."""

    def __init__(self, place: str) -> None:
        self.place = place
        self._remote = "://" in place

    def write(self, name: str, data: bytes) -> None:
        if self._remote:
            system, root = file_system(self.place)
            inside = PurePosixPath(root) / name
            system.makedirs(str(inside.parent), exist_ok=True)
            system.pipe_file(str(inside), data)  # object stores show an object when it is whole
            return
        path = Path(self.place, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}.{uuid4().hex}")
        try:
            with open(fresh, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(fresh, path)
        except OSError:
            with suppress(OSError):
                fresh.unlink()
            raise

    def write_rows(self, name: str, rows: Sequence[Row], columns: Sequence[Column]) -> None:
        self.write(name, (_parquet if name.endswith(".parquet") else _jsonl)(rows, columns))

    def add(self, name: str, lines: bytes) -> None:
        if self._remote:
            self.write(f"{name}.{uuid4().hex}", lines)  # objects cannot grow: one more beside it
            return
        path = Path(self.place, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab") as file:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())

    def read(self, name: str) -> bytes:
        if self._remote:
            system, root = file_system(self.place)
            files = sorted(system.glob(f"{root.rstrip('/')}/{name}.*"))
            return b"".join(system.cat_file(file) for file in files)
        try:
            return Path(self.place, name).read_bytes()
        except FileNotFoundError:
            return b""

    def names(self, below: str) -> list[str]:
        if self._remote:
            system, root = file_system(self.place)
            return [PurePosixPath(one).name for one in system.find(f"{root.rstrip('/')}/{below}")]
        folder = Path(self.place, below)
        return [one.name for one in folder.iterdir()] if folder.is_dir() else []

    def forget(self, name: str) -> None:
        if self._remote:
            system, root = file_system(self.place)
            system.rm_file(str(PurePosixPath(root) / name))
        else:
            Path(self.place, name).unlink(missing_ok=True)


class _Database:
    """Tables of a PostgreSQL database, in a schema of their own: `rows` with a row of the batch as
    JSON in each, and `files` for what else would be a file. `#NAME` behind the address names the
    schema, so that several batches find room in one database."""

    TABLES = """
        CREATE SCHEMA IF NOT EXISTS {schema};
        CREATE TABLE IF NOT EXISTS {schema}.rows
            (shard text NOT NULL, source text, session text, "row" jsonb NOT NULL);
        CREATE TABLE IF NOT EXISTS {schema}.files
            (number bigserial PRIMARY KEY, name text NOT NULL, data bytea NOT NULL)"""

    def __init__(self, place: str) -> None:
        try:
            import psycopg
            from psycopg import sql
        except ImportError as error:
            raise MissingExtra("writing into PostgreSQL", "postgres") from error
        self.place = place
        address, _, name = place.partition("#")
        self._schema = sql.Identifier(name or SCHEMA)
        self._sql: Any = sql.SQL
        try:
            self._connection = psycopg.connect(address, autocommit=True)
            with self._connection.transaction():
                self._do("SELECT pg_advisory_xact_lock(hashtext(%s))", name or SCHEMA)
                self._do(self.TABLES)
        except psycopg.OperationalError as error:
            raise UserError(f"{address} cannot be written to: {str(error).strip()}") from error

    def _do(self, text: str, *values: object) -> Any:
        return self._connection.execute(self._sql(text).format(schema=self._schema), values or None)

    def write(self, name: str, data: bytes) -> None:
        self._do("INSERT INTO {schema}.files (name, data) VALUES (%s, %s)", name, data)

    add = write

    def write_rows(self, name: str, rows: Sequence[Row], columns: Sequence[Column]) -> None:
        into = self._sql('COPY {schema}.rows (shard, source, session, "row") FROM STDIN')
        copying = self._connection.cursor().copy(into.format(schema=self._schema))
        with self._connection.transaction(), copying as copy:
            for row in map(_sendable, rows):
                copy.write_row((name, row["source"], row["session"], json.dumps(row)))

    def read(self, name: str) -> bytes:
        found = self._do("SELECT data FROM {schema}.files WHERE name = %s ORDER BY number", name)
        return b"".join(data for (data,) in found)

    def names(self, below: str) -> list[str]:
        found = self._do(
            "SELECT shard FROM {schema}.rows UNION SELECT name FROM {schema}.files ORDER BY 1"
        )
        inside = f"{below}/"
        return [name.removeprefix(inside) for (name,) in found if name.startswith(inside)]

    def forget(self, name: str) -> None:
        with self._connection.transaction():
            self._do("DELETE FROM {schema}.rows WHERE shard = %s", name)
            self._do("DELETE FROM {schema}.files WHERE name = %s", name)


# The manifest.


def records(folder: Target, about: str = "") -> dict[str, Record]:
    """What is done already, by source. A line that was cut off counts for nothing. `about` is the
    job that would go on: another one's folder is refused."""
    found: dict[str, Record] = {}
    for line in folder.read(MANIFEST).split(b"\n"):
        with suppress(msgspec.DecodeError):
            value = msgspec.json.decode(line)
            if "job" in value:
                if about and value["job"] != about:
                    raise UserError(
                        f"{folder.place} holds another job ({value['job']}); give another folder"
                    )
            else:
                record = msgspec.convert(value, Record)
                found[record.source] = record
    return found


def sources_done(
    known: dict[str, Record], sources: Iterable[InputSource], shards: Collection[str]
) -> set[str]:
    """Sources that need not be done: they are as they were, and so are all whose rows stand beside
    theirs. A shard with rows of a source that changed is made anew as a whole."""
    stamps = {one.key: one.stamp for one in sources}
    stand = {
        name: record
        for name, record in known.items()
        if stamps.get(name, record.stamp) == record.stamp and set(record.shards) <= set(shards)
    }
    while True:
        gone = {one for name, record in known.items() if name not in stand for one in record.shards}
        left = {name: one for name, one in stand.items() if gone.isdisjoint(one.shards)}
        if len(left) == len(stand):
            return set(left)
        stand = left


def begin(folder: Target, about: str) -> None:
    line = json.dumps({"job": about, "schema": SCHEMA_VERSION})
    # a line that a kill has cut off ends here
    folder.add(MANIFEST, b"\n" * bool(folder.read(MANIFEST)) + line.encode() + b"\n")


def note(folder: Target, done: Iterable[Record]) -> None:
    folder.add(MANIFEST, b"".join(msgspec.json.encode(record) + b"\n" for record in done))


def written(folder: Target) -> list[str]:
    """Shards and errors that are there."""
    return [f"{below}/{name}" for below in ("shards", "errors") for name in folder.names(below)]


def sweep(folder: Target, known: Iterable[Record]) -> None:
    """Remove what was written and is not noted, or no longer: its sources are done again."""
    noted = {shard for record in known for shard in record.shards}
    for name in written(folder):
        if name not in noted:
            folder.forget(name)


# Shards.


class Shards:
    """Rows, written as shards as they come."""

    def __init__(self, folder: Target, columns: Sequence[Column], format: Format) -> None:
        self._folder, self._columns, self._format = folder, columns, format
        self._rows: list[Row] = []
        self._size = 0
        self._name = f"shards/{uuid4().hex}.{format}"

    def add(self, row: Row) -> str:
        """Take a row; the shard that it will stand in."""
        name = self._name
        self._rows.append(row)
        self._size += sum(len(value) for value in row.values() if isinstance(value, str))
        if len(self._rows) >= ROWS or self._size >= SHARD_BYTES:
            self.flush()
        return name

    def flush(self) -> None:
        if self._rows:
            self._folder.write_rows(self._name, self._rows, self._columns)
        self._rows, self._size = [], 0
        self._name = f"shards/{uuid4().hex}.{self._format}"


def _jsonl(rows: Sequence[Row], columns: Sequence[Column]) -> bytes:
    return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)


def _parquet(rows: Sequence[Row], columns: Sequence[Column]) -> bytes:
    arrow = arrow_of("the output")
    types = {"bool": arrow.bool_(), "double": arrow.float64(), "int64": arrow.int64()}
    fields = [arrow.field(name, types.get(kind, arrow.string())) for name, kind in columns]
    schema = arrow.schema(fields, metadata={"kedgeline.schema": str(SCHEMA_VERSION)})
    sink = arrow.BufferOutputStream()
    table = arrow.Table.from_pylist([_sendable(row) for row in rows], schema=schema)
    arrow.parquet.write_table(table, sink, compression="zstd", row_group_size=ROWS)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _sendable(row: Row) -> Row:
    """Text as UTF-8 and a database can hold it: a damaged session may have halves of surrogate
    pairs, and NUL bytes."""

    def sound(text: str) -> str:
        return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")

    return {name: sound(value) if isinstance(value, str) else value for name, value in row.items()}


def error_row(folder: Target, source: InputSource, session: str, reason: str) -> str:
    """A source, or a session of one, that could not be read, with the reason; the file it is told
    in."""
    name = f"errors/{uuid4().hex}.json"
    row = {"source": source.key, "session": session, "size": source.size, "reason": reason}
    folder.write(name, msgspec.json.encode(row) + b"\n")
    return name
