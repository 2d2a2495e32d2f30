"""Files of hosts, read and replaced: through links, with their permissions, with a copy beside."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kedge.errors import FileRefused
from kedge.guarded_files import PRIVATE_FILE, Held, folder_below, unwritable

BACKUP = ".kedge-backup"
"""Behind the name of a file: what it held before kedge came."""
LARGEST = 64 << 20
"""Bytes of a settings file: one host keeps its history in there as well."""
WRITABLE = stat.S_IWUSR


class Found(NamedTuple):
    """A file by its name and by where links lead."""

    path: Path
    real: Path
    held: Held | None
    backup: bytes | None

    @property
    def link(self) -> Path | None:
        """Where the file is, if its name is a link."""
        return self.real if self.path.is_symlink() else None


def found(path: Path, within: Path | None) -> Found:
    """What is at a path. Within a project no link may lead out of it: whoever wrote the project
    could have kedge write elsewhere."""
    real = Path(os.path.realpath(path))
    if within is not None and not real.is_relative_to(os.path.realpath(within)):
        why = f"it leads out of the project, to {str(real)!r}; remove the link"
        raise FileRefused(str(path), why)
    copy = _read(backup_of(real))
    return Found(path, real, _read(real), copy.data if copy else None)


def backup_of(path: Path) -> Path:
    return path.with_name(f"{path.name}{BACKUP}")


def check_writable(file: Found) -> None:
    """Files that are replaced as a whole could be replaced although they are read-only."""
    if file.held and not file.held.mode & WRITABLE:
        why = f"it is read-only; allow writing with chmod u+w {file.real}, or change its source"
        raise FileRefused(str(file.path), why)


def write(
    file: Found,
    change: Callable[[bytes | None], bytes],
    *,
    keep: bytes | None = None,
    mode: int = PRIVATE_FILE,
) -> None:
    """Replace a file as a whole by what the change makes of what it holds by then. What is to be
    kept is written beside it first. The mode is that of a new file."""
    mode = file.held.mode if file.held else mode
    _make(file.real.parent)
    with folder_below(file.real.parent, largest=LARGEST) as folder:
        if folder is None:
            raise FileRefused(str(file.path), "its folder is gone; try again")
        if keep is not None:
            folder.update(backup_of(file.real).name, lambda _: keep, mode=mode)
        folder.update(file.real.name, change, mode=mode)


def remove(file: Found, root: Path) -> None:
    """A file in which nothing else is, and folders that are empty then, up to a root that stays."""
    now = _read(file.real)
    if file.held and now and now.version != file.held.version:
        raise FileRefused(str(file.path), "somebody else changed it meanwhile; try again")
    _unlink(file.real, root)


def remove_backup(file: Found, root: Path) -> None:
    """The copy of what a file held before."""
    _unlink(backup_of(file.real), root)


def _unlink(path: Path, root: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error
    stays = Path(os.path.realpath(root))
    for parent in path.parents:
        if parent == stays or not parent.is_relative_to(stays):
            return
        with suppress(OSError):  # something else is in it
            parent.rmdir()


def _read(path: Path) -> Held | None:
    if not path.parent.is_dir():
        return None
    with folder_below(path.parent, largest=LARGEST) as folder:
        return folder.read(path.name) if folder else None


def _make(folder: Path) -> None:
    """The folder and those above it, where they are missing."""
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    if not missing:
        return
    names = [parent.name for parent in reversed(missing)]
    with folder_below(missing[-1].parent, names, create=True):
        pass
