"""Opening what a caller names: a path, stdin, bytes, a file that is open already."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from os import PathLike, fspath
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
        return Opened(str(getattr(source, "name", "<file>")), iter(source))
    name = fspath(source)
    if name == "-":
        return Opened("<stdin>", iter(sys.stdin.buffer))
    path = Path(name)
    return Opened(name, file_lines(path), path.stat().st_size if path.exists() else None, path)


def file_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, which is closed when they are exhausted or no longer wanted."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise SourceUnreadable(str(path), (error.strerror or str(error)).lower()) from error
    with file:
        yield from file


def _split(data: bytes) -> list[bytes]:
    *whole, last = data.split(b"\n")
    return [line + b"\n" for line in whole] + ([last] if last else [])
