"""Entries and their parts, as a user knows them."""

from __future__ import annotations

from collections.abc import Iterable

from kedge.store import Entry

Path = tuple[str | int, ...]
"""Fields that lead to a text inside of a value."""

_KINDS = {
    "words": "words that wait for an answer",
    "cut": "a rewind",
    "about": "what is known beside the turns",
    "compaction": "a compaction",
    "attempt": "an attempt to compact",
    "undo": "an undo",
    "pin": "a pin",
    "unpin": "a pin taken back",
    "call": "a request to a language model",
    "output": "the whole output of a call",
    "fork": "where the session comes from",
}
_FIELDS = {
    "user_message": "the user's words",
    "assistant_response": "the agent's answer",
    "thinking": "the agent's thinking",
    "notes": "a note of the client",
    "media": "an image or file",
    "messages": "a part of its messages",
    "head": "the system prompt",
    "compaction": "the record",
    "text": "the pinned words",
}


def place_of(session: str, entry: Entry) -> str:
    """Where an entry is: `demo t12 (entry 40)`."""
    return f"{session} {mark_of(entry)} (entry {entry.number})"


def mark_of(entry: Entry) -> str:
    if entry.kind == "turn":
        return f"{entry.thread}/t{entry.index}" if entry.thread else f"t{entry.index}"
    return _KINDS.get(entry.kind, entry.kind)


def parts(entry: Entry, paths: Iterable[Path]) -> str:
    """What stands at some paths of an entry: `the output t12.0`. A turn says most things twice, in
    its fields and in its messages; the first is enough."""
    names = list(dict.fromkeys(_part(entry, path) for path in sorted(paths, key=_layout_last)))
    if len(names) > 1 and _FIELDS["messages"] in names:
        names.remove(_FIELDS["messages"])
    return " and ".join(names)


def _part(entry: Entry, path: Path) -> str:
    first, place = path[0] if path else "", path[1] if len(path) > 1 else ""
    if first == "tool_results":
        what = "an image of the output" if "media" in path else "the output"
        return f"{what} {mark_of(entry)}.{place}"
    if first == "tool_calls":
        return f"what the call {mark_of(entry)}.{place} was given"
    return _FIELDS.get(str(first), "a text")


def _layout_last(path: Path) -> tuple[bool, str]:
    return path[:1] == ("messages",), str(path)
