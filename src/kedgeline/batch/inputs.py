"""What a batch reads: files, folders, globs, addresses of fsspec, Parquet, sessions of a store."""

from __future__ import annotations

import glob
import hashlib
import os
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from kedgeline.errors import MissingExtra, SourceUnreadable, UserError
from kedgeline.model import Transcript, Value
from kedgeline.pipeline.read import Reading, event_files, plain_file, read, read_all, stream

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

EXTRA = "batch"
PARQUET = ".parquet"
LINES = (".jsonl", ".ndjson")
SEVERAL = (".json", ".md")
"""Endings of files that may hold several sessions: they are read whole to know."""
RANGE = 64 << 20
"""Bytes of a large training set in JSON Lines that one worker does: the lines that begin there."""
ROWS_AT_ONCE = 32
"""Rows of Parquet that are in memory together: one may be a megabyte."""
MESSAGES = ("messages", "conversations", "trajectory", "traj")
"""Columns that training sets keep a conversation in, as a list or as JSON."""
NAMES = ("session_id", "trajectory_id", "instance_id", "id", "uuid")
STAMPS = ("ETag", "etag", "md5Hash", "mtime", "created")
"""What file systems call the mark of a file that changes with it."""
STORE = "store:"
"""Before the name of a kept session in the address of a source."""


class InputSource(Value, frozen=True):
    """A file, a part of a training set, or a kept session: what is done, or done again, as a
    whole."""

    path: str
    size: int
    """Bytes; of a part its share of the file, of a kept session its entries."""
    stamp: str = ""
    """When it was changed last: a source that was done is done again where this differs."""
    group: int = -1
    """Of the row groups of a Parquet file, or of the ranges of JSON Lines; -1 for a whole file."""

    @property
    def key(self) -> str:
        return f"{self.path}#{self.group}" if self.group >= 0 else self.path


class InputSession(NamedTuple):
    """One conversation of a source."""

    name: str
    sha256: str
    """Of the bytes it was read from."""
    source: str | bytes | None
    """What it is read from where it is alone in there; else it was read."""
    known: Transcript | None = None

    def transcript(self) -> Transcript:
        if self.known is not None:
            return self.known
        assert self.source is not None
        return read(self.source)

    def reading(self) -> Reading | None:
        """Its turns one by one, in bounded memory; None where it is one of several."""
        return None if self.source is None else stream(self.source)


# Finding sources.


def sources_of(
    inputs: Iterable[str | os.PathLike[str]],
    *,
    store: str = "",
    sessions: Sequence[str] = (),
    owner: str = "",
    limit: int | None = None,
    sample: float | None = None,
    seed: int = 1,
) -> list[InputSource]:
    """Everything that the inputs name, each once, in the order of their names. `sample` is a share
    of them, drawn with `seed`."""
    found: dict[str, InputSource] = {}
    for one in inputs:
        for source in _sources(os.fspath(one)):
            found.setdefault(source.key, source)
    if store:
        for source in _kept(store, sessions, owner):
            found.setdefault(source.key, source)
    listed = [found[key] for key in sorted(found)]
    if sample is not None:
        if not 0 < sample <= 1:
            raise UserError(f"a sample of {sample} is not a share; give more than 0 and at most 1")
        chance = random.Random(seed)
        listed = [source for source in listed if chance.random() < sample]
    return listed[:limit]


def _sources(name: str) -> Iterator[InputSource]:
    if "://" in name:
        yield from _remote(name)
        return
    path = Path(name)
    if path.is_dir():
        below = [path, *sorted(path.rglob("*"))]
        folders = {one for one in below if one.is_dir() and event_files(one)}
        files = [
            one
            for one in below
            if one in folders
            or (one.is_file() and not _hidden(one, path) and folders.isdisjoint(one.parents))
        ]
    elif path.is_file():
        files = [path]
    else:
        files = [
            Path(one) for one in sorted(glob.glob(name, recursive=True)) if os.path.isfile(one)
        ]
        if not files:
            raise SourceUnreadable(name, "there is no file of this name")
    for file in files:
        parts = [one.stat() for one in event_files(file) or [file]]
        size, changed = sum(one.st_size for one in parts), max(one.st_mtime_ns for one in parts)
        yield from _of_file(str(file), size, str(changed))


def _hidden(path: Path, root: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(root).parts)


def _remote(address: str) -> Iterator[InputSource]:
    system, path = file_system(address)
    scheme = address.partition("://")[0]
    if any(sign in path for sign in "*?["):
        files = system.glob(path)
    elif system.isdir(path):
        files = system.find(path)
    else:
        files = [path]
    if not files:
        raise SourceUnreadable(address, "there is no file of this name")
    for file in sorted(files):
        about = system.info(file)
        known = (about[key] for key in STAMPS if key in about)
        name = file if scheme == "file" else file.lstrip("/")
        size = int(about.get("size") or 0)
        yield from _of_file(f"{scheme}://{name}", size, str(next(known, "")))


def _of_file(path: str, size: int, stamp: str) -> Iterator[InputSource]:
    if path.endswith(LINES) and size > RANGE and _is_dataset(path):
        for group, start in enumerate(range(0, size, RANGE)):
            part = min(RANGE, size - start)
            yield InputSource(path=path, size=part, stamp=stamp, group=group)
        return
    if not path.endswith(PARQUET):
        yield InputSource(path=path, size=size, stamp=stamp)
        return
    arrow = arrow_of(path)
    try:
        with _opened(path) as file, arrow.parquet.ParquetFile(file) as table:
            groups = table.num_row_groups
    except (arrow.ArrowInvalid, OSError):  # told as the reason when it is read
        groups = 1
    for group in range(groups):
        yield InputSource(path=path, size=size // max(1, groups), stamp=stamp, group=group)


def _kept(store: str, patterns: Sequence[str], owner: str) -> Iterator[InputSource]:
    from kedgeline.store.protocol import open_store

    with closing(open_store(store, owner=owner)) as opened_store:
        for info in opened_store.sessions():
            if not patterns or any(fnmatchcase(info.name, one) for one in patterns):
                path, stamp = f"{STORE}{info.name}", str(info.entries)
                yield InputSource(path=path, size=info.entries, stamp=stamp)


# Reading them.


@cache
def file_system(address: str) -> tuple[AbstractFileSystem, str]:
    """The file system of an address, and the path there."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise MissingExtra(f"reading {address.partition('://')[0]}://", EXTRA) from error
    system, path = url_to_fs(address)
    return system, path


def arrow_of(path: str) -> Any:
    """pyarrow, for a file that needs it."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtra(f"Parquet ({path})", EXTRA) from error
    return pyarrow


def _opened(path: str) -> Any:
    """A file, here or elsewhere, open for reading."""
    if "://" not in path:
        return open(path, "rb")
    system, inside = file_system(path)
    return system.open(inside, "rb")


def sessions_in(source: InputSource, *, store: str = "", owner: str = "") -> Iterator[InputSession]:
    """The conversations of a source, one in memory at a time where its form allows."""
    if source.path.startswith(STORE):
        yield _stored(source, store, owner)
    elif source.path.endswith(PARQUET):
        yield from _rows(source)
    elif source.group >= 0 or (source.path.endswith(LINES) and _is_dataset(source.path)):
        yield from _lines(source)
    else:
        yield from _file(source)


def _file(source: InputSource) -> Iterator[InputSession]:
    # a file here is read by its path: files beside it may belong to it
    readable = source.path if "://" not in source.path else _opened(source.path).read()
    sha256, name = _sha256(readable), Path(source.path).name
    if not source.path.endswith(SEVERAL):
        yield InputSession(name, sha256, readable)
        return
    found = read_all(readable)
    for number, transcript in enumerate(found):
        yield InputSession(f"{name}#{number}" if len(found) > 1 else name, sha256, None, transcript)


def _sha256(readable: str | bytes) -> str:
    if isinstance(readable, bytes):
        return hashlib.sha256(readable).hexdigest()
    digest = hashlib.sha256()
    for file in event_files(Path(readable)) or [Path(readable)]:
        with plain_file(file) as opened:
            while part := opened.read(1 << 20):
                digest.update(part)
    return digest.hexdigest()


def _is_dataset(path: str) -> bool:
    """Whether each line of a file is a conversation of its own, as in training sets."""
    try:
        with _opened(path) as file:
            first = msgspec.json.decode(file.readline(64 << 20))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return isinstance(first, dict) and isinstance(_conversation(first), list)


def _lines(source: InputSource) -> Iterator[InputSession]:
    name, group = Path(source.path).name, source.group
    start, end = (group * RANGE, (group + 1) * RANGE) if group >= 0 else (0, sys.maxsize)
    part = f"{group}." if group >= 0 else ""
    with _opened(source.path) as file:
        if start:  # a line that began before is in the part before
            file.seek(start - 1)
            file.readline()
        number = -1
        while file.tell() < end and (line := file.readline()):
            number += 1
            if not line.strip():
                continue
            place = f"{name}#{part}{number}"
            try:
                yield _row(msgspec.json.decode(line), place)
            except msgspec.DecodeError:  # told as the reason when it is read
                yield InputSession(place, hashlib.sha256(line).hexdigest(), line)


def _rows(source: InputSource) -> Iterator[InputSession]:
    parquet = arrow_of(source.path).parquet
    with _opened(source.path) as file, parquet.ParquetFile(file, pre_buffer=False) as table:
        names = table.schema_arrow.names
        column = next((name for name in MESSAGES if name in names), None)
        if column is None:
            raise SourceUnreadable(
                source.path, f"none of its columns is one of {', '.join(MESSAGES)}"
            )
        wanted = [column, *(name for name in (*NAMES, "tools", "system") if name in names)]
        batches = table.iter_batches(
            batch_size=ROWS_AT_ONCE, row_groups=[source.group], columns=wanted
        )
        number = 0
        for batch in batches:
            for row in batch.to_pylist():
                yield _row(row, f"{Path(source.path).name}#{source.group}.{number}")
                number += 1


def _row(row: dict[str, Any], place: str) -> InputSession:
    messages = _without_nulls(_conversation(row))
    request: dict[str, Any] = {"messages": messages}
    if tools := _plain(row.get("tools")):
        request["tools"] = _without_nulls(tools)
    if system := _system(row.get("system")):
        request["system"] = system
    data = msgspec.json.encode(request)
    name = next((str(row[key]) for key in NAMES if row.get(key)), place)
    return InputSession(name, hashlib.sha256(data).hexdigest(), data)


def _system(value: Any) -> Any:
    """The prompt beside the messages: Anthropic's shape, as text, a list of blocks, or JSON."""
    known = _without_nulls(_plain(value))
    return known if known is not None or value == "null" else value


def _conversation(row: dict[str, Any]) -> Any:
    return next((_plain(row[name]) for name in MESSAGES if row.get(name)), None)


def _plain(value: Any) -> Any:
    """A value, also where it was kept as JSON."""
    if isinstance(value, str):
        try:
            return msgspec.json.decode(value)
        except msgspec.DecodeError:
            return None
    return value


def _without_nulls(value: Any) -> Any:
    """A column holds every field that any row has; those that a row has not are null in it."""
    if isinstance(value, dict):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    if isinstance(value, list):
        return [_without_nulls(one) for one in value]
    return value


def _stored(source: InputSource, store: str, owner: str) -> InputSession:
    from kedgeline.session.session import Session
    from kedgeline.store.protocol import open_store

    name = source.path.removeprefix(STORE)
    with closing(open_store(store, owner=owner)) as opened_store:
        transcript = Session(name, opened_store).transcript()
    sha256 = hashlib.sha256(msgspec.json.encode(transcript)).hexdigest()
    return InputSession(name, sha256, None, transcript)
