"""Lines of a text file, decoded, with their positions; damaged bytes are replaced and reported."""

from __future__ import annotations

from collections.abc import Iterator

from kedge.formats.intake.lines import Line, Lines
from kedge.formats.intake.log import Log

_BOM = b"\xef\xbb\xbf"


def text_lines(lines: Lines, log: Log) -> Iterator[tuple[Line, str]]:
    """Every line without its line end, blank ones too."""
    start = 0
    for number, data in enumerate(lines):
        line = Line(number, start, start + len(data))
        start = line.end
        yield line, _decoded(data, line, log)


def spanning(first: Line, last: Line) -> Line:
    """The place of a message that covers several lines."""
    return Line(first.number, first.start, last.end, last=max(last.number, last.last))


def _decoded(data: bytes, line: Line, log: Log) -> str:
    if b"\0" in data:
        log.broken("nul", line, f"{data.count(0)} NUL bytes")
        data = data.replace(b"\0", b"")
    data = data.removeprefix(_BOM).rstrip(b"\r\n")  # files are joined with their marks
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        log.broken("utf8", line, f"byte {error.start} of the line is not UTF-8")
        return data.decode(errors="replace")
