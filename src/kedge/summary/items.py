"""What a rendering is made of: items, each in its section, with its turns and its worth."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, get_args

from kedge.model.summary import SectionName

SECTIONS: tuple[SectionName, ...] = get_args(SectionName)
"""In the order in which they are printed. All are always there."""

ALWAYS = 0
"""Tier of what no budget cuts: the user's rules and the current request."""
OPEN = 1
"""Tier of what is broken, waits or may not be undone: before anything that is only good to know."""
FIRST = 2
"""Tier of what every hand-off needs: the state, what was changed."""
THEN = 3
"""Tier of all else: by worth."""
WORDS = 4
"""Tier of what a model wrote: behind all facts, so that it takes the place of none."""


class Item(NamedTuple):
    section: SectionName
    text: str
    """On one line; a path in the files' table, a name in the index."""
    turns: tuple[int, ...] = ()
    tier: int = THEN
    worth: float = 0.0
    """Against others of the same tier."""
    action: str = ""
    """In the files' table."""
    detail: str = ""
    """What changed in a file, why one was read, where a name stands: goes before the item does."""
    topic: str = ""
    """Items of the index with the same topic share a line."""


def cited(turns: Iterable[int], most: int = 4) -> str:
    """Turn marks: [t12], [t12-15], [t3, t12-15]; nothing for none. Of more than `most` the first
    and the newest are named."""
    marks: list[str] = []
    first = last = None
    for turn in (*sorted(set(turns)), None):
        if turn is not None and last is not None and turn == last + 1:
            last = turn
            continue
        if first is not None and last is not None:
            marks.append(f"t{first}" if first == last else f"t{first}-{last}")
        first = last = turn
    if len(marks) > most:
        marks = [marks[0], *marks[1 - most :]]
    return f"[{', '.join(marks)}]" if marks else ""
