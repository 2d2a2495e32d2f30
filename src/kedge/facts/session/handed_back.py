"""What a call for a sub-agent gave back: clients put words of their own around the report."""

from __future__ import annotations

import re
from typing import NamedTuple

LOOKED_AT = 40_000
"""Characters of a result that are read."""
LAUNCH = 1_000
"""Characters of a result in which a client says that it only started the agent."""
_NAMED = r"agent[_ ]?id\"?[:=]\s{0,3}\"?([\w-]{4,80})"
_AGENT_ID = re.compile(rf"\b{_NAMED}", re.IGNORECASE)
_OWN_LINE = re.compile(rf"^{_NAMED}", re.IGNORECASE | re.MULTILINE)
_LAUNCHED = re.compile(
    r"(?:launched|started|running|spawned)[^\n]{0,80}|working in the background", re.IGNORECASE
)
_FRAME = re.compile(r"^\[Subagent hand-back\][^\n]*\n((?:[ \t][^\n]*\n?|\n)*)", re.MULTILINE)
"""Claude Code: a line of the client's, then the report, indented, up to the client's next line."""
_INDENT = re.compile(r"^ {1,2}", re.MULTILINE)
TASK_TAG = "<task id="
_TASK = re.compile(
    r"<task id=\"([\w-]{4,80})\" state=\"(\w{1,20})\">.*?<task_(?:result|error)>\n?(.*)", re.DOTALL
)
"""OpenCode; what the agent said may have the closing tag in it, so the last one ends it."""
_OLDER_TASK = re.compile(r"task_id: ([\w-]{4,80})[^\n]*\n+<task_result>\n?(.*)", re.DOTALL)
_TASK_END = re.compile(r"\n?</task_(?:result|error)>(?:\s*</task>)?\s*\Z")
_FINISHED = re.compile(
    r"(?:Subagent '[^'\n]{1,200}'|Browser agent) finished\.\nTermination Reason: (\w{1,40})\n"
    r"Result:\n(.*)",
    re.DOTALL,
)
"""Gemini CLI."""
GOAL = "GOAL"
"""Its word for an agent that did what it was asked."""


class HandedBack(NamedTuple):
    """A report without what the client says around it."""

    text: str
    agent: str = ""
    """Its id, where the client names it."""
    status: str = ""
    """The client's word for how it ended; empty where it says none."""
    launched: bool = False
    """It was only started."""


def handed_back(output: str, *, background: bool = False) -> HandedBack:
    """`background`: the call asked for an agent that is not waited for."""
    output = output[:LOOKED_AT]
    if frame := _FRAME.search(output):
        return HandedBack(_INDENT.sub("", frame[1]), _named_behind(output))
    if task := _TASK.match(output):
        text = _TASK_END.sub("", task[3])
        return HandedBack(text, task[1], task[2], launched=task[2] == "running")
    if older := _OLDER_TASK.match(output):
        return HandedBack(_TASK_END.sub("", older[2]), older[1])
    if finished := _FINISHED.match(output):
        return HandedBack(finished[2], status="completed" if finished[1] == GOAL else finished[1])
    return _plain(output, background=background)


def _plain(output: str, *, background: bool) -> HandedBack:
    head = output[:LAUNCH]
    number = _AGENT_ID.search(head)
    only = head.lstrip().startswith("{") or _LAUNCHED.search(head.partition("\n")[0])
    if number and (only or background):
        return HandedBack("", number[1], launched=True)
    return HandedBack(output, _named_behind(output))


def _named_behind(output: str) -> str:
    """The client names the agent behind what it said; so the last one counts."""
    found = _OWN_LINE.findall(output[-LAUNCH:])
    return found[-1] if found else ""
