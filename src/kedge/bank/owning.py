"""Who may compact a bank: one agent at a time, by a lock file that others can read.

The kernel's lock keeps processes apart for as long as one of them writes; this one says whose turn
it is, for as long as that agent shows that it lives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import msgspec

from kedge.bank.files import OWN, Files, Looked
from kedge.bank.files.disk import remove, sync
from kedge.bank.files.layout import OWNER
from kedge.bank.values import LIMITS
from kedge.errors import BadName, BadSettings, BankLocked, FileRefused, NotTheOwner
from kedge.guarded_files import unwritable
from kedge.model import Value

SHORTEST, LONGEST = 30, 3_600
"""Seconds that a lock may hold without a heartbeat (seed 003)."""
BROKEN = "it is no lock that kedge has written ({}); remove it where no agent compacts this bank"


class Lock(Value, frozen=True):
    """The lock file, with the fields of the seed."""

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


class Owning:
    """The bank is this agent's to compact."""

    def __init__(self, files: Files, lock: Lock, clock: Callable[[], datetime]) -> None:
        self._files, self._clock = files, clock
        self.lock = lock

    def heartbeat(self) -> None:
        """Say that the agent lives. Raises BankLocked where another one has the lock by now."""
        found = _read(self._files)
        if found is not None and not _same(found, self.lock):
            raise _locked(self._files, found)
        now = max(self._clock(), self.lock.heartbeat_ts)  # a clock that went back frees nothing
        self.lock = _written(self._files, msgspec.structs.replace(self.lock, heartbeat_ts=now))

    def release(self) -> None:
        """Give it back, unless another agent has it by now."""
        found = _read(self._files)
        if found is None or not _same(found, self.lock):
            return
        own = self._files.place.own
        try:
            remove(own, OWNER)
            sync(own)
        except OSError as error:
            raise unwritable(own.path / OWNER, error) from error


@contextmanager
def owning(
    files: Files,
    agent: str,
    *,
    owner: str = "",
    ttl: int = LIMITS.lock_seconds,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Iterator[Owning]:
    """Take the lock for as long as the block runs. `owner`: the only agent that may; empty, any may
    that comes when no other has it."""
    taken = take(files, agent, owner=owner, ttl=ttl, clock=clock)
    try:
        yield taken
    finally:
        taken.release()


def take(
    files: Files,
    agent: str,
    *,
    owner: str = "",
    ttl: int = LIMITS.lock_seconds,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Owning:
    """Take the lock and keep it beyond this process: by heartbeats, until it is released."""
    if owner and agent != owner:
        raise NotTheOwner(agent, owner)
    if not agent:
        raise BadName("agent", agent, "is empty, and the lock of the bank needs a name")
    if not SHORTEST <= ttl <= LONGEST:
        why = f"a lock cannot hold for {ttl} seconds; choose {SHORTEST} to {LONGEST:,}"
        raise BadSettings("bank_lock_seconds", why)
    found, now = _read(files), clock()
    if found is not None and found.lock_owner != agent and now < found.until:
        raise _locked(files, found)
    if found is not None and found.lock_owner == agent:
        now = max(now, found.heartbeat_ts)
    lock = Lock(
        path_locked=str(files.path.resolve()),
        lock_owner=agent,
        lock_ts=now,
        ttl_seconds=ttl,
        heartbeat_ts=now,
    )
    return Owning(files, _written(files, lock), clock)


def holder(files: Looked) -> Lock | None:
    """The lock as it lies there, for a report."""
    return _read(files)


def _locked(files: Files, lock: Lock) -> BankLocked:
    place = str(files.path / OWN / OWNER)
    return BankLocked(lock.lock_owner, until=lock.until.isoformat(), place=place)


def _same(one: Lock, other: Lock) -> bool:
    """Whether it is one lock, whatever its heartbeats."""
    return (one.lock_owner, one.lock_ts) == (other.lock_owner, other.lock_ts)


def _hash(lock: Lock) -> str:
    return sha256(msgspec.json.encode(msgspec.structs.replace(lock, lock_hash=""))).hexdigest()


def _read(files: Looked) -> Lock | None:
    """The lock that lies there. What is no lock of ours is refused: nobody knows whose it is."""
    data = files.own(OWNER)
    if data is None:
        return None
    path = str(files.path / OWN / OWNER)
    try:
        lock = msgspec.json.decode(data, type=Lock)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise FileRefused(path, BROKEN.format(error)) from error
    if lock.lock_hash != _hash(lock):
        raise FileRefused(path, BROKEN.format("its hash is wrong"))
    if not _possible(lock):
        raise FileRefused(path, BROKEN.format("its times cannot be"))
    return lock


def _possible(lock: Lock) -> bool:
    try:
        ends = lock.until
    except OverflowError:
        return False
    zones = (lock.lock_ts.tzinfo, ends.tzinfo)
    return SHORTEST <= lock.ttl_seconds <= LONGEST and None not in zones


def _written(files: Files, lock: Lock) -> Lock:
    lock = msgspec.structs.replace(lock, lock_hash=_hash(lock))
    files.place.own.update(OWNER, lambda _: msgspec.json.encode(lock))
    return lock
