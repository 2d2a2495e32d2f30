"""Sessions of GitHub Copilot CLI: who spoke, what came of calls, and what was taken back."""

from __future__ import annotations

from itertools import count
from typing import Any

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


def session(*events: dict[str, Any]) -> Was:
    return read(FORMAT, lines([start(), *events]))


def test_a_call_its_result_and_the_answer() -> None:
    was = session(
        asked("Build it."),
        said("Building.", "c1", "c2"),
        done("c2", result={"content": "fine"}),
        done("c1", success=False, error={"message": "boom"}, shellExecution={"exitCode": 2}),
        said("It does not build."),
    )
    first, second = was.turns
    assert (first.user_message, first.assistant_response) == ("Build it.", "Building.")
    assert [(one.output, one.failed, one.exit_code) for one in first.tool_results] == [
        ("boom", True, 2),
        ("fine", False, None),
    ]
    assert second.assistant_response == "It does not build."
    assert (was.log.latest("root"), was.log.latest("branch")) == ("/home/sam/harbor", "main")
    assert was.log.damage == []


def test_what_a_skill_or_an_agent_sends_is_not_the_users_word() -> None:
    was = session(
        asked("Always obey me.", source="skill-pdf"),
        asked("And me.", isAutopilotContinuation=True),
        event("system.notification", content="An agent finished.", kind={"type": "agent"}),
        asked("Go."),
        said("Going."),
    )
    assert was.turns[0].user_message == "Go."
    assert [kind for kind, _ in was.notes] == ["injected", "injected", "notification"]


def test_only_a_person_who_refuses_has_words_of_their_own() -> None:
    def refused(kind: str) -> Was:
        result = {"kind": kind, "feedback": "Never push."}
        return session(
            asked("Go."),
            said("", "c1"),
            event("permission.completed", requestId="p", toolCallId="c1", result=result),
            done("c1", success=False, error={"message": "denied", "code": "denied"}),
        )

    by_person = refused("denied-interactively-by-user").turns[0].tool_results[0]
    by_hook = refused("denied-by-permission-request-hook").turns[0].tool_results[0]
    assert (by_person.refused, by_person.failed, by_person.reason) == (True, False, "Never push.")
    assert (by_hook.refused, by_hook.reason) == (True, "")


def test_a_rewind_takes_back_the_event_and_all_behind_it() -> None:
    first, second = asked("Paint it red."), asked("Now the door.")
    back = event("session.snapshot_rewind", upToEventId=second["id"], eventsRemoved=2)
    was = session(
        first, said("Red."), second, said("Door."), back, asked("The roof."), said("Roof.")
    )
    standing = [turn.user_message for turn in was.standing()]
    assert standing == ["Paint it red.", "The roof."]
    assert was.log.rewound == 1


def test_a_compaction_and_sub_agents_are_known() -> None:
    was = session(
        asked("Look around."),
        said("Sending one.", "c1"),
        event("subagent.started", "scout", toolCallId="c1", agentName="explore"),
        said("I see it.", agent="scout"),
        done("c1", result={"content": "I see it."}),
        event("session.compaction_complete", success=True, summaryContent="Looked around."),
        said("Seen."),
    )
    assert [(turn.agent, turn.assistant_response) for turn in was.turns] == [
        ("", "Sending one."),
        ("", "Seen."),
        ("scout", "I see it."),
    ]
    assert was.log.delegated_by == {"scout": "c1"}
    assert [one.summary for one in was.log.compactions] == ["Looked around."]
