"""What sub-agents were asked and reported."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kedgeline.facts.extractor import Setting
from kedgeline.facts.session import REPORT, AgentExtractor, _report_of
from kedgeline.model import AgentReported, Note, ToolResult, Turn
from tests.facts.speaking import told_by
from tests.facts.todo_calls import Step, refused
from tests.turns import called, turn

LAUNCHED = "Async agent launched successfully.\nagentId: a12b34 (internal)\nIt is working."


def task(output: str, *, success: bool = True, **given: Any) -> Step:
    asked = {"description": "Look at tests", "prompt": "Find the slow tests. Say which."} | given
    return called("Task", output, success=success, **asked)


def reported(*turns: Turn) -> list[AgentReported]:
    return told_by(AgentExtractor(Setting()), *turns)


def notified(text: str, number: str = "a12b34", status: str = "completed") -> Note:
    return Note(
        kind="notification",
        text=f"<task-notification>\n<task-id>{number}</task-id>\n<status>{status}</status>\n"
        f'<summary>Agent "Look at tests" {status}</summary>\n<result>{text}</result>'
        "</task-notification>",
    )


def test_a_task_with_its_report_is_the_agents_word():
    (fact,) = reported(turn(3, task("Two tests are slow: a and b.")))

    assert fact == AgentReported(
        turn=3,
        by="agent",
        task="Look at tests: Find the slow tests",
        report="Two tests are slow: a and b.",
        success=True,
    )


def test_a_failed_task_says_how():
    (fact,) = reported(turn(0, task("No such agent.", success=False)))

    assert (fact.report, fact.success) == ("No such agent.", False)


@pytest.mark.parametrize("how", ["refused", "interrupted", "unanswered"])
def test_what_never_reported_is_unknown(how: str):
    call, _ = task("x")
    results = {
        "refused": (refused((call, ToolResult(call_id=call.id)), "stop")[1],),
        "interrupted": (ToolResult(call_id=call.id, success=False, interrupted=True),),
        "unanswered": (),
    }
    (fact,) = reported(Turn(index=0, tool_calls=(call,), tool_results=results[how]))

    assert (fact.report, fact.success) == ("", None)


def test_an_agent_in_the_background_reports_later():
    launched, done = reported(
        turn(0, task(LAUNCHED, run_in_background=True)),
        turn(4, notes=(notified("Two tests are slow."),)),
    )

    assert (launched.report, launched.success) == ("", None)
    assert (done.turn, done.task, done.report, done.success) == (
        4,
        launched.task,
        "Two tests are slow.",
        True,
    )


def test_an_agent_that_was_stopped_did_not_succeed():
    facts = reported(turn(0, task(LAUNCHED)), turn(1, notes=(notified("", status="killed"),)))

    assert facts[1].success is False


def test_an_unknown_agent_is_named_by_its_notification():
    (fact,) = reported(turn(0, notes=(notified("Two tests are slow."),)))

    assert (fact.task, fact.report) == ("Look at tests", "Two tests are slow.")


def test_a_command_in_the_background_is_no_agent():
    note = Note(
        kind="notification",
        text="<task-id>b1</task-id><status>completed</status>"
        '<summary>Background command "make" completed</summary>',
    )
    other = Note(kind="injected", text=notified("x").text)

    assert reported(turn(0, notes=(note, other))) == []


def test_a_report_that_is_fetched():
    output = "<status>completed</status>\n<output>\nTwo tests are slow.\n</output>"
    waiting = called("TaskOutput", "<status>running</status>", task_id="a12b34")

    facts = reported(
        turn(0, task(LAUNCHED)),
        turn(1, waiting),
        turn(2, called("TaskOutput", output, task_id="a12b34")),
        turn(3, called("TaskOutput", output, task_id="a12b34")),
    )

    assert [(fact.turn, fact.report) for fact in facts] == [(0, ""), (2, "Two tests are slow.")]


def test_several_agents_are_waited_for():
    spawned = called("spawn_agent", '{"agent_id": "x-12"}', message="Find the slow tests.")
    status = {"x-12": {"completed": "Two tests are slow."}, "x-2": "running"}

    facts = reported(
        turn(0, spawned), turn(1, called("wait", json.dumps({"status": status}), ids=["x-12"]))
    )

    assert [(fact.task, fact.report) for fact in facts] == [
        ("Find the slow tests", ""),
        ("Find the slow tests", "Two tests are slow."),
    ]


def test_other_tools_report_nothing():
    assert reported(turn(0, called("Read", LAUNCHED, file_path="a"))) == []


def test_a_report_is_cut_and_its_cost_left_out():
    assert len(_report_of("word " * 500)) <= REPORT
    assert _report_of("It works.\n<usage>tokens: 9\ncalls: 3</usage>") == "It works."
    assert _report_of("") == ""
