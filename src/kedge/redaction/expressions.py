"""google-re2, byte by byte: linear in the text, and no text is wrongly encoded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

MEMORY = 32 << 20
"""Bytes for the states of one expression; google-re2 starts anew when they are full."""


def compiled(pattern: bytes, *, captures: bool = True) -> Any:
    return _re2().compile(pattern, _options(captures=captures))


def literals(texts: Iterable[bytes]) -> Any:
    """Any of these texts; where several begin at one place, the longest."""
    longest_first = sorted(texts, key=len, reverse=True)
    return compiled(b"|".join(map(_re2().escape, longest_first)), captures=False)


def together(patterns: Iterable[bytes]) -> Any:
    """Says in one pass which of the patterns, by number, stand somewhere in a text."""
    several = _re2().Set.SearchSet(_options(captures=False))
    for pattern in patterns:
        several.Add(pattern)
    several.Compile()
    return several


def _options(*, captures: bool) -> Any:
    chosen = _re2().Options()
    chosen.encoding = _re2().Options.Encoding.LATIN1
    chosen.max_mem = MEMORY
    chosen.never_capture = not captures
    chosen.log_errors = False
    return chosen


def _re2() -> Any:
    import re2  # type: ignore[import-untyped]  # loaded with the first text, not with kedge

    return re2
