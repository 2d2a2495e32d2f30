"""T-D5: the disk runs full while a session is written; then there is space again, and the same
process goes on."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

from kedgeline.errors import KedgelineError, StoreFailed
from kedgeline.session.session import Session
from tests.torture.acts import Act, act_of, do
from tests.torture.checking import Acknowledged, compare
from tests.torture.outcome import Outcome, Skipped
from tests.torture.places import session_at, warm_up

NEW_MOUNTS, NEW_USER = 0x20000, 0x10000000
"""Of unshare(2)."""
SMALLEST, LARGEST = 256 << 10, 16 << 20
"""Bytes of the disk."""
FREE = (150 << 10, 900 << 10)
"""Bytes of it that somebody else's file leaves."""
MORE = 16 << 20
"""Bytes by which it grows in the end."""
MOST = 400
"""Steps after which a disk should have been full."""
AFTERWARDS = 3


def check(place: str, seed: int, cases: int, plant: str = "") -> Outcome:
    outcome = Outcome(seed)
    random = Random(seed)
    warm_up()
    _alone()
    disk = Path(place, "disk")
    disk.mkdir()
    while outcome.cases < cases:
        outcome.cases += 1
        size = int(SMALLEST * (LARGEST / SMALLEST) ** random.random())
        _mount("-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(disk))
        try:
            case = Case(disk, size, random.randrange(1 << 30), random, plant)
            outcome.wrong(*case.run())
            outcome.acknowledged += len(case.done)
        finally:
            subprocess.run(["umount", "-l", str(disk)], check=True)
    return outcome


class Case:
    """One disk."""

    def __init__(self, disk: Path, size: int, seed: int, random: Random, plant: str) -> None:
        self._disk, self._size, self._seed, self._plant = disk, size, seed, plant
        self._durability = random.choice(("durable", "fast"))
        self._other = disk / "other"
        self._free = random.randint(*FREE)
        self._removes = random.random() < 0.5
        self._session: Session | None = None
        self._wrong: list[str] = []
        self.done: list[Acknowledged] = []

    def run(self) -> list[str]:
        room = self._size - self._free
        if room > 0:
            self._other.write_bytes(b"x" * room)
        failed = self._fill()
        if failed is None:
            return ["the disk was never full"]
        self._tried(Act(MOST, "compact"))
        self._space()
        retried = () if self._plant else (failed,)
        again = (*retried, *(Act(MOST + 1 + n, "turn") for n in range(AFTERWARDS)))
        for act in (*again, Act(MOST + 9, "compact")):
            error = self._tried(act)
            if error is not None:
                self._wrong.append(f"{act} fails though there is space: {error}")
        if self._session is not None:
            self._session.close()
        with session_at(str(self._disk / "store")) as session:
            self._wrong += compare(session, self._seed, self.done).wrong
        return [f"{self._size} bytes, {self._free} free: {each}" for each in self._wrong]

    def _fill(self) -> Act | None:
        """The step that had no space."""
        for number in range(MOST):
            act = act_of(self._seed, number)
            if self._tried(act) is not None:
                return act
        return None

    def _tried(self, act: Act) -> KedgelineError | None:
        try:
            if self._session is None:
                self._session = session_at(str(self._disk / "store"), self._durability)
            do(self._session, self._seed, act)
        except StoreFailed as error:
            if "space" not in str(error):
                self._wrong.append(f"the error does not say that the disk is full: {error}")
            if self._plant == "swallowed":
                self.done.append(Acknowledged(act))
            return error
        self.done.append(Acknowledged(act))
        return None

    def _space(self) -> None:
        if self._removes and self._other.exists():
            self._other.unlink()
        _mount("-o", f"remount,size={self._size + MORE}", str(self._disk))


def _alone() -> None:
    """See mounts of one's own."""
    if sys.platform != "linux":
        raise Skipped("only Linux lets a process have mounts of its own")
    if shutil.which("mount") is None:
        raise Skipped("mount is not installed")
    system = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    if system.unshare(NEW_MOUNTS):
        if ctypes.get_errno() != errno.EPERM or system.unshare(NEW_MOUNTS | NEW_USER):
            raise Skipped(f"no mounts of one's own: {os.strerror(ctypes.get_errno())}")
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    _mount("--make-rprivate", "/")


def _mount(*words: str) -> None:
    done = subprocess.run(["mount", *words], capture_output=True, text=True)
    if done.returncode:
        raise Skipped(f"mount {' '.join(words)}: {done.stderr.strip()}")
