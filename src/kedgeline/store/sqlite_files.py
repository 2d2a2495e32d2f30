"""The files of a store in a folder: private, ours, no links; and which journal is safe there."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal

from kedgeline.errors import FileRefused, StoreFailed

DATABASE = "kedgeline.db"
COMPANIONS = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database, under its name and with its mode."""
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
OTHERS_WRITE = 0o022
HEADER_BYTES = 100
"""Least of a database that is not empty. SQLite would overwrite what has less."""


def guarded_folder(place: str) -> Path:
    """The folder at a place, created where it is missing. Links may lead to it; it may not be
    one."""
    try:
        given = Path(os.path.abspath(place))
        folder = Path(os.path.realpath(given.parent), given.name)
        _make(folder)
        found = os.lstat(folder)
    except (OSError, ValueError) as error:
        raise _unusable(place, error) from error
    if stat.S_ISLNK(found.st_mode):
        raise FileRefused(
            place,
            "it is a symbolic link, and links are not followed; use what it points to",
        )
    if not stat.S_ISDIR(found.st_mode):
        raise FileRefused(place, "it is not a folder; name a folder for the store")
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        raise FileRefused(place, "the folder belongs to somebody else; name one of your own")
    if found.st_mode & OTHERS_WRITE:
        raise FileRefused(
            place, "others may write to the folder; name one inside it, or run chmod go-w on it"
        )
    return folder


def guarded_database(folder: Path) -> Path:
    """The database in a guarded folder, created empty where it is missing. An existing file is
    looked at by name only: opening and closing it would drop the locks of this process."""
    path = folder / DATABASE
    try:
        with suppress(FileExistsError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
            os.close(os.open(path, flags, PRIVATE_FILE))
            _sync_folder(folder)
        beside = [Path(f"{path}{ending}") for ending in COMPANIONS]
        for name in (path, *beside):
            with suppress(FileNotFoundError):  # a companion comes and goes
                _check_file(name)
        if 0 < os.lstat(path).st_size < HEADER_BYTES and not any(map(os.path.lexists, beside)):
            raise FileRefused(str(path), "it is not a SQLite database; move it away")
    except OSError as error:
        raise _unusable(str(path), error) from error
    return path


def _make(folder: Path) -> None:
    """Create a folder and those above it, durably."""
    missing = [folder]
    while not os.path.lexists(missing[-1].parent):
        missing.append(missing[-1].parent)
    for each in reversed(missing):
        with suppress(FileExistsError):
            os.mkdir(each, PRIVATE_FOLDER)
            _sync_folder(each.parent)


def _check_file(path: Path) -> None:
    found = os.lstat(path)
    name = str(path)
    if stat.S_ISLNK(found.st_mode):
        raise FileRefused(name, "it is a symbolic link, and links are not followed; move it away")
    if not stat.S_ISREG(found.st_mode):
        raise FileRefused(name, "it is not a plain file; move it away")
    if found.st_nlink > 1:
        raise FileRefused(name, "it has another hard link; replace it by a copy")
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        raise FileRefused(name, "it belongs to somebody else; make it yours")
    if os.name == "posix" and stat.S_IMODE(found.st_mode) != PRIVATE_FILE:
        os.chmod(path, PRIVATE_FILE)


def _sync_folder(folder: Path) -> None:
    """A new name is on disk only when its folder is."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unusable(place: str, error: OSError | ValueError) -> FileRefused | StoreFailed:
    why = (getattr(error, "strerror", None) or str(error)).lower()
    if isinstance(error, (FileNotFoundError, NotADirectoryError, PermissionError, ValueError)):
        return FileRefused(place, f"{why}; check the path")
    return StoreFailed(place, why, next_step="nothing was written; make room, then try again")


# A write-ahead log only where it is safe.

Journal = Literal["wal", "truncate", "memory"]
MOUNTS = "/proc/self/mountinfo"
NETWORKED = re.compile(
    "9p|afs|beegfs|ceph|cifs|coda|gfs2?|glusterfs|gpfs|lustre|ncpfs|nfs4?|ocfs2|orangefs|pvfs2"
    "|smb[23]?|smbfs|vboxsf|virtiofs|vmhgfs|fuse(?!(blk|ctl)$).*"
)
"""File systems on which processes do not share memory: the log needs it. What is behind one in user
space is not known; fuseblk is a disk."""
_ESCAPE = re.compile(r"\\([0-7]{3})")
"""How the table of mounts writes a blank."""


def wanted_journal(path: Path) -> Journal:
    """The journal for a database at a real path. Without a table of mounts, a disk is assumed."""
    try:
        with open(MOUNTS, encoding="utf-8", errors="surrogateescape") as mounts:
            return "truncate" if is_networked(path, mounts) else "wal"
    except OSError:
        return "truncate" if os.fspath(path).startswith(("\\\\", "//")) else "wal"


def is_networked(path: Path, mounts: Iterable[str]) -> bool:
    """Whether a path lies on a network file system, by the lines of the table of mounts. The last
    of the mounts with the longest matching path is the one that is seen."""
    longest, kind = -1, ""
    for line in mounts:
        left, _, right = line.partition(" - ")
        fields, described = left.split(), right.split()
        if len(fields) < 5 or not described:
            continue
        point = Path(_ESCAPE.sub(lambda found: chr(int(found[1], 8)), fields[4]))
        if len(point.parts) >= longest and path.is_relative_to(point):
            longest, kind = len(point.parts), described[0]
    return NETWORKED.fullmatch(kind.lower()) is not None
