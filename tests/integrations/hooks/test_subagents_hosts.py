"""The real Claude Code and the real Codex hand work on: what came of it reaches the summariser of
the session that did, and nothing of the session reaches the sub-agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kedgeline.hosts import places
from kedgeline.model import Transcript
from kedgeline.session.session import Session
from tests.integrations.hooks import responses_server as responses
from tests.integrations.hooks.test_claude_code import Claude, added_to, is_summarising
from tests.integrations.hooks.test_codex import Codex
from tests.models.server import Line, Request, Says, serving

pytestmark = pytest.mark.hosts

RULE = "Never push to main."
SECRET_RULE = "Always speak French."
OUTER, INNER, LATER = (
    "The buoy stands in harbor.py, line 12.",
    "The inner chamber is dry.",
    "The tide turns at noon.",
)
ALLOWED = ("--allowedTools", "Agent", "Write", "Bash(sleep:*)")
BLOCK = "From kedgeline"


def call(tool: str, **given: Any) -> Says:
    return Says(tool=json.dumps(given), called=tool, ending="tool call")


def agent(title: str, prompt: str, **given: Any) -> Says:
    asked = {"description": title, "prompt": f"{prompt} {SECRET_RULE}"}
    return call("Agent", **asked, subagent_type="general-purpose", **given)


class Model:
    """What the model says, by who asks."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self.asked_by_agents: list[str] = []

    def __call__(self, request: Request) -> Line:
        sent = added_to(request)
        if is_summarising(request):
            return Says("<analysis>a</analysis><summary>The light is mended.</summary>")
        results = request.text.count('"type":"tool_result"')
        if "Mend the harbour light" in sent:
            return self._main(sent, results)
        self.asked_by_agents.append(sent)
        return self._agent(sent, results)

    def _main(self, sent: str, results: int) -> Line:
        if results == 0:
            return agent("Find the buoy", "TASK-OUTER: look.", run_in_background=False)
        if results == 1:
            return agent("Watch the tide", "TASK-LATER: watch.")
        return Says("Mended.")

    def _agent(self, sent: str, results: int) -> Line:
        if "TASK-INNER" in sent:
            path = str(self._work / "inner.txt")
            return Says(INNER) if results else call("Write", file_path=path, content="dry\n")
        if "TASK-LATER" in sent:
            return Says(LATER) if results else call("Bash", command="sleep 1")
        if results == 0:
            return agent("Look inside", "TASK-INNER: look inside.", run_in_background=False)
        return Says(OUTER)


def kept(home: Path, session: str) -> Transcript:
    with Session.open(session, home / "store") as found:
        return found.transcript()


def test_what_sub_agents_of_claude_code_found_reaches_its_summariser(tmp_path: Path) -> None:
    home = tmp_path / "home"
    model = Model(home / "work")
    with serving(rule=model) as server:
        claude = Claude(home, server.address)
        claude.says(f"Mend the harbour light. {RULE}", *ALLOWED)
        claude.status(lambda known: known.get("turns", 0) >= 3)
        claude.says("/compact")
        (summarising,) = [one for one in server.requests if is_summarising(one)]
    sent = added_to(summarising)
    block = sent[sent.index("kedgeline follows this session") :]
    assert f"Sub-agent, Find the buoy: TASK-OUTER: look: {OUTER}" in block
    assert LATER in block
    assert "| inner.txt | created | by a sub-agent" in block
    assert SECRET_RULE not in block
    assert model.asked_by_agents
    assert not any(BLOCK in one for one in model.asked_by_agents)
    found = kept(home, claude.session)
    calls = {one.id: turn for turn in found.turns for one in turn.tool_calls}
    links = [one.delegated_by for one in found.agents]
    assert len(links) == 3
    assert sum(one in calls for one in links) == 2  # the third one's call is a sub-agent's
    assert all(links)
    assert [turn.user_message for turn in found.turns if turn.user_message][:1] == [
        f"Mend the harbour light. {RULE}"
    ]


def test_what_sub_agents_of_codex_found_is_known_of_its_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = responses.events_of

    def in_its_space(reply: responses.Says, number: int) -> list[dict[str, Any]]:
        made = whole(reply, number)
        for event in made:
            if event.get("item", {}).get("name") in ("spawn_agent", "wait_agent"):
                event["item"]["namespace"] = "multi_agent_v1"
        return made

    monkeypatch.setattr(responses, "events_of", in_its_space)
    asked_by_agents: list[str] = []

    def replies(request: responses.Request) -> responses.Says:
        said = " ".join(request.texts("user"))
        if "Mend the harbour" not in said:
            asked_by_agents.append(" ".join(request.texts()))
            if request.outputs:
                return responses.Says(OUTER)
            return responses.Says(tool="exec_command", arguments={"cmd": "echo a > buoy.txt"})
        if not request.outputs:
            given = {"message": f"TASK: look. {SECRET_RULE}", "agent_type": "worker"}
            return responses.Says(tool="spawn_agent", arguments=given)
        if len(request.outputs) == 1:
            target = json.loads(request.outputs[0])["agent_id"]
            return responses.Says(tool="wait_agent", arguments={"targets": [target]})
        return responses.Says("Mended.")

    with responses.serving(replies) as server:
        codex = Codex(tmp_path, server)
        codex.says(f"Mend the harbour. {RULE}")
        codex.status(3)
    folder = tmp_path / "state" / "kedgeline" / "hooks" / codex.session
    steering = (folder / places.STEERING).read_text()
    assert OUTER in steering
    assert "| buoy.txt | created | by a sub-agent" in steering
    assert SECRET_RULE not in steering
    assert asked_by_agents
    assert not any(BLOCK in one for one in asked_by_agents)
    found = kept(tmp_path, codex.session)
    assert [bool(one.delegated_by) for one in found.agents] == [True]
    assert [one.user_message for one in found.turns if one.user_message] == [
        f"Mend the harbour. {RULE}"
    ]
