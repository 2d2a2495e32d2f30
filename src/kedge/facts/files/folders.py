"""The folder a shell call works in, where the record shows it."""

from __future__ import annotations

import re
from posixpath import join, normpath

from kedge.model import ToolCall
from kedge.outcomes import Outcome
from kedge.outcomes.calls import shell_line
from kedge.outcomes.shell.parsing import commands_in

STAYS = frozenset({"Bash", "execute_bash"})
"""Tools whose shell stays where a line that succeeded has gone, by their exact name: other clients
call a shell that begins anew by the same word in small letters."""
GIVEN = ("workdir", "cwd", "directory", "dir_path", "working_directory")
"""Parameters that name the folder of one call."""
RESET_WITHIN = 400
"""Characters at the end of an output in which the client says that it went back."""
_RESET = re.compile(r"^Shell cwd was reset to (/[^\n]{1,380})\s*\Z", re.MULTILINE)
_GOES = re.compile(r"\b(?:cd|pushd)\b")
_UNKNOWN = re.compile(r"[$`*?]")
_COMPLAINT = re.compile(r"\b(?:cd|pushd): ")


class WorkingFolder:
    """Follows one conversation. A sub-agent's shell begins anew with every call."""

    def __init__(self, *, stays: bool = True) -> None:
        self._stays = stays
        self._folder = ""

    def of(self, call: ToolCall) -> str:
        """Where a call's shell line begins; empty for the session's root."""
        for name in GIVEN:
            if isinstance(given := call.parameters.get(name), str) and given:
                return given
        return self._folder if call.tool in STAYS else ""

    def follow(self, outcome: Outcome) -> None:
        """See where a call has gone; to be called behind `of`."""
        if not self._stays or outcome.call.tool not in STAYS or outcome.result is None:
            return
        tail = outcome.result.output[-RESET_WITHIN:]
        if reset := _RESET.search(tail):
            self._folder = reset[1]
            return
        line = shell_line(outcome.call)
        if not outcome.success or not _GOES.search(line) or _COMPLAINT.search(tail):
            return
        if "popd" in line or outcome.call.parameters.get("run_in_background") is True:
            return
        commands = commands_in(f"{line}\n:")
        went = commands[-1].folder if commands and commands[-1].words == (":",) else ""
        if went.startswith("~"):
            self._folder = went
        elif went and not _UNKNOWN.search(went):
            self._folder = normpath(join(self._folder, went))
