"""What a killed process left: finished where it was committed, taken back where it was not."""

from __future__ import annotations

from kedge.bank.files.journal import read_record
from kedge.bank.files.layout import JOURNAL, Place
from kedge.bank.files.transaction import clear, settle
from kedge.bank.files.undoing import Transaction, transaction_of
from kedge.guarded_files import unwritable
from kedge.model import Value


class Recovery(Value, frozen=True):
    """What was done about it."""

    finished: Transaction | None = None
    """What had been committed. `left` names the files that a person changed before it could be
    finished: they stay as they are."""
    removed: int = 0
    """Files that were written for something that never was committed."""


NOTHING = Recovery()


def recover(place: Place) -> Recovery:
    """Bring the bank to where all of a transaction is done, or none of it."""
    record = read_record(place.own, JOURNAL)
    if record is not None:
        return Recovery(finished=transaction_of(settle(place, record)))
    if not place.staged():
        return NOTHING
    try:
        return Recovery(removed=clear(place))
    except OSError as error:
        raise unwritable(place.own.path, error) from error
