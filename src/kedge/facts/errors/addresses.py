"""Requests that ask the same of the same thing, at another address."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kedge.facts.errors.runs import Ran

CLIENTS = frozenset({"gh", "glab", "hub"})
"""Programs that send requests, and fail where the answer is an error."""
_IDENTIFIER = re.compile(
    r"\d{5,20}|[0-9a-f]{7,64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE
)
"""Numbers of five digits, hashes and the like: shorter ones meet by chance."""
_METHOD = ("-X", "--method")
_SENDS = frozenset({"-f", "-F", "--field", "--raw-field", "--input"})
"""Options with which something is sent: the same address without them only shows what is there."""


def same_request(passing: Ran, failed: Ran) -> bool:
    """Whether two requests name the same thing by its identifier, end alike, and both send
    something or both do not."""
    if failed.program not in CLIENTS or passing.words[:2] != failed.words[:2]:
        return False
    if _manner(passing) != _manner(failed):
        return False
    asked = set(_things(failed))
    return any(thing in asked for thing in _things(passing))


def _things(ran: Ran) -> Iterator[tuple[str, str]]:
    """Each identifier in an address, with the last part of that."""
    for word in ran.words[2:]:
        parts = word.partition("?")[0].rstrip("/").split("/")
        if len(parts) > 1 and not word.startswith("-"):
            yield from ((part, parts[-1]) for part in parts if _IDENTIFIER.fullmatch(part))


def _manner(ran: Ran) -> tuple[str, bool]:
    """The method where it is given, and whether something is sent."""
    pairs = zip(ran.words, ran.words[1:], strict=False)
    method = next((word for option, word in pairs if option in _METHOD), "")
    return method, any(word.partition("=")[0] in _SENDS for word in ran.words)
