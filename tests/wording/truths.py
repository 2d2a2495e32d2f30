"""True sentences about the ten histories and the sample sessions, as `truths.txt` has them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, cast

from kedgeline.prose.material import About


class Truth(NamedTuple):
    """A sentence that is true of turns that say its cue."""

    about: About
    text: str
    cue: str
    of: str = ""
    """The file of a change; words of the decision that a reason is for."""
    until: str = ""
    """Words of a turn from which on it is true no more."""


def _read() -> dict[str, tuple[Truth, ...]]:
    found: dict[str, tuple[Truth, ...]] = {}
    name = ""
    for line in Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            name = line.strip("[]")
            found[name] = ()
        elif line and not line.startswith("#"):
            about, cue, of, until, text = (part.strip() for part in line.split(" | "))
            found[name] += (Truth(cast(About, about), text, cue, of, until),)
    return found


TRUTHS = _read()
