"""One name per file: from the session's root where it lies below it, and else in full."""

from __future__ import annotations

import re
from posixpath import isabs, join, normpath

from kedge.model import SessionFacts

PATH_MOST = 400
"""Characters beyond which a name is no path anyone typed, but text taken for one."""

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
_GLOB = re.compile(r"[*?]|\[[^\]]+\]")


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
        path = _slashes(written.strip())
        if not path or len(path) > PATH_MOST or not path.isprintable():
            return ""
        if not isabs(path) and not path.startswith("~") and not _DRIVE.match(path):
            path = join(folder, path)
        ends = "/" if path.endswith("/") else ""
        path = normpath(path)
        base = self._root
        if base and path.startswith(f"{base.rstrip('/')}/"):
            path = path[len(base.rstrip("/")) + 1 :]
        elif base and not isabs(path) and path.startswith("../"):
            path = normpath(join(base, path))
        return "" if path in (".", "..", base, "/") else path + ends

    def is_scratch(self, path: str) -> bool:
        """Whether a file, by its name, is no part of the work: temporary, made by tools, or a plan
        of the client. One outside of the root is work too: sessions move between checkouts, and
        users ask for changes of their own settings."""
        return any(
            shape.search(path) is not None for shape in (_TEMPORARY, _MADE_BY_TOOLS, _CLIENTS_PLAN)
        )


def is_glob(path: str) -> bool:
    return _GLOB.search(path) is not None


def _slashes(path: str) -> str:
    return path.replace("\\", "/") if _DRIVE.match(path) else path
