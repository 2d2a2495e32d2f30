"""What of an entry must stay as it is, as a hash."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from hashlib import sha256

import msgspec

from kedge.bank.shapes.markdown import Hidden, walk
from kedge.bank.values import Entry

REMEMBERED = 16_384
"""Hashes kept by their text: the versions of a log in git have nearly all their entries in
common."""
_STATUS = re.compile(
    r"^ {0,3}(?:[-*+][ \t]+)?"
    r"(?:\*\*(?:(?:Status|State)\*\*[ \t]*:|(?:Status|State):\*\*)|(?:Status|State)[ \t]*:)"
    r"(?:[ \t]+(?P<value>[^\n]*))?(?:\n|\Z)",
    re.MULTILINE | re.IGNORECASE,
)
"""A field with its name and a colon. `Status codes: 404` is none."""
_RULE = re.compile(r"[ \t]*([-*_])(?:[ \t]*\1){2,}")


def content_hash(entry: Entry) -> str:
    """Of what an entry says without its status. How its lines end, blank lines, and the rules and
    comments behind it do not count: people put those between entries."""
    return _content_hash(entry.text, entry.status)


@lru_cache(maxsize=REMEMBERED)
def _content_hash(text: str, status: str) -> str:
    text = text.replace("\r\n", "\n").strip()
    if text.startswith("{"):
        try:
            fields = msgspec.json.decode(text, type=dict[str, object])
        except msgspec.DecodeError:  # no JSON Lines after all: a heading of a person's own kind
            pass
        else:
            fields.pop("status", None)
            return sha256(msgspec.json.encode(fields, order="sorted")).hexdigest()
    if text.startswith("|"):
        cells = [cell.strip() for cell in text.split("|")]
        text = "|".join(cell for cell in cells if not status or cell != status)
    lines = [line.rstrip() for line in _without_status(text, status).split("\n")]
    lines = _without_end([line for line in lines if line])
    return sha256("\n".join(lines).encode()).hexdigest()


def _without_status(text: str, status: str) -> str:
    """Without the one line that the status was read from. What stands in code and comments is no
    field."""
    candidates = [one for one in _STATUS.finditer(text) if (one["value"] or "").strip() == status]
    hidden = [one for one in walk(text) if isinstance(one, Hidden)] if candidates else []
    for found in candidates:
        before = bisect_right(hidden, (found.start(), len(text)))
        if not before or hidden[before - 1].end <= found.start():
            return text[: found.start()] + text[found.end() :]
    return text


def _without_end(lines: list[str]) -> list[str]:
    """Without the rules and comments behind all else."""
    end = len(lines)
    while end > 1:
        start = end - 1 if _RULE.fullmatch(lines[end - 1]) else _comment(lines, end)
        if start <= 0:
            break
        end = start
    return lines[:end]


def _comment(lines: list[str], end: int) -> int:
    """Where the comment begins that ends there; 0 where there is none."""
    if not lines[end - 1].endswith("-->"):
        return 0
    for n in range(end - 1, 0, -1):
        opened = lines[n].lstrip().startswith("<!--")
        if "-->" in lines[n][: None if n < end - 1 else -len("-->")]:
            return 0  # text or another comment in the same line
        if opened:
            return n
    return 0
