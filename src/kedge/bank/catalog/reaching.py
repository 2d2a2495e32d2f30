"""Chunks and sources that a catalog names, read once and never outside of their folders."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import NamedTuple

from kedge.bank.catalog.files import Header, digest, read_catalog, read_chunk
from kedge.bank.catalog.keeping import chunk_name
from kedge.bank.catalog.sources import is_key
from kedge.bank.catalog.values import CATALOG, Listed
from kedge.errors import FileRefused, UserError
from kedge.guarded_files import Folder, folder_below


class Reached(NamedTuple):
    header: Header
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "surrogateescape")


class Standing(NamedTuple):
    """A chunk beside its source as that is now."""

    source: str
    lines: tuple[int, int]
    stale: str


class Reach:
    def __init__(self, place: Folder, root: Path) -> None:
        self._place, self._root = place, root
        self._chunks: dict[str, Reached | None] = {}
        self._sources: dict[str, bytes | None] = {}
        self.notes: list[str] = []

    def catalog(self) -> dict[str, list[Listed]]:
        held = self._place.read(CATALOG)
        if held is None:
            where = str(self._place.path)
            raise UserError(f"{where!r} has no {CATALOG}; `kedge bank index PATH` makes one")
        return read_catalog(CATALOG, held.data)

    def chunk(self, path: str) -> Reached | None:
        """None where it cannot be read, which the notes say."""
        if path not in self._chunks and self._there(path) is None:
            self.notes.append(f"{path} is named by the catalog and not there; index again")
        return self._there(path)

    def _there(self, path: str) -> Reached | None:
        if path not in self._chunks:
            data = self._data(self._place.path, path)
            if data is None:  # the field names chunks from the root
                data = self._data(self._root, path)
            self._chunks[path] = None if data is None else Reached(*read_chunk(path, data))
        return self._chunks[path]

    def source(self, key: str) -> str | None:
        data = self._source(key)
        return None if data is None else data.decode("utf-8", "surrogateescape")

    def _source(self, key: str) -> bytes | None:
        if key not in self._sources:
            self._sources[key] = self._data(self._root, key)
        return self._sources[key]

    def _data(self, root: Path, path: str) -> bytes | None:
        if not is_key(path):
            self.notes.append(f"{path[:200]!r} leads out of the folder and is not read")
            return None
        parts = PurePosixPath(path).parts
        try:
            with folder_below(root, parts[:-1]) as folder:
                held = folder.read(parts[-1]) if folder else None
        except FileRefused as error:
            self.notes.append(str(error))
            return None
        return held.data if held else None

    def standing(self, path: str) -> Standing:
        """Where a chunk stands in its source, and why it is not what the source is now."""
        chunk = self.chunk(path)
        if chunk is None:
            return Standing("", (0, 0), "the chunk is gone")
        source, body = chunk.header.source, chunk.body
        if chunk.header.hash and digest(body) != chunk.header.hash:
            return Standing(source, (0, 0), "the chunk was changed by hand")
        now = self._source(source)
        if now is None:
            return Standing(source, (0, 0), "the source is gone")
        start = self._start(path, chunk.header, now)
        if now[start : start + len(body)] != body:
            start = now.find(body)
        if start < 0:
            return Standing(source, (0, 0), "the source changed since")
        if (
            start + len(body) < len(now)
            and self._beside(path, chunk.header.chunk_index + 1) is None
        ):
            return Standing(source, (0, 0), "the source goes on behind it since")
        line = now.count(b"\n", 0, start) + 1
        lines = (line, line + max(0, body.rstrip(b"\n").count(b"\n")))
        return Standing(source, lines, "")

    def _start(self, path: str, header: Header, now: bytes) -> int:
        """Bytes of the chunks before it."""
        size = 0
        for number in range(1, header.chunk_index):
            before = self._beside(path, number)
            if before is None:
                return len(now)
            size += len(before.body)
        return size

    def _beside(self, path: str, number: int) -> Reached | None:
        """Another chunk of the same document."""
        return self._there(f"{path.rpartition('/')[0]}/{chunk_name(number)}")
