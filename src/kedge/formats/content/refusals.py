"""How Claude's clients word what became of a call, in results that carry an error flag."""

from __future__ import annotations

import re

from kedge.model import ToolCall

REFUSALS = (
    "The user doesn't want to proceed with this tool use.",
    "The user doesn't want to take this action right now.",
    "Permission to use ",
    "Permission for this tool use was denied.",
    "Claude requested permissions to ",
)
"""How the client words a call that was not allowed to run."""
INTERRUPTED = "[Request interrupted by user"
_SAID = ("the user said:\n", "The user provided the following reason for the rejection:")
_NOT_SAID = ("The user wants to clarify these questions.",)
"""The client's own words where the user's would stand."""
_EXIT_CODE = re.compile(r"Exit code (-?\d{1,10})\b")


def is_refusal(output: str) -> bool:
    return output.startswith(REFUSALS)


OWN_TOOLS = frozenset(
    {
        "Agent",
        "AskUserQuestion",
        "Bash",
        "Edit",
        "EnterPlanMode",
        "ExitPlanMode",
        "Glob",
        "Grep",
        "LS",
        "MultiEdit",
        "NotebookEdit",
        "Read",
        "Task",
        "TaskCreate",
        "TaskUpdate",
        "TodoWrite",
        "Write",
        "exit_plan_mode",
    }
)
"""Tools of the client's own whose errors it words itself. All others could put an instruction
into the user's mouth by imitating a refusal: a server's, and those that bring text from the web."""


def is_own_tool(call: ToolCall | None) -> bool:
    """Whether the user's words in a refusal of this call can be believed to be theirs."""
    return call is not None and call.tool in OWN_TOOLS


def reason_in(output: str) -> str:
    """The user's own words in the text of a refusal."""
    for marker in _SAID:
        _, found, said = output.partition(marker)
        if found and not said.lstrip().startswith(_NOT_SAID):
            return said.strip()
    return ""


def exit_code_in(output: str) -> int | None:
    """The exit code a failed command's output begins with."""
    found = _EXIT_CODE.match(output)
    return int(found[1]) if found else None
