"""Contents as they were, by their hash, for as long as a transaction may be taken back."""

from __future__ import annotations

import os
from hashlib import sha256

from kedge.bank.files import disk
from kedge.bank.files.journal import digest, read_record
from kedge.bank.files.layout import COPY, STAGED, is_there, number_of, own_names, record_name
from kedge.errors import FileRefused
from kedge.guarded_files import Folder

KEPT = 50
"""Transactions that can be taken back: seven weeks of daily compactions. What is older was built
upon for so long that nobody would take it back."""
KEPT_BYTES = 64 << 20
"""Bytes of copies: beyond them the oldest transactions go, the newest never. A bank is a folder in
somebody's project and must not fill it."""
LEVEL = 3
"""Of zstandard: text is four times smaller, and it takes no time."""
WRITTEN = f"{STAGED}copy"


def keep_copy(own: Folder, data: bytes) -> None:
    """Write it down, unless it is there. Its name is on disk with the next sync of the folder."""
    import zstandard  # with the first copy

    name = f"{COPY}{sha256(data).hexdigest()}"
    if not is_there(own, name):
        disk.write_new(own, WRITTEN, zstandard.ZstdCompressor(level=LEVEL).compress(data))
        disk.rename(own, WRITTEN, own, name)


def copy_of(own: Folder, sha: str | None) -> bytes | None:
    """What a file held; nothing where there was none."""
    import zstandard

    if sha is None:
        return None
    name = f"{COPY}{sha}"
    held = own.read(name)
    if held is None:
        raise FileRefused(str(own.path / name), "it is gone, so that this cannot be undone")
    try:
        data = bytes(zstandard.ZstdDecompressor().decompress(held.data))
    except zstandard.ZstdError:
        data = b""
    if digest(data) != sha:
        raise FileRefused(str(own.path / name), "it is damaged, so that this cannot be undone")
    return data


def prune(own: Folder) -> None:
    """Let go of transactions that are too old, and of copies that no other needs."""
    names = own_names(own)
    copies = {name.removeprefix(COPY) for name in names if name.startswith(COPY)}
    sizes = {sha: _size(own, f"{COPY}{sha}") for sha in copies}
    needed: set[str] = set()
    going: list[int] = []
    numbers = sorted(filter(None, map(number_of, names)), reverse=True)
    for place, number in enumerate(numbers):
        wanted = needed | _shas(own, number)
        too_much = place > 0 and sum(sizes.get(sha, 0) for sha in wanted) > KEPT_BYTES
        if place >= KEPT or too_much:
            going = numbers[place:]
            break
        needed = wanted
    for number in reversed(going):  # the oldest first: what took one back must not go before it
        disk.remove(own, record_name(number))
    for sha in copies - needed:
        disk.remove(own, f"{COPY}{sha}")


def _shas(own: Folder, number: int) -> set[str]:
    """The contents that a transaction needs to be taken back."""
    record = read_record(own, record_name(number))
    files = record.files if record else ()
    return {sha for file in files for sha in (file.before, file.after) if sha is not None}


def _size(own: Folder, name: str) -> int:
    return os.stat(name, dir_fd=own.descriptor, follow_symlinks=False).st_size
