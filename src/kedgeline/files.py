"""Files below a folder, read and replaced without following a link and never half written."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO, NamedTuple

from kedgeline.errors import BadName, FileRefused, OutputUnwritable

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
"""What is made here is for its owner alone: summaries quote what was said."""
LARGEST = 16 << 20
"""Bytes of a file that is read, where nothing else is said: a summary has thousands, so something
else lies there."""
TRIES = 5
"""How often a file is read again that others change while it is written."""

Change = Callable[[bytes | None], bytes]
"""What a file shall hold, from what it holds; None where there is no file."""


class Held(NamedTuple):
    """What a file holds, and what shows that it was replaced or changed since."""

    data: bytes
    mode: int
    version: tuple[int, int, int, int]


class Folder:
    """An open folder: what is done in it is done there, wherever its path leads by then."""

    def __init__(
        self, descriptor: int, path: Path, owners: frozenset[int], largest: int = LARGEST
    ) -> None:
        self._descriptor, self._path, self._owners = descriptor, path, owners
        self._largest = largest

    @property
    def descriptor(self) -> int:
        return self._descriptor

    @property
    def path(self) -> Path:
        return self._path

    @contextmanager
    def below(self, name: str, *, create: bool = False) -> Iterator[Folder | None]:
        """A folder in this one. Nothing where it is missing and shall not be made."""
        path = self._path / name
        descriptor = _entered(self._descriptor, name, path, create=create)
        if descriptor is None:
            yield None
            return
        try:
            if os.fstat(descriptor).st_uid not in self._owners:
                raise FileRefused(str(path), "the folder belongs to somebody else; make it yours")
            yield Folder(descriptor, path, self._owners, self._largest)
        finally:
            os.close(descriptor)

    def read(self, name: str) -> Held | None:
        """A plain file of our own; nothing where there is none."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe must not wait
        try:
            descriptor = os.open(name, flags, dir_fd=self._descriptor)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise refused(self._path / name, error, self._descriptor) from error
        try:
            found = os.fstat(descriptor)
            self._check(name, found)
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                data = file.read(self._largest + 1)
        except OSError as error:
            raise refused(self._path / name, error) from error
        finally:
            os.close(descriptor)
        if len(data) > self._largest:
            why = f"it is too large: more than {self._largest >> 20} MB; check what it is"
            raise FileRefused(str(self._path / name), why)
        return Held(data, stat.S_IMODE(found.st_mode), _version(found))

    def update(self, name: str, change: Change, *, mode: int | None = PRIVATE_FILE) -> None:
        """Replace a file as a whole, or leave it where nothing changes. None keeps its mode."""
        for _ in range(TRIES):
            held = self.read(name)
            data = change(held.data if held else None)
            wanted = mode if mode is not None else held.mode if held else PRIVATE_FILE
            if held and (held.data, held.mode) == (data, wanted):
                return
            try:
                if self._replaced(name, data, wanted, held):
                    return
            except OSError as error:
                raise unwritable(self._path / name, error) from error
        why = "somebody else keeps changing it; try again"
        raise FileRefused(str(self._path / name), why)

    def _replaced(self, name: str, data: bytes, mode: int, held: Held | None) -> bool:
        """Write beside it and take its place, unless it was changed since it was read."""
        with self._beside(name) as (beside, file):
            file.write(data)
            _settle(file, mode)
            again = self.read(name)
            if (again and again.version) != (held and held.version):
                return False
            self._rename(beside, name)
        return True

    @contextmanager
    def replacing(self, name: str) -> Iterator[BinaryIO]:
        """A private file that takes this name as a whole when the block ends; nothing is changed
        when it raises. What has the name already must be a plain file of our own."""
        try:
            with suppress(FileNotFoundError):
                found = os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
                if stat.S_ISLNK(found.st_mode):
                    raise refused(self._path / name, OSError(), self._descriptor)
                self._check(name, found)
            with self._beside(name) as (beside, file):
                yield file
                _settle(file, PRIVATE_FILE)
                self._rename(beside, name)
        except OSError as error:
            raise unwritable(self._path / name, error) from error

    @contextmanager
    def _beside(self, name: str) -> Iterator[tuple[str, BinaryIO]]:
        """A new file with a name of its own, which is gone when the block ends unless it was
        renamed."""
        beside = f".{name[:100]}.{token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(beside, flags, PRIVATE_FILE, dir_fd=self._descriptor)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield beside, file
        finally:
            with suppress(OSError):
                os.unlink(beside, dir_fd=self._descriptor)

    def _rename(self, beside: str, name: str) -> None:
        os.rename(beside, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        os.fsync(self._descriptor)

    def _check(self, name: str, found: os.stat_result) -> None:
        path = str(self._path / name)
        if not stat.S_ISREG(found.st_mode):
            raise FileRefused(path, "it is not a plain file; move it away")
        if found.st_nlink > 1:
            raise FileRefused(path, "it has another hard link; replace it by a copy")
        if found.st_uid not in self._owners:
            raise FileRefused(path, "it belongs to somebody else; make it yours")


@contextmanager
def folder_below(
    root: Path, names: Sequence[str] = (), *, create: bool = False, largest: int = LARGEST
) -> Iterator[Folder | None]:
    """The folder that names lead to below a root, whose own path may hold links; none of the names
    may be one. Nothing where a folder is missing and none shall be made. No file that has more
    bytes than the largest is read."""
    if os.open not in os.supports_dir_fd:
        raise FileRefused(str(root), "this system cannot open files without following links")
    try:
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise refused(root, error) from error
    owners = frozenset((os.geteuid(), 0, os.fstat(descriptor).st_uid))
    with ExitStack() as open_folders:
        open_folders.callback(os.close, descriptor)
        folder: Folder | None = Folder(descriptor, root, owners, largest)
        for name in names:
            if folder is not None:
                folder = open_folders.enter_context(folder.below(name, create=create))
        yield folder


def _entered(descriptor: int, name: str, path: Path, *, create: bool) -> int | None:
    """A folder in an open one, made where it is missing."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(name, flags, dir_fd=descriptor)
    except FileNotFoundError:
        if not create:
            return None
    except (OSError, ValueError) as error:
        raise refused(path, error, descriptor) from error
    try:
        with suppress(FileExistsError):  # somebody else was faster
            os.mkdir(name, PRIVATE_FOLDER, dir_fd=descriptor)
        os.fsync(descriptor)
    except OSError as error:
        raise unwritable(path, error) from error
    try:
        return os.open(name, flags, dir_fd=descriptor)
    except OSError as error:
        raise refused(path, error, descriptor) from error


def refused(path: Path, error: OSError | ValueError, folder: int | None = None) -> FileRefused:
    """Why a path is not gone along: a link says so itself, whatever the system calls it."""
    why = f"{(getattr(error, 'strerror', None) or str(error)).lower()}; check the path"
    with suppress(OSError, ValueError):
        if folder is not None and stat.S_ISLNK(os.lstat(path.name, dir_fd=folder).st_mode):
            why = "it is a symbolic link, and links are not followed; use what it points to"
    return FileRefused(str(path), why)


def unwritable(path: Path, error: OSError) -> OutputUnwritable:
    return OutputUnwritable(f"{str(path)!r}: {(error.strerror or str(error)).lower()}")


def _settle(file: BinaryIO, mode: int) -> None:
    """See to it that what was written is on disk."""
    file.flush()
    os.fchmod(file.fileno(), mode)
    os.fsync(file.fileno())


def _version(found: os.stat_result) -> tuple[int, int, int, int]:
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


# Names that may become part of a path, and of nothing but it.

DEVICES = {
    "con",
    "prn",
    "aux",
    "nul",
    *(f"{name}{n}" for name in ("com", "lpt") for n in range(10)),
}
"""Names that Windows takes for devices, whatever stands behind their first point."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""All of it is ASCII, so that one name has one spelling."""


def checked(kind: str, name: str) -> str:
    """A product, task or session that may become part of a path."""
    if not _NAME.fullmatch(name):
        raise BadName(kind, name, "cannot be part of a file's name")
    if name.endswith("."):
        raise BadName(kind, name, "ends with a dot, which Windows removes")
    if name.partition(".")[0].lower() in DEVICES:
        raise BadName(kind, name, "is the name of a device on Windows")
    return name
