"""What a transaction is to do, written down before it begins and kept when it is done."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256

import msgspec

from kedge.bank.files import disk
from kedge.bank.files.layout import JOURNAL, STAGED, checked_name, number_of, own_names, record_name
from kedge.errors import FileRefused
from kedge.guarded_files import Folder
from kedge.model import Value

VERSION = 1
"""Of the record; a newer one is not touched."""
WRITTEN = f"{STAGED}journal"


class Replacement(Value, frozen=True):
    """One file of a transaction."""

    name: str
    before: str | None
    """Hash of what it held; None where there was no such file."""
    after: str | None
    """Hash of what it shall hold; None where it shall go."""
    mode: int | None = None
    """Of the file as it was."""


class Record(Value, frozen=True):
    """One transaction."""

    number: int
    what: str
    at: datetime
    files: tuple[Replacement, ...]
    """In the order in which they are replaced."""
    undoes: int = 0
    """Number of the transaction that it takes back."""
    left: tuple[str, ...] = ()
    """Files that were not replaced, as somebody had changed one of them."""
    undoable: bool = True
    """Whether it may be taken back; then it is told of, and copies of its files are kept."""
    version: int = VERSION

    @property
    def done(self) -> tuple[Replacement, ...]:
        return tuple(file for file in self.files if file.name not in self.left)


def digest(data: bytes | None) -> str | None:
    return None if data is None else sha256(data).hexdigest()


def read_record(own: Folder, name: str) -> Record | None:
    """The journal, or the record of a transaction; nothing where there is none."""
    held = own.read(name)
    if held is None:
        return None
    path = str(own.path / name)
    try:
        record = msgspec.json.decode(held.data, type=Record)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        why = f"it cannot be understood ({error}); every file of the bank is whole, move it away"
        raise FileRefused(path, why) from error
    if record.version != VERSION:
        raise FileRefused(path, "a newer kedge has written it; upgrade kedge")
    for file in record.files:
        checked_name(own, file.name)
    return record


def write_journal(own: Folder, record: Record) -> None:
    """What counts from now on."""
    disk.write_new(own, WRITTEN, msgspec.json.encode(record))
    disk.rename(own, WRITTEN, own, JOURNAL)
    disk.sync(own)


def file_journal(own: Folder, record: Record) -> None:
    """The transaction is over. Where nothing came of it, or nothing is to be taken back, nothing
    is told of it."""
    if record.undoable and (record.done or not record.left):
        disk.rename(own, JOURNAL, own, record_name(record.number))
    else:
        disk.remove(own, JOURNAL)
    disk.sync(own)


def next_number(own: Folder) -> int:
    return max(map(number_of, own_names(own)), default=0) + 1
