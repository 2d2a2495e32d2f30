"""Secrets inside base64: what their prefixes look like there, and what stands around them."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64decode
from collections.abc import Iterable, Iterator

_ALPHABET = "[A-Za-z0-9+/_-]"
_GROUP = 4
"""Characters of base64 that stand for three bytes."""
_LEAST_PREFIX = 4
"""Bytes of a prefix that is told from chance wherever it stands. One of three bytes is found at the
beginning of a run, where it is a whole group."""
_BEFORE = "(?:^|[^A-Za-z0-9+/_-])"


def cores(literal: bytes) -> Iterator[bytes]:
    """The three ways bytes look inside base64, by how many bytes stand before them; without the
    characters that their neighbours change."""
    for before in range(3):
        whole = b64encode(bytes(before) + literal).rstrip(b"=")
        first = -(-before * 8 // 6)
        last = (before + len(literal)) * 8 // 6
        yield whole[first:last]


def hint_and_pattern(prefixes: Iterable[str]) -> tuple[str, str]:
    """Any of the prefixes in base64, also in the alphabet for addresses; and the whole run around
    it."""
    inside: set[str] = set()
    first: set[str] = set()
    for prefix in map(str.encode, prefixes):
        if len(prefix) >= _LEAST_PREFIX:
            inside.update(core.decode() for core in cores(prefix))
        elif len(prefix) == _LEAST_PREFIX - 1:
            first.add(b64encode(prefix).decode())
    inside |= {core.replace("+", "-").replace("/", "_") for core in inside}
    anywhere = "|".join(sorted(core.replace("+", r"\+") for core in inside))
    beginning = "|".join(sorted(first))
    rest = f"{_ALPHABET}*={{0,2}}"
    return (
        f"{anywhere}|{_BEFORE}(?:{beginning})",
        f"({_ALPHABET}*(?:{anywhere}){rest})|{_BEFORE}((?:{beginning}){rest})",
    )


def decoded(run: bytes) -> Iterator[bytes]:
    """What a run says: as it stands, and cut off at its beginning."""
    plain = run.rstrip(b"=").replace(b"+", b"-").replace(b"/", b"_")
    for start in range(_GROUP):
        part = plain[start:]
        part = part[: len(part) - 1] if len(part) % _GROUP == 1 else part
        yield urlsafe_b64decode(part + b"=" * (-len(part) % _GROUP))
