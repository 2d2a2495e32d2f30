"""The rendering: every section, every citation, and back."""

from __future__ import annotations

from typing import get_args

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


def test_a_failing_check_stays_until_it_passes() -> None:
    """A narrower run that passed hid tests that failed."""
    failing = CommandRun(
        turn=3, command="make e2e", key="make e2e", purpose="test", success=False, failed=2
    )
    unit = CommandRun(turn=5, command="make unit", key="make unit", purpose="test", success=True)
    lines = section(rendered(failing, unit), "Current State")
    assert "- test: `make e2e`: FAILS, 2 tests failed [t3]" in lines
    again = CommandRun(turn=7, command="make e2e", key="make e2e", purpose="test", success=True)
    assert "FAILS" not in "".join(section(rendered(failing, unit, again), "Current State"))


def test_a_program_that_was_not_there_says_nothing_beside_one_that_was() -> None:
    """A linter that was not installed stood as failing for 130 turns."""
    absent = CommandRun(
        turn=3,
        command="lint .",
        key="lint .",
        purpose="lint",
        success=False,
        about="sh: command not found: lint",
    )
    other = CommandRun(turn=9, command="make lint", key="make lint", purpose="lint", success=True)
    assert "FAILS" in "".join(section(rendered(absent), "Current State"))
    assert "FAILS" not in "".join(section(rendered(absent, other), "Current State"))


@given(facts)
def test_what_was_rendered_can_be_read_again(found: list[AnyFact]) -> None:
    items = items_of(build(found))
    text = render(items, 3)
    again, left_out = parse(text)
    assert left_out == 3
    assert render(again, left_out) == text
    assert [item.section for item in again] == [item.section for item in items]


ASKED = Requested(turn=0, by="user", text="mend the lamp", scope="new")


def test_a_request_worked_on_without_closing_words_goes_on() -> None:
    call = Called(turn=1, by="tool", kind="run", what="ran `make`")
    steps = section(rendered(ASKED, call), "Next Steps")
    assert steps == ['1. Go on with "mend the lamp"; no closing answer yet [t0]']
    assert section(rendered(ASKED), "Next Steps") == ['1. Answer the request "mend the lamp" [t0]']


def test_a_refused_call_is_waited_for_and_a_commit_is_told_of() -> None:
    refused = Called(turn=1, by="tool", kind="run", what="ran `make`", state="refused")
    [step] = section(rendered(ASKED, refused), "Next Steps")
    assert step.startswith('1. Wait for the user about "mend the lamp"')
    call = Called(turn=1, by="tool", kind="run", what="ran `git commit -m lamp`")
    [step] = section(
        rendered(ASKED, call, Committed(turn=1, what="commit", name="aaaaaaa")), "Next Steps"
    )
    assert step.startswith('1. Say what came of "mend the lamp"')


def test_a_passing_run_of_all_tests_settles_a_failing_part() -> None:
    part = CommandRun(
        turn=3, command="make e2e", key="make e2e", purpose="test", success=False, failed=2
    )
    whole = CommandRun(turn=5, command="make test", key="make test", purpose="test", success=True)
    state = section(rendered(part, whole), "Current State")
    assert not any("make e2e" in line for line in state)


def test_a_finishing_call_closes_the_request() -> None:
    call = Called(turn=1, by="tool", kind="other", what="called submit ()")
    assert section(rendered(ASKED, call), "Next Steps") == ["N/A"]
    failed = Called(turn=1, by="tool", kind="other", what="called submit ()", state="failed")
    assert section(rendered(ASKED, failed), "Next Steps") != ["N/A"]


def test_who_hands_the_user_on_or_commits_each_edit_has_nothing_left() -> None:
    hands_on = Called(turn=1, by="tool", kind="other", what="called transfer_to_human (a: b)")
    assert section(rendered(ASKED, hands_on), "Next Steps") == ["N/A"]
    edited = Called(turn=1, by="tool", kind="edit", what="edited", path="lamp.py")
    commit = Committed(turn=1, what="commit", name="aaaaaaa")
    assert section(rendered(ASKED, edited, commit), "Next Steps") == ["N/A"]


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
