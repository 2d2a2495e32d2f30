"""The memory bank: add, compact, undo, verify, file. All of it is in the folder; what is here can
be thrown away at any time.

Files are written under one lock, each by one atomic rename. Whatever moves is in its archive, and
on disk, before the file it came from is replaced. A process that is killed in between leaves
entries in both places, and nothing is lost."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from kedgeline.bank.archive import (
    Archive,
    archive_name,
    archived,
    archives_of,
    put_back,
    with_undone,
)
from kedgeline.bank.briefs import SMALL, brief_128, cut_to
from kedgeline.bank.compacting import (
    NO_SIGNALS,
    BankPlan,
    BankSignals,
    Trigger,
    index_of,
    index_wanted,
    loaded_of,
    plan_of,
    tokens_of,
    triggers_of,
)
from kedgeline.bank.documents import new_file, read_document, with_entry
from kedgeline.bank.filing import filed
from kedgeline.bank.values import (
    ARCHIVE,
    DECISIONS,
    ENDINGS,
    INDEX,
    KNOWN,
    LIMITS,
    Change,
    Document,
    Limits,
    NewEntry,
    chain_name,
    derived_name,
    estimated,
    file_named,
    is_derived,
    stem,
)
from kedgeline.bank.verify import Findings, updated, verify
from kedgeline.errors import (
    BadName,
    BadSettings,
    BankChanged,
    FileRefused,
    NothingToUndo,
    StoreBusy,
    UserError,
)
from kedgeline.files import Folder, folder_below, unwritable
from kedgeline.model import Summary, Value
from kedgeline.redact import REDACTOR, Redactor

MANUAL = BankSignals(manual=True)
TRIES = 5
"""How often a plan is made again whose files somebody changes while it is made."""

T = TypeVar("T")
Rows = Iterable[tuple[str, NewEntry]]
"""Entries, each with the file it goes to."""


class Contents(Value, frozen=True):
    """All files of a bank, read."""

    documents: tuple[Document, ...] = ()
    derived: dict[str, bytes] = msgspec.field(default_factory=dict)
    """Archives, the index and the chain, by name."""
    links: tuple[str, ...] = ()
    """Bank files that are links: they are not followed."""

    def with_archives(self) -> list[Document]:
        """All that was ever written down, and is still to be found."""
        archives = (name for name in self.derived if stem(name).endswith(ARCHIVE))
        read = (one for name in archives for one in archived(name, self.derived[name]))
        return [*self.documents, *read]


class FileStatus(Value, frozen=True):
    """One file, in numbers."""

    name: str
    shape: str
    """How its entries are written; `derived` where it is made from another file."""
    tokens: int
    """Estimated."""
    entries: int = 0
    references: int = 0


class Transaction(Value, frozen=True):
    """A compaction that was done."""

    number: int
    at: datetime
    files: tuple[str, ...]
    """Those that were replaced, in order."""
    undone: bool = False
    what: str = "compaction"


class Status(Value, frozen=True):
    """A bank, in numbers."""

    files: tuple[FileStatus, ...]
    tokens: int
    """Estimated, of the working files."""
    triggers: tuple[Trigger, ...]
    """All of them; those that hold first."""
    owner: str = ""
    """The only agent that may compact; empty where any may."""
    last: Transaction | None = None
    """The newest compaction that stands."""
    lock: Lease | None = None
    """Of the agent that compacts, or did and never gave it back."""
    links: tuple[str, ...] = ()

    @property
    def due(self) -> bool:
        return any(trigger.holds for trigger in self.triggers)


class Added(Value, frozen=True):
    """Where an entry was written."""

    file: str
    line: int
    id: str = ""


class Compacted(Value, frozen=True):
    """What a compaction of the bank did."""

    plan: BankPlan
    number: int = 0
    """For undo; 0 where nothing moved."""
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
            for name in missing:
                files.write(Change(name=name, before=None, after=new_file(name)))
        return missing

    def contents(self) -> Contents:
        """All files as they are, without waiting for anyone."""
        with peek(self.path) as files:
            return _contents_of(files)

    def status(self, signals: BankSignals = NO_SIGNALS) -> Status:
        """What is in the bank, and whether a compaction is due."""
        with peek(self.path) as files:
            contents, lease = _contents_of(files), files.lease()
        documents, names = contents.documents, contents.derived
        standing = [one for one in _history(contents) if not one.undone]
        return Status(
            files=_file_statuses(contents),
            tokens=tokens_of(loaded_of(documents, names, self.limits)),
            triggers=triggers_of(documents, self.limits, signals, names=names),
            owner=self.owner,
            last=standing[-1] if standing else None,
            lock=lease,
            links=contents.links,
        )

    def add(self, file: str, new: NewEntry) -> Added:
        """Write an entry into a file, in the file's own shape. Any agent may, at any time."""
        entry = cleaned(new, self._redactor)
        with held(self.path) as files:
            return self._added(files, lambda: [(file, entry)])[0]

    def file(self, summary: Summary, *, session: str, agent: str) -> list[Added]:
        """Write what a summary knows into the bank: decisions, state, milestones. What is there
        already is left out."""

        def rows() -> Rows:
            known = _contents_of(files).with_archives()
            new = filed(summary, known, session=session, agent=agent, at=self._clock())
            return [(name, cleaned(entry, self._redactor)) for name, entry in new]

        with held(self.path) as files:
            return self._added(files, rows)

    def plan(self, signals: BankSignals = MANUAL) -> BankPlan:
        """What a compaction would do now."""
        return self._planned(self.contents(), signals)

    def compact(self, agent: str, signals: BankSignals = MANUAL) -> Compacted:
        """Bring the index and the chain of the log up to date, and move what is old to the archives
        where a trigger holds. Archives come first: what a killed process has written to them is
        recognised by its hash."""
        with held(self.path) as files, self._owning(files, agent) as beat:

            def run() -> Compacted:
                derived = [
                    change.name
                    for log in _contents_of(files).documents
                    for change in self._follow_ups(files, log)
                    if files.write(change)
                ]
                plan = self._planned(_contents_of(files), signals)
                beat()
                for change in plan.changes:
                    files.write(change)
                return Compacted(plan=plan, number=plan.run, derived=tuple(derived))

            return _tried(run)

    def undo(self, agent: str) -> Transaction:
        """Take the newest compaction back; what was written since stays."""
        with held(self.path) as files, self._owning(files, agent):
            return _tried(lambda: self._undone(files))

    def history(self) -> list[Transaction]:
        """Compactions, the newest last."""
        return _history(self.contents())

    def verify(self, *, git: bool = True) -> Findings:
        """Whether the bank is what was written into it."""
        found = self.contents()
        return verify(
            found.documents,
            found.derived,
            limits=self.limits,
            folder=self.path if git else None,
            links=found.links,
        )

    def _added(self, files: Files, rows: Callable[[], Rows]) -> list[Added]:
        """Write entries, a file at a time; those that were filed are known by the next filing."""

        def run() -> list[Added]:
            done: list[Added] = []
            growing: dict[str, tuple[bytes | None, Document]] = {}
            for file, new in rows():
                name = file_named(file, (*files.names(), *growing))
                if is_derived(name):
                    raise UserError(
                        f"{name} is made by kedgeline from another file; add to that one"
                    )
                before = files.read(name) if name not in growing else growing[name][0]
                data = new_file(name) if before is None else before
                document = growing[name][1] if name in growing else read_document(name, data)
                grown = read_document(name, with_entry(document, new).encode())
                growing[name] = (before, grown)
                done.append(_place(document, grown))
            for name, (before, document) in growing.items():
                files.write(Change(name=name, before=before, after=document.text.encode()))
                for change in self._follow_ups(files, document):
                    files.write(change)
            return done

        return _tried(run)

    def _follow_ups(self, files: Files, document: Document) -> list[Change]:
        """The chain and the index of a log brought up to date with it. Both only ever follow the
        log, so they are no part of what can be taken back."""
        if stem(document.name) != DECISIONS:
            return []
        name = chain_name(document.name)
        before = files.read(name)
        after = updated(before, document, at=self._clock())
        changes = [Change(name=name, before=before, after=after)] if after else []
        name = derived_name(document.name, INDEX)
        before = files.read(name)
        is_first = document.name == file_named(DECISIONS, (*files.names(), document.name))
        if is_first and index_wanted(document, before, self.limits):
            changes.append(Change(name=name, before=before, after=index_of(document)))
        return changes

    def _undone(self, files: Files) -> Transaction:
        """Entries are in their file again before the archive says that they left it."""
        contents = _contents_of(files)
        standing = [one for one in _history(contents) if not one.undone]
        if not standing:
            raise NothingToUndo(str(self.path), shown_by="kedgeline bank history --bank")
        last = standing[-1]
        archives = archives_of(contents.derived)
        changes = []
        for document in contents.documents:
            archive = archives.get(archive_name(document.name), Archive())
            blocks = [one for one in archive.blocks if one.run == last.number]
            named = {one.sha256 for one in document.references()}
            twins = sum(
                archive_name(d.name) == archive_name(document.name) for d in contents.documents
            )
            if not blocks or (twins > 1 and not any(one.sha256 in named for one in blocks)):
                continue
            before, after = document.text.encode(), put_back(document, blocks).encode()
            changes.append(Change(name=document.name, before=before, after=after))
        for name, archive in archives.items():
            if any(one.run == last.number for one in archive.blocks):
                data = contents.derived[name]
                changes.append(Change(name=name, before=data, after=with_undone(data, last.number)))
        for change in changes:
            files.write(change)
        return replace(last, undone=True)

    def _planned(self, contents: Contents, signals: BankSignals) -> BankPlan:
        return plan_of(
            contents.documents,
            contents.derived,
            now=self._clock(),
            limits=self.limits,
            signals=signals,
        )

    def _owning(self, files: Files, agent: str) -> AbstractContextManager[Callable[[], None]]:
        agent = agent.encode("utf-8", "replace").decode()  # as a terminal may give it
        ttl = self.limits.lock_seconds
        return owning(files, agent, owner=self.owner, ttl=ttl, clock=self._clock)


def cleaned(new: NewEntry, redactor: Redactor) -> NewEntry:
    """Without secrets, with a summary of what it says, at a time of whole seconds: people read
    it."""
    if not (new.text.strip() or new.title.strip() or any(new.fields.values())):
        raise UserError("there is nothing to write down; give a text or a title")

    def clean(text: str) -> str:
        return redactor.clean(text.encode("utf-8", "replace").decode())

    new = replace(
        new,
        at=new.at.replace(microsecond=0),
        agent=clean(new.agent),
        text=clean(new.text),
        title=clean(new.title),
        id=clean(new.id),
        status=clean(new.status),
        summary=cut_to(clean(new.summary), SMALL),
        sources=tuple(map(clean, new.sources)),
        fields={clean(name): clean(value) for name, value in new.fields.items()},
    )
    if new.summary:
        return new
    said = "\n\n".join((new.text, *new.fields.values()))
    return replace(new, summary=brief_128(said, title=new.title, sources=new.sources))


def _tried(run: Callable[[], T]) -> T:
    """Again where somebody's editor changed a file between reading and writing it."""
    for _ in range(TRIES - 1):
        try:
            return run()
        except BankChanged as error:
            if not error.meanwhile:
                raise
    return run()


def _contents_of(files: Looked) -> Contents:
    """Raises BankMalformed where a file cannot be understood."""
    documents, derived = [], {}
    for name in files.names():
        data = files.read(name) if name.endswith(ENDINGS) else None
        if data is not None and is_derived(name):
            derived[name] = data
        elif data is not None:
            documents.append(read_document(name, data))
    links = tuple(name for name in files.links() if name.endswith(ENDINGS))
    return Contents(documents=tuple(documents), derived=derived, links=links)


def _history(contents: Contents) -> list[Transaction]:
    """As the archives tell it."""
    found: dict[int, Transaction] = {}
    working = {archive_name(one.name): one.name for one in contents.documents}
    for name, archive in archives_of(contents.derived).items():
        for block in archive.blocks:
            if block.run and block.at:
                known = found.get(block.run)
                files = (*(known.files if known else ()), name, working.get(name, name))
                found[block.run] = Transaction(
                    number=block.run,
                    at=block.at,
                    files=tuple(dict.fromkeys(files)),
                    undone=block.run in archive.undone,
                )
    return [found[number] for number in sorted(found)]


def _file_statuses(contents: Contents) -> tuple[FileStatus, ...]:
    read = [
        FileStatus(
            name=one.name,
            shape=one.shape,
            entries=sum(1 for _ in one.entries()),
            references=sum(1 for _ in one.references()),
            tokens=estimated(one.text),
        )
        for one in contents.documents
    ]
    for name, data in contents.derived.items():
        size = estimated(data.decode("utf-8", "replace"))
        read.append(FileStatus(name=name, shape="derived", tokens=size))
    return tuple(sorted(read, key=lambda one: one.name))


def _place(before: Document, after: Document) -> Added:
    """The entry that is new: where the two begin to differ, or behind all that was there."""
    old, new = list(before.entries()), list(after.entries())
    for n, entry in enumerate(new):
        if n >= len(old) or old[n].text.rstrip() != entry.text.rstrip():
            return Added(file=after.name, line=entry.line, id=entry.id)
    raise UserError(
        f"what was written would not be found again in {after.name}; nothing was written: is its "
        f"last entry in the shape of the others?"
    )


# The files on disk: one lock, and the owner's lease.

OWN, LOCK, OWNER, IGNORED = ".kedgeline", "lock", "owner.json", ".gitignore"
"""The folder in the bank that only kedgeline writes to, and what lies in it."""
WAIT_SECONDS = 60.0
"""How long a bank is waited for that others hold: fifty agents that all append take less."""
POLL_SECONDS = 0.01
LARGEST = 256 << 20
"""Bytes of a bank file that is read: enough for decades, and it still fits into memory."""
SHARED_FILE = 0o644
"""Mode of a new bank file: it belongs to the project."""
SHORTEST, LONGEST = 30, 3_600
"""Seconds that a lease may hold without a heartbeat (seed 003)."""
AGAIN = "somebody changed it meanwhile; nothing of it was written, try again"
BROKEN = (
    "it is no lock that kedgeline has written ({}); remove it where no agent compacts this bank"
)

_LEFTOVER = re.compile(r"\.(.+)\.[0-9a-f]{16}")
"""What a killed process was writing, beside the file that it was to replace."""


class Looked:
    """A bank that is read while others may write: each file is whole."""

    def __init__(self, bank: Folder, own: Folder | None) -> None:
        self._bank, self._own = bank, own

    @property
    def path(self) -> Path:
        return self._bank.path

    def read(self, name: str) -> bytes | None:
        held = self._bank.read(self._checked(name))
        return None if held is None else held.data

    def names(self) -> list[str]:
        """Of all plain files, without hidden ones."""
        return self._names(lambda entry: entry.is_file(follow_symlinks=False))

    def links(self) -> list[str]:
        """Names that are links, and are read by nobody here."""
        return self._names(lambda entry: entry.is_symlink())

    def lease(self) -> Lease | None:
        """Of the agent that compacts, or did and never gave it back."""
        return _read_lease(self._own) if self._own is not None else None

    def _names(self, wanted: Callable[[os.DirEntry[str]], bool]) -> list[str]:
        with os.scandir(self._bank.descriptor) as found:
            return sorted(one.name for one in found if one.name[0] != "." and wanted(one))

    def _checked(self, name: str) -> str:
        if not name or name.startswith(".") or "/" in name or "\0" in name:
            why = "a bank file has a plain name without '/' that does not begin with a point"
            raise FileRefused(f"{self._bank.path}/{name}", why)
        return name


class Files(Looked):
    """A bank that this process holds alone."""

    def __init__(self, bank: Folder, own: Folder) -> None:
        super().__init__(bank, own)
        self.own = own

    def write(self, change: Change) -> bool:
        """Replace one file, whole and on disk when this returns; whether that was needed. Raises
        BankChanged where the file is not what it was: a person's editor takes no lock."""
        if change.after == change.before:
            return False

        def after(now: bytes | None) -> bytes:
            if now != change.before:
                raise BankChanged(change.name, AGAIN, meanwhile=True)
            return change.after

        mode = SHARED_FILE if change.before is None else None
        self._bank.update(self._checked(change.name), after, mode=mode)
        return True

    def sweep(self) -> None:
        """Remove what a killed process was writing: we hold the lock, so nobody needs it."""
        for name in os.listdir(self._bank.descriptor):
            found = _LEFTOVER.fullmatch(name)
            if found and found[1].endswith(ENDINGS):
                with suppress(OSError):
                    os.unlink(name, dir_fd=self._bank.descriptor)


@contextmanager
def held(path: str | Path, *, wait: float = WAIT_SECONDS) -> Iterator[Files]:
    """The bank, alone: others wait, and a killed process holds nothing."""
    from filelock import FileLock, Timeout  # with the first writing

    with _opened(Path(path)) as bank, bank.below(OWN, create=True) as own:
        assert own is not None
        lock = FileLock(own.path / LOCK, timeout=wait, poll_interval=POLL_SECONDS, mode=0o600)
        try:
            lock.acquire()
        except Timeout:
            raise StoreBusy(str(bank.path), wait) from None
        except OSError as error:
            raise unwritable(own.path / LOCK, error) from error
        try:
            if own.read(IGNORED) is None:
                own.update(IGNORED, lambda _: b"*\n")
            files = Files(bank, own)
            files.sweep()
            yield files
        finally:
            lock.release()


@contextmanager
def peek(path: str | Path) -> Iterator[Looked]:
    """The bank as it is, without waiting for anyone and without writing anything."""
    with _opened(Path(path)) as bank, bank.below(OWN) as own:
        yield Looked(bank, own)


@contextmanager
def _opened(path: Path) -> Iterator[Folder]:
    with ExitStack() as opened:
        try:
            bank = opened.enter_context(folder_below(path, largest=LARGEST))
        except FileRefused as error:
            there = os.path.lexists(path)
            why = error.why if there else "it does not exist"
            todo = f"`kedgeline bank init {path}` makes one; the setting `bank` says where yours is"
            raise FileRefused(str(path), f"it is no memory bank: {why}; {todo}") from error
        assert bank is not None  # it has no name below the root that could be missing
        yield bank


class Lease(Value, frozen=True):
    """Whose turn it is to compact, in a file that others can read, with the fields of the seed."""

    path_locked: str
    lock_owner: str
    lock_ts: datetime
    ttl_seconds: int
    heartbeat_ts: datetime
    lock_hash: str = ""
    """Of all the others: what was changed by hand is told from what was written."""

    @property
    def until(self) -> datetime:
        return self.heartbeat_ts + timedelta(seconds=self.ttl_seconds)


@contextmanager
def owning(
    files: Files, agent: str, *, owner: str, ttl: int, clock: Callable[[], datetime]
) -> Iterator[Callable[[], None]]:
    """Hold the lease for as long as the block runs; gives what to call as a heartbeat. `owner` is
    the only agent that may; empty, any may that comes when no other has it."""
    if owner and agent != owner:
        who = repr(agent) if agent else "an agent without a name"
        raise UserError(
            f"only {owner!r} may compact this bank, and {who} asked; nothing was changed; ask "
            f"{owner!r}, or change the setting bank_owner"
        )
    if not agent:
        raise BadName("agent", agent, "is empty, and the lock of the bank needs a name")
    if not SHORTEST <= ttl <= LONGEST:
        why = f"a lock cannot hold for {ttl} seconds; choose {SHORTEST} to {LONGEST:,}"
        raise BadSettings("bank_lock_seconds", why)
    own, found, now = files.own, _read_lease(files.own), clock()
    if found is not None and found.lock_owner != agent and now < found.until:
        place = str(own.path / OWNER)
        raise UserError(
            f"{found.lock_owner!r} holds the lock of this bank until {found.until.isoformat()}; "
            f"nothing was changed; wait, or remove {place} where you know that this agent is gone"
        )

    def beat() -> None:
        lease = Lease(
            path_locked=str(files.path.resolve()),
            lock_owner=agent,
            lock_ts=now,
            ttl_seconds=ttl,
            heartbeat_ts=max(now, clock()),
        )
        lease = replace(lease, lock_hash=_hash(lease))
        own.update(OWNER, lambda _: msgspec.json.encode(lease))

    beat()
    try:
        yield beat
    finally:
        with suppress(FileNotFoundError):
            os.unlink(OWNER, dir_fd=own.descriptor)


def _hash(lease: Lease) -> str:
    return sha256(msgspec.json.encode(replace(lease, lock_hash=""))).hexdigest()


def _read_lease(own: Folder) -> Lease | None:
    """What is no lease of ours is refused: nobody knows whose it is."""
    held = own.read(OWNER)
    if held is None:
        return None
    try:
        lease = msgspec.json.decode(held.data, type=Lease)
        known = lease.lock_hash == _hash(lease) and lease.until.tzinfo is not None
    except (msgspec.DecodeError, UnicodeDecodeError, OverflowError) as error:
        raise FileRefused(str(own.path / OWNER), BROKEN.format(error)) from error
    if not known or not SHORTEST <= lease.ttl_seconds <= LONGEST:
        raise FileRefused(str(own.path / OWNER), BROKEN.format("its hash or its times are wrong"))
    return lease
