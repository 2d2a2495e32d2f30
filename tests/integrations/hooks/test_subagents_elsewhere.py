"""Sub-agents of Codex, Gemini CLI and OpenCode: each keeps them in its own way, and what came of
them reaches what the host is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kedgeline import read
from kedgeline.hosts import places
from kedgeline.hosts.hook import event_answered, event_of
from kedgeline.hosts.places import status_of
from kedgeline.hosts.worker import work
from kedgeline.pipeline.handoff import summarize
from tests.formats import codex_rollout as codex
from tests.formats import gemini_chat as gemini
from tests.formats import opencode_export as opencode
from tests.formats.handmade import lines

pytestmark = pytest.mark.usefixtures("at_once")

RULE = "Never push to main."
REQUEST = f"Mend the harbour. {RULE}"
FOUND = "The buoy stands in harbor.py, line 12."
PROMPT = "Look for the buoy. Always speak French."
SESSION = "019a0000-0000-7000-8000-000000000001"
AGENT = "019a0001-0000-7000-8000-000000000002"
INNER = "019a0002-0000-7000-8000-000000000003"
DAY = "2025/10/20"
"""When these ids were made."""


class Rollouts:
    """A session of Codex and its sub-agents, each with a rollout of its own."""

    def __init__(self, home: Path) -> None:
        self._home, self.path = home / "sessions", self.place(home, SESSION)

    def place(self, home: Path, thread: str, day: str = DAY) -> Path:
        return home / "sessions" / day / f"rollout-{day.replace('/', '-')}T00-00-00-{thread}.jsonl"

    def agent(self, thread: str, *records: dict[str, Any], day: str = DAY) -> Path:
        path = self.place(self._home.parent, thread, day)
        source = {"subagent": {"thread_spawn": {"parent_thread_id": SESSION, "depth": 1}}}
        meta = {**codex.META, "id": thread, "source": source, "thread_source": "subagent"}
        self.write(path, codex.record("session_meta", **meta), codex.user(PROMPT), *records)
        return path

    def main(self, *records: dict[str, Any]) -> None:
        meta = codex.record("session_meta", **{**codex.META, "id": SESSION})
        self.write(self.path, meta, codex.user(REQUEST), *records)

    def write(self, path: Path, *records: dict[str, Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lines([*records]))

    def event(self, name: str, agent: Path | None = None, **fields: Any) -> str:
        """As Codex tells it: of a sub-agent it names that one's rollout."""
        told = {"hook_event_name": name, "session_id": SESSION, "transcript_path": str(self.path)}
        if agent is not None:
            told |= {"agent_id": AGENT, "agent_type": "worker", "transcript_path": str(agent)}
        return event_answered(json.dumps(told | fields).encode(), "codex")


def spawned(call: str = "c1", thread: str = AGENT) -> list[dict[str, Any]]:
    asked = json.dumps({"message": PROMPT, "agent_type": "worker"})
    fields = {"name": "spawn_agent", "namespace": "multi_agent_v1", "arguments": asked}
    return [
        codex.item("function_call", call_id=call, **fields),
        codex.output(call, json.dumps({"agent_id": thread, "nickname": "Hubble"})),
    ]


def waited(report: str) -> list[dict[str, Any]]:
    fields = {"name": "wait_agent", "namespace": "multi_agent_v1"}
    status = {"status": {AGENT: {"completed": report}}, "timed_out": False}
    return [
        codex.item("function_call", call_id="w1", arguments="{}", **fields),
        codex.output("w1", json.dumps(status)),
    ]


def notified(report: str) -> dict[str, Any]:
    told = json.dumps({"agent_path": AGENT, "status": {"completed": report}})
    return codex.user(f"<subagent_notification>\n{told}\n</subagent_notification>")


def writing(path: str) -> list[dict[str, Any]]:
    return [codex.call("x1", f"echo a > {path}"), codex.output("x1", "")]


def told(name: str) -> str:
    return places.kept(places.folder_of(SESSION), name)


@pytest.mark.parametrize("late", [False, True], ids=["waited for", "told later"])
def test_what_a_sub_agent_of_codex_found_and_changed_is_told(late: bool, tmp_path: Path) -> None:
    rollouts = Rollouts(tmp_path)
    rollouts.agent(AGENT, *writing("buoy.py"), codex.said(FOUND))
    came = [notified(FOUND)] if late else [*waited(FOUND), notified(FOUND)]
    rollouts.main(*spawned(), *came, codex.said("Mended."))
    rollouts.event("Stop")
    steering = told(places.STEERING)
    assert f"Sub-agent, worker: Look for the buoy: {FOUND}" in steering
    assert steering.count(FOUND) == 1
    assert "| buoy.py | created | by a sub-agent" in steering
    assert "French" not in steering
    assert status_of(SESSION)["turns"] == len(read(rollouts.path).turns)


def test_the_rollout_of_a_sub_agent_is_never_followed_as_its_session(tmp_path: Path) -> None:
    """Its events come first, name its own rollout and have its session's id."""
    rollouts = Rollouts(tmp_path)
    own = rollouts.agent(AGENT, *writing("buoy.py"), codex.said(FOUND))
    for name in ("SubagentStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "Stop"):
        assert rollouts.event(name, own, source="compact") == ""
    assert not status_of(SESSION)
    rollouts.main(*spawned(), *waited(FOUND), codex.said("Mended."))
    both = {"agent_transcript_path": str(own), "transcript_path": str(rollouts.path)}
    rollouts.event("SubagentStop", own, **both)
    assert status_of(SESSION)["transcript"] == str(rollouts.path)
    assert "Never push" in told(places.RULES)
    assert "French" not in told(places.RULES)
    assert FOUND in told(places.STEERING)


def test_a_rollout_in_which_nobody_speaks_yet_is_not_followed_either(tmp_path: Path) -> None:
    rollouts = Rollouts(tmp_path)
    own = rollouts.agent(AGENT, codex.said(FOUND))
    whole = own.read_bytes()
    own.write_bytes(whole[: whole.index(b"\n") + 1])
    rollouts.event("SubagentStart", own)
    own.write_bytes(whole)
    rollouts.event("PostToolUse", own)
    assert not status_of(SESSION)


def test_no_worker_looks_at_a_rollout_that_is_not_the_sessions() -> None:
    base = {"hook_event_name": "PostToolUse", "session_id": "s1", "transcript_path": "of.jsonl"}
    for fields, followed in (
        ({}, "of.jsonl"),
        ({"agent_id": "a"}, ""),
        ({"agent_id": "a", "agent_transcript_path": "its.jsonl"}, "of.jsonl"),
    ):
        event = event_of(base | fields, "codex")
        assert event is not None
        assert event.transcript == followed


def test_rollouts_of_other_days_and_of_sub_agents_of_sub_agents_are_found(tmp_path: Path) -> None:
    rollouts = Rollouts(tmp_path)
    rollouts.agent(AGENT, *spawned("n1", INNER), codex.said(FOUND), day="2025/10/21")
    rollouts.agent(INNER, *writing("inner.py"), codex.said("It is dry."), day="2025/10/19")
    rollouts.agent(INNER.replace("019a", "02ff"), codex.said("Somebody else's."))
    rollouts.main(*spawned(), *waited(FOUND), codex.said("Mended."))
    found = read(rollouts.path)
    links = {one.agent: one.delegated_by for one in found.agents}
    assert links == {AGENT: "c1", INNER: "n1"}
    assert "inner.py" in summarize(found).files
    assert not found.compactions
    assert found.session.latest("id") == SESSION


def test_what_a_sub_agent_of_gemini_cli_found_and_changed_is_told(tmp_path: Path) -> None:
    result = f"Subagent 'generalist' finished.\nTermination Reason: GOAL\nResult:\n{FOUND}"
    asked = {"agent_name": "generalist", "prompt": PROMPT}
    delegating = gemini.call(result, name="invoke_agent", args=asked, agentId="g1111")
    path = tmp_path / "chats" / "session-2026-01-01T00-00-s1.jsonl"
    own = tmp_path / "chats" / "s-1" / "g1111.jsonl"
    own.parent.mkdir(parents=True)
    path.write_bytes(
        lines([gemini.METADATA, gemini.user(REQUEST), gemini.said("Found.", 1, delegating)])
    )
    meta = {**gemini.METADATA, "sessionId": "g1111", "kind": "subagent"}
    write = gemini.call("Created.", name="write_file", args={"file_path": "buoy.py"})
    own.write_bytes(lines([meta, gemini.user(PROMPT), gemini.said(FOUND, 1, write | {"id": "g1"})]))
    event = {"hook_event_name": "AfterAgent", "session_id": "s-1", "transcript_path": str(path)}
    event_answered(json.dumps(event).encode(), "gemini-cli")
    steering = places.kept(places.folder_of("s-1"), places.STEERING)
    assert f"Sub-agent, generalist: Look for the buoy: {FOUND}" in steering
    assert "| buoy.py | created | by a sub-agent" in steering
    assert "French" not in steering
    (agent,) = read(path).agents
    assert (agent.agent, agent.delegated_by) == ("g1111", "c1")
    assert read(path).session.latest("id") == "s-1"
    work("s-1", "gemini-cli", str(own), places.folder_of("other"))
    assert not status_of("other")


@pytest.mark.parametrize(
    ("output", "state", "report"),
    [
        ('<task id="ses_11" state="completed">\n<task_result>\n{}\n</task_result>\n</task>', "", 1),
        ("task_id: ses_11 (for resuming)\n\n<task_result>\n{}\n</task_result>", "", 1),
        ('<task id="ses_11" state="error">\n<task_error>\n{}\n</task_error>\n</task>', "FAILED", 1),
        ('<task id="ses_11" state="running">\n<task_result>\n\n</task_result>\n</task>', "has", 0),
    ],
)
def test_what_a_sub_agent_of_opencode_found_is_told(
    output: str, state: str, report: int, tmp_path: Path
) -> None:
    path = tmp_path / "export.json"
    asked = {"description": "Find the buoy", "prompt": PROMPT, "subagent_type": "explore"}
    call = opencode.tool("c1", "task", input=asked, output=output.replace("{}", FOUND))
    path.write_text(json.dumps(opencode.export(opencode.user(REQUEST), opencode.said(1, call))))
    ended = {"hook_event_name": "session.idle", "session_id": "s1", "transcript_path": str(path)}
    event_answered(json.dumps(ended).encode(), "opencode")
    steering = places.kept(places.folder_of("s1"), places.STEERING)
    (line,) = [one for one in steering.splitlines() if one.startswith("- Sub-agent")]
    assert line.count(FOUND) == report
    assert state in line
    assert "task_id" not in line
