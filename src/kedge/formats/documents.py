"""JSON documents: read whole, and as far as they go when they are cut off."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from kedge.formats.lines import TOLERANT, Line, Lines, sound
from kedge.formats.log import Log

_WHOLE = Line(0, 0, 0)
_TOKEN = re.compile(
    r'"(?:[^"\\]++|\\.)*+"(?P<string>)|(?P<open>[\[{])|(?P<close>[\]}])|(?P<comma>,)|(?P<colon>:)'
    r"|(?:-?\d[\d.eE+-]*|true|false|null)(?P<scalar>)|\s+",
    re.DOTALL,
)
_SKIPPED = b"\xef\xbb\xbf\0"
_NOTHING = _SKIPPED + b" \t\r\n"
OPENING_LINES = 8
"""Written lines looked at to tell a document from records; a few of them may be damaged."""
_decode_raw = msgspec.json.Decoder(msgspec.Raw).decode
_CLOSER = {"{": "}", "[": "]"}


def document(lines: Lines, log: Log) -> Any:
    """The JSON value a file holds; of a cut-off file, the part that is complete."""
    data = b"".join(lines)
    try:
        return msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return _recovered(data, log)


def first_lines(lines: Lines) -> tuple[list[bytes], Iterator[bytes]]:
    """The first lines, enough to tell a document from records, and the rest."""
    iterator = iter(lines)
    taken: list[bytes] = []
    written = 0
    for line in iterator:
        taken.append(line)
        written += bool(line.strip(_NOTHING))
        if written == OPENING_LINES:
            break
    return taken, iterator


def is_document(opened: Sequence[bytes]) -> bool:
    """Whether a file is one JSON value rather than one on each line, also when it is damaged."""
    written = [line.lstrip(_SKIPPED) for line in opened if line.strip(_NOTHING)]
    first, *others = written or [b""]
    begins = first.lstrip()[:1]
    if begins not in (b"{", b"[") or not others:
        return begins in (b"{", b"[")
    if _is_whole(first):
        return begins == b"[" and not any(line.startswith(b'{"') for line in others)
    if begins == b"{" and others[0].startswith(b'{"'):
        return False  # a torn record and the next one; a document would go on with a key
    # Inside a document a whole object at the beginning of a line has a comma behind it, but for
    # the last one of a list.
    return sum(line.startswith(b'{"') and _is_whole(line) for line in others) < 2


def _is_whole(line: bytes) -> bool:
    try:
        _decode_raw(line)
    except (ValueError, RecursionError):
        return False
    return True


def _recovered(data: bytes, log: Log) -> Any:
    if b"\0" in data:
        log.broken("nul", _WHOLE, f"{data.count(0)} NUL bytes")
        data = data.replace(b"\0", b"")
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        log.broken("utf8", _WHOLE, f"byte {error.start} is not UTF-8")
        text = data.decode(errors="replace")
    try:
        return sound(_whole_or_closed(text, log), _WHOLE, log)
    except RecursionError:
        log.broken("too_deep", _WHOLE, "nested deeper than can be read")
        return None


def _whole_or_closed(text: str, log: Log) -> Any:
    try:
        return TOLERANT.decode(text)
    except ValueError as error:
        log.broken("torn", _WHOLE, f"not complete: {error}")
        return closed(text)


def closed(text: str) -> Any:
    """The longest readable beginning of a JSON text, its open brackets closed; None if none is."""
    reach = _Reach()
    position = 0
    while match := _TOKEN.match(text, position):
        position = match.end()
        if not reach.take(match, last=position == len(text)):
            break
    try:
        return TOLERANT.decode(text[: reach.safe] + reach.closers)
    except (ValueError, RecursionError):
        return None


class _Reach:
    """How far a text can be cut and closed to a whole value, token by token."""

    def __init__(self) -> None:
        self.safe = 0
        self._open: list[str] = []
        self._behind_colon = False

    @property
    def closers(self) -> str:
        """What closes the brackets that are open at the end of the safe part: every bracket makes
        the part longer, so these are the ones open now."""
        return "".join(_CLOSER[opened] for opened in reversed(self._open))

    def take(self, match: re.Match[str], *, last: bool) -> bool:
        """Whether it makes sense to go on."""
        kind = match.lastgroup
        if kind == "open":
            self._open.append(match.group())
            self._settle(match.end())
        elif kind == "close":
            if not self._open or _CLOSER[self._open[-1]] != match.group():
                return False
            self._open.pop()
            self._settle(match.end())
            return bool(self._open)
        elif kind in ("colon", "comma"):
            self._behind_colon = kind == "colon"
        elif self._is_value(kind, last):
            self._settle(match.end())
        return True

    def _is_value(self, kind: str | None, last: bool) -> bool:
        """A string may be a key, and a number at the very end may go on behind the cut."""
        complete = kind == "string" or (kind == "scalar" and not last)
        return complete and (self._behind_colon or self._open[-1:] == ["["])

    def _settle(self, end: int) -> None:
        self.safe, self._behind_colon = end, False
