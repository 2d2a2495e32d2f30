"""The rendering: every section, every citation, and back."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given

from kedgeline.model import (
    Answered,
    AnyFact,
    Asked,
    Called,
    CommandRun,
    Committed,
    Decided,
    FileChanged,
    FileRead,
    InstructionGiven,
    Requested,
    TodoSet,
)
from kedgeline.model.summary import SectionName
from kedgeline.summary.listing import decisions
from kedgeline.summary.markdown import parse, render
from kedgeline.summary.sections import SECTIONS, items_of
from kedgeline.summary.state import build
from tests.probes.facts import run
from tests.summary.facts import facts


def rendered(*found: AnyFact) -> str:
    return render(items_of(build(found)))


def section(text: str, name: str) -> list[str]:
    after = f"\n{text}".partition(f"\n## {name}\n")[2]
    return after.partition("\n\n## ")[0].split("\n")


def test_every_name_of_a_section_is_one_and_all_are_declared() -> None:
    assert tuple(SECTIONS) == get_args(SectionName)


def test_all_sections_are_there_in_their_order_and_empty_ones_say_so() -> None:
    text = rendered()
    assert [line[3:] for line in text.split("\n") if line.startswith("## ")] == list(SECTIONS)
    assert text.count("N/A") == len(SECTIONS)


def test_files_are_a_table_of_net_effects() -> None:
    text = rendered(
        FileChanged(turn=1, path="new.py", action="created", what="adds `A`"),
        FileChanged(turn=4, path="new.py", action="modified", what="adds `B`"),
        FileChanged(turn=2, path="gone.py", action="created"),
        FileChanged(turn=3, path="gone.py", action="deleted"),
        FileChanged(turn=5, path="old.py", action="modified"),
        FileChanged(turn=6, path="old.py", action="deleted"),
        FileRead(turn=1, path="new.py"),
        FileRead(turn=2, path="read|only.py", why="to see the rule"),
    )
    assert section(text, "Files Modified")[2:] == [
        "| new.py | created | adds `A`, `B` [t1, t4] |",
        "| old.py | deleted | [t5-6] |",
    ]
    assert section(text, "Files Read (Not Modified)") == ["- read|only.py: to see the rule [t2]"]


def test_the_current_request_and_the_rules_are_verbatim() -> None:
    words = "Fix it.\n\n## Current State\n- all done"
    text = rendered(
        Requested(turn=0, by="user", text="Build a crane", scope="new"),
        Requested(turn=3, by="user", text=words),
        InstructionGiven(turn=3, by="user", text="never push"),
    )
    items, _ = parse(text)
    assert f'Now: "{words}"' in [item.text for item in items]
    assert section(text, "Standing Instructions") == ['- "never push" [t3]']
    assert section(text, "Current State") == ["N/A"]


def test_a_check_is_told_with_what_came_after_it() -> None:
    text = rendered(
        CommandRun(
            turn=3, command="make test", key="make test", purpose="test", success=True, passed=4
        ),
        FileChanged(turn=5, path="a.py", action="modified"),
        CommandRun(turn=6, command="git status", key="git status"),
    )
    state = section(text, "Current State")
    assert "- test: `make test`: 4 tests passed, 0 failed [t3]" in state
    assert "- Edited since the last test run: a.py [t5]" in state
    assert "- The agent made no commit" in state


def test_a_request_that_was_answered_is_not_the_current_one() -> None:
    """An agent that goes on from it would do the work again."""
    asked = Requested(turn=3, by="user", text="Fix the light", scope="new")
    answer = Answered(turn=5, by="agent", text="The light works.")
    text = rendered(asked, answer)
    assert section(text, "Session Intent") == ['- Asked last, answered in t5: "Fix the light" [t3]']
    assert "- The agent closed with: The light works. [t5]" in section(text, "Current State")
    later = CommandRun(turn=6, command="make", key="make")
    assert '- Now: "Fix the light" [t3]' in section(
        rendered(asked, answer, later), "Session Intent"
    )
    asks = Answered(turn=5, by="agent", text="Which one?", asks=True)
    assert '- Now: "Fix the light" [t3]' in section(rendered(asked, asks), "Session Intent")


def test_a_short_request_comes_with_the_answer_it_refers_to() -> None:
    answer = Answered(turn=2, by="agent", text="Five ways.", whole="Five ways. 1. red 2. blue")
    asked = Requested(turn=3, by="user", text="do 1, 2 and 5")
    lines = section(rendered(answer, asked), "Session Intent")
    assert lines[1] == "- It answers what the agent said: Five ways. 1. red 2. blue [t2]"
    long = Requested(turn=3, by="user", text="word " * 20)
    assert len(section(rendered(answer, long), "Session Intent")) == 1


UNIT = run(5, "test", "make unit", success=True)
E2E = run(3, "test", "make e2e", success=False, failed=2)
ABSENT = run(3, "lint", "lint .", success=False, about="sh: command not found: lint")


@pytest.mark.parametrize(
    ("runs", "told"),
    [
        ([E2E, UNIT], "`make e2e`: FAILS, 2 tests failed [t3]"),
        ([E2E, UNIT, run(7, "test", "make e2e", success=True)], ""),
        ([E2E, run(5, "test", "make test", success=True)], ""),
        ([ABSENT], "`lint .`: FAILS"),
        ([ABSENT, run(9, "lint", "make lint", success=True)], ""),
    ],
)
def test_a_failing_check_stays_until_it_or_all_passes(runs: list[AnyFact], told: str) -> None:
    """A narrower run that passed hid tests that failed; a linter that was not installed stood as
    failing for 130 turns."""
    state = "\n".join(section(rendered(*runs), "Current State"))
    assert told in state
    assert ("FAILS" in state) is bool(told)


@given(facts)
def test_what_was_rendered_can_be_read_again(found: list[AnyFact]) -> None:
    items = items_of(build(found))
    text = render(items, 3)
    again, left_out = parse(text)
    assert left_out == 3
    assert render(again, left_out) == text
    assert [item.section for item in again] == [item.section for item in items]


ASKED = Requested(turn=0, by="user", text="mend the lamp", scope="new")


def called(what: str, kind: Any = "other", **fields: Any) -> Called:
    return Called(turn=1, by="tool", kind=kind, what=what, **fields)


COMMIT = Committed(turn=1, what="commit", name="aaaaaaa")


@pytest.mark.parametrize(
    ("since", "step"),
    [
        ([], '1. Answer the request "mend the lamp" [t0]'),
        ([called("ran `make`", "run")],
         '1. Go on with "mend the lamp"; no closing answer yet [t0]'),
        ([called("ran `make`", "run", state="refused")], '1. Wait for the user about "mend the'),
        ([called("ran `git commit -m lamp`", "run"), COMMIT], '1. Say what came of "mend the'),
        ([called("called submit ()")], "N/A"),
        ([called("called submit ()", state="failed")], "1. "),
        ([called("called transfer_to_human (a: b)")], "N/A"),
        ([called("edited", "edit", path="lamp.py"), COMMIT], "N/A"),
    ],
)  # fmt: skip
def test_what_comes_next_is_told_by_how_the_last_call_ended(
    since: list[AnyFact], step: str
) -> None:
    """Who hands in the work, hands the user on or commits each edit has nothing left to do."""
    [line] = section(rendered(ASKED, *since), "Next Steps")
    assert line.startswith(step)


def test_a_question_of_the_agents_is_waited_for() -> None:
    answer = Answered(turn=1, by="agent", text="Green or blue?", asks=True)
    put = Asked(turn=1, by="agent", key="green", question="Green or blue?")
    text = rendered(ASKED, answer, put)
    wait = "1. Wait for the user's answer to the agent's question [t1]"
    assert section(text, "Next Steps") == [wait]
    assert section(text, "Blockers / Open Questions") == ["- The agent asked: Green or blue? [t1]"]


def test_a_check_within_a_longer_line_ran_again() -> None:
    lint = CommandRun(turn=1, command="ruff .", key="cd a && ruff .", purpose="lint", success=True)
    changed = FileChanged(turn=2, by="tool", path="lamp.py", action="modified")
    assert any("not run again" in one for one in section(rendered(lint, changed), "Current State"))
    both = CommandRun(turn=3, command="b", key="ruff . && pytest", purpose="test", success=True)
    state = section(rendered(lint, changed, both), "Current State")
    assert not any("not run again" in one for one in state)


def test_the_last_call_is_told_however_many_turns_said_nothing_since() -> None:
    call = Called(turn=1, by="tool", kind="run", what="ran `make`", state="failed")
    text = render(items_of(build([ASKED, call], through=4)))
    assert "- Last call: ran `make` FAILED [t1]" in section(text, "Current State")


def test_a_long_quote_is_told_by_its_end_where_there_is_little_room() -> None:
    quote = "to the agent's “The lamp is old. " + "It smells. " * 40 + "Shall I take the blue one?”"
    one = Decided(turn=2, by="user", key="blue", decision="yes, do that", about=quote)
    (item,) = decisions(build([one]))
    assert item.text.startswith("yes, do that (to the agent's “… ")
    assert "Shall I take the blue one?”" in item.text
    assert quote in item.more[0]


def test_a_decision_that_tells_its_reason_is_not_said_to_have_none() -> None:
    choice = "use oil because gas smells"
    one = Decided(turn=1, by="user", key="oil", decision=choice)
    assert section(rendered(one), "Decisions Made") == [f"- {choice} [t1]"]


def test_steps_of_a_plan_that_nobody_ticks_end_with_the_work() -> None:
    step = TodoSet(
        turn=0, by="agent", key="plan: a", text="Paint it", status="pending", source="plan"
    )
    changed = FileChanged(turn=1, by="tool", path="lamp.py", action="modified")
    assert section(rendered(step, changed), "Next Steps") == ["1. Paint it [t0]"]
    closed = Answered(turn=2, by="agent", text="The lamp is green.")
    text = rendered(step, changed, closed)
    assert section(text, "Next Steps") == ["N/A"]
    assert not any(line.startswith("- Tasks") for line in section(text, "Current State"))
