"""What is done to the disk: every call that changes a file of the bank, in one place. An OSError
goes through to whoever knows what it means for the transaction."""

from __future__ import annotations

import os
from contextlib import suppress

from kedge.guarded_files import PRIVATE_FILE, Folder

SHARED_FILE = 0o666
"""Mode of a new bank file, from which the system takes the umask: it belongs to the project."""


def write_new(
    folder: Folder, name: str, data: bytes, *, create: int = PRIVATE_FILE, mode: int | None = None
) -> None:
    """A file that was not there, whole and on disk when this returns. The mode is set whatever the
    umask is."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, create, dir_fd=folder.descriptor)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        if mode is not None:
            os.fchmod(descriptor, mode)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def keep_owner(bank: Folder, name: str, own: Folder, staged: str) -> None:
    """Let what will replace a file belong to whom the file belongs, where we may say so."""
    was = os.stat(name, dir_fd=bank.descriptor, follow_symlinks=False)
    now = os.stat(staged, dir_fd=own.descriptor, follow_symlinks=False)
    if (was.st_uid, was.st_gid) != (now.st_uid, now.st_gid):
        with suppress(PermissionError):
            os.chown(staged, was.st_uid, was.st_gid, dir_fd=own.descriptor, follow_symlinks=False)
            os.chmod(staged, was.st_mode & 0o7777, dir_fd=own.descriptor)


def rename(source: Folder, name: str, target: Folder, new_name: str) -> None:
    """Give a file its new place, at once and as a whole."""
    os.rename(name, new_name, src_dir_fd=source.descriptor, dst_dir_fd=target.descriptor)


def remove(folder: Folder, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder.descriptor)


def sync(folder: Folder) -> None:
    """See to it that the names in a folder are on disk."""
    os.fsync(folder.descriptor)
