"""One name per file: from the session's root where it lies below it, and else in full."""

from __future__ import annotations

import re
from functools import lru_cache
from posixpath import isabs, join, normpath

from kedge.model import SessionFacts

PATH_MOST = 400
"""Characters beyond which a name is no path anyone typed, but text taken for one."""
REMEMBERED = 4_096
"""Paths whose name is remembered: turns name few files, often, and every extractor asks."""

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_TEMPORARY = re.compile(
    r"^(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm)/|^(?:/private)?/tmp$"
    r"|(?:^|/)(?:scratch|scratchpad|tmp|\.tmp)/|/AppData/Local/Temp/",
)
_MADE_BY_TOOLS = re.compile(
    r"(?:^|/)(?:\.git|node_modules|__pycache__|\.venv|\.pytest_cache|\.mypy_cache|\.ruff_cache)/"
    r"|\.(?:pyc|o|class|tsbuildinfo)$"
)
_CLIENTS_PLAN = re.compile(r"/\.(?:claude|codex|gemini|opencode|cursor|pi)/(?:\w+/)?plans?/")
_GLOB = re.compile(r"\[[^\]]+\]")


def root_of(session: SessionFacts) -> str:
    """The folder a session works in: the one recorded last, or an earlier one around it, for the
    record also shows where the agent went inside."""
    roots = [change.value for change in session.changes if change.name == "root"]
    if not roots:
        return ""
    around = [root for root in roots if f"{roots[-1]}/".startswith(f"{root.rstrip('/')}/")]
    return min(around, key=len)


class Paths:
    """Names files as the session's facts do."""

    def __init__(self, root: str = "") -> None:
        self._root = normpath(_slashes(root)) if root else ""

    def name(self, written: str, folder: str = "") -> str:
        """The one name of a file that a call names so while it works in that folder; empty where
        it cannot be a file's."""
        path = written.strip()
        return _name(path, folder, self._root) if 0 < len(path) <= PATH_MOST else ""

    def is_scratch(self, path: str) -> bool:
        """Whether a file, by its name, is no part of the work: temporary, made by tools, or a plan
        of the client. One outside of the root is work too: sessions move between checkouts, and
        users ask for changes of their own settings."""
        return _is_scratch(path)


@lru_cache(maxsize=REMEMBERED)
def _name(path: str, folder: str, root: str) -> str:
    path = _slashes(path)
    if not path.isprintable():
        return ""
    if not isabs(path) and not path.startswith("~") and not _DRIVE.match(path):
        path = join(folder, path)
    ends = "/" if path.endswith("/") else ""
    path = normpath(path)
    if root and path.startswith(f"{root.rstrip('/')}/"):
        path = path[len(root.rstrip("/")) + 1 :]
    elif root and not isabs(path) and path.startswith("../"):
        path = normpath(join(root, path))
    return "" if path in (".", "..", root, "/") else path + ends


@lru_cache(maxsize=REMEMBERED)
def _is_scratch(path: str) -> bool:
    return any(
        shape.search(path) is not None for shape in (_TEMPORARY, _MADE_BY_TOOLS, _CLIENTS_PLAN)
    )


def is_glob(path: str) -> bool:
    return "*" in path or "?" in path or ("[" in path and _GLOB.search(path) is not None)


def _slashes(path: str) -> str:
    return path.replace("\\", "/") if _DRIVE.match(path) else path
