"""Todos by tools and by approved plans."""

from __future__ import annotations

from typing import Any

import pytest

from kedgeline.facts.extractor import Setting
from kedgeline.facts.todos import (
    Checkbox,
    TodoExtractor,
    checkboxes_in,
    plan_title,
    says_done,
    steps_in,
)
from kedgeline.model import Note, TodoSet, Turn
from tests.facts.speaking import told_by
from tests.facts.todo_calls import (
    approved,
    created,
    refused,
    updated,
    whole,
)
from tests.turns import called, turn

PLAN = """# Plan: Retry in the client

## Changes

### 1. Add `Retry`
### 2. Cover it
"""


def todos(*turns: Turn, root: str = "") -> list[TodoSet]:
    return told_by(TodoExtractor(Setting(root=root)), *turns)


def told(*turns: Turn) -> list[tuple[int, str, str]]:
    return [(fact.turn, fact.text, fact.status) for fact in todos(*turns)]


def test_a_whole_list_gives_only_what_changed():
    found = told(
        turn(0, whole(("Split", "in_progress"), ("Cover", "pending"))),
        turn(1, whole(("Split", "completed"), ("Cover", "pending"))),
        turn(2, whole(("Split", "completed"), ("Cover", "pending"))),
    )

    assert found == [
        (0, "Split", "in_progress"),
        (0, "Cover", "pending"),
        (1, "Split", "completed"),
    ]


def test_what_vanishes_from_a_list_is_dropped_unless_it_was_done():
    found = told(
        turn(0, whole(("Split", "completed"), ("Cover", "pending"))),
        turn(1, whole(("Release", "pending"))),
        turn(2, called("TodoWrite", "ok", todos=[])),
    )

    assert found[2:] == [
        (1, "Cover", "dropped"),
        (1, "Release", "pending"),
        (2, "Release", "dropped"),
    ]


def test_ids_that_a_new_list_counts_anew_do_not_join_two_items():
    def listed(text: str) -> Any:
        return called("todowrite", "ok", todos=[{"id": "1", "content": text, "status": "pending"}])

    facts = todos(turn(0, listed("Split")), turn(1, listed("Release")))

    assert [fact.text for fact in facts] == ["Split", "Split", "Release"]
    assert facts[0].key == facts[1].key != facts[2].key


def test_items_of_a_list_are_changed_by_their_id():
    def some(merge: bool, *items: dict[str, str]) -> Any:
        return called("todo_write", "ok", merge=merge, todos=list(items))

    found = told(
        turn(0, some(False, {"id": "a", "content": "Split", "status": "pending"})),
        turn(1, some(True, {"id": "a", "status": "completed"}, {"id": "z", "status": "pending"})),
        turn(2, some(True, {"id": "b", "content": "Cover", "status": "pending"})),
        turn(3, some(True, {"id": "b", "status": "in_progress"})),
    )

    assert found[1:] == [
        (1, "Split", "completed"),
        (2, "Cover", "pending"),
        (3, "Cover", "in_progress"),
    ]


def test_the_same_words_twice_are_two_items():
    facts = todos(turn(0, whole(("Run tests", "pending"), ("Run tests", "pending"))))

    assert len({fact.key for fact in facts}) == 2
    assert [fact.place for fact in facts] == [0, 1]


def test_numbered_items_are_replayed_by_their_id():
    found = told(
        turn(0, created(1, "Split"), created(2, "Cover")),
        turn(1, updated(2, status="in_progress")),
        turn(2, updated(2, status="completed", success=False)),
        turn(3, updated(1, addBlockedBy=["2"])),
        turn(4, updated(2, status="completed"), updated(1, status="deleted")),
    )

    assert found == [
        (0, "Split", "pending"),
        (0, "Cover", "pending"),
        (1, "Cover", "in_progress"),
        (4, "Cover", "completed"),
        (4, "Split", "dropped"),
    ]


def test_numbered_items_keep_key_and_place():
    facts = todos(turn(0, created(7, "Split")), turn(1, updated(7, subject="Split in two")))

    assert [(fact.key, fact.place, fact.text) for fact in facts] == [
        ("#7", 7, "Split"),
        ("#7", 7, "Split in two"),
    ]


def test_a_printed_list_corrects_what_is_known():
    listing = called("TaskList", "#1 [completed] Split\n#3 [pending] Release [blocked by #1]")

    found = told(turn(0, created(1, "Split"), created(2, "Cover")), turn(1, listing))

    assert found[2:] == [
        (1, "Cover", "dropped"),
        (1, "Split", "completed"),
        (1, "Release", "pending"),
    ]


def test_an_item_without_words_says_nothing_until_they_are_known():
    listing = called("TaskList", "#4 [in_progress] Split")

    assert told(turn(0, updated(4, status="in_progress")), turn(1, listing)) == [
        (1, "Split", "in_progress")
    ]


def test_what_was_refused_or_not_answered_changes_nothing():
    call, _ = whole(("Split", "pending"))

    assert told(turn(0, refused(whole(("Split", "pending"))))) == []
    assert told(Turn(index=0, tool_calls=(call,))) == []


def test_an_approved_plan_gives_its_steps():
    facts = todos(turn(0, refused(approved(PLAN), "shorter")), turn(1, approved(PLAN)))

    assert [(f.turn, f.text, f.status, f.source, f.by) for f in facts] == [
        (1, "Add `Retry`", "pending", "plan", "agent"),
        (1, "Cover it", "pending", "plan", "agent"),
    ]


def test_the_plan_as_the_user_left_it_counts():
    edited = "User has approved your plan.\n\n## Approved Plan (edited by user):\n" + PLAN.replace(
        "Cover it", "Cover it well"
    )

    assert [text for _, text, _ in told(turn(0, approved(PLAN, edited)))] == [
        "Add `Retry`",
        "Cover it well",
    ]


def test_a_plan_given_back_as_the_task_is_the_same_plan():
    note = Note(kind="plan", text=f"Implement the following plan:\n\n{PLAN}")
    other = Note(kind="injected", text=PLAN.replace("Cover", "Discover"))

    found = told(turn(0, approved(PLAN)), turn(1, notes=(note, other)))

    assert len(found) == 2


def test_a_plan_in_the_users_words_is_given_too():
    assert len(told(turn(0, user=f"Implement the following plan:\n\n{PLAN}"))) == 2
    assert told(turn(0, user=f"what do you think of this?\n\n{PLAN}")) == []


def test_a_new_plan_drops_what_is_open_of_the_last():
    other = PLAN.replace("Cover it", "Measure it")

    assert told(turn(0, approved(PLAN)), turn(1, approved(other)))[2:] == [
        (1, "Cover it", "dropped"),
        (1, "Measure it", "pending"),
    ]


def test_a_plan_that_the_call_does_not_repeat_is_the_one_written_last():
    written = called("Write", "created", file_path="/r/plans/a.md", content=PLAN)
    edited = called("Edit", "ok", file_path="/r/plans/a.md", old_string="x", new_string="y")

    assert len(told(turn(0, written), turn(1, approved()))) == 2
    assert told(turn(0, written), turn(1, edited), turn(2, approved())) == []


@pytest.mark.parametrize(
    "answer",
    [
        "Plan complete and saved to plans/a.md.",
        "All tests pass.",
        "All done with step one. You still need to add the secret.",
        "The first part is in place. All changes are not done yet.",
        "Here's a summary of the changes. Cover it was not implemented.",
        "",
    ],
)
def test_other_answers_complete_nothing(answer: str):
    assert len(told(turn(0, approved(PLAN)), turn(1, says=answer))) == 2


def test_a_labelled_step_is_completed_by_its_label():
    plan = "# Plan\n\n## Task 1: Add `Retry`\n\n## Task 2: Cover it\n"

    found = told(
        turn(0, approved(plan)),
        turn(1, updated(9, status="pending"), says="Task 1 complete. Now Task 2.", exchange=1),
    )

    assert found[2:] == [(1, "Task 1: Add `Retry`", "completed")]


# Steps of plans and items of check lists, as Markdown has them.


@pytest.mark.parametrize(
    ("plan", "steps"),
    [
        ("## Task 1: Split\n### Step 1: Look\n### Step 2: Cut\n## Task 2: Cover\n", 2),
        ("# Plan\n## Changes\n### 1. Split\n### 2. Cover\n", 2),
        ("# Plan\n### A. Split\n### B. Cover\n", 2),
        ("**Step 1: Split**\ntext\n**Step 2: Cover**\n", 2),
        ("# Plan: x\n\n1. Split\n   - how\n2. Cover\n", 2),
        ("## Implementation steps\n1. **Split** it:\n2. Cover\n", 2),
        ("## Phase 1: Split\n", 1),
    ],
)
def test_steps_are_found(plan: str, steps: int):
    assert len(steps_in(plan)) == steps


def test_steps_are_verbatim_without_their_number():
    plan = "# Plan\n## Steps\n1. Add `a_b` to **x**:\n2) Cover it.\n"

    assert steps_in(plan) == ("Add `a_b` to **x**", "Cover it.")


def test_labels_are_kept_because_agents_speak_of_them():
    assert steps_in("## Task 3: Split\n") == ("Task 3: Split",)


@pytest.mark.parametrize(
    "plan",
    [
        "# Plan\n## Context\n1. It fails\n2. It is slow\n## Fix\nCatch it.\n",
        "# Plan\n## Problem\n### 1. It fails\n### 2. It is slow\n",
        "# Plan\n## Verification\n1. Run the tests\n2. Look at it\n",
        "# Plan\n## Steps\n```\n1. not a step\n2. neither\n```\n",
        "# Plan\n## Changes\n1. one number is an aside\n",
        "No plan at all.",
        "",
    ],
)
def test_what_is_about_the_work_is_no_step(plan: str):
    assert steps_in(plan) == ()


def test_numbered_headings_outrank_lists_below_them():
    plan = "# Plan\n## Changes\n### 1. Split\n1. look\n2. cut\n### 2. Cover\n1. write\n2. run\n"

    assert steps_in(plan) == ("Split", "Cover")


def test_check_lists_outside_of_code():
    text = "- [ ] a\n  * [X] b\n1. [x] c\n```\n- [ ] code\n```\n- [] no\n- [link](x)\n"

    assert checkboxes_in(text) == (Checkbox("a", False), Checkbox("b", True), Checkbox("c", True))


def test_the_title_is_the_first_heading_without_the_word_plan():
    assert plan_title("text\n# Plan: Retry in the client\n## x") == "Retry in the client"
    assert plan_title("no heading") == ""


# Seed 000's todo rule in its safe form (R29).


@pytest.mark.parametrize(
    "text",
    [
        "token refresh done",
        "Token refresh is now complete.",
        "Login works, token refresh: done",
        "Finished token refresh.",
        "finished with the token refresh",
        "Done: token refresh",
        "- [x] token refresh",
        "**Token refresh**: ✅ Done",
        "token refresh has been completed today; login is next",
    ],
)
def test_explicit_evidence_completes(text: str):
    assert says_done("token refresh", text)


@pytest.mark.parametrize(
    "text",
    [
        "testing token refresh",
        "token refresh not done",
        "not done",
        "done",
        "token refresh isn't done",
        "token refresh hasn’t been completed",
        "is token refresh done?",
        "Token refresh done?",
        "never finished token refresh",
        "not yet: token refresh done",
        "token refresh is 90% done",
        "token refresh incomplete",
        "token refresh unfinished",
        "once token refresh is done we ship",
        "token refresh will be done",
        "token refresh in progress and login done",
        "login done, token refresh in progress",
        "the tests of token refresh are done",
        "token refreshes done",
        "token refresh complete rewrite planned",
        "- [ ] token refresh",
        "",
    ],
)
def test_anything_less_does_not(text: str):
    assert not says_done("token refresh", text)
