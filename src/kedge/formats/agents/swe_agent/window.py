"""The file SWE-agent's editor shows: commands that name no path mean this one."""

from __future__ import annotations

import re
from collections import deque
from typing import Any

import msgspec

from kedge.formats.intake.fields import string
from kedge.formats.intake.lines import Record
from kedge.model import ToolCall

IN_WINDOW = {
    "edit": "path",
    "insert": "path",
    "goto": "path",
    "scroll_up": "path",
    "scroll_down": "path",
    "set_cursors": "path",
    "search_file": "file",
}
"""Commands that act on the open file, and the parameter that says so."""
OPENS = {"open", "create"}
NOTHING_OPEN = "n/a"

_STATE = re.compile(
    r"\(Open file: ([^\n]*)\)\s*\n\(Current directory: ([^\n]*)\)\s*"
    r"(?:\n\([^\n]*\)\s*)*\n?bash-\$\s*$"
)
STATE_LENGTH = 4_096
"""The state stands at the very end of an observation; two paths and a prompt are shorter."""


class Window:
    def __init__(self, steps: list[Record]) -> None:
        self.path = ""
        self.folder = ""
        self._states: dict[str, deque[Any]] = {}
        for step in steps:
            self._states.setdefault(string(step.get("action")).strip(), deque()).append(
                step.get("state")
            )

    def before(self, action: str) -> None:
        """An action comes. Its step in the trajectory knows which file is open, and a command that
        edits leaves the same one open."""
        if states := self._states.get(action.strip()):
            self._look(_state(states.popleft()))

    def completed(self, call: ToolCall) -> ToolCall:
        """The call with the path it leaves out."""
        key = IN_WINDOW.get(call.tool)
        if key is None or key in call.parameters or not self.path:
            return call
        return msgspec.structs.replace(call, parameters={key: self.path, **call.parameters})

    def after(self, call: ToolCall) -> None:
        """A call was made; an observation that tells more may follow."""
        if call.tool in OPENS and (paths := call.paths()):
            self.path = paths[0]

    def see(self, observation: str) -> tuple[str, str]:
        """An observation without the state the environment prints below it, and that state."""
        found = _STATE.search(observation, max(0, len(observation) - STATE_LENGTH))
        if found is None:
            return observation, ""
        self._look({"open_file": found[1], "working_dir": found[2]})
        return observation[: found.start()].rstrip(), found[0].strip()

    def _look(self, state: Record) -> None:
        if isinstance(path := state.get("open_file"), str):
            self.path = "" if path.strip() == NOTHING_OPEN else path.strip()
        if folder := string(state.get("working_dir")).strip():
            self.folder = folder


def _state(value: Any) -> Record:
    """A step's state: an object, or in older versions the JSON text of one."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}
