"""Which names of tools and ids of calls a provider takes, and the nearest to one it refuses."""

from __future__ import annotations

import re
from typing import NamedTuple

UNNAMED = "tool"
"""Stands for a name that is empty, which every provider refuses."""


class Names(NamedTuple):
    """What a name may look like."""

    refused: re.Pattern[str]
    """What becomes an underscore."""
    longest: int | None = None
    first: re.Pattern[str] = re.compile("")
    """What the first character has to be; a name that begins otherwise gets an underscore."""

    def nearest(self, name: str) -> str:
        """The name, if it is allowed; else one like it that is."""
        allowed = self.refused.sub("_", name or UNNAMED)
        if not self.first.match(allowed):
            allowed = f"_{allowed}"
        return allowed[: self.longest]


_REFUSED = re.compile(r"[^a-zA-Z0-9_-]")

ANTHROPIC_NAMES = Names(_REFUSED, longest=128)
ANTHROPIC_IDS = Names(_REFUSED)
OPENAI_NAMES = Names(_REFUSED, longest=64)
GEMINI_NAMES = Names(re.compile(r"[^a-zA-Z0-9_.-]"), longest=64, first=re.compile(r"[a-zA-Z_]"))
ANY = Names(re.compile(r"(?!)"))
