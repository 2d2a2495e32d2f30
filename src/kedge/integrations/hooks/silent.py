"""Hosts that do not tell of a compaction: their transcript does. Nothing heavy is loaded here.

Gemini CLI calls before every request, whether it compresses or not, and never after. What it writes
down when it has compressed is a new list of messages with a snapshot in it."""

from __future__ import annotations

import os

from kedge.integrations.hooks import places
from kedge.integrations.hooks.events import Event

LISTED, SNAPSHOT = b'{"$set"', b"<state_snapshot>"
"""How the record of a compaction begins, and what stands in it. The record of a session that is
taken up again looks the same where it was compressed before: then a look too many is taken."""
MOST_BYTES = 50_000_000
"""Bytes that are looked through: so many that are new are as good as a compaction."""


def has_compacted(event: Event, folder: str) -> bool:
    """Whether the transcript has a compaction in what is new since the last look. Before the first
    look nothing is new: whoever looks begins a worker that reads all of it."""
    try:
        with open(event.transcript, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            start = _looked_through(folder, size)
            file.seek(start)
            new = file.read(MOST_BYTES)
    except OSError:
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
