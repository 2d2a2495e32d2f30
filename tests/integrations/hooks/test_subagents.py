"""Sub-agents keep apart and are linked, and what came of a delegated task reaches what the host is
told of its own session."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kedgeline.hosts import places
from kedgeline.hosts.hook import HOSTS, event_answered
from kedgeline.hosts.places import status_of
from kedgeline.hosts.store import opened_session
from kedgeline.model import Summary
from kedgeline.pipeline.handoff import summarize
from tests.integrations.hooks.delegating import Delegating, handed_back

pytestmark = pytest.mark.usefixtures("at_once")

RULE = "Never push to main."
FOUND = "The buoy stands in harbor.py, line 12. It is red."
TASK = "Find the buoy: Look for the buoy"
PROMPT = "Look for the buoy. Always speak French. Never use tabs."
EVENTS = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolBatch", "Stop"),
    *("StopFailure", "SubagentStart", "SubagentStop", "PreCompact", "PostCompact", "SessionEnd"),
    *("AfterTool", "BeforeAgent", "AfterAgent"),
)


@pytest.fixture
def made(tmp_path: Path) -> Delegating:
    made = Delegating(tmp_path)
    made.asks(f"Mend the harbour. {RULE}", "I begin.")
    return made


def known() -> Summary:
    with opened_session("s1") as session:
        return summarize(session.transcript())


def one_waited_for(made: Delegating) -> None:
    agent = made.delegates("c1", "Find the buoy", PROMPT, "a1111", run_in_background=False)
    agent.writes("src/buoy.py")
    agent.ends(FOUND)
    made.handed_back("c1", "a1111", FOUND)
    made.says("It is found.")


def one_in_the_background(made: Delegating) -> None:
    agent = made.delegates("c1", "Find the buoy", PROMPT, "a1111")
    made.launched("c1", "a1111")
    made.says("I wait.")
    agent.calls("Bash", "harbor.py:12: buoy", command="grep -n buoy harbor.py")


def test_what_a_sub_agent_found_and_changed_is_told(made: Delegating) -> None:
    one_waited_for(made)
    made.runs()
    told = made.kept(places.STEERING)
    assert f"- Sub-agent, {TASK}: {FOUND} [t1]" in told
    assert "| src/buoy.py | created | by a sub-agent" in told
    made.compacts("All is well.")
    made.runs()
    assert FOUND in made.kept(places.LACKING)


def test_a_sub_agents_words_are_no_turns_requests_or_rules_of_its_session(made: Delegating) -> None:
    one_waited_for(made)
    made.runs()
    found = known()
    assert [one.text for one in found.requests] == [f"Mend the harbour. {RULE}"]
    assert [one.text for one in found.instructions] == [RULE]
    assert status_of("s1")["turns"] == 3
    for name in (places.STEERING, places.RULES):
        assert "French" not in made.kept(name)
        assert "tabs" not in made.kept(name)


def test_a_sub_agent_and_the_call_that_started_it_are_linked(made: Delegating) -> None:
    one_waited_for(made)
    made.runs()
    with opened_session("s1") as session:
        (agent,) = session.transcript().agents
        assert (agent.agent, agent.delegated_by, len(agent.turns)) == ("a1111", "c1", 2)
        assert session.original("a1111/t1").turn.assistant_response == FOUND
        assert session.recall('"stands in harbor.py"')[0].mark == "a1111/t1"


def test_one_in_the_background_is_told_of_while_it_works_and_when_it_reports(
    made: Delegating,
) -> None:
    one_in_the_background(made)
    made.runs()
    waiting = f"Sub-agent a1111, {TASK}: has not reported"
    assert waiting in made.kept(places.STEERING)
    made.agents["a1111"].writes("src/buoy.py")
    made.agents["a1111"].ends(FOUND)
    made.notified("a1111", "Find the buoy", FOUND)
    made.says("It is found.")
    made.runs()
    told = made.kept(places.STEERING)
    assert waiting not in told
    assert told.count("Sub-agent") == 1
    assert f"- Sub-agent, {TASK}: {FOUND} [t1, t3]" in told
    assert "| src/buoy.py | created | by a sub-agent" in told


@pytest.mark.parametrize("names", [("a1111", "b2222"), ("b1111", "a2222")])
def test_what_a_sub_agent_of_a_sub_agent_changed_is_told(
    made: Delegating, names: tuple[str, str]
) -> None:
    """Whichever of their files is read first."""
    outer, inner = names
    agent = made.delegates("c1", "Mend it", "Hand it on.", outer, run_in_background=False)
    asked = {"description": "Look inside", "prompt": "Look inside the buoy."}
    agent.calls("Agent", handed_back(inner, "It is dry."), identity="n1", **asked)
    agent.ends("The inner one said it is dry.")
    begun = "Look inside the buoy.\n\nToday is Monday."  # so that only its report names it
    made.delegates("unused", "x", begun, inner).writes("src/inner.py")
    made.records.lines.pop()  # the call is the sub-agent's and not ours
    made.handed_back("c1", outer, "The inner one said it is dry.")
    made.says("Done.")
    made.runs()
    with opened_session("s1") as session:
        links = {one.agent: one.delegated_by for one in session.transcript().agents}
    assert links == {outer: "c1", inner: "n1"}
    assert "| src/inner.py | created | by a sub-agent" in made.kept(places.STEERING)


def test_one_that_fails_is_told_with_what_it_did_before(made: Delegating) -> None:
    agent = made.delegates("c1", "Find the buoy", PROMPT, "a1111", run_in_background=False)
    agent.writes("src/buoy.py")
    made.fails("c1", "Agent terminated early due to an API error")
    made.says("It failed.")
    made.runs()
    told = made.kept(places.STEERING)
    assert f"Sub-agent, {TASK}: FAILED: Agent terminated early" in told
    assert "| src/buoy.py | created | by a sub-agent" in told


def test_one_that_was_stopped_is_told_with_what_it_did_before(made: Delegating) -> None:
    agent = made.delegates("c1", "Find the buoy", PROMPT, "a1111", run_in_background=False)
    agent.writes("src/buoy.py")
    agent.calls("Bash", "", command="sleep 5")
    made.aborts("c1")
    made.asks("Go on", "I go on.")
    made.runs()
    told = made.kept(places.STEERING)
    assert f"Sub-agent, {TASK}: stopped before it was done" in told
    assert "| src/buoy.py | created | by a sub-agent" in told


def test_a_compaction_while_it_works_puts_back_that_it_does(made: Delegating) -> None:
    one_in_the_background(made)
    made.runs()
    made.compacts("All is well.")
    made.runs()
    assert f"Sub-agent a1111, {TASK}: has not reported" in made.kept(places.LACKING)
    made.agents["a1111"].ends(FOUND)
    made.notified("a1111", "Find the buoy", FOUND)
    made.says("It is found.")
    made.runs()
    assert f"{TASK}: {FOUND}" in made.kept(places.STEERING)


def test_the_compaction_of_a_sub_agent_is_none_of_its_session(made: Delegating) -> None:
    one_in_the_background(made)
    made.agents["a1111"].compacts()
    made.agents["a1111"].ends(FOUND)
    made.runs()
    assert status_of("s1")["compactions"] == 0
    assert known().session.keys() >= {"root"}
    with opened_session("s1") as session:
        assert not session.transcript().compactions


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("name", EVENTS)
def test_an_event_of_a_sub_agent_is_given_nothing_of_its_session(
    host: str, name: str, made: Delegating
) -> None:
    made.runs()
    for kind in (places.RULES, places.LACKING, places.STEERING):
        places.keep(made.folder, kind, b"for the main conversation")
    event = {"hook_event_name": name, "session_id": "s1", "agent_id": "a1111", "prompt": "x"}
    for source in ("startup", "compact", "clear", "resume"):
        told = event | {"source": source, "compact_summary": "Of the sub-agent.", "tool_name": "x"}
        assert event_answered(json.dumps(told).encode(), host) == ""
    for kind in (places.RULES, places.LACKING, places.STEERING):
        assert made.kept(kind) == "for the main conversation"
    assert not made.kept(places.SUMMARY)
