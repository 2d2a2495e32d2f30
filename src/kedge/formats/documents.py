"""JSON documents: read whole, and as far as they go when they are cut off."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from kedge.formats.lines import Line, Lines, without_surrogates
from kedge.formats.log import Log

_WHOLE = Line(0, 0, 0)
_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"(?P<string>)|(?P<open>[\[{])|(?P<close>[\]}])|(?P<comma>,)|(?P<colon>:)'
    r"|(?:-?\d[\d.eE+-]*|true|false|null)(?P<scalar>)|\s+",
    re.DOTALL,
)
_CLOSER = {"{": "}", "[": "]"}


def document(lines: Lines, log: Log) -> Any:
    """The JSON value a file holds; of a cut-off file, the part that is complete."""
    data = b"".join(lines)
    try:
        return msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return _recovered(data, log)


def _recovered(data: bytes, log: Log) -> Any:
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in data:
        log.broken("nul", _WHOLE, f"{data.count(0)} NUL bytes")
        data = data.replace(b"\0", b"")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        log.broken("utf8", _WHOLE, f"byte {error.start} is not UTF-8")
        text = data.decode(errors="replace")
    try:
        value = json.loads(text, strict=False)
    except RecursionError:
        log.broken("too_deep", _WHOLE, "nested deeper than can be read")
        return None
    except ValueError as error:
        log.broken("torn", _WHOLE, f"not complete: {error}")
        value = closed(text)
    return without_surrogates(value, _WHOLE, log)


def closed(text: str) -> Any:
    """The longest readable beginning of a JSON text, its open brackets closed; None if there is none."""
    stack: list[str] = []
    safe, closers = 0, ""
    after_key = False
    position = 0
    while match := _TOKEN.match(text, position):
        position = match.end()
        kind = match.lastgroup
        if kind == "open":
            stack.append(match.group())
            safe, closers, after_key = position, _closers(stack), False
        elif kind == "close":
            if not stack or _CLOSER[stack.pop()] != match.group():
                break
            safe, closers, after_key = position, _closers(stack), False
            if not stack:
                break
        elif kind == "colon":
            after_key = True
        elif kind == "comma":
            after_key = False
        elif kind in ("string", "scalar") and stack and (after_key or stack[-1] == "["):
            # A number at the very end may go on behind the cut.
            if kind == "string" or position < len(text):
                safe, closers, after_key = position, _closers(stack), False
    try:
        return json.loads(text[:safe] + closers, strict=False) if safe else None
    except (ValueError, RecursionError):
        return None


def _closers(stack: list[str]) -> str:
    return "".join(_CLOSER[opened] for opened in reversed(stack))
