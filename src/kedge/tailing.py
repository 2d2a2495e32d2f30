"""A session's files read as they grow: of what was read before, only what it takes to go on is
kept."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from glob import escape
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, NamedTuple

from msgspec.structs import replace

from kedge.errors import SourceUnreadable
from kedge.formats import Growing, Grows, HasCompanions, Head, Log, load_format, recognise
from kedge.formats.intake.head import HEAD_BYTES
from kedge.model import Turn

SEAL_BYTES = 4_096
"""Before the place where reading goes on: if they are others than before, it is another file."""
VERSION = 1
"""Of what is put away; another one is read anew."""


class NotGrowing(Exception):
    """The files are not those that were read before with something added, or their format is not
    one that is only added to."""


class _Part(NamedTuple):
    """One file, as far as it was read."""

    offset: int
    seal: str
    reader: Growing


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
        for name, part in self._parts.items():
            self.log.file = "" if name == self.path.name else Path(name).name
            found += part.reader.finish()
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
            raise NotGrowing("what was put away is of another file or an older kedge")
        tail = cls.__new__(cls)
        tail.path, tail.format, tail.log, tail._parts = path, format, log, parts
        tail._check()
        return tail

    def _check(self) -> None:
        for name, part in self._parts.items():
            path = self.path.parent / name
            if path != self.path and not path.exists():
                raise NotGrowing(f"{name} is gone")
            with _opened(path) as file:
                if _seal(file, part.offset) != part.seal:
                    raise NotGrowing(f"{name} is not what it was")

    def _files(self) -> Iterator[Path]:
        """The session's own file, and those that its client keeps beside it."""
        yield self.path
        known = load_format(self.format)
        if isinstance(known, HasCompanions):
            pattern = known.companions.format(stem=escape(self.path.stem))
            yield from sorted(self.path.parent.glob(pattern))

    def _added(self, path: Path) -> Iterator[Turn]:
        name = str(path.relative_to(self.path.parent))
        part = self._parts.get(name) or _Part(0, "", self._reader())
        self.log.file = "" if path == self.path else path.name
        with _opened(path) as file:
            file.seek(part.offset)
            lines = _Whole(file)
            for turn in part.reader.take(lines):
                yield turn if path == self.path else _from(turn, path.name)
            offset = part.offset + lines.taken
            self._parts[name] = _Part(offset, _seal(file, offset), part.reader)

    def _reader(self) -> Growing:
        known = load_format(self.format)
        if not isinstance(known, Grows):
            raise NotGrowing(f"files of {self.format} are written anew each time")
        return known.growing(self.log)


class _Whole:
    """The lines of a file that are whole: of what is just being written the end is missing."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.taken = file, 0

    def __iter__(self) -> Iterator[bytes]:
        for line in self._file:
            if not line.endswith(b"\n"):
                return
            self.taken += len(line)
            yield line


def _from(turn: Turn, file: str) -> Turn:
    return replace(turn, source=replace(turn.source, file=file))


def _recognised(path: Path) -> str:
    with _opened(path) as file:
        head = Head(file.read(HEAD_BYTES))
    found = recognise(head).format
    if not isinstance(found, Grows) or not found.grows(head):
        raise NotGrowing(f"{path.name} is no file that is only added to")
    return found.name


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise SourceUnreadable(str(path), (error.strerror or str(error)).lower()) from error


def _seal(file: BinaryIO, offset: int) -> str:
    """What tells a file by what stands right before a place in it."""
    start = max(0, offset - SEAL_BYTES)
    file.seek(start)
    before = file.read(offset - start)
    return blake2b(before, digest_size=16).hexdigest() if len(before) == offset - start else ""
