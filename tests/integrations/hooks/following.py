"""A session of Claude Code, or of another host with its transcript, that hooks follow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kedgeline.hosts import places
from kedgeline.hosts.store import opened_session
from kedgeline.hosts.worker import work
from kedgeline.model import Summary
from kedgeline.pipeline.handoff import summarize
from tests.claude import Records, text, use

RULE = "Never push to main. Always run make check before a commit."
SHORT = "The lamps are being mended."


class Host:
    """A host's side of one session: its transcript, and the folder of the hooks."""

    def __init__(self, home: Path, host: str = "claude-code", name: str = "s1") -> None:
        self.records, self.host, self.name = Records(), host, name
        self.path = home / f"{name}.jsonl"
        self.folder = Path(places.folder_of(name))

    def runs(self, path: Path | None = None, data: bytes | None = None) -> dict[str, Any]:
        """The worker looks at it; what it wrote down."""
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_bytes(b"".join(self.records.lines) if data is None else data)
        work(self.name, self.host, str(path or self.path), str(self.folder))
        return self.status()

    def status(self) -> dict[str, Any]:
        return places.read_status(str(self.folder))

    def facts(self) -> Summary:
        self.runs()
        with opened_session(self.name) as session:
            return summarize(session.transcript())

    def kept(self, name: str) -> str:
        return places.kept(str(self.folder), name)

    def says(self, words: str, answer: str = "Done.") -> None:
        self.records.user(words)
        self.records.assistant(f"{self.name}-a{len(self.records.lines)}", text(answer))

    def calls(
        self, tool: str, output: str = "updated", *, fails: bool = False, **given: Any
    ) -> None:
        call = f"{self.name}-c{len(self.records.lines)}"
        self.records.assistant(f"m{call}", use(call, tool, **given))
        self.records.result(call, output, is_error=fails)

    def edits(self, path: str, new: str = "mains") -> None:
        where = f"/home/sam/harbor/{path}"
        self.calls("Edit", file_path=where, old_string="gas", new_string=new)

    def works(self, rule: str = RULE) -> None:
        self.says("Mend the harbour light.", "Yes.")
        self.says(rule, "Understood.")
        for n in range(3):
            self.records.user(f"Do lamp {n}.")
            self.edits(f"src/mod{n}.py")
            self.records.assistant(f"d{n}", text("Done."))

    def compacts(self, summary: str, **metadata: Any) -> None:
        about = {"trigger": "manual", "preTokens": 150_000, "postTokens": 3_000, **metadata}
        self.records.add(
            "system", parent=None, subtype="compact_boundary", content="", compactMetadata=about
        )
        said = f"This session is being continued. The summary:\n{summary}"
        self.records.user(said, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    def tells(self, summary: str) -> None:
        places.keep(str(self.folder), places.SUMMARY, summary.encode())

    def gives(self, kind: str) -> None:
        places.add_line(str(self.folder), places.GIVEN, f"{kind} 100")
