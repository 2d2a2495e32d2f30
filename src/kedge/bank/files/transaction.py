"""Several files replaced as one: all of them, or none.

1. What the files shall hold is written beside them, and copies of what they held and will hold.
2. The files are looked at: each must still be what the plan was made from.
3. The journal takes its place. From here on the transaction counts, whoever finishes it.
4. The files are replaced in their order, archives first, and read back.
5. The journal becomes the record of the transaction.

A person's editor takes no lock. A file that somebody changed behind the third step stays as it is,
and so do those behind it in the order: what came before are archives, so that nothing is lost, and
what was moved may stand in both."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime

import msgspec

from kedge.bank.files import disk
from kedge.bank.files.copies import keep_copy, prune
from kedge.bank.files.journal import (
    Record,
    Replacement,
    digest,
    file_journal,
    next_number,
    write_journal,
)
from kedge.bank.files.layout import JOURNAL, STAGED, Place, is_there
from kedge.bank.values import Change
from kedge.errors import BankChanged, FileRefused, OutputUnwritable
from kedge.guarded_files import Held

AGAIN = "somebody changed it meanwhile; nothing was written, try again"
NOTHING = "nothing in the bank was changed"
LATER = "what was begun is finished when the bank is opened the next time"
UNSURE = "the file is replaced, and nobody knows whether it is on disk"


def replace_one(place: Place, change: Change) -> None:
    """A single file, for which its own replacement is the commit."""
    with _staging(place):
        stage(place, 0, change, unchanged(place, change))
        unchanged(place, change)  # again, as near to its replacement as can be
        _put(place, 0, change.name, gone=change.after is None)
    with _explained(place, UNSURE):
        disk.sync(place.bank)
        _read_back(place, change)


def replace_all(
    place: Place,
    changes: Sequence[Change],
    what: str,
    at: datetime,
    *,
    undoable: bool = True,
    undoes: int = 0,
) -> Record:
    """Several files, or one that can be taken back. The journal is the commit."""
    with _staging(place):
        files = [_prepared(place, n, one, copied=undoable) for n, one in enumerate(changes)]
        disk.sync(place.own)
        for change in changes:
            unchanged(place, change)
        number = next_number(place.own)
        record = Record(
            number=number, what=what, at=at, files=tuple(files), undoes=undoes, undoable=undoable
        )
        _commit(place, record)
    return settle(place, record)


def settle(place: Place, record: Record) -> Record:
    """Do what the journal says, as far as it was not done before."""
    with _explained(place, LATER):
        left = record.left or _replaced(place, record)
        if left != record.left:
            record = msgspec.structs.replace(record, left=left)
            write_journal(place.own, record)
        file_journal(place.own, record)
    with suppress(OSError, FileRefused):  # what is not needed goes with the next one
        clear(place)
    return record


def clear(place: Place) -> int:
    """Remove what was written beside and never committed, what is too old to be taken back, and
    copies that nobody needs; how many files of the first kind."""
    found = place.staged()
    for name in found:
        disk.remove(place.own, name)
    prune(place.own)
    return len(found)


def unchanged(place: Place, change: Change) -> Held | None:
    """The file as it is, which must be what it was."""
    held = place.bank.read(change.name)
    if (None if held is None else held.data) != change.before:
        raise BankChanged(change.name, AGAIN)
    return held


def stage(place: Place, position: int, change: Change, held: Held | None) -> None:
    """Write beside it what the file shall hold, with the mode that it has."""
    if change.after is None:
        return
    name = f"{STAGED}{position}"
    mode = None if held is None else held.mode
    disk.write_new(place.own, name, change.after, create=disk.SHARED_FILE, mode=mode)
    if held is not None:
        disk.keep_owner(place.bank, change.name, place.own, name)


def _prepared(place: Place, position: int, change: Change, *, copied: bool) -> Replacement:
    held = unchanged(place, change)
    for data in (change.before, change.after) if copied else ():
        if data is not None:
            keep_copy(place.own, data)
    stage(place, position, change, held)
    return Replacement(
        name=change.name,
        before=digest(change.before),
        after=digest(change.after),
        mode=None if held is None else held.mode,
    )


def _commit(place: Place, record: Record) -> None:
    """Where the journal may not be on disk, it is taken back."""
    try:
        write_journal(place.own, record)
    except OSError:
        disk.remove(place.own, JOURNAL)
        raise


def _replaced(place: Place, record: Record) -> tuple[str, ...]:
    """Replace the files; the names of those that were left, as one had been changed."""
    for position, file in enumerate(record.files):
        now = _now(place, file.name)
        if now == file.after:
            continue
        ready = file.after is None or is_there(place.own, f"{STAGED}{position}")
        if now != file.before or not ready:
            return _others(place, record, position)
        _put(place, position, file.name, gone=file.after is None)
        disk.sync(place.bank)  # an archive is on disk before what it was made from is replaced
        if _now(place, file.name) != file.after:
            return _others(place, record, position)
    return ()


def _others(place: Place, record: Record, position: int) -> tuple[str, ...]:
    files = record.files[position:]
    return tuple(file.name for file in files if _now(place, file.name) != file.after)


def _now(place: Place, name: str) -> str | None:
    """The hash of a file; of a link or a folder there is none, and it is nothing of ours."""
    try:
        held = place.bank.read(name)
    except FileRefused as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno != errno.ELOOP:
            raise error.__cause__ from None  # the disk failed, or there are too many open files
        return ""
    return digest(None if held is None else held.data)


def _put(place: Place, position: int, name: str, *, gone: bool) -> None:
    if gone:
        disk.remove(place.bank, name)
    else:
        disk.rename(place.own, f"{STAGED}{position}", place.bank, name)


def _read_back(place: Place, change: Change) -> None:
    if _now(place, change.name) != digest(change.after):
        why = "somebody changed it as soon as it was written; look at what it holds"
        raise BankChanged(change.name, why, done=(change.name,))


@contextmanager
def _staging(place: Place) -> Iterator[None]:
    """Before the commit: whatever happens, no file is changed and nothing is left beside them."""
    over = False
    try:
        yield
        over = True
    except OSError as error:
        state = LATER if is_there(place.own, JOURNAL) else NOTHING
        raise _unwritable(place, error, state) from error
    finally:
        with suppress(OSError, FileRefused):  # it goes when the bank is opened the next time
            if not over and not is_there(place.own, JOURNAL):
                clear(place)


@contextmanager
def _explained(place: Place, state: str) -> Iterator[None]:
    """An error of the disk, and what it means for the bank."""
    try:
        yield
    except OSError as error:
        raise _unwritable(place, error, state) from error


def _unwritable(place: Place, error: OSError, state: str) -> OutputUnwritable:
    why = (error.strerror or str(error)).lower()
    return OutputUnwritable(f"{str(place.bank.path)!r}: {why}; {state}")
