"""A layer below SQLite that remembers what was written and what was synced, and the disks that a
power cut may leave of it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple

import apsw

SECTOR = 512
"""Bytes that a disk writes whole or not at all."""
NAME = "kedgeline-recording"


class Event(NamedTuple):
    what: Literal["write", "sync", "truncate", "delete", "acknowledged"]
    file: str = ""
    offset: int = 0
    """The size, of a truncation; the number, of what was acknowledged."""
    data: bytes = b""


class Recorder(apsw.VFS):
    """All files that SQLite opens while this is the usual layer, one folder at a time."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._below = apsw.vfs_names()[0]
        super().__init__(NAME, self._below, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        return _File(self._below, name, flags, self.events)

    def xDelete(self, name: str, sync: bool) -> None:
        super().xDelete(name, sync)
        self.events.append(Event("delete", os.path.basename(name), offset=int(sync)))


class _File(apsw.VFSFile):
    def __init__(self, below: str, name: Any, flags: list[int], events: list[Event]) -> None:
        full = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._name = os.path.basename(full) if full else ""
        self._events = events
        super().__init__(below, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        super().xWrite(data, offset)
        self._note(Event("write", self._name, offset, bytes(data)))

    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        self._note(Event("sync", self._name))

    def xTruncate(self, size: int) -> None:
        super().xTruncate(size)
        self._note(Event("truncate", self._name, size))

    def _note(self, event: Event) -> None:
        if self._name:
            self._events.append(event)


@dataclass
class _Kept:
    """A file: what is on the disk for sure, and what may be."""

    sure: bytearray = field(default_factory=bytearray)
    there: bool = False
    """Whether its name is on the disk for sure."""
    maybe: list[Event] = field(default_factory=list)

    def sync(self) -> None:
        for event in self.maybe:
            _apply(self.sure, event)
        self.maybe, self.there = [], True


def _apply(content: bytearray, event: Event) -> None:
    if event.what == "truncate":
        del content[event.offset :]
        return
    end = event.offset + len(event.data)
    if len(content) < end:
        content.extend(bytes(end - len(content)))
    content[event.offset : end] = event.data


def cut_off(events: list[Event], database: str, random: Random) -> dict[str, bytes]:
    """The files that a power cut behind these events may leave."""
    files = {database: _Kept(there=True)}
    for event in events:
        kept = files.setdefault(event.file, _Kept())
        if event.what == "sync":
            kept.sync()
        elif event.what == "delete":
            files.pop(event.file)  # the folder is synced with it, or the name is gone by chance
        elif event.what != "acknowledged":
            kept.maybe.append(event)
    left: dict[str, bytes] = {}
    for name, kept in files.items():
        if name and (kept.there or (kept.maybe and random.random() < 0.8)):
            content = bytearray(kept.sure)
            for event in _survivors(kept.maybe, random):
                _apply(content, event)
            left[name] = bytes(content)
    return left


def _survivors(maybe: list[Event], random: Random) -> list[Event]:
    """What the disk had written of what was not synced: all, none, a beginning, some, or some
    sectors of some."""
    how = random.choice(("all", "none", "beginning", "some", "sectors"))
    if how == "all":
        return maybe
    if how == "none":
        return []
    if how == "beginning":
        kept = maybe[: random.randrange(len(maybe) + 1)]
        return [*kept[:-1], *_sectors(kept[-1], random)] if kept else []
    share = random.random()
    chosen = [event for event in maybe if random.random() < share]
    if how == "some":
        return chosen
    return [piece for event in chosen for piece in _sectors(event, random)]


def _sectors(event: Event, random: Random) -> list[Event]:
    """Some of the sectors of a write."""
    if event.what != "write":
        return [event]
    pieces = []
    start = event.offset
    end = event.offset + len(event.data)
    while start < end:
        stop = min(end, (start // SECTOR + 1) * SECTOR)
        piece = event.data[start - event.offset : stop - event.offset]
        if random.random() < 0.5:
            pieces.append(Event("write", event.file, start, piece))
        start = stop
    return pieces


def lay_out(files: dict[str, bytes], folder: Path) -> None:
    """Put the files into a folder of their own."""
    folder.mkdir(mode=0o700)
    for name, content in files.items():
        path = folder / name
        path.write_bytes(content)
        path.chmod(0o600)
