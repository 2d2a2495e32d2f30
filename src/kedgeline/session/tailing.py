"""A session's files read as they grow: of what was read before, only what it takes to go on is
kept."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from os.path import relpath
from pathlib import Path
from typing import BinaryIO, NamedTuple

from msgspec.structs import replace

from kedgeline.formats import Growing, Grows, HasCompanions, Log, load_format
from kedgeline.formats.registry import recognised
from kedgeline.model import Turn
from kedgeline.pipeline.read import file_lines, files_beside, lines_in, plain_file

SEAL_BYTES = 4_096
"""Before the place where reading goes on: if they are others than before, it is another file."""
VERSION = 2
"""Of what is put away; another one is read anew."""


class NotGrowing(Exception):
    """The files are not those that were read before with something added, or their format is not
    one that is only added to."""


class _Part(NamedTuple):
    """One file, as far as it was read."""

    offset: int
    seal: str
    reader: Growing
    log: Log
    """What is found in it; for the session's own file, that of the session."""


class Tail:
    """Where reading a session stands. It is put away as bytes, which are this program's own: they
    must lie where nobody else can write, as reading them back trusts them."""

    def __init__(self, path: Path, *, format: str | None = None) -> None:
        self.path = path
        self.log = Log()
        self.format = format or _recognised(path)
        self._parts: dict[str, _Part] = {}

    def new_turns(self) -> Iterator[Turn]:
        """The turns that what was added completes; a turn whose index does not follow takes back
        what was read from there on. A last line that is not whole yet waits."""
        for path in self._files():
            yield from self._added(path)

    def open_turns(self) -> list[Turn]:
        """The turns that are not complete yet. Nothing can be read afterwards: what is to go on is
        put away before."""
        found: list[Turn] = []
        for part in self._parts.values():
            found += _of(part.reader.finish(), part.log)
            self.log.take_in(part.log)
        return found

    def put_away(self) -> bytes:
        import zstandard  # heavy, and only for files that grow

        state = (VERSION, str(self.path), self.format, self.log, self._parts)
        return zstandard.compress(pickle.dumps(state, protocol=5))

    @classmethod
    def restored(cls, data: bytes, path: Path) -> Tail:
        """What was put away, to go on with. Raises `NotGrowing` where the files are others now."""
        import zstandard

        try:
            state = pickle.loads(zstandard.decompress(data))
            version, name, format, log, parts = state
        except (
            *(zstandard.ZstdError, pickle.UnpicklingError, EOFError, AttributeError),
            *(ImportError, IndexError, KeyError, TypeError, ValueError),
        ) as error:
            raise NotGrowing("what was put away cannot be read") from error
        if (version, name) != (VERSION, str(path)):
            raise NotGrowing("what was put away is of another file or an older kedgeline")
        tail = cls.__new__(cls)
        tail.path, tail.format, tail.log, tail._parts = path, format, log, parts
        tail._check()
        return tail

    def _check(self) -> None:
        for name, part in self._parts.items():
            path = self.path.parent / name
            if path != self.path and not path.exists():
                raise NotGrowing(f"{name} is gone")
            with plain_file(path) as file:
                if _seal(file, part.offset) != part.seal:
                    raise NotGrowing(f"{name} is not what it was")

    def _files(self) -> Iterator[Path]:
        """The session's own file, and those that its client keeps beside it."""
        yield self.path
        known = load_format(self.format)
        if isinstance(known, HasCompanions):
            patterns, stem = known.beside, self.path.stem
            yield from files_beside(self.path, lambda: patterns(stem, self.log))

    def _added(self, path: Path) -> Iterator[Turn]:
        name = relpath(path, self.path.parent)
        part = self._parts.get(name) or self._begun(path)
        with plain_file(path) as file:
            file.seek(part.offset)
            lines = _Whole(file, str(path))
            yield from _of(part.reader.take(lines), part.log)
            offset = part.offset + lines.taken
            self._parts[name] = part._replace(offset=offset, seal=_seal(file, offset))

    def _begun(self, path: Path) -> _Part:
        known = load_format(self.format)
        if not isinstance(known, Grows):
            raise NotGrowing(f"files of {self.format} are written anew each time")
        log = self.log if path == self.path else self.log.beside(path.name)
        return _Part(0, "", known.growing(log), log)


class _Whole:
    """The lines of a file that are whole: of what is just being written the end is missing."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file, self._name, self.taken = file, name, 0

    def __iter__(self) -> Iterator[bytes]:
        for line in lines_in(self._file, self._name):
            if not line.endswith(b"\n"):
                return
            self.taken += len(line)
            yield line


def _of(turns: Iterable[Turn], log: Log) -> Iterator[Turn]:
    """The turns of a file; in one beside the session's own, those of sub-agents."""
    for turn in turns:
        if not log.file:
            yield turn
        elif turn.agent:
            yield replace(turn, source=replace(turn.source, file=log.file))


def _recognised(path: Path) -> str:
    found, head, _ = recognised(file_lines(path))
    if not isinstance(found.format, Grows) or not found.format.grows(head):
        raise NotGrowing(f"{path.name} is no file that is only added to")
    return found.format.name


def _seal(file: BinaryIO, offset: int) -> str:
    """What tells a file by what stands right before a place in it."""
    start = max(0, offset - SEAL_BYTES)
    file.seek(start)
    before = file.read(offset - start)
    return blake2b(before, digest_size=16).hexdigest() if len(before) == offset - start else ""
