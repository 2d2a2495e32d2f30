"""Claude Code's side of a session that is compacted and forked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kedgeline.hosts import places
from kedgeline.hosts.worker import work
from tests.claude import Records, text, use

SUMMARY = "This session is being continued from a previous conversation. Summary:\nLamp work."


class Claude:
    """Claude Code's side of one session."""

    def __init__(self, home: Path, name: str) -> None:
        self.records, self.name = Records(), name
        (home / "project").mkdir(exist_ok=True)
        self.path = home / "project" / f"{name}.jsonl"
        self.folder = places.folder_of(name)

    def says(self, words: str, answer: str = "Done.") -> None:
        self.records.user(words)
        self.records.assistant(f"{self.name}-{len(self.records.lines)}", text(answer))

    def edits(self, words: str, path: str) -> None:
        call = f"c{len(self.records.lines)}-{self.name}"
        self.records.user(words)
        edit = use(
            call, "Edit", file_path=f"/home/sam/harbor/{path}", old_string="a", new_string="b"
        )
        self.records.assistant(f"m{call}", edit)
        self.records.result(call, "updated")

    def compacts(self, summary: str = SUMMARY) -> None:
        """With what hooks added, as it stands behind the summary."""
        about = {"trigger": "manual", "preTokens": 90_000, "postTokens": 2_000}
        self.records.add(
            "system", parent=None, subtype="compact_boundary", content="", compactMetadata=about
        )
        self.records.user(summary, isCompactSummary=True)

    def is_handed(self, kind: str) -> None:
        told = places.kept(self.folder, kind)
        places.add_line(self.folder, places.PUT_BACK, f"{told}\n")
        places.forget(self.folder, places.LACKING)
        added = {"type": "hook_additional_context", "content": [told]}
        self.records.add("attachment", attachment=added)

    def is_seen(self) -> dict[str, Any]:
        self.path.write_bytes(b"".join(self.records.lines))
        work(self.name, "claude-code", str(self.path), self.folder)
        try:
            found: dict[str, Any] = json.loads(Path(self.folder, places.STATUS).read_bytes())
        except FileNotFoundError:
            return {}
        return found

    def kept(self, name: str) -> str:
        return places.kept(self.folder, name)

    def forked(self, home: Path, name: str) -> Claude:
        """A session of its own whose file begins with the last compaction, ids and all."""
        fork = Claude(home, name)
        lines = self.records.lines
        start = max(n for n, line in enumerate(lines) if b"compact_boundary" in line)
        own = f'"sessionId":"{name}"'.encode()
        fork.records.raw({"type": "mode", "mode": "normal", "sessionId": name})
        for line in lines[start:]:
            fork.records.lines.append(line.replace(b'"sessionId":"s1"', own))
        fork.records._tip = self.records._tip
        while len(fork.records.lines) < len(lines):  # ids are counted by lines
            fork.records.raw({"type": "mode", "mode": "normal", "sessionId": name})
        return fork
