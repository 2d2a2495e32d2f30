"""The memory bank: add, compact, undo, verify, file. All of it is in the folder.

Files are written under one lock, each by one atomic rename. Whatever moves is in its archive, and
on disk, before the file it came from is replaced: a process that is killed in between leaves
entries in both places."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
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
from kedgeline.bank.compaction import (
    NO_SIGNALS,
    BankPlan,
    BankSignals,
    Trigger,
    bank_plan,
    bank_tokens,
    index_of,
    index_wanted,
    loaded_of,
    triggers_of,
)
from kedgeline.bank.documents import new_file, read_document, with_entry
from kedgeline.bank.entries import (
    ARCHIVE,
    DECISIONS,
    ENDINGS,
    INDEX,
    KNOWN,
    LIMITS,
    Document,
    FileChange,
    Limits,
    NewEntry,
    chain_name,
    cleaned,
    derived_name,
    estimated,
    file_named,
    is_derived,
    stem,
)
from kedgeline.bank.filing import filed
from kedgeline.bank.verify import Findings, updated_chain, verify_bank
from kedgeline.errors import (
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
    links: tuple[str, ...] = ()

    @property
    def due(self) -> bool:
        return any(trigger.holds for trigger in self.triggers)


class Added(Value, frozen=True):
    """Where an entry was written."""

    file: str
    line: int
    id: str = ""


class BankCompaction(Value, frozen=True):
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
        """`owner` is the only agent that may compact; empty, any may."""
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
                files.write(FileChange(name=name, before=None, after=new_file(name)))
        return missing

    def contents(self) -> Contents:
        """All files as they are, without waiting for anyone."""
        with peek(self.path) as files:
            return files.contents()

    def status(self, signals: BankSignals = NO_SIGNALS) -> Status:
        """What is in the bank, and whether a compaction is due."""
        contents = self.contents()
        documents, names = contents.documents, contents.derived
        standing = [one for one in _history(contents) if not one.undone]
        return Status(
            files=_file_statuses(contents),
            tokens=bank_tokens(loaded_of(documents, names, self.limits)),
            triggers=triggers_of(documents, self.limits, signals, names=names),
            owner=self.owner,
            last=standing[-1] if standing else None,
            links=contents.links,
        )

    def add(self, file: str, new: NewEntry) -> Added:
        """Write an entry into a file, in the file's own shape. Any agent may, at any time."""
        entry = self._summarised(new)
        with held(self.path) as files:
            return self._added(files, lambda: [(file, entry)])[0]

    def file(self, summary: Summary, *, session: str, agent: str) -> list[Added]:
        """Write what a summary knows into the bank: decisions, state, milestones. What is there
        already is left out."""

        def rows() -> Rows:
            known = files.contents().with_archives()
            new = filed(summary, known, session=session, agent=agent, at=self._clock())
            return [(name, self._summarised(entry)) for name, entry in new]

        with held(self.path) as files:
            return self._added(files, rows)

    def plan(self, signals: BankSignals = MANUAL) -> BankPlan:
        """What a compaction would do now."""
        return self._planned(self.contents(), signals)

    def compact(self, agent: str, signals: BankSignals = MANUAL) -> BankCompaction:
        """Bring the index and the chain of the log up to date, and move what is old to the archives
        where a trigger holds. Archives come first: what a killed process has written to them is
        recognised by its hash."""
        self._check_owner(agent)
        with held(self.path) as files:

            def run() -> BankCompaction:
                derived = [
                    change.name
                    for log in files.contents().documents
                    for change in self._follow_ups(files, log)
                    if files.write(change)
                ]
                plan = self._planned(files.contents(), signals)
                for change in plan.changes:
                    files.write(change)
                return BankCompaction(plan=plan, number=plan.run, derived=tuple(derived))

            return _tried(run)

    def undo(self, agent: str) -> Transaction:
        """Take the newest compaction back; what was written since stays."""
        self._check_owner(agent)
        with held(self.path) as files:
            return _tried(lambda: self._undone(files))

    def history(self) -> list[Transaction]:
        """Compactions, the newest last."""
        return _history(self.contents())

    def verify(self) -> Findings:
        """Whether the bank is what was written into it."""
        found = self.contents()
        return verify_bank(found.documents, found.derived, limits=self.limits, links=found.links)

    def _summarised(self, new: NewEntry) -> NewEntry:
        """Without secrets, and with a summary of what it says."""
        new = cleaned(new, self._redactor)
        if new.summary:
            return replace(new, summary=cut_to(new.summary, SMALL))
        said = "\n\n".join((*new.fields.values(), new.text))
        return replace(new, summary=brief_128(said, title=new.title, sources=new.sources))

    def _added(self, files: Files, rows: Callable[[], Rows]) -> list[Added]:
        def run() -> list[Added]:
            done: list[Added] = []
            growing: dict[str, tuple[bytes | None, Document]] = {}
            for file, new in rows():
                name = file_named(file, (*files.names(), *growing))
                if is_derived(name):
                    raise UserError(
                        f"kedgeline generates {name} from another file; add to that file"
                    )
                if name not in growing:
                    before = files.read(name)
                    data = new_file(name) if before is None else before
                    growing[name] = before, read_document(name, data)
                before, document = growing[name]
                document, entry = with_entry(document, new)
                growing[name] = before, document
                done.append(Added(file=name, line=entry.line, id=entry.id))
            for name, (before, document) in growing.items():
                files.write(FileChange(name=name, before=before, after=document.text.encode()))
                for change in self._follow_ups(files, document):
                    files.write(change)
            return done

        return _tried(run)

    def _follow_ups(self, files: Files, document: Document) -> list[FileChange]:
        """The chain and the index of a log brought up to date with it."""
        if document.stem != DECISIONS:
            return []
        name = chain_name(document.name)
        before = files.read(name)
        after = updated_chain(before, document, at=self._clock())
        changes = [FileChange(name=name, before=before, after=after)] if after else []
        name = derived_name(document.name, INDEX)
        before = files.read(name)
        is_first = document.name == file_named(DECISIONS, (*files.names(), document.name))
        if is_first and index_wanted(document, before, self.limits):
            changes.append(FileChange(name=name, before=before, after=index_of(document)))
        return changes

    def _undone(self, files: Files) -> Transaction:
        """Entries are in their file again before the archive says that they left it."""
        contents = files.contents()
        standing = [one for one in _history(contents) if not one.undone]
        if not standing:
            raise NothingToUndo(str(self.path), shown_by="kedgeline bank history --bank")
        last = standing[-1]
        archives = archives_of(contents.derived)
        changes = []
        for document in contents.documents:
            name = archive_name(document.name)
            blocks = [one for one in archives.get(name, Archive()).blocks if one.run == last.number]
            named = {one.sha256 for one in document.references()}
            twins = sum(archive_name(one.name) == name for one in contents.documents)
            if not blocks or (twins > 1 and not any(one.sha256 in named for one in blocks)):
                continue
            before, after = document.text.encode(), put_back(document, blocks).encode()
            changes.append(FileChange(name=document.name, before=before, after=after))
        for name, archive in archives.items():
            if any(one.run == last.number for one in archive.blocks):
                data = contents.derived[name]
                changes.append(
                    FileChange(name=name, before=data, after=with_undone(data, last.number))
                )
        for change in changes:
            files.write(change)
        return replace(last, undone=True)

    def _planned(self, contents: Contents, signals: BankSignals) -> BankPlan:
        now, limits = self._clock(), self.limits
        return bank_plan(
            contents.documents, contents.derived, now=now, limits=limits, signals=signals
        )

    def _check_owner(self, agent: str) -> None:
        if self.owner and agent != self.owner:
            who = repr(agent) if agent else "an agent without a name"
            raise UserError(
                f"only {self.owner!r} may compact this bank, and {who} asked; nothing was changed; "
                f"ask {self.owner!r}, or change the setting bank_owner"
            )


def _tried(run: Callable[[], T]) -> T:
    """Again where somebody's editor changed a file between reading and writing it."""
    for _ in range(TRIES - 1):
        try:
            return run()
        except BankChanged as error:
            if not error.meanwhile:
                raise
    return run()


def _history(contents: Contents) -> list[Transaction]:
    """As the archives tell it."""
    found: dict[int, Transaction] = {}
    working = {archive_name(one.name): one.name for one in contents.documents}
    for name, archive in archives_of(contents.derived).items():
        for block in archive.blocks:
            if block.at:
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


# The files on disk, and their one lock.

OWN, LOCK, IGNORED = ".kedgeline", "lock", ".gitignore"
"""The folder in the bank that only kedgeline writes to, and what lies in it."""
WAIT_SECONDS = 60.0
"""How long a bank is waited for that others hold: fifty agents that all append take less."""
POLL_SECONDS = 0.01
LARGEST = 256 << 20
"""Bytes of a bank file that is read."""
SHARED_FILE = 0o644
"""Mode of a new bank file: it belongs to the project."""

_LEFTOVER = re.compile(r"\.(.+)\.[0-9a-f]{16}")
"""What a killed process was writing, beside the file that it was to replace."""


class Files:
    """The files of a bank, each read as a whole."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def read(self, name: str) -> bytes | None:
        found = self._folder.read(self._checked(name))
        return None if found is None else found.data

    def names(self) -> list[str]:
        """Of all plain files, without hidden ones."""
        return self._names(lambda entry: entry.is_file(follow_symlinks=False))

    def links(self) -> list[str]:
        """Names that are links, which are not followed."""
        return self._names(lambda entry: entry.is_symlink())

    def contents(self) -> Contents:
        """Raises BankMalformed where a file cannot be understood."""
        documents, derived = [], {}
        for name in self.names():
            data = self.read(name) if name.endswith(ENDINGS) else None
            if data is not None and is_derived(name):
                derived[name] = data
            elif data is not None:
                documents.append(read_document(name, data))
        links = tuple(name for name in self.links() if name.endswith(ENDINGS))
        return Contents(documents=tuple(documents), derived=derived, links=links)

    def write(self, change: FileChange) -> bool:
        """Replace one file, whole and on disk when this returns; whether that was needed. Raises
        BankChanged where the file is not what it was: a person's editor takes no lock."""
        if change.after == change.before:
            return False

        def after(now: bytes | None) -> bytes:
            if now != change.before:
                why = "somebody changed it meanwhile; nothing of it was written, try again"
                raise BankChanged(change.name, why, meanwhile=True)
            return change.after

        mode = SHARED_FILE if change.before is None else None
        self._folder.update(self._checked(change.name), after, mode=mode)
        return True

    def sweep(self) -> None:
        """Remove what a killed process was writing: we hold the lock, so nobody needs it."""
        for name in os.listdir(self._folder.descriptor):
            found = _LEFTOVER.fullmatch(name)
            if found and found[1].endswith(ENDINGS):
                with suppress(OSError):
                    os.unlink(name, dir_fd=self._folder.descriptor)

    def _names(self, wanted: Callable[[os.DirEntry[str]], bool]) -> list[str]:
        with os.scandir(self._folder.descriptor) as found:
            return sorted(one.name for one in found if one.name[0] != "." and wanted(one))

    def _checked(self, name: str) -> str:
        if not name or name.startswith(".") or "/" in name or "\0" in name:
            why = "a bank file has a plain name without '/' that does not begin with a point"
            raise FileRefused(f"{self._folder.path}/{name}", why)
        return name


@contextmanager
def held(path: str | Path) -> Iterator[Files]:
    """The bank, alone: others wait, and a killed process holds nothing."""
    from filelock import FileLock, Timeout  # with the first writing

    with _opened(Path(path)) as bank, bank.below(OWN, create=True) as own:
        assert own is not None
        lock = FileLock(
            own.path / LOCK, timeout=WAIT_SECONDS, poll_interval=POLL_SECONDS, mode=0o600
        )
        try:
            lock.acquire()
        except Timeout:
            raise StoreBusy(str(bank.path), WAIT_SECONDS) from None
        except OSError as error:
            raise unwritable(own.path / LOCK, error) from error
        try:
            if own.read(IGNORED) is None:
                own.update(IGNORED, lambda _: b"*\n")
            files = Files(bank)
            files.sweep()
            yield files
        finally:
            lock.release()


@contextmanager
def peek(path: str | Path) -> Iterator[Files]:
    """The bank as it is, without waiting for anyone."""
    with _opened(Path(path)) as bank:
        yield Files(bank)


@contextmanager
def _opened(path: Path) -> Iterator[Folder]:
    with ExitStack() as opened:
        try:
            bank = opened.enter_context(folder_below(path, largest=LARGEST))
        except FileRefused as error:
            there = os.path.lexists(path)
            why = error.why if there else "it does not exist"
            todo = f"`kedgeline bank init {path}` makes one; the setting `bank` says where yours is"
            raise FileRefused(str(path), f"it is not a memory bank: {why}; {todo}") from error
        assert bank is not None  # it has no name below the root that could be missing
        yield bank
