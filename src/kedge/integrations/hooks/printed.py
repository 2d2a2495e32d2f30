"""What a hook printed before a compaction that the user asked for: the host shows it to the agent
beside its summary. Nothing heavy is loaded here."""

from __future__ import annotations

import json
import re
from pathlib import Path

from kedge.integrations.hooks.events import Event

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
    with path.open("rb") as file:
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
