"""Tools that several extractors ask for by name, and texts as keys."""

from __future__ import annotations

import re

from kedge.model import ToolCall
from kedge.sentences import one_line

ENTER_PLAN = frozenset({"enterplanmode", "planenter"})
EXIT_PLAN = frozenset({"exitplanmode", "planexit"})

KEY = 120
"""Characters of a text that tell it from others."""

_SERVER = re.compile(r"__|[./]")
_FOLDED = str.maketrans("", "", "_- ")
_MARKS = re.compile(r"[*`\"“”]{1,80}")


def plain_name(call: ToolCall) -> str:
    """A tool's name without its server's, case, dashes and underscores."""
    return _SERVER.split(call.tool[:200])[-1].translate(_FOLDED).casefold()


def key_of(text: str) -> str:
    """The same for the same words: on one line, without case, emphasis and closing marks."""
    return _MARKS.sub("", one_line(text[: KEY * 4])).casefold().strip(" .:;,!?…")[:KEY]
