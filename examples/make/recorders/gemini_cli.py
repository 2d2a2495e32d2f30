"""Chats recorded by Gemini CLI: one document, calls and results in one item."""

from __future__ import annotations

from typing import Any

from clock import Clock
from identity import Identities
from workspace import Workspace, hunk

Record = dict[str, Any]
CHARACTERS_PER_TOKEN = 4
SYSTEM_TOKENS = 12_300
"""What the client sends before the first word."""
NAMES = {
    "read_file": "ReadFile",
    "write_file": "WriteFile",
    "replace": "Edit",
    "run_shell_command": "Shell",
}
"""How the client shows its tools."""


class Chat:
    def __init__(self, *, seed: str, start: str, workspace: Workspace, model: str) -> None:
        self.ids = Identities(seed)
        self.clock = Clock(start)
        self.workspace = workspace
        self._model = model
        self._start = self.clock.iso()
        self._session, self._project = self.ids.uuid(), self.ids.hex(64)
        self._messages: list[Record] = []
        self._context, self._cached = SYSTEM_TOKENS, 0

    def document(self) -> Record:
        return {
            "sessionId": self._session,
            "projectHash": self._project,
            "startTime": self._start,
            "lastUpdated": self.clock.iso(),
            "messages": self._messages,
        }

    def user(self, text: str, *, after: int = 45) -> None:
        self.clock.tick(after * 1000)
        self._add("user", text)

    def info(self, text: str) -> None:
        """Something the client tells the user; the model does not see it."""
        self._add("info", text)

    def answer(self, text: str, *calls: Record, thought: tuple[str, str] | None = None) -> None:
        self.clock.tick(self.ids.between(2_000, 7_000))
        more: Record = {}
        if thought is not None:
            subject, description = thought
            now = self.clock.iso()
            more["thoughts"] = [{"subject": subject, "description": description, "timestamp": now}]
        output = (len(text) + len(str(calls))) // CHARACTERS_PER_TOKEN // 2
        thinking = 60 if thought else 0
        counted = {"input": self._context, "output": output, "cached": self._cached}
        counted |= {"thoughts": thinking, "tool": 0}
        counted["total"] = self._context + output + thinking
        self._cached = self._context
        self._context = counted["total"]
        if calls:
            more["toolCalls"] = list(calls)
        self._add("gemini", text, more | {"tokens": counted, "model": self._model})

    # calls

    def read(self, path: str) -> Record:
        return self._call("read_file", {"file_path": path}, self.workspace.files[path], "")

    def write(self, path: str, content: str) -> Record:
        before = self.workspace.write(path, content) or ""
        where = self.workspace.absolute(path)
        said = "Successfully overwrote file" if before else "Successfully created and wrote to"
        given = {"file_path": path, "content": content}
        return self._call("write_file", given, f"{said}: {where}", _shown(path, before, content))

    def replace(self, path: str, old: str, new: str) -> Record:
        before = self.workspace.edit(path, old, new)
        where = self.workspace.absolute(path)
        given = {"file_path": path, "old_string": old, "new_string": new}
        given["instruction"] = "Quote the variables"
        said = f"Successfully modified file: {where} (1 replacements)."
        shown = _shown(path, before, self.workspace.files[path])
        return self._call("replace", given, said, shown)

    def shell(self, command: str, out: str, about: str, *, code: int = 0) -> Record:
        said = (
            f"Command: {command}\nDirectory: (root)\nOutput: {out or '(empty)'}\nError: (none)\n"
            f"Exit Code: {code}\nSignal: (none)\nProcess Group PGID: {self.ids.between(4000, 9000)}"
        )
        given = {"command": command, "description": about}
        return self._call("run_shell_command", given, said, out)

    def cancelled(self, command: str, about: str) -> Record:
        """A command the user does not let run."""
        given = {"command": command, "description": about}
        made = self._call("run_shell_command", given, "", "")
        error = "[Operation Cancelled] Reason: User did not allow tool call"
        made["result"][0]["functionResponse"]["response"] = {"error": error}
        return made | {"status": "cancelled"}

    def _call(self, name: str, given: Record, out: str, shown: Any) -> Record:
        self.clock.tick(self.ids.between(100, 900))
        call = f"{name}-{self.clock.millis()}-{self.ids.hex(13)}"
        self._context += len(out) // CHARACTERS_PER_TOKEN
        response = {"id": call, "name": name, "response": {"output": out}}
        return {
            "id": call,
            "name": name,
            "args": given,
            "result": [{"functionResponse": response}],
            "status": "success",
            "timestamp": self.clock.iso(),
            "resultDisplay": shown,
            "displayName": NAMES[name],
            "description": f"The {NAMES[name]} tool.",
            "renderOutputAsMarkdown": name != "run_shell_command",
        }

    def _add(self, kind: str, text: str, more: Record | None = None) -> None:
        self._messages.append(
            {
                "id": self.ids.uuid(),
                "timestamp": self.clock.iso(),
                "type": kind,
                "content": text,
                **(more or {}),
            }
        )


def _shown(path: str, before: str, after: str) -> Record:
    return {
        "fileDiff": "\n".join(hunk(before, after).lines),
        "fileName": path,
        "originalContent": before,
        "newContent": after,
    }
