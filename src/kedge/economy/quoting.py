"""Text of others under a heading of ours: it cannot pass for another one, nor hide it."""

from __future__ import annotations

import re

from kedge.foreign import foreign, unmarked, without_tags
from kedge.sentences import visible

LEAST_FENCE = 3
"""Characters of a fence in Markdown."""

_LIKE_OURS = re.compile(r"^(?= {0,3}(?:#(?:\s|\Z)|=+\s*$))", re.MULTILINE)
"""A heading of the first level, by its mark or by the line below it: only ours are."""
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)", re.MULTILINE)
_TICKS = re.compile(r"`{3,}")


def block(name: str, text: str, level: str, *, code: bool = False) -> str:
    """A text under its heading, blank line behind it. It begins with a heading's mark on a line of
    its own, where no vocabulary joins what stands on both sides: blocks have as many tokens
    together as they have one by one."""
    shortened = "" if level == "full" else f" (in {level} tokens)"
    plain = without_tags(visible(text)).strip("\n")
    body = _fenced(plain) if code else _prose(plain)
    return f"# {foreign(name)}{shortened}\n\n{body}\n\n"


def _prose(text: str) -> str:
    text = _LIKE_OURS.sub(r"\\", unmarked(text))
    opened = _open_fence(text)
    return f"{text}\n{opened}" if opened else text


def _open_fence(text: str) -> str:
    """The fence that is still open at the end: what follows would be part of its code."""
    opened = ""
    for mark, rest in _FENCE.findall(text):
        if not opened:
            opened = "" if mark[0] == "`" and "`" in rest else mark
        elif mark.startswith(opened) and not rest.strip():
            opened = ""
    return opened


def _fenced(text: str) -> str:
    """Code in a fence that is longer than any in it."""
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=LEAST_FENCE - 1)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}\n{fence}"
