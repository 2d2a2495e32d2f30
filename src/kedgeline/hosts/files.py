"""Files of hosts, read and replaced: through links, with their permissions, with a copy beside."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from kedgeline.errors import FileRefused
from kedgeline.files import PRIVATE_FILE, PRIVATE_FOLDER, Held, folder_below, unwritable
from kedgeline.hosts.shared import OwnFile

BACKUP = ".kedgeline-backup"
"""Behind the name of a file: what it held before kedgeline came."""
LARGEST = 64 << 20
"""Bytes of a settings file: one host keeps its history in there as well."""
WRITABLE = stat.S_IWUSR
SHARED_FILE, SHARED_FOLDER = 0o644, 0o755
"""Modes of what is new, holds nothing private, and others may have to read."""
CODE = 12
"""Characters that tell the copies of files with the same name apart."""
NAME_KEPT = 100
"""Characters of a file's name that are in the name of what is written to take its place."""
STALE_SECONDS = 600
"""Age of a half-written file that nobody will finish: writing one takes less than a second."""


class Found(NamedTuple):
    """A file by its name and by where links lead."""

    path: Path
    real: Path
    held: Held | None
    backup: bytes | None
    copy: Path
    """Where what it held before is kept."""
    missing: tuple[Path, ...] = ()
    """The folders above it that are not there, the innermost first."""

    @property
    def link(self) -> Path | None:
        """Where the file is, if its name is a link."""
        return self.real if self.path.is_symlink() else None


def found(path: Path, within: Path | None, copies: Path | None = None) -> Found:
    """What is at a path. Within a project no link may lead out of it: whoever wrote the project
    could have kedgeline write elsewhere. Copies are kept beside, or all in one folder."""
    real = Path(os.path.realpath(path))
    if within is not None and not real.is_relative_to(os.path.realpath(within)):
        why = f"it leads out of the project, to {str(real)!r}; remove the link"
        raise FileRefused(str(path), why)
    copy = copy_of(real, copies)
    kept = _read(copy)
    return Found(path, real, _read(real), kept.data if kept else None, copy, _missing(real.parent))


def copy_of(real: Path, copies: Path | None = None) -> Path:
    if copies is None:
        return real.with_name(f"{real.name}{BACKUP}")
    code = sha256(os.fsencode(real)).hexdigest()[:CODE]
    return copies / f"{code}-{real.name}{BACKUP}"


def check_writable(file: Found, *, copied: bool) -> None:
    """Whether a file can be replaced and its copy be written. A file that is replaced as a whole
    could be although it is read-only: that is refused."""
    if file.held and not file.held.mode & WRITABLE:
        why = f"it is read-only; allow writing with chmod u+w {file.real}, or change its source"
        raise FileRefused(str(file.path), why)
    for path in (file.real, file.copy) if copied else (file.real,):
        folder = next(parent for parent in path.parents if os.path.lexists(parent))
        if not folder.is_dir():
            raise FileRefused(str(file.path), f"{str(folder)!r} is no folder; move it away")
        if not os.access(folder, os.W_OK | os.X_OK):
            why = f"its folder is read-only; allow writing with chmod u+w {folder}"
            raise FileRefused(str(file.path), why)


def write(
    file: Found,
    change: Callable[[bytes | None], bytes],
    *,
    keep: bytes | None = None,
    mode: int = PRIVATE_FILE,
    folders: int = PRIVATE_FOLDER,
) -> None:
    """Replace a file as a whole by what the change makes of what it holds by then. What is to be
    kept is written beside it first. The modes are those of what is new."""
    mode = file.held.mode if file.held else mode
    if keep is not None:
        write_copy(file, keep)
    _replace(file.real, change, mode, folders)


def write_copy(file: Found, data: bytes) -> None:
    beside = file.copy.parent == file.real.parent
    mode = file.held.mode if file.held and beside else PRIVATE_FILE
    _replace(file.copy, lambda _: data, mode, PRIVATE_FOLDER)


def read_now(file: Found) -> bytes | None:
    """What a file holds by now."""
    held = _read(file.real)
    return held.data if held else None


def remove(file: Found, root: Path) -> None:
    """A file in which nothing else is, and folders that are empty then, up to a root that stays."""
    now = _read(file.real)
    if file.held and now and now.version != file.held.version:
        raise FileRefused(str(file.path), "somebody else changed it meanwhile; try again")
    _unlink(file.real, root)


def remove_backup(file: Found, root: Path) -> None:
    """The copy of what a file held before."""
    _unlink(file.copy, root if file.copy.parent == file.real.parent else file.copy.parent)


def take_back(file: Found) -> None:
    """A file that was not there, with the folders that were made for it."""
    try:
        file.real.unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(file.path, error) from error
    for folder in file.missing:
        with suppress(OSError):  # something else is in it
            folder.rmdir()


def sweep(file: Found) -> None:
    """Remove what a writer left that was killed before it could put the file in its place."""
    for path in (file.real, file.copy):
        half = re.compile(rf"\.{re.escape(path.name[:NAME_KEPT])}\.[0-9a-f]{{16}}")
        with suppress(OSError), os.scandir(path.parent) as entries:
            for entry in entries:
                if half.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    age = time.time() - entry.stat(follow_symlinks=False).st_mtime
                    if age > STALE_SECONDS:
                        os.unlink(entry.path)


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


def _replace(path: Path, change: Callable[[bytes | None], bytes], mode: int, folders: int) -> None:
    _make(path.parent, folders)
    with folder_below(path.parent, largest=LARGEST) as folder:
        if folder is None:
            raise FileRefused(str(path), "its folder is gone; try again")
        folder.update(path.name, change, mode=mode)


def _missing(folder: Path) -> tuple[Path, ...]:
    return tuple(parent for parent in (folder, *folder.parents) if not os.path.lexists(parent))


def _make(folder: Path, mode: int) -> None:
    """The folder and those above it, where they are missing."""
    missing = _missing(folder)
    if not missing:
        return
    names = [parent.name for parent in reversed(missing)]
    for count in range(1, len(names) + 1):
        above = missing[-1].parent
        with folder_below(above, names[:count], create=True) as made:
            if made is not None and mode != PRIVATE_FOLDER:
                os.fchmod(made.descriptor, mode)


# The mark in files that are ours as a whole: by it they are known, and whether a person changed
# them since.

LENGTH = 12
"""Characters of the code: nobody writes a text that has it by chance."""


def marked(file: OwnFile, text: str) -> str:
    """The text with our mark."""
    rest = text.removeprefix(file.opening)
    line = f"{file.comment} kedgeline install {_code(text)}{file.ending}\n"
    return f"{text[: len(text) - len(rest)]}{line}{rest}"


def is_ours(file: OwnFile, found: str, plugin: Collection[str] = ()) -> bool:
    """Whether a file has our mark and is as we wrote it, or is one of the plugin, which has none;
    but for the ends of its lines."""
    text = found.replace("\r\n", "\n")
    line = (
        rf"^{re.escape(file.comment)} kedgeline install ([0-9a-f]{{12}}){re.escape(file.ending)}\n"
    )
    mark = re.search(line, text, re.MULTILINE)
    if not mark:
        return text in plugin
    return _code(text[: mark.start()] + text[mark.end() :]) == mark[1]


def reduces(file: OwnFile, found: str) -> bool:
    """Whether a file of ours, of whichever kedgeline, is the one that reduces tool outputs."""
    only = set(file.reducing.splitlines()) - set(file.text.splitlines())
    return bool(only) and only <= set(found.splitlines())


def _code(text: str) -> str:
    return sha256(text.replace("\r\n", "\n").encode()).hexdigest()[:LENGTH]
