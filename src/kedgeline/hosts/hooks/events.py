"""What a host tells when it calls, in one shape. Nothing heavy is loaded here."""

from __future__ import annotations

import json
import os
import re
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from kedgeline.hosts.hooks import places

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""What may become part of a path. `kedgeline.files` has the same rules and says what is wrong; it
is not loaded here, because what it needs takes longer than all else that a hook does."""
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


# What a host is told, in the words that it understands.

CONTEXT_EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolBatch")
"""Events whose answer may add to the context."""
PLAIN = ("claude-code", "opencode")
"""Hosts that add what a hook prints before a compaction to the prompt of their summariser. Codex
and Gemini CLI do not, and take what looks like an answer for a faulty one."""
SUMMARISED = ("codex", "opencode")
"""Hosts whose summary stands in the transcript when they start the session anew. Codex may work on
for hours before the next word of the user, and calls for nothing else that could be added to."""
SILENT = ("gemini-cli",)
"""Hosts that do not call after a compaction: all that is put back goes with the next word or call.
"""
REPLACING = ("claude-code", "opencode")
"""Hosts that take another text in the place of a tool's output. Codex has no such answer; Gemini
CLI adds to an output, and can only replace it by the output of another tool or a refusal."""
STANDARD = (0, 1, 2)
"""Descriptors of input, output and errors."""


def claim_standard() -> None:
    """A host may have closed them: the next file to be opened must not be written the answer. What
    takes their place can only be read, so that what is said to nobody fails."""
    for number in STANDARD:
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)


def say(text: str) -> None:
    """To the host, whatever its locale is."""
    left = memoryview(text.encode("utf-8", "replace"))
    while left:
        left = left[os.write(STANDARD[1], left) :]


def adding(event: Event, text: str, output: Any = None) -> str:
    """The answer that puts a text into the context, and another `output` in the place of a tool's;
    nothing where the host has no place for it."""
    if event.name not in CONTEXT_EVENTS or not (text or output is not None):
        return ""
    told = {"hookEventName": event.fields.get("hook_event_name", event.name)}
    if text:
        told["additionalContext"] = text
    if output is not None:
        told["updatedToolOutput"] = output
    return json.dumps({"hookSpecificOutput": told})


def steering(event: Event, text: str) -> str:
    """What the host's summariser is told."""
    return text if event.host in PLAIN else ""


# What a hook printed before a compaction that the user asked for: the host shows it to the agent
# beside its summary.

SHOWING = ("claude-code",)
"""Hosts that do so."""
BY_HAND = "manual"
"""What a compaction was begun by, as hosts name it in events and records."""
MOST_LINES = 200
"""Lines behind a compaction that are looked through for what the host shows: it is the third."""
_SHOWN, _ANSWERED = b"<local-command-stdout>", b'"type":"assistant"'
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_HEADING = "## "
_ENTRY = re.compile(r"\n(?=- |## )")
"""Where a line of a block begins that is not the rest of an entry."""


def is_shown_for(event: Event) -> bool:
    """Whether the agent will read what is printed for this event."""
    return event.host in SHOWING and event.fields.get("trigger") == BY_HAND


def left_of(rules: str, printed: str) -> str:
    """The block of rules without the entries that stand in what was printed, byte for byte; empty
    where no entry is left."""
    head, *parts = _parts(rules)
    if not printed or not parts:
        return rules
    there = set(_parts(printed))
    sections: list[list[str]] = []
    for part in parts:
        if part.startswith(_HEADING):
            sections.append([part])
        elif part not in there:
            sections[-1:] = [[*(sections[-1] if sections else ()), part]]
    left = ["\n".join(one) for one in sections if not one[-1].startswith(_HEADING)]
    return "\n\n".join((head, *left)) if left else ""


def told_with(rules: str, printed: str) -> str:
    """All that the agent has been told: what was printed, and what is left of the rules."""
    return "\n\n".join(filter(None, (printed, left_of(rules, printed))))


def is_shown(path: Path, end: int, printed: str) -> bool | None:
    """Whether a transcript has what was printed behind a compaction that ends at this byte; None
    while it cannot be told yet."""
    from kedgeline.pipeline.read import plain_file  # most events are answered without it

    with plain_file(path) as file:
        file.seek(end)
        for _ in range(MOST_LINES):
            line = file.readline()
            if _SHOWN in line and (text := _content(line)) is not None:
                return printed.strip() in _COLOURS.sub("", text)
            if _ANSWERED in line:
                return False
            if not line.endswith(b"\n"):
                return None
    return False


def _content(line: bytes) -> str | None:
    """What a record says; None where it is not whole, or no message under the user's role."""
    try:
        text = json.loads(line)["message"]["content"]
    except (ValueError, KeyError, TypeError):
        return None
    return text if isinstance(text, str) else None


def _parts(block: str) -> list[str]:
    """The lines of a block, each with those that belong to it; the first is what it begins with."""
    return [one.strip("\n") for one in _ENTRY.split(block)]


# Hosts that do not tell of a compaction: their transcript does.

LISTED, SNAPSHOT = b'{"$set"', b"<state_snapshot>"
"""How the record of a compaction begins, and what stands in it. The record of a session that is
taken up again looks the same where it was compressed before: then a look too many is taken."""
MOST_BYTES = 50_000_000
"""Bytes that are looked through: so many that are new are as good as a compaction."""


def has_compacted(event: Event, folder: str) -> bool:
    """Whether the transcript has a compaction in what is new since the last look. Before the first
    look nothing is new: whoever looks begins a worker that reads all of it."""
    from kedgeline.errors import SourceUnreadable
    from kedgeline.pipeline.read import plain_file  # not needed for most hosts

    try:
        with plain_file(event.transcript) as file:
            size = os.fstat(file.fileno()).st_size
            start = _looked_through(folder, size)
            file.seek(start)
            new = file.read(MOST_BYTES)
    except (OSError, SourceUnreadable):
        return False
    whole = new.rfind(b"\n") + 1
    places.keep(folder, places.LOOKED_THROUGH, str(start + whole).encode())
    if start + len(new) < size:
        places.forget(folder, places.LOOKED_THROUGH)
        return True
    lines = new[:whole].splitlines()
    return any(line.startswith(LISTED) and SNAPSHOT in line for line in lines)


def is_of_sub_agent(event: Event) -> bool:
    """Whether a sub-agent is at work: its calls are told of as if they were of the main
    conversation, but only its own record grows."""
    name = event.fields.get("session_id")
    beside = os.path.join(os.path.dirname(event.transcript), str(name))
    try:
        written = os.stat(event.transcript).st_mtime_ns
        with os.scandir(beside) as found:
            return any(one.stat().st_mtime_ns > written for one in found)
    except OSError:
        return False


def _looked_through(folder: str, size: int) -> int:
    told = places.kept(folder, places.LOOKED_THROUGH)
    start = int(told) if told.isdecimal() else size
    return start if start <= size else 0
