"""A layer between the bank and the system that remembers what was written and what was synced, and
the disks that a power cut may leave of it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple

Where = tuple[str, str]
"""A folder, by the end of its path, and a name in it."""


class Event(NamedTuple):
    what: Literal["name", "write", "sync file", "sync folder", "acknowledged"]
    file: int = -1
    """Number of the file itself, whatever its name."""
    data: bytes = b""
    old: Where | None = None
    """The name that goes."""
    new: Where | None = None
    """The name that it gets."""
    folder: str = ""


class Recorder:
    """Takes the place of the module `os` where the bank changes files."""

    def __init__(self, bank: Path) -> None:
        self.events: list[Event] = []
        self.start: dict[Where, bytes] = {}
        self._open: dict[int, int] = {}
        self._names: dict[Where, int] = {}
        for path in [*bank.iterdir(), *(bank / ".kedge").iterdir()]:
            if path.is_file():
                where = (path.parent.name, path.name)
                self._names[where] = len(self._names)
                self.start[where] = path.read_bytes()
        self._files = len(self._names)

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def open(self, name: str, flags: int, mode: int, *, dir_fd: int) -> int:
        descriptor = os.open(name, flags, mode, dir_fd=dir_fd)
        where = (_folder(dir_fd), name)
        self._open[descriptor] = self._names[where] = self._files
        self.events.append(Event("name", self._files, new=where))
        self._files += 1
        return descriptor

    def write(self, descriptor: int, data: memoryview) -> int:
        count = os.write(descriptor, data)
        self.events.append(Event("write", self._open[descriptor], bytes(data[:count])))
        return count

    def close(self, descriptor: int) -> None:
        os.close(descriptor)
        self._open.pop(descriptor, None)

    def fsync(self, descriptor: int) -> None:
        if descriptor in self._open:
            self.events.append(Event("sync file", self._open[descriptor]))
        else:
            self.events.append(Event("sync folder", folder=_folder(descriptor)))

    def rename(self, name: str, new_name: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        os.rename(name, new_name, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        old, new = (_folder(src_dir_fd), name), (_folder(dst_dir_fd), new_name)
        self._names[new] = self._names.pop(old)
        self.events.append(Event("name", self._names[new], old=old, new=new))

    def unlink(self, name: str, *, dir_fd: int) -> None:
        os.unlink(name, dir_fd=dir_fd)
        old = (_folder(dir_fd), name)
        self.events.append(Event("name", self._names.pop(old), old=old))


def _folder(descriptor: int) -> str:
    return os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}"))


@dataclass
class _Disk:
    """What is on it for sure, and what may be."""

    names: dict[Where, int]
    pending: list[Event] = field(default_factory=list)
    written: dict[int, bytes] = field(default_factory=dict)
    synced: dict[int, bytes] = field(default_factory=dict)

    def sync(self, folder: str) -> None:
        rest = []
        for event in self.pending:
            if folder in {where[0] for where in (event.old, event.new) if where}:
                self.rename(event)
            else:
                rest.append(event)
        self.pending = rest

    def rename(self, event: Event) -> None:
        if event.old and self.names.get(event.old) == event.file:
            del self.names[event.old]
        if event.new:
            self.names[event.new] = event.file


def cut_off(start: dict[Where, bytes], events: list[Event], random: Random) -> dict[Where, bytes]:
    """The files that a power cut behind these events may leave."""
    disk = _Disk({where: number for number, where in enumerate(start)})
    disk.written = dict(enumerate(start.values()))
    disk.synced = dict(disk.written)
    for event in events:
        if event.what == "name":
            disk.pending.append(event)
        elif event.what == "write":
            disk.written[event.file] = disk.written.get(event.file, b"") + event.data
        elif event.what == "sync file":
            disk.synced[event.file] = disk.written.get(event.file, b"")
        elif event.what == "sync folder":
            disk.sync(event.folder)
    for event in _survivors(disk.pending, random):
        disk.rename(event)
    return {
        where: _content(disk.synced.get(file), disk.written.get(file, b""), random)
        for where, file in disk.names.items()
    }


def _survivors(pending: list[Event], random: Random) -> list[Event]:
    """What the disk had of the names: all, none, a beginning, or some."""
    how = random.choice(("all", "none", "beginning", "some"))
    if how in ("all", "none"):
        return pending if how == "all" else []
    if how == "beginning":
        return pending[: random.randrange(len(pending) + 1)]
    return [event for event in pending if random.random() < 0.5]


def _content(synced: bytes | None, written: bytes, random: Random) -> bytes:
    """What the disk had of a file: all that was synced; of the rest a part, or zeros."""
    if synced == written:
        return written
    length = random.randrange(len(written) + 1)
    return random.choice(
        (
            written,
            b"",
            written[:length],
            bytes(len(written)),
            written[:length].ljust(len(written), b"\0"),
        )
    )


def lay_out(files: dict[Where, bytes], bank: Path) -> None:
    (bank / ".kedge").mkdir(parents=True, mode=0o700)
    for (folder, name), content in files.items():
        path = bank / name if folder != ".kedge" else bank / ".kedge" / name
        path.write_bytes(content)
