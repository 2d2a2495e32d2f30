"""What the chapters of this story share."""

from __future__ import annotations

import stored
from recorders.claude_code.session import Session

ROOT = "/home/ines/code/harbor"
PLAN_FILE = "/home/ines/.claude/plans/steady-mooring-heron.md"
FORMAT_HOOK = "ruff format --quiet $CLAUDE_FILE_PATHS"


def out(name: str) -> str:
    """What a command printed, or a longer text of somebody's."""
    return stored.text("harbor", name)


def file(name: str) -> str:
    """A file the agent writes."""
    return stored.file("harbor", name)


def made(session: Session, path: str, name: str) -> None:
    """A command has put a file there."""
    session.workspace.write(path, file(name))


__all__ = ["FORMAT_HOOK", "PLAN_FILE", "ROOT", "Session", "file", "made", "out"]
