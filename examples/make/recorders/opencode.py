"""OpenCode exports: one document, a call and its result in one part."""

from __future__ import annotations

from typing import Any

from clock import Clock
from identity import Identities
from workspace import Workspace, hunk

Record = dict[str, Any]
CHARACTERS_PER_TOKEN = 4
SYSTEM_TOKENS = 11_400
"""What the client sends before the first word."""
CENTS_PER_MILLION = {"input": 300, "output": 1_500, "read": 30}
REJECTED = "The user rejected permission to use this specific tool call"


class Export:
    def __init__(self, *, seed: str, start: str, workspace: Workspace, title: str, model: str):
        self.ids = Identities(seed)
        self.clock = Clock(start)
        self.workspace = workspace
        self._title, self._model = title, model
        self._session = self.ids.token("ses_", 26)
        self._created = self.clock.millis()
        self._messages: list[Record] = []
        self._asked = ""
        self._context, self._cached = SYSTEM_TOKENS, 0

    def document(self) -> Record:
        """The whole export."""
        info = {
            "id": self._session,
            "slug": "brave-lantern",
            "projectID": self.ids.hex(40),
            "directory": self.workspace.root,
            "title": self._title,
            "version": "1.2.24",
            "summary": {"additions": 21, "deletions": 9, "files": 3},
            "time": {"created": self._created, "updated": self.clock.millis()},
        }
        return {"info": info, "messages": self._messages}

    def user(self, text: str, *, after: int = 60) -> None:
        self.clock.tick(after * 1000)
        self._asked = self.ids.token("msg_", 26)
        provider = {"providerID": "anthropic", "modelID": self._model}
        info = {"role": "user", "time": {"created": self.clock.millis()}}
        info |= {"summary": {"diffs": []}, "agent": "build", "model": provider}
        self._add(self._asked, info, [{"type": "text", "text": text}])
        self._context += len(text) // CHARACTERS_PER_TOKEN

    def turn(self, text: str, *tools: Record, think: str = "") -> None:
        """One assistant message: a step with its reasoning, words and calls."""
        made = self.ids.token("msg_", 26)
        created = self.clock.millis()
        self.clock.tick(self.ids.between(2_000, 9_000))
        snapshot = self.ids.hex(40)
        parts: list[Record] = [{"type": "step-start", "snapshot": snapshot}]
        if think:
            seal = {"anthropic": {"signature": self.ids.sealed(180)}}
            time = {"start": created + 400, "end": created + 1_900}
            parts.append({"type": "reasoning", "text": think, "metadata": seal, "time": time})
        if text:
            time = {"start": created + 2_000, "end": created + 2_600}
            parts.append({"type": "text", "text": text, "time": time})
        parts += tools
        reason = "tool-calls" if tools else "stop"
        tokens, cost = self._counted(think + text + "".join(str(tool) for tool in tools))
        finish = {"reason": reason, "snapshot": snapshot, "cost": cost, "tokens": tokens}
        parts.append({"type": "step-finish"} | finish)
        info = {
            "role": "assistant",
            "time": {"created": created, "completed": self.clock.millis()},
            "parentID": self._asked,
            "modelID": self._model,
            "providerID": "anthropic",
            "mode": "build",
            "agent": "build",
            "path": {"cwd": self.workspace.root, "root": self.workspace.root},
            "cost": cost,
            "tokens": tokens,
            "finish": reason,
        }
        self._add(made, info, parts)

    # calls

    def bash(self, command: str, out: str, about: str, *, code: int = 0) -> Record:
        given = {"command": command, "description": about}
        kept = {"output": out, "exit": code, "description": about, "truncated": False}
        return self._completed("bash", given, out, about, kept)

    def read(self, path: str) -> Record:
        where, lines = self.workspace.absolute(path), self.workspace.lines(path)
        numbered = "\n".join(f"{number}: {line}" for number, line in enumerate(lines, start=1))
        out = (
            f"<path>{where}</path>\n<type>file</type>\n<content>{numbered}\n\n(End of file - total"
            f" {len(lines)} lines)\n</content>"
        )
        kept = {"preview": "\n".join(lines[:20]), "truncated": False, "loaded": []}
        return self._completed("read", {"filePath": where}, out, path, kept)

    def grep(self, pattern: str) -> Record:
        found = self.workspace.grep(pattern)
        rows: list[str] = []
        for path in dict.fromkeys(match.path for match in found):
            rows.append(f"\n{self.workspace.absolute(path)}:")
            rows += [f"  Line {m.number}: {m.line}" for m in found if m.path == path]
        out = "\n".join([f"Found {len(found)} matches", *rows])
        kept = {"matches": len(found), "truncated": False}
        return self._completed("grep", {"pattern": pattern}, out, pattern, kept)

    def edit(self, path: str, old: str, new: str) -> Record:
        where, before = self.workspace.absolute(path), self.workspace.edit(path, old, new)
        after = self.workspace.files[path]
        lines = hunk(before, after).lines
        added = sum(line.startswith("+") for line in lines)
        removed = sum(line.startswith("-") for line in lines)
        diff = {"file": where, "before": before, "after": after}
        kept = {"diagnostics": {}, "diff": "\n".join(lines)}
        kept["filediff"] = diff | {"additions": added, "deletions": removed}
        given = {"filePath": where, "oldString": old, "newString": new}
        return self._completed("edit", given, "Edit applied successfully.", path, kept)

    def rejected(self, command: str, about: str, feedback: str) -> Record:
        """A command the user does not let run, and why."""
        now = self.clock.millis()
        state = {
            "status": "error",
            "input": {"command": command, "description": about},
            "error": f"{REJECTED} with the following feedback: {feedback}",
            "time": {"start": now, "end": now + 6_400},
        }
        return self._tool("bash", state)

    def _completed(self, tool: str, given: Record, out: str, title: str, kept: Record) -> Record:
        start = self.clock.millis()
        self.clock.tick(self.ids.between(20, 900))
        time = {"start": start, "end": self.clock.millis()}
        state = {"status": "completed", "input": given, "output": out, "title": title}
        self._context += len(out) // CHARACTERS_PER_TOKEN
        return self._tool(tool, state | {"metadata": kept, "time": time})

    def _tool(self, tool: str, state: Record) -> Record:
        return {"type": "tool", "callID": self.ids.token("toolu_01"), "tool": tool, "state": state}

    def _add(self, message: str, info: Record, parts: list[Record]) -> None:
        place = {"sessionID": self._session, "messageID": message}
        self._messages.append(
            {
                "info": info | {"id": message, "sessionID": self._session},
                "parts": [part | {"id": self.ids.token("prt_", 26)} | place for part in parts],
            }
        )

    def _counted(self, said: str) -> tuple[Record, float]:
        output = len(said) // CHARACTERS_PER_TOKEN + 10
        fresh, read = self._context - self._cached, self._cached
        self._cached = self._context
        self._context += output
        tokens = {
            "total": fresh + read + output,
            "input": fresh,
            "output": output,
            "reasoning": 0,
            "cache": {"read": read, "write": 0},
        }
        price = CENTS_PER_MILLION
        cents = fresh * price["input"] + output * price["output"] + read * price["read"]
        return tokens, round(cents / 100 / 1_000_000, 7)
