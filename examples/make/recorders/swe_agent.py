"""SWE-agent trajectories with function calls: the story as a history and as steps."""

from __future__ import annotations

import json
from typing import Any

from identity import Identities
from workspace import Workspace

Record = dict[str, Any]
SILENT = "Your command ran successfully and did not produce any output."
REPLACED = (
    "Text replaced. Please review the changes and make sure they are correct\n(correct indentation,"
    " no duplicate lines, etc). Edit the file again if necessary.\n\n"
)


class Trajectory:
    def __init__(self, *, seed: str, workspace: Workspace, system: str, task: str) -> None:
        self.ids = Identities(seed)
        self.workspace = workspace
        self._open = "n/a"
        self._steps: list[Record] = []
        self._submission = ""
        self._history = [
            _item("system_prompt", role="system", content=system),
            _item("observation", role="user", content=f"{task}\n{self._state()}"),
        ]

    def document(self) -> Record:
        return {
            "environment": "main",
            "trajectory": self._steps,
            "history": self._history,
            "info": {
                "exit_status": "submitted",
                "submission": self._submission,
                "model_stats": {
                    "instance_cost": 0.31,
                    "tokens_sent": 41_870,
                    "tokens_received": 1_422,
                    "api_calls": len(self._steps),
                },
            },
        }

    # actions

    def bash(self, thought: str, command: str, out: str = SILENT) -> None:
        self._step(thought, "bash", {"command": command}, command, out)

    def find(self, thought: str, name: str) -> None:
        root = self.workspace.root
        found = [path for path in sorted(self.workspace.files) if f"/{path}".endswith(f"/{name}")]
        rows = "\n".join(f"{root}/{path}" for path in found)
        out = f'Found {len(found)} matches for "{name}" in {root}:\n{rows}'
        self._step(thought, "find_file", {"file_name": name}, f"find_file {name}", out)

    def open(self, thought: str, path: str) -> None:
        self._open = self.workspace.absolute(path)
        self._step(thought, "open", {"path": path}, f'open "{path}"', self._window(path))

    def create(self, thought: str, path: str) -> None:
        self.workspace.write(path, "")
        self._open = self.workspace.absolute(path)
        out = f"[File: {path} (1 lines total)]\n1:"
        self._step(thought, "create", {"filename": path}, f"create {path}", out)

    def insert(self, thought: str, path: str, text: str) -> None:
        self.workspace.write(path, self.workspace.files[path] + text + "\n")
        self._step(thought, "insert", {"text": text}, f"insert {text!r}", self._window(path))

    def edit(self, thought: str, path: str, search: str, replace: str) -> None:
        self.workspace.edit(path, search, replace)
        self._edit(thought, search, replace, REPLACED + self._window(path))

    def edit_refused(self, thought: str, search: str, replace: str, out: str) -> None:
        """An edit the editor does not make."""
        self._edit(thought, search, replace, out)

    def submit(self, thought: str, patch: str) -> None:
        self._submission = patch
        self._step(thought, "submit", {}, "submit", patch)

    def _edit(self, thought: str, search: str, replace: str, out: str) -> None:
        given = {"search": search, "replace": replace}
        self._step(thought, "edit", given, f"edit {search!r} {replace!r}", out)

    def _window(self, path: str) -> str:
        lines = self.workspace.files[path].removesuffix("\n").split("\n")
        shown = "\n".join(f"{number}:{line}" for number, line in enumerate(lines, start=1))
        return f"[File: {path} ({len(lines)} lines total)]\n{shown}"

    def _state(self) -> str:
        return f"(Open file: {self._open})\n(Current directory: {self.workspace.root})\nbash-$"

    def _step(self, thought: str, name: str, given: Record, action: str, out: str) -> None:
        call = self.ids.token("call_", 24)
        function = {"arguments": json.dumps(given), "name": name}
        self._history.append(
            _item(
                "action",
                role="assistant",
                content=thought,
                thought=thought,
                action=action,
                tool_calls=[{"function": function, "id": call, "type": "function"}],
            )
        )
        seen = f"{out}\n{self._state()}"
        self._history.append(_item("observation", role="tool", content=seen, tool_call_ids=[call]))
        self._steps.append(
            {
                "action": action,
                "observation": out,
                "response": thought,
                "thought": thought,
                "execution_time": self.ids.between(80, 900) / 1000,
                "state": {"open_file": self._open, "working_dir": self.workspace.root},
            }
        )


def _item(kind: str, **fields: Any) -> Record:
    return {"message_type": kind, **fields, "agent": "main"}
