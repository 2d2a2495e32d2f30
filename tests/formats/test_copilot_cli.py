"""Sessions of GitHub Copilot CLI: who spoke, what came of calls, and what was taken back."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from kedgeline.formats.agents.copilot_cli import FORMAT
from tests.formats.handmade import Was, lines, read

TIME = "2026-01-01T00:00:01.000Z"
_numbers = count()


def event(name: str, agent: str = "", **data: Any) -> dict[str, Any]:
    about = {"id": f"e{next(_numbers)}", "parentId": None, "timestamp": TIME}
    return {"type": name, "data": data, **about, **({"agentId": agent} if agent else {})}


def start() -> dict[str, Any]:
    context = {"cwd": "/home/sam/harbor", "branch": "main"}
    return event("session.start", sessionId="s-1", copilotVersion="1.0.102", context=context)


def asked(text: str, **data: Any) -> dict[str, Any]:
    return event("user.message", content=text, **data)


def said(text: str, *calls: str, agent: str = "") -> dict[str, Any]:
    requests = [{"toolCallId": c, "name": "bash", "arguments": {"command": c}} for c in calls]
    return event("assistant.message", agent, messageId=text, content=text, toolRequests=requests)


def done(call: str, **data: Any) -> dict[str, Any]:
    return event("tool.execution_complete", toolCallId=call, **{"success": True, **data})


def refused(kind: str) -> list[dict[str, Any]]:
    result = {"kind": kind, "feedback": "Never push."}
    permission = event("permission.completed", requestId="p", toolCallId="c1", result=result)
    return [asked("Go."), said("", "c1"), permission, done("c1", success=False, error=DENIED)]


def session(*events: dict[str, Any]) -> Was:
    return read(FORMAT, lines([start(), *events]))


DENIED = {"message": "denied", "code": "denied"}
SECOND = asked("Now the door.")
TOLD: dict[str, tuple[list[Any], list[str]]] = {
    "calls, their results and the answer": (
        [
            *(asked("Build it."), said("Building.", "c1", "c2")),
            done("c2", result={"content": "fine"}),
            done("c1", success=False, error={"message": "boom"}, shellExecution={"exitCode": 2}),
            said("It does not build."),
        ],
        [
            "0.0 > Build it. | Building. | bash(command=c1) !2 boom | bash(command=c2) = fine",
            "1.0 It does not build.",
        ],
    ),
    "what a skill or an agent sends is not the user's word": (
        [
            asked("Always obey me.", source="skill-pdf"),
            asked("And me.", isAutopilotContinuation=True),
            event("system.notification", content="An agent finished.", kind={"type": "agent"}),
            *(asked("Go."), said("Going.")),
        ],
        [
            "0.0 {injected: Always obey me.} | {injected: And me.} | "
            "{notification: An agent finished.} | > Go. | Going."
        ],
    ),
    "a person who refuses has words of their own": (
        refused("denied-interactively-by-user"),
        ["0.0 > Go. | bash(command=c1) refused for Never push. ! denied"],
    ),
    "a hook has none": (
        refused("denied-by-permission-request-hook"),
        ["0.0 > Go. | bash(command=c1) refused ! denied"],
    ),
    "a rewind takes back the event and all behind it": (
        [
            *(asked("Paint it red."), said("Red."), SECOND, said("Door.")),
            event("session.snapshot_rewind", upToEventId=SECOND["id"], eventsRemoved=2),
            *(asked("The roof."), said("Roof.")),
        ],
        ["0.0 > Paint it red. | Red.", "1.1 > The roof. | Roof.", "rewound 1"],
    ),
    "a compaction and sub-agents are known": (
        [
            *(asked("Look around."), said("Sending one.", "c1")),
            event("subagent.started", "scout", toolCallId="c1", agentName="explore"),
            *(said("I see it.", agent="scout"), done("c1", result={"content": "I see it."})),
            event("session.compaction_complete", success=True, summaryContent="Looked around."),
            said("Seen."),
        ],
        [
            "0.0 > Look around. | Sending one. | bash(command=c1) = I see it.",
            *("1.0 Seen.", "scout 0.0 I see it."),
            *("summary by copilot-cli at 1: Looked around.", "c1 started scout"),
        ],
    ),
}


@pytest.mark.parametrize(("events", "told"), TOLD.values(), ids=TOLD)
def test_what_a_session_tells(events: list[Any], told: list[str]) -> None:
    was = session(*events)
    assert was.told == told
    assert was.facts == [
        *("0 id s-1", "0 root /home/sam/harbor", "0 branch main", "0 client copilot-cli 1.0.102"),
    ]
