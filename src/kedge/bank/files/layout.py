"""The two folders of an open bank, and what lies in the one that is ours."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from kedge.errors import FileRefused
from kedge.guarded_files import Folder

OWN = ".kedge"
"""Folder in the bank that only kedge writes to."""
LOCK, QUEUE, JOURNAL, OWNER = "lock", "queue", "journal.json", "owner.json"
IGNORED = ".gitignore"
STAGED, RECORD, COPY = "new-", "transaction-", "copy-"
"""What the names of files begin with: contents that are to take a place in the bank, what was done,
and contents as they were before and after it."""
BESIDE = f".{OWNER}."
"""What the name of a lock file begins with that was being written."""
LARGEST = 256 << 20
"""Bytes of a bank file that is read. Ten thousand entries a year are some ten million bytes, and a
log of decisions is never cut: this is enough for decades, and still fits into memory."""


class Place(NamedTuple):
    """An open bank."""

    bank: Folder
    own: Folder

    def staged(self) -> list[str]:
        """What a transaction left that never came to its commit."""
        return [name for name in own_names(self.own) if name.startswith((STAGED, BESIDE))]


def bank_names(bank: Folder, *, links: bool = False) -> list[str]:
    """Plain files that are not hidden, in order; or the links in their place."""
    with os.scandir(bank.descriptor) as found:
        return sorted(
            each.name
            for each in found
            if not each.name.startswith(".")
            and (each.is_symlink() if links else each.is_file(follow_symlinks=False))
        )


def own_names(own: Folder) -> list[str]:
    return sorted(os.listdir(own.descriptor))


def checked_name(bank: Folder, name: str) -> str:
    """A name that leads to a file of the bank and nowhere else."""
    if not name or name.startswith(".") or "/" in name or "\0" in name:
        why = "a bank file has a plain name without '/' that does not begin with a point"
        raise FileRefused(f"{bank.path}/{name}", why)
    return name


def number_of(name: str) -> int:
    """The number of a transaction, by the name of its record."""
    digits = name.removeprefix(RECORD).removesuffix(".json")
    return int(digits) if name.startswith(RECORD) and digits.isdecimal() else 0


def record_name(number: int) -> str:
    return f"{RECORD}{number:06}.json"


def is_there(folder: Folder, name: str) -> bool:
    """Whether a plain file has this name."""
    try:
        found = os.stat(name, dir_fd=folder.descriptor, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return stat.S_ISREG(found.st_mode)
