"""A transaction taken back: to the byte where nothing changed since, and around later changes."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from kedge.bank.files.copies import copy_of
from kedge.bank.files.journal import Record, Replacement, digest, read_record
from kedge.bank.files.layout import Place, number_of, own_names, record_name
from kedge.bank.files.merging import Missing, taken_back
from kedge.bank.values import Change
from kedge.errors import BankChanged, NothingToUndo
from kedge.foreign import foreign
from kedge.guarded_files import Folder
from kedge.model import Value
from kedge.sentences import cut

LINE_SHOWN = 1_200
"""Characters of a line that somebody has to put back: all of a reference with its summary."""
_CHANGED = (
    "a line was changed or removed since that shows where something comes back; nothing was "
    "undone; put this line back as it was and undo again"
)


class Transaction(Value, frozen=True):
    """What was done to the bank at once."""

    number: int
    what: str
    at: datetime
    files: tuple[str, ...]
    """Those that were replaced, in order."""
    left: tuple[str, ...] = ()
    """Those that were not, as somebody had changed one of them meanwhile."""
    undone: bool = False
    undoes: int = 0
    """Number of the transaction that it takes back."""


class Undone(Value, frozen=True):
    """A transaction that was taken back."""

    number: int
    """Of the transaction that took it back."""
    transaction: Transaction
    merged: tuple[str, ...]
    """Files that were changed since; these changes were kept."""


class UndoPlan(NamedTuple):
    record: Record
    changes: list[Change]
    merged: tuple[str, ...]


def history(own: Folder) -> list[Transaction]:
    """All that are known, the newest last."""
    numbers = sorted(filter(None, map(number_of, own_names(own))))
    records = [read_record(own, record_name(number)) for number in numbers]
    found = [record for record in records if record is not None]
    undone = {record.undoes for record in found}
    return [transaction_of(record, undone=record.number in undone) for record in found]


def transaction_of(record: Record, *, undone: bool = False) -> Transaction:
    return Transaction(
        number=record.number,
        what=record.what,
        at=record.at,
        files=tuple(file.name for file in record.done),
        left=record.left,
        undone=undone,
        undoes=record.undoes,
    )


def undo_plan(place: Place) -> UndoPlan:
    """How the newest transaction that stands is taken back: the other way round, so that entries
    are in their file again before they leave the archive."""
    standing = [each for each in history(place.own) if not each.undone and not each.undoes]
    record = read_record(place.own, record_name(standing[-1].number)) if standing else None
    if record is None:
        raise NothingToUndo(str(place.bank.path), shown_by="kedge bank history --bank")
    changes, later = [], []
    for file in reversed(record.done):
        held = place.bank.read(file.name)
        now = None if held is None else held.data
        if digest(now) == file.after:
            then = copy_of(place.own, file.before)
        elif digest(now) == file.before:
            then = now
        else:
            then = _around(place.own, file, now)
            later.append(file.name)
        changes.append(Change(name=file.name, before=now, after=then))
    return UndoPlan(record, changes, tuple(later))


def _around(own: Folder, file: Replacement, now: bytes | None) -> bytes | None:
    """The file as it was before, with all that was changed in it since."""
    if now is None or file.after is None:
        gone = "it was removed" if now is None else "it was written anew"
        raise BankChanged(file.name, f"{gone} since; nothing was undone, put it back first")
    before, after = copy_of(own, file.before) or b"", copy_of(own, file.after) or b""
    found = taken_back(before, after, now)
    if isinstance(found, Missing):
        line = cut(foreign(found.line.decode("utf-8", "replace")), LINE_SHOWN)
        raise BankChanged(file.name, f"{_CHANGED}: {line}")
    return found if found or file.before is not None else None
