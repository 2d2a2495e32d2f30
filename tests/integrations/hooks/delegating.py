"""Sessions of Claude Code that hand work on to sub-agents, written by hand as version 2.1 writes
them: the session's file, and one for each sub-agent below it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kedgeline.hosts import places
from kedgeline.hosts.worker import work
from tests.claude import Records, text, use

FRAME = (
    "[Subagent hand-back] The text below is the final report of a subagent this session delegated "
    "to. It is model output, NOT a message from the user. The report follows:"
)
REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected."
ROOT = "/home/sam/harbor"


class Agent:
    """A sub-agent's own file."""

    def __init__(self, name: str, prompt: str) -> None:
        self.name, self._records, self._calls = name, Records(), 0
        self.says_as_user(prompt)

    @property
    def lines(self) -> list[bytes]:
        return self._records.lines

    def says_as_user(self, content: Any) -> None:
        self._records.user(content, isSidechain=True, agentId=self.name)

    def calls(
        self, tool: str, output: str, *, identity: str = "", at: str = "", **given: Any
    ) -> None:
        self._calls += 1
        call = identity or f"{self.name}-c{self._calls}"
        own: dict[str, Any] = {"isSidechain": True, "agentId": self.name}
        if at:
            own["timestamp"] = at
        self._records.assistant(f"{self.name}-m{self._calls}", use(call, tool, **given), **own)
        if output:
            self._records.result(call, output, **own)

    def writes(self, path: str, at: str = "") -> None:
        given = {"file_path": f"{ROOT}/{path}", "content": "a\n"}
        self.calls("Write", "File created successfully.", at=at, **given)

    def says_as_nobody(self, words: str) -> None:
        """A record that does not say whose it is."""
        self._records.user(words)
        self._records.assistant(f"{self.name}-n", text("Who speaks?"))

    def ends(self, words: str) -> None:
        said = text(words)
        self._records.assistant(f"{self.name}-end", said, isSidechain=True, agentId=self.name)

    def compacts(self) -> None:
        self._records.add(
            "system",
            parent=None,
            subtype="compact_boundary",
            compactMetadata={"trigger": "auto", "preTokens": 120_000},
            isSidechain=True,
            agentId=self.name,
        )
        self._records.user(
            "This session is being continued. The summary: lamps.",
            isCompactSummary=True,
            isSidechain=True,
            agentId=self.name,
        )


class Delegating:
    """A session, its sub-agents, and the folder of the hooks."""

    def __init__(self, home: Path) -> None:
        self.records = Records()
        self.agents: dict[str, Agent] = {}
        self.path = home / "s1.jsonl"
        self.folder = places.folder_of("s1")

    def asks(self, words: str, answer: str = "") -> None:
        self.records.user(words)
        if answer:
            self.says(answer)

    def says(self, words: str) -> None:
        self.records.assistant(f"m{len(self.records.lines)}", text(words))

    def delegates(self, call: str, title: str, prompt: str, name: str, **given: Any) -> Agent:
        """The call for a sub-agent; its own file begins."""
        asked = {"description": title, "prompt": prompt, "subagent_type": "general-purpose"}
        self.records.assistant(f"m{len(self.records.lines)}", use(call, "Agent", **asked, **given))
        self.agents[name] = Agent(name, prompt)
        return self.agents[name]

    def launched(self, call: str, name: str) -> None:
        """It works in the background."""
        self.records.result(
            call,
            f"Async agent launched successfully.\nagentId: {name} (internal ID)\n"
            "The agent is working in the background.",
            toolUseResult={"isAsync": True, "status": "async_launched", "agentId": name},
        )

    def handed_back(self, call: str, name: str, report: str) -> None:
        """It was waited for."""
        self.records.result(
            call,
            handed_back(name, report),
            toolUseResult={"status": "completed", "agentId": name, "content": []},
        )

    def notified(self, name: str, title: str, report: str, status: str = "completed") -> None:
        self.records.user(
            f"<task-notification>\n<task-id>{name}</task-id>\n<status>{status}</status>\n"
            f'<summary>Agent "{title}" finished</summary>\n<result>{report}</result>\n'
            "</task-notification>",
            origin={"kind": "task-notification"},
        )

    def fails(self, call: str, why: str) -> None:
        self.records.result(call, why, is_error=True, toolUseResult=f"Error: {why}")

    def aborts(self, call: str) -> None:
        """The user stopped the agent while its sub-agent was at work."""
        told = {"toolUseResult": "User rejected tool use", "toolDenialKind": "user-rejected"}
        self.records.result(call, REFUSED, is_error=True, **told)
        self.records.user([text("[Request interrupted by user for tool use]")])

    def compacts(self, summary: str) -> None:
        about = {"trigger": "auto", "preTokens": 150_000, "postTokens": 3_000}
        self.records.add(
            "system", parent=None, subtype="compact_boundary", content="", compactMetadata=about
        )
        self.records.user(f"This session is being continued. {summary}", isCompactSummary=True)

    def files(self) -> dict[Path, bytes]:
        """All of them, as they are to stand there."""
        beside = self.path.with_suffix("") / "subagents"
        return {
            self.path: b"".join(self.records.lines),
            **{
                beside / f"agent-{one.name}.jsonl": b"".join(one.lines)
                for one in self.agents.values()
            },
        }

    def write(self) -> None:
        for path, data in self.files().items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def runs(self) -> None:
        self.write()
        work("s1", "claude-code", str(self.path), self.folder)

    def kept(self, name: str) -> str:
        return places.kept(self.folder, name)


def handed_back(name: str, report: str) -> str:
    told = "\n".join(f"  {line}" for line in report.splitlines())
    return (
        f"  <tools-used-before-summary>Write</tools-used-before-summary>\n  \n{FRAME}\n{told}\n"
        f"agentId: {name} (use SendMessage with to: '{name}' to continue this agent)\n"
        "<usage>subagent_tokens: 120\ntool_uses: 1\nduration_ms: 476</usage>"
    )
