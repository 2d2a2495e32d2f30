"""Named pieces that packages register under an entry-point group; ours are in pyproject.toml."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from kedgeline.errors import BrokenPlugin, UnknownName

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What a third party's code raises when it is broken. One package must not keep all others from
working."""


@cache
def registered(group: str) -> dict[str, EntryPoint]:
    """Entry points of a group by name."""
    from importlib.metadata import entry_points  # heavy, and not needed to import kedgeline

    found = {entry.name: entry for entry in entry_points(group=group)}
    if (
        not found
    ):  # kedgeline brings some of every group: its own installation is older than its code
        raise BrokenPlugin(
            group, "an entry-point group", why="it is empty; install kedgeline again"
        )
    return found


def names(group: str) -> tuple[str, ...]:
    return tuple(sorted(registered(group)))


def load(group: str, kind: str, name: str, *, needs: tuple[str, ...]) -> Any:
    """What is registered under a name; it must have the attributes named in `needs`."""
    entry = registered(group).get(name)
    if entry is None:
        raise UnknownName(kind, name, known=names(group))
    try:
        found = entry.load()
    except FAULTS as error:
        raise BrokenPlugin(name, entry.value, why=str(error) or type(error).__name__) from error
    lacking = [attribute for attribute in needs if not hasattr(found, attribute)]
    if lacking:
        raise BrokenPlugin(name, entry.value, why=f"it has no {' and no '.join(lacking)}")
    return found
