"""The memory bank: add, compact, undo, verify, file. All of it is in the folder; what is here can
be thrown away at any time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path

from kedge.bank.adding import Added, Rows, added, cleaned, follow_ups
from kedge.bank.contents import (
    Contents,
    Status,
    contents_of,
    file_named,
    file_statuses,
    last_compaction,
    with_archives,
)
from kedge.bank.files import Files, Transaction, Undone, held, peek
from kedge.bank.filing import filed
from kedge.bank.moving import BankPlan, BankSignals, changes_of, plan_of, triggers_of
from kedge.bank.moving.triggers import NO_SIGNALS, loaded_of, tokens_of
from kedge.bank.owning import Owning, holder, owning
from kedge.bank.proving import Findings, verify
from kedge.bank.shapes import new_file
from kedge.bank.values import KNOWN, LIMITS, Change, Limits, NewEntry
from kedge.model import Summary, Value
from kedge.redaction import REDACTOR, Redactor

MANUAL = BankSignals(manual=True)


class Compacted(Value, frozen=True):
    """What a compaction of the bank did."""

    plan: BankPlan
    number: int = 0
    """Of the transaction, for undo; 0 where nothing moved."""
    derived: tuple[str, ...] = ()
    """What follows the log and was brought up to date; no undo takes it back."""


class Bank:
    """One folder. Objects in any number of processes may stand for the same one."""

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        limits: Limits = LIMITS,
        owner: str = "",
        redactor: Redactor = REDACTOR,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`owner` is the only agent that may compact; without one, any may that holds the lock."""
        self.path, self.limits, self.owner = Path(path), limits, owner
        self._redactor, self._clock = redactor, clock

    def begin(self) -> list[str]:
        """Make the folder, and those of the five files that are missing; their names."""
        self.path.mkdir(parents=True, exist_ok=True)
        with held(self.path) as files:
            there = files.names()
            named = (file_named(known, there) for known in KNOWN)
            missing = [name for name in named if name not in there]
            changes = [Change(name=name, before=None, after=new_file(name)) for name in missing]
            files.commit(changes, "a new bank", self._clock())
        return missing

    def contents(self) -> Contents:
        """All files as they are, without waiting for anyone."""
        with peek(self.path) as files:
            return contents_of(files)

    def status(self, signals: BankSignals = NO_SIGNALS) -> Status:
        """What is in the bank, and whether a compaction is due."""
        with peek(self.path) as files:
            contents, history, pending = contents_of(files), files.history(), files.pending
            lock = holder(files)
        documents, names = contents.documents, contents.derived
        return Status(
            files=file_statuses(contents),
            tokens=tokens_of(loaded_of(documents, names, self.limits)),
            triggers=triggers_of(documents, self.limits, signals, names=names),
            owner=self.owner,
            last=last_compaction(history),
            pending=pending,
            lock=lock,
            links=contents.links,
        )

    def add(self, file: str, new: NewEntry) -> Added:
        """Write an entry into a file, in the file's own shape. Any agent may, at any time."""
        rows = [(file, cleaned(new, self._redactor))]
        with held(self.path) as files:
            return added(files, lambda: rows, self._clock(), self.limits)[0]

    def plan(self, signals: BankSignals = MANUAL) -> BankPlan:
        """What a compaction would do now."""
        return self._planned(self.contents(), signals)

    def compact(self, agent: str, signals: BankSignals = MANUAL) -> Compacted:
        """Bring the index and the chain of the log up to date, and move what is old to the archives
        where a trigger holds. Archives come first, and all that moves is one transaction."""
        with held(self.path) as files, self._owning(files, agent) as owned:
            plans: list[BankPlan] = []

            def derived() -> Sequence[Change]:
                logs = contents_of(files).documents
                at = self._clock()
                return [one for log in logs for one in follow_ups(files, log, self.limits, at)]

            def moves() -> Sequence[Change]:
                plans.append(self._planned(contents_of(files), signals))
                owned.heartbeat()
                return changes_of(plans[-1])

            brought = tuple(one.name for one in derived() if one.before != one.after)
            files.carry_out(derived, "index and chain", self._clock())
            number = files.carry_out(moves, "compaction", self._clock(), undoable=True)
        return Compacted(plan=plans[-1], number=number, derived=brought)

    def undo(self, agent: str) -> Undone:
        """Take the newest compaction back; what was written since stays."""
        with held(self.path) as files, self._owning(files, agent):
            return files.undo(self._clock())

    def history(self) -> list[Transaction]:
        """Compactions and undos, the newest last."""
        with peek(self.path) as files:
            return files.history()

    def verify(self, *, git: bool = True) -> Findings:
        """Whether the bank is what was written into it."""
        found = self.contents()
        folder = self.path if git else None
        return verify(
            found.documents,
            found.derived,
            limits=self.limits,
            folder=folder,
            links=found.links,
        )

    def file(self, summary: Summary, *, session: str, agent: str) -> list[Added]:
        """Write what a summary knows into the bank: decisions, state, milestones. What is there
        already is left out."""
        with held(self.path) as files:

            def rows() -> Rows:
                known = with_archives(contents_of(files))
                new = filed(summary, known, session=session, agent=agent, at=self._clock())
                return [(name, cleaned(entry, self._redactor)) for name, entry in new]

            return added(files, rows, self._clock(), self.limits)

    def _planned(self, contents: Contents, signals: BankSignals) -> BankPlan:
        return plan_of(
            contents.documents,
            contents.derived,
            now=self._clock(),
            limits=self.limits,
            signals=signals,
        )

    def _owning(self, files: Files, agent: str) -> AbstractContextManager[Owning]:
        agent = agent.encode("utf-8", "replace").decode()  # as a terminal may give it
        limit = self.limits.lock_seconds
        return owning(files, agent, owner=self.owner, ttl=limit, clock=self._clock)
