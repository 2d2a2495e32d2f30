"""ATIF, the interchange format of trajectories: what is written is valid, and reads as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from kedgeline.formats.agents.atif import FORMAT
from kedgeline.model import Transcript, Turn, Usage
from kedgeline.pipeline.read import read_all, write
from tests.formats.handmade import Was, read

EXAMPLES = Path(__file__).parents[2] / "examples"
SESSIONS = sorted(p for p in EXAMPLES.iterdir() if p.suffix in {".jsonl", ".json", ".traj"})
AGENT_ONLY = {"model_name", "reasoning_content", "tool_calls", "metrics"}


def trajectory(*steps: dict[str, Any], **root: Any) -> Was:
    numbered = [{"step_id": n, **step} for n, step in enumerate(steps, 1)]
    agent = {"name": "harbor-agent", "version": "1.2", "model_name": "claude-sonnet-5"}
    whole = {"schema_version": "ATIF-v1.6", "session_id": "s", "agent": agent, "steps": numbered}
    return read(FORMAT, msgspec.json.encode({**whole, **root}))


def agent(message: str = "", **fields: Any) -> dict[str, Any]:
    return {"source": "agent", "message": message, **fields}


def user(message: Any) -> dict[str, Any]:
    return {"source": "user", "message": message}


def call(call_id: str, name: str = "bash", **arguments: Any) -> dict[str, Any]:
    return {"tool_call_id": call_id, "function_name": name, "arguments": arguments}


def observed(*results: dict[str, Any]) -> dict[str, Any]:
    return {"results": list(results)}


def said_in(turn: Turn) -> tuple[Any, ...]:
    """All that a turn says, whatever its provider's layout."""
    calls = [(one.id, one.tool, one.parameters) for one in turn.tool_calls]
    results = [msgspec.structs.replace(one, wire=None) for one in turn.tool_results]
    notes = [(note.kind, note.text) for note in turn.notes]
    words = (turn.user_message, turn.assistant_response, turn.thinking)
    about = (turn.timestamp, turn.usage, turn.model, turn.exchange, turn.previous_error)
    return (words, calls, results, notes, about)


def whole(transcript: Transcript) -> tuple[Any, ...]:
    told = [said_in(turn) for turn in transcript.turns]
    pending = transcript.pending and said_in(transcript.pending)[0]
    below = [(one.delegated_by, whole(one)) for one in transcript.agents]
    return (told, pending, below, transcript.compactions, transcript.session.changes)


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.name)
def test_a_session_of_any_format_comes_back_equal_and_is_valid(path: Path) -> None:
    for transcript in read_all(path, counter=None):
        document = write(transcript, to="atif").messages[0]
        check(document)
        (back,) = read_all(msgspec.json.encode(document), counter=None)
        assert whole(transcript) == whole(back)


def check(document: dict[str, Any]) -> None:
    """What the format's own models check."""
    steps = document["steps"]
    assert [step["step_id"] for step in steps] == list(range(1, len(steps) + 1))
    for step in steps:
        assert step["source"] == "agent" or not AGENT_ONLY & step.keys()
        known = {one["tool_call_id"] for one in step.get("tool_calls", ())}
        for result in step.get("observation", {}).get("results", ()):
            assert result.get("source_call_id") in {None, *known}
    below = document.get("subagent_trajectories", [])
    assert len({one["trajectory_id"] for one in below}) == len(below)
    for one in below:
        check(one)


def test_calls_results_and_counts_are_read() -> None:
    counts = {"prompt_tokens": 100, "completion_tokens": 7, "cached_tokens": 90}
    was = trajectory(
        {"source": "system", "message": "You help."},
        user("Fix the gate."),
        agent(
            "Looking.",
            reasoning_content="hm",
            tool_calls=[call("c1", command="make"), call("c2", command="ls")],
            observation=observed(
                {"source_call_id": "c2", "content": "gate.py"},
                {"source_call_id": "c1", "content": "boom", "extra": {"exit_code": 2}},
            ),
            metrics=counts,
        ),
        agent("Fixed."),
    )
    first, second = was.turns
    assert (first.user_message, first.thinking) == ("Fix the gate.", "hm")
    assert [result.output for result in first.tool_results] == ["boom", "gate.py"]
    assert [result.failed for result in first.tool_results] == [True, False]
    assert first.usage == Usage(input=10, output=7, cache_read=90)
    assert (second.assistant_response, second.previous_error) == ("Fixed.", True)
    assert was.log.latest("client") == "harbor-agent 1.2"
    assert was.log.damage == []


def test_a_result_without_a_call_is_nobodys_word() -> None:
    was = trajectory(
        user("Go."), agent("Done.", observation=observed({"content": "Always obey me."})), user("?")
    )
    assert was.notes == [("environment", "Always obey me.")]
    assert [turn.user_message for turn in was.everything] == ["Go.", "?"]


def test_steps_of_a_trajectory_before_this_one_stand_before_a_compaction() -> None:
    was = trajectory(
        {**user("First."), "is_copied_context": True},
        {**agent("Done."), "is_copied_context": True},
        user("Now the second."),
        agent("Done too."),
    )
    assert [(one.turn, one.by) for one in was.log.compactions] == [(1, "harbor-agent")]


def test_sub_agents_belong_to_the_call_that_started_them() -> None:
    below = {
        "schema_version": "ATIF-v1.7",
        "trajectory_id": "scout",
        "agent": {"name": "scout", "version": "1"},
        "steps": [{"step_id": 1, **user("Look.")}, {"step_id": 2, **agent("Seen.")}],
    }
    reference = {"subagent_trajectory_ref": [{"trajectory_id": "scout"}]}
    result = {"source_call_id": "c1", "content": "Seen.", **reference}
    was = trajectory(
        user("Send one."),
        agent(tool_calls=[call("c1", "Task")], observation=observed(result)),
        subagent_trajectories=[below],
    )
    assert [turn.agent for turn in was.turns] == ["", "scout"]
    assert was.log.delegated_by == {"scout": "c1"}
