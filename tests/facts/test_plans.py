"""Steps of plans and items of check lists, as Markdown has them."""

from __future__ import annotations

import pytest

from kedgeline.facts.todos import Checkbox, checkboxes_in, plan_title, steps_in


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
