"""Which journal a database may have: a write-ahead log only where it is safe."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

Journal = Literal["wal", "truncate"]
MOUNTS = "/proc/self/mountinfo"
FIXED = ((3, 44, 6), (3, 50, 7), (3, 51, 3))
"""Versions that no longer lose what was written when two processes reset the log at once: the last
stands for all after it, the others for those of their own series."""
NETWORKED = {
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "coda",
    "gfs",
    "gfs2",
    "glusterfs",
    "gpfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "ocfs2",
    "orangefs",
    "pvfs2",
    "smb",
    "smb2",
    "smb3",
    "smbfs",
    "vboxsf",
    "virtiofs",
    "vmhgfs",
}
"""File systems on which processes do not share memory: the log needs it."""
NETWORKED_PREFIX = "fuse"
"""What lies behind a file system in user space is not known; fuseblk is a disk."""
LOCAL_EXCEPTIONS = frozenset({"fuseblk", "fusectl"})

_ESCAPE = re.compile(r"\\([0-7]{3})")
"""How the table of mounts writes a blank."""


def version_of(text: str) -> tuple[int, int, int]:
    first, second, third = (int(part) for part in text.split(".")[:3])
    return first, second, third


def log_is_safe(version: tuple[int, int, int]) -> bool:
    """Whether a version of SQLite has the fix of the reset race in its write-ahead log."""
    return version >= FIXED[-1] or any(
        version[:2] == fixed[:2] and version >= fixed for fixed in FIXED
    )


def is_networked(path: Path, mounts: Iterable[str]) -> bool:
    """Whether a path lies on a network file system, by the lines of the table of mounts. The last
    of the mounts whose path is the longest beginning of it is the one that is seen."""
    longest, kind = -1, ""
    for line in mounts:
        left, _, right = line.partition(" - ")
        fields, described = left.split(), right.split()
        if len(fields) < 5 or not described:
            continue
        point = Path(_ESCAPE.sub(lambda found: chr(int(found[1], 8)), fields[4]))
        if len(point.parts) >= longest and path.is_relative_to(point):
            longest, kind = len(point.parts), described[0]
    kind = kind.lower()
    if kind in LOCAL_EXCEPTIONS:
        return False
    return kind in NETWORKED or kind.startswith(NETWORKED_PREFIX)


def wanted_journal(path: Path, version: tuple[int, int, int]) -> Journal:
    """The journal for a database at a real path. Without a table of mounts, a disk is assumed."""
    if not log_is_safe(version):
        return "truncate"
    try:
        with open(MOUNTS, encoding="utf-8", errors="surrogateescape") as mounts:
            return "truncate" if is_networked(path, mounts) else "wal"
    except OSError:
        return "truncate" if os.fspath(path).startswith(("\\\\", "//")) else "wal"
