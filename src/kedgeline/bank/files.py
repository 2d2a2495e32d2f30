"""The files of a bank on disk: one lock, one atomic rename per file, and the owner's lease.

Whatever moves is in its archive, and on disk, before the file it came from is replaced. A process
that is killed in between leaves entries in both places, and nothing is lost."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec.structs import replace

from kedgeline.bank.values import ENDINGS, Change
from kedgeline.errors import (
    BadName,
    BadSettings,
    BankChanged,
    BankLocked,
    FileRefused,
    NoSuchBank,
    NotTheOwner,
    StoreBusy,
)
from kedgeline.files import Folder, folder_below, unwritable
from kedgeline.model import Value

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
            raise NoSuchBank(str(path), error.why if there else "it does not exist") from error
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
        raise NotTheOwner(agent, owner)
    if not agent:
        raise BadName("agent", agent, "is empty, and the lock of the bank needs a name")
    if not SHORTEST <= ttl <= LONGEST:
        why = f"a lock cannot hold for {ttl} seconds; choose {SHORTEST} to {LONGEST:,}"
        raise BadSettings("bank_lock_seconds", why)
    own, found, now = files.own, _read_lease(files.own), clock()
    if found is not None and found.lock_owner != agent and now < found.until:
        place = str(own.path / OWNER)
        raise BankLocked(found.lock_owner, until=found.until.isoformat(), place=place)

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
