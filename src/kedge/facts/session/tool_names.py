"""Tools that several extractors ask for by name, and texts as keys."""

from __future__ import annotations

import re
from functools import lru_cache

from kedge.model import ToolCall
from kedge.sentences import one_line

ENTER_PLAN = frozenset({"enterplanmode", "planenter"})
EXIT_PLAN = frozenset({"exitplanmode", "planexit"})

TOOLS = 256
"""Tools whose plain name is remembered; a client has some dozens."""
NAME_WITHIN = 200
"""Characters of a tool's name that are looked at."""
KEYS = 512
"""Texts whose key is remembered: the open steps of a plan are looked for in every answer."""
KEY = 120
"""Characters of a text that tell it from others."""

_SERVER = re.compile(r"__|[./]")
_FOLDED = str.maketrans("", "", "_- ")
_MARKS = re.compile(r"[*`\"“”]{1,80}")


def plain_name(call: ToolCall) -> str:
    """A tool's name without its server's, case, dashes and underscores."""
    return _plain(call.tool[:NAME_WITHIN])


def is_served(call: ToolCall) -> bool:
    """Whether a server beside the client has the tool: what it gives back the client did not
    word, and no user may have seen it."""
    return _SERVER.search(call.tool[:NAME_WITHIN]) is not None


@lru_cache(maxsize=TOOLS)
def _plain(tool: str) -> str:
    return _SERVER.split(tool)[-1].translate(_FOLDED).casefold()


def key_of(text: str) -> str:
    """The same for the same words: on one line, without case, emphasis and closing marks."""
    return _key(text[: KEY * 4])


@lru_cache(maxsize=KEYS)
def _key(text: str) -> str:
    return _MARKS.sub("", one_line(text)).casefold().strip(" .:;,!?…")[:KEY]
