"""The chunks that lie in a catalog's folder: read before anything is written, written one by one,
each as a whole."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from kedge.bank.catalog.files import Header, read_catalog, read_chunk
from kedge.bank.catalog.values import CATALOG, CHUNKS, Listed
from kedge.errors import FileRefused
from kedge.guarded_files import Folder, unwritable

_CHUNK = re.compile(r"chunk-([0-9]{2,6})\.yaml")


class Kept(NamedTuple):
    """A chunk as it lies there."""

    header: Header
    data: bytes


def chunk_name(index: int) -> str:
    return f"chunk-{index:02}.yaml"


def path_of(name: str, file: str) -> str:
    return f"{CHUNKS}/{name}/{file}"


def order(path: str) -> tuple[str, int, str]:
    """Chunks of a document in their order, whatever the number of digits."""
    folder, _, file = path.rpartition("/")
    return folder, len(file), file


def kept_chunks(place: Folder) -> dict[str, dict[str, Kept]]:
    """All chunks by the name of their document and that of their file, which is all that we ever
    replace or remove. Raises BankMalformed where one cannot be understood."""
    found: dict[str, dict[str, Kept]] = {}
    with place.below(CHUNKS) as chunks:
        for name in sorted(os.listdir(chunks.descriptor)) if chunks else ():
            assert chunks is not None
            if _is_plain_folder(chunks, name):
                with chunks.below(name) as folder:
                    found[name] = _chunks_in(folder, name) if folder else {}
    return found


def _is_plain_folder(chunks: Folder, name: str) -> bool:
    found = os.lstat(name, dir_fd=chunks.descriptor).st_mode & 0o170000
    if found == 0o120000:
        why = "it is a symbolic link, and links are not followed; move it away"
        raise FileRefused(str(chunks.path / name), why)
    return found == 0o040000


def _chunks_in(folder: Folder, name: str) -> dict[str, Kept]:
    chunks: dict[str, Kept] = {}
    for file in sorted(os.listdir(folder.descriptor), key=lambda file: (len(file), file)):
        held = folder.read(file) if _CHUNK.fullmatch(file) else None
        if held is not None:
            header, _ = read_chunk(path_of(name, file), held.data)
            chunks[file] = Kept(header, held.data)
    return chunks


def kept_catalog(place: Folder) -> dict[str, list[Listed]]:
    held = place.read(CATALOG)
    return read_catalog(CATALOG, held.data) if held else {}


def write_chunk(place: Folder, name: str, file: str, data: bytes) -> None:
    with place.below(CHUNKS, create=True) as chunks:
        assert chunks is not None
        with chunks.below(name, create=True) as folder:
            assert folder is not None
            folder.update(file, lambda _: data, mode=None)


def write_catalog(place: Folder, data: bytes) -> bool:
    """Whether it changed."""
    held = place.read(CATALOG)
    if held and held.data == data:
        return False
    place.update(CATALOG, lambda _: data, mode=None)
    return True


def remove_chunks(place: Folder, name: str, files: list[str]) -> None:
    """The files, and their folder where nothing else is in it."""
    with place.below(CHUNKS) as chunks:
        if chunks is None:
            return
        with chunks.below(name) as folder:
            if folder is None:
                return
            try:
                for file in files:
                    os.unlink(file, dir_fd=folder.descriptor)
                left = os.listdir(folder.descriptor)
            except OSError as error:
                raise unwritable(folder.path, error) from error
        if not left:
            os.rmdir(name, dir_fd=chunks.descriptor)
