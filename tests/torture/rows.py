"""Which checks are made, and how much of each in the normal run and in the long one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tests.torture.scenarios import STEPS

Options = dict[str, Any]
JOURNALS = ("wal", "truncate")
SERVER = "a server"
"""The place of a check whose store is not in a folder."""


class Row(NamedTuple):
    name: str
    what: str
    check: str
    """The module that makes it."""
    normal: Sequence[Options]
    """One for each process."""
    long: Sequence[Options]
    place: str = ""

    @property
    def cases(self) -> int:
        """Of the normal run; 0 where nobody knows before."""
        return sum(
            one.get("cases", one.get("writers", 0) * one.get("each", 0)) for one in self.normal
        )


def parts(number: int, cases: int, *, seed: int = 0, **more: Any) -> list[Options]:
    """The same check with other seeds in so many processes."""
    return [{"seed": seed + part, "cases": cases // number, **more} for part in range(number)]


def killed(number: int, cases: int, *, seed: int = 0) -> list[Options]:
    """A third waits for the disk at each write, a third has no log."""
    modes = (
        {"durability": "durable", "journal": "wal"},
        {"durability": "fast", "journal": "truncate"},
        {"durability": "fast", "journal": "wal"},
    )
    return [{**one, **modes[n % 3]} for n, one in enumerate(parts(number, cases, seed=seed))]


def power(durability: str, number: int, cases: int, *, seed: int) -> list[Options]:
    return [
        one
        for journal in JOURNALS
        for one in parts(number, cases // 2, seed=seed, durability=durability, journal=journal)
    ]


def crowds(*, seed: int, **counts: int) -> list[Options]:
    return [{"seed": seed, "durability": one, **counts} for one in ("durable", "fast")]


ROWS = (
    # CC#40352, codex#44363: what was there before is there afterwards, and a compaction is there
    # whole or not at all. CC#46603: the chain holds.
    Row(
        "kill",
        "`kill -9` at a random moment: append, compact, archive, migrate, undo",
        "kill",
        killed(6, 600),
        killed(20, 10_000, seed=1_000),
    ),
    Row(
        "kill-postgres",
        "the same, the client of a PostgreSQL server",
        "kill",
        parts(1, 50, seed=7),
        parts(1, 500, seed=8),
        SERVER,
    ),
    # oh-my-pi#8596, copilot-cli#4098: a torn record was fused with the next one. CC#63187,
    # maki#814: the original was gone before its successor was there.
    Row(
        "crash",
        "`kill -9` at every system call that changes a file, nine scenarios (one in `make test`)",
        "crash",
        [{"seed": 1, "scenario": "append"}],
        [{"seed": 2, "scenario": one, "journal": journal} for one in STEPS for journal in JOURNALS],
    ),
    # CC#49876, opencode#7607: files of zeros after a crash.
    Row(
        "power-durable",
        "power cut, `durable`: unsynced writes lost or torn",
        "power",
        power("durable", 1, 800, seed=1),
        power("durable", 5, 25_000, seed=100),
    ),
    Row(
        "power-fast",
        "power cut, `fast`: a beginning is left, undamaged",
        "power",
        power("fast", 1, 800, seed=1),
        power("fast", 5, 25_000, seed=100),
    ),
    # kimi-code#2902: one failure stuck until the process ended. oh-my-pi#8596: half a record.
    Row(
        "faults",
        "EIO, ENOSPC, EINTR, short writes, failed syncs",
        "faults",
        parts(2, 200),
        parts(10, 5_000, seed=100),
    ),
    # kimi-code#2902, #3695: a disk that was full for two minutes cost twelve hours. opencode#7607:
    # files of no bytes.
    Row(
        "disk",
        "full disk of 256 kB to 16 MB, then space again",
        "disk",
        parts(1, 20, seed=1),
        parts(1, 500, seed=2),
    ),
    # BMAD-METHOD#2621: of 50 that were appended at once, 17 to 24 survived. odysseus#1940: a new
    # file in the place of the old one does not help. pi#2206: what was said during a compaction was
    # dropped. Also where writers have the session from the process they were forked from.
    Row(
        "crowd",
        "entries of many processes at once, with a compactor and a killer",
        "crowd",
        [
            {"seed": 1, "writers": 16, "each": 200},
            *(
                {**one, "durability": "durable", "inherited": inherited}
                for inherited in (False, True)
                for one in [{"seed": 2, "writers": 4, "each": 50, "kills": 3}]
            ),
        ],
        crowds(seed=3, writers=50, each=1_000, kills=100),
    ),
    # codex#32287: 70 compactions wrote the same screenshots again, 862 MB. CC#79196: a transcript
    # took 9 to 14 times its size in memory.
    Row(
        "weight",
        "images kept once, one huge record in little memory, speed",
        "weight",
        [{"seed": 1, "megabytes": 8, "images": 100}],
        [{"seed": 2, "megabytes": 100, "images": 1_000}],
    ),
)
ODD_ROWS = (
    # Invalid UTF-8 in a column ended `fsck`, its repair and `view` in a traceback.
    Row(
        "flips",
        "changed bytes and values all over a database: `view`, `sessions`, `recall`, `fsck`, its"
        " repair; no traceback, nothing invented, every difference reported",
        "flips",
        parts(1, 20, seed=1),
        parts(4, 2_000, seed=10),
    ),
    # One of a hundred waited for more than five seconds while the session was compacted.
    Row(
        "crowd-20",
        "entries of twenty processes at once, with a compactor",
        "crowd",
        [],
        crowds(seed=5, writers=20, each=200, kills=0),
    ),
)
"""Of what is large, odd or damaged."""
PLANTS: tuple[tuple[str, Options, str, int], ...] = (
    # Acknowledged before the call returned; an entry committed before what belongs to it.
    *(
        ("kill", {"seed": 3, "cases": 160, "durability": "fast", "plant": plant}, "", 1)
        for plant in ("early", "two transactions")
    ),
    ("crash", {"seed": 1, "scenario": "append", "most": 20, "plant": "early"}, "missing", 1),
    *(
        ("power", {"seed": 2, "cases": 200, "journal": journal, "plant": "unsynced"}, "", 1)
        for journal in JOURNALS
    ),
    # With a journal instead of a log, `synchronous=NORMAL` may damage the database.
    (
        "power",
        {"seed": 2, "cases": 200, "durability": "fast", "journal": "truncate", "plant": "rarely"},
        "",
        1,
    ),
    *(
        (check, {"seed": 3, "cases": 20, "plant": "swallowed"}, "missing|not there", 1)
        for check in ("faults", "disk")
    ),
    # The number of an entry is taken before the session is held; a transaction that does not take
    # the lock when it begins.
    *(
        ("crowd", {"seed": 4, "writers": 4, "each": 50, "kills": 0, "plant": plant}, "lost", 1)
        for plant in ("numbers", "unlocked")
    ),
    # A check of the store that sees nothing; rows that are taken for what they should be.
    ("flips", {"seed": 3, "cases": 100, "plant": "blind"}, "says nothing", 1),
    ("flips", {"seed": 3, "cases": 100, "plant": "trusting"}, "Traceback", 1),
    (
        "weight",
        {"seed": 1, "megabytes": 8, "images": 100, "plant": "copied"},
        "images take|times their size",
        3,
    ),
)
"""Bugs: the check that finds each, what it says of it, and how often at least."""
