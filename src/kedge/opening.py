"""Opening what a caller names: a path, stdin, bytes, a file that is open already."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from os import PathLike, fspath
from os.path import normpath
from pathlib import Path
from typing import BinaryIO, NamedTuple

from kedge.errors import SourceUnreadable

Readable = str | PathLike[str] | bytes | BinaryIO
"""A path, `-` for stdin, the bytes themselves, or a binary file."""


class Opened(NamedTuple):
    name: str
    lines: Iterator[bytes]
    """Split on newlines only: other line ends may stand inside a JSON string."""
    size: int | None = None
    path: Path | None = None


def open_source(source: Readable) -> Opened:
    """Lines of bytes, and what is known about where they come from."""
    if isinstance(source, bytes):
        return Opened("<bytes>", iter(_split(source)), len(source))
    if not isinstance(source, (str, PathLike)):
        name = str(getattr(source, "name", "<file>"))
        return Opened(name, _lines(source, name))
    name = fspath(source)
    if name == "-":
        return Opened("<stdin>", _lines(_stdin(), "<stdin>"))
    path = Path(name)
    return Opened(name, file_lines(path), _size(path), path)


def files_beside(path: Path, patterns: Callable[[], Iterable[str]]) -> Iterator[Path]:
    """Files that belong to one, by patterns from its folder, each once. What is read in those that
    were given may bring further patterns."""
    given = {path}
    while True:
        found = [file for one in patterns() for file in sorted(path.parent.glob(one))]
        plain = (Path(normpath(file)) for file in found)
        new = [file for file in dict.fromkeys(plain) if file not in given]
        if not new:
            return
        for file in new:
            given.add(file)
            yield file


def file_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, which is closed when they are exhausted or no longer wanted."""
    try:
        file = path.open("rb")
    except (OSError, ValueError) as error:  # a name with a NUL in it is a ValueError
        raise SourceUnreadable(str(path), _why(error)) from error
    with file:
        yield from _lines(file, str(path))


def _lines(file: Iterable[bytes], name: str) -> Iterator[bytes]:
    try:
        yield from file
    except (OSError, ValueError) as error:  # a file that is closed is a ValueError
        raise SourceUnreadable(name, _why(error)) from error


def _stdin() -> BinaryIO:
    found: BinaryIO | None = getattr(sys.stdin, "buffer", None)
    if found is None:  # the interpreter was started without one
        raise SourceUnreadable("<stdin>", "it is closed")
    return found


def _size(path: Path) -> int | None:
    """The size, only to show progress; whether the file can be read shows when it is opened."""
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return None


def _why(error: OSError | ValueError) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()


def _split(data: bytes) -> list[bytes]:
    *whole, last = data.split(b"\n")
    return [line + b"\n" for line in whole] + ([last] if last else [])
