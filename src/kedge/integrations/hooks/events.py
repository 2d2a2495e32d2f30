"""What a host tells when it calls, in one shape. Nothing heavy is loaded here."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any, NamedTuple

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""What may become part of a path. `kedge.names` has the same rules and says what is wrong; it is
not loaded here, because what it needs takes longer than all else that a hook does."""
_DEVICE = re.compile(r"(con|prn|aux|nul|(com|lpt)[0-9])(\..*)?", re.IGNORECASE)
"""Names that Windows takes for devices."""
_TAKEN = ("log",)
"""Names that stand beside the folders of sessions."""
SAME: dict[str, str] = {
    "AfterAgent": "Stop",
    "AfterTool": "PostToolBatch",
    "BeforeAgent": "UserPromptSubmit",
    "PreCompress": "PreCompact",
    "session.idle": "Stop",
    "session.compacted": "PostCompact",
    "experimental.session.compacting": "PreCompact",
    "tool.execute.after": "PostToolUse",
}
"""Events of other hosts, under the names that Claude Code has for them. Gemini CLI does not let an
output be replaced: what it tells of a call is no more than that one is done."""


class Event(NamedTuple):
    name: str
    """As Claude Code calls it."""
    host: str
    session: str
    """A name that may stand in a path."""
    transcript: str
    cwd: str
    source: str
    """Why a session starts: startup, resume, clear, compact."""
    agent: str
    """The sub-agent it is about; empty for the main conversation."""
    fields: dict[str, Any]
    """All that was told."""


def event_of(told: object, host: str) -> Event | None:
    """None where it is not told what happened, or to which session: then there is nothing to do."""
    if not isinstance(told, dict):
        return None
    name, session = _text(told, "hook_event_name"), _text(told, "session_id")
    if not name or not session:
        return None
    return Event(
        name=SAME.get(name, name),
        host=host,
        session=named(session),
        transcript=_transcript(told, host),
        cwd=_text(told, "cwd"),
        source=_text(told, "source"),
        agent=_text(told, "agent_id"),
        fields=told,
    )


def _transcript(told: dict[str, Any], host: str) -> str:
    """The session's own. Of a sub-agent Codex names that one's, until it ends and both are named:
    then the session's has what it needs."""
    if host == "codex" and _text(told, "agent_id") and not _text(told, "agent_transcript_path"):
        return ""
    return _text(told, "transcript_path")


def named(session: str) -> str:
    """A host's id of a session as a name; one that could not be is known by its hash."""
    is_path = _NAME.fullmatch(session) and not session.endswith(".")
    if is_path and not _DEVICE.fullmatch(session) and session not in _TAKEN:
        return session
    return "session-" + sha256(session.encode("utf-8", "replace")).hexdigest()[:32]


def _text(told: dict[str, Any], key: str) -> str:
    value = told.get(key)
    return value if isinstance(value, str) else ""
