"""A bank opened: held for writing, or looked at."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

from kedge.bank.files.journal import read_record
from kedge.bank.files.layout import (
    IGNORED,
    JOURNAL,
    LARGEST,
    OWN,
    Place,
    bank_names,
    checked_name,
    is_there,
)
from kedge.bank.files.locking import locked
from kedge.bank.files.recovery import Recovery, recover
from kedge.bank.files.transaction import replace_all, replace_one, unchanged
from kedge.bank.files.undoing import Transaction, Undone, history, transaction_of, undo_plan
from kedge.bank.values import Change
from kedge.errors import BankChanged, FileRefused, NoSuchBank
from kedge.guarded_files import Folder, folder_below

WAIT_SECONDS = 30.0
"""How long a bank is waited for that others hold: fifty agents that all append take less."""
TRIES = 5
"""How often a plan is made again whose files somebody changes while it is made."""


class Looked:
    """A bank that is read while others may write: each file is whole, and all of them together are
    of one moment unless something is pending."""

    def __init__(self, bank: Folder, own: Folder | None) -> None:
        self._bank, self._own = bank, own

    @property
    def path(self) -> Path:
        return self._bank.path

    @property
    def pending(self) -> Transaction | None:
        """What is being written now, or was left by a killed process and is finished by the next
        one that holds the bank."""
        record = read_record(self._own, JOURNAL) if self._own is not None else None
        return None if record is None else transaction_of(record)

    def read(self, name: str) -> bytes | None:
        held = self._bank.read(checked_name(self._bank, name))
        return None if held is None else held.data

    def names(self) -> list[str]:
        """Of all plain files, without hidden ones."""
        return bank_names(self._bank)

    def links(self) -> list[str]:
        """Names that are links, and are read by nobody here."""
        return bank_names(self._bank, links=True)

    def own(self, name: str) -> bytes | None:
        """A file of ours beside the bank's; nothing where there is none."""
        held = self._own.read(name) if self._own is not None else None
        return None if held is None else held.data

    def history(self) -> list[Transaction]:
        """What was done that can be taken back, and what took it back; the newest last."""
        return history(self._own) if self._own is not None else []


class Files(Looked):
    """A bank that this process holds alone."""

    def __init__(self, place: Place, recovered: Recovery) -> None:
        super().__init__(place.bank, place.own)
        self.place = place
        self.recovered = recovered
        """What a killed process had left."""

    def commit(
        self, changes: Sequence[Change], what: str, at: datetime, *, undoable: bool = False
    ) -> int:
        """Make all of the changes or none, in their order: archives come first. The number of the
        transaction; 0 where it cannot be taken back, or where nothing had to be changed.

        Where a file is not what it was, BankChanged is raised and nothing is written: read it again
        and make another plan. A change that changes nothing is a condition only."""
        wanted = self._checked(changes)
        if len(wanted) == 1 and not undoable:
            replace_one(self.place, wanted[0])
        elif wanted:
            number = self._together(wanted, what, at, undoable=undoable)
            return number if undoable else 0
        return 0

    def carry_out(
        self,
        plan: Callable[[], Sequence[Change]],
        what: str,
        at: datetime,
        *,
        undoable: bool = False,
    ) -> int:
        """Plan and commit, and plan again where somebody changed a file in between."""
        for _ in range(TRIES - 1):
            try:
                return self.commit(plan(), what, at, undoable=undoable)
            except BankChanged as error:
                if error.done:
                    raise
        return self.commit(plan(), what, at, undoable=undoable)

    def undo(self, at: datetime) -> Undone:
        """Take back the newest transaction that stands. What was changed since is kept; where that
        cannot be, BankChanged is raised and nothing is changed."""
        recover(self.place)
        plan = undo_plan(self.place)
        wanted = self._checked(plan.changes)
        what, undoes = f"undo: {plan.record.what}", plan.record.number
        number = self._together(wanted, what, at, undoes=undoes)
        done = transaction_of(plan.record, undone=True)
        return Undone(number=number, transaction=done, merged=plan.merged)

    def _together(
        self,
        changes: list[Change],
        what: str,
        at: datetime,
        *,
        undoable: bool = True,
        undoes: int = 0,
    ) -> int:
        record = replace_all(self.place, changes, what, at, undoable=undoable, undoes=undoes)
        if record.left:
            done = tuple(file.name for file in record.done)
            moved = f"{', '.join(done)} went before it" if done else "nothing was replaced"
            why = f"somebody changed it while the bank was written; {moved}, and nothing is lost"
            raise BankChanged(record.left[0], why, done=done)
        return record.number

    def _checked(self, changes: Sequence[Change]) -> list[Change]:
        """Those that change something; the conditions are looked at."""
        names = [checked_name(self._bank, change.name) for change in changes]
        if len(set(names)) != len(names):
            raise ValueError(f"one file is changed twice in one transaction: {names}")
        recover(self.place)
        for change in changes:
            unchanged(self.place, change)
        return [change for change in changes if change.before != change.after]


@contextmanager
def held(
    path: str | Path,
    *,
    wait: float = WAIT_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    largest: int = LARGEST,
) -> Iterator[Files]:
    """The bank, alone: others wait. What a killed process left is finished or taken back first."""
    with _opened(Path(path), largest) as bank, locked(bank, wait=wait, clock=clock) as own:
        place = Place(bank, own)
        if not is_there(own, IGNORED):
            own.update(IGNORED, lambda _: b"*\n")
        yield Files(place, recover(place))


@contextmanager
def peek(path: str | Path, *, largest: int = LARGEST) -> Iterator[Looked]:
    """The bank as it is, without waiting for anyone and without writing anything."""
    with _opened(Path(path), largest) as bank, bank.below(OWN) as own:
        yield Looked(bank, own)


@contextmanager
def _opened(path: Path, largest: int) -> Iterator[Folder]:
    with ExitStack() as opened:
        try:
            bank = opened.enter_context(folder_below(path, largest=largest))
        except FileRefused as error:
            there = os.path.lexists(path)
            raise NoSuchBank(str(path), error.why if there else "it does not exist") from error
        assert bank is not None  # it has no name below the root that could be missing
        yield bank
