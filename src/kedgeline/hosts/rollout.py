"""Codex between two runs: its session compacted where it is kept, in its rollout file. What goes on
with the session reads the newest record of a compaction and what comes behind it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from kedgeline.errors import FileRefused, NoSuchSession
from kedgeline.hosts.replacement import Answer, Asked, answered
from kedgeline.hosts.shapes import Message, texts_of

IN_USE = "end Codex first: it keeps a copy of its own and would not see the change"
FRESH = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions")
"""How begins what Codex puts before each run by itself; twice is once too often."""


class Rollout(NamedTuple):
    path: Path
    session: str
    records: list[dict[str, Any]]


def newest(home: Path, folder: Path) -> Rollout:
    """The newest rollout of the sessions that ran in a folder."""
    paths = sorted(
        (home / "sessions").rglob("rollout-*.jsonl"),
        key=lambda path: path.stat().st_mtime_ns,
        reverse=True,
    )
    for path in paths:
        records = list(_records(path))
        heads = (one["payload"] for one in records if one["type"] == "session_meta")
        about: dict[str, Any] = next(heads, {})
        if about.get("cwd") and Path(about["cwd"]).resolve() == folder.resolve():
            return Rollout(path, str(about.get("id") or path.stem), records)
    raise NoSuchSession(f"of Codex in {folder}", known=())


def applied(rollout: Rollout, *, room: int = 0, instructions: str = "") -> Answer:
    """The session compacted, and a record of that behind its rollout. Raises before anything is
    written."""
    if _is_open(rollout.path):
        raise FileRefused(str(rollout.path), IN_USE)
    size = rollout.path.stat().st_size
    items = items_of(rollout.records)
    asked = Asked(messages=items, session=rollout.session, room=room, instructions=instructions)
    answer = answered("codex", asked)
    history = answer.reply["messages"]
    lead = next(iter(texts_of(history[0])), "")
    record: dict[str, Any] = {
        "timestamp": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        "type": "compacted",
        "payload": {"message": lead, "replacement_history": history},
    }
    if "ordinal" in rollout.records[-1]:
        record["ordinal"] = rollout.records[-1]["ordinal"] + 1
    line = msgspec.json.encode(record) + b"\n"
    with rollout.path.open("r+b") as file:
        if file.seek(0, os.SEEK_END) != size:
            raise FileRefused(str(rollout.path), IN_USE)
        file.seek(max(0, size - 1))
        file.write(line if file.read(1) in (b"\n", b"") else b"\n" + line)
    return answer


def items_of(records: list[dict[str, Any]]) -> list[Message]:
    """What the model would read: what stands since the newest compaction, without what Codex adds
    to each run."""
    found: list[Message] = []
    for record in records:
        payload = record["payload"]
        if record["type"] == "compacted" and payload.get("replacement_history") is not None:
            found = list(payload["replacement_history"])
        elif record["type"] == "response_item":
            found.append(payload)
    return [one for one in found if not _is_fresh(one)]


def _is_fresh(item: Mapping[str, Any]) -> bool:
    if item.get("type") != "message":
        return False
    words = [text for text in texts_of(dict(item)) if text.strip()]
    return item.get("role") in ("developer", "system") or (
        item.get("role") == "user" and all(text.startswith(FRESH) for text in words)
    )


def _records(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().splitlines():
        try:
            record = msgspec.json.decode(line)
        except msgspec.DecodeError:
            continue
        if isinstance(record, dict) and isinstance(record.get("payload"), dict):
            yield {"type": "", **record}


def _is_open(path: Path) -> bool:
    """Whether a process has the file open, where the system tells."""
    real = path.resolve()
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(link) == str(real):
                return True
        except OSError:
            continue
    return False
