"""What every extractor keeps to: no text breaks or slows it, and what it remembers is bounded."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedgeline.facts import EXTRACTORS, Setting, facts_of
from kedgeline.facts.extractor import Extractor
from kedgeline.model import Note, ToolCall, Transcript, Turn
from kedgeline.shell import outcomes_of
from tests.facts.speaking import HOSTILE, refused
from tests.turns import bash, called, turn

FEW, MANY = 300, 1_200
"""Turns; after the few of them everything that is bounded is full."""
NOTES = ("notification", "environment", "plan", "command", "shell", "edited", "instructions")


def odd(words: str) -> Turn:
    """A turn that holds some words wherever a turn can hold words."""
    questions = [{"question": words, "options": [words, 3, None, {"label": 4}]}, 3, {}]
    return turn(
        0,
        bash(words, words, exit_code=1),
        bash(f"git commit -m x; git log --oneline; {words[:200]}", words),
        called("Edit", words, file_path=words, old_string=words, new_string=words[::-1]),
        called("Edit", words, success=False, file_path="a.py", edits=[1, {}], old_string=3),
        called("Read", words, file_path=words, offset=words, limit=1e400, view_range=[words, None]),
        called("Write", words, file_path="plans/a.md", content=words),
        called("AskUserQuestion", words, questions=questions),
        called("ExitPlanMode", words, plan=words),
        called("TodoWrite", words, todos=[{"content": words, "status": words}, 3]),
        called("Task", words, description=words, prompt=3),
        called("TaskOutput", words, task_id=words),
        refused("Edit", words, file_path="a.py"),
        notes=tuple(Note(kind=kind, text=words) for kind in NOTES),  # type: ignore[arg-type]
        user=words,
        says=words,
    )


def told(*turns: Turn) -> list[object]:
    return list(facts_of(Transcript(format="test", turns=turns)))


def test_half_a_surrogate_pair_stops_nothing() -> None:
    assert told(odd("\ud800 never"))


@pytest.mark.torture
@pytest.mark.parametrize("words", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_words_neither_raise_nor_take_long(words: str) -> None:
    began = time.perf_counter()
    told(odd(words), odd(words))
    assert time.perf_counter() - began < 20.0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(alphabet="aE:/.-_ 01\n\t'`|&;($\x00é[]#*?<>", max_size=60), max_size=3))
def test_any_words_are_taken(words: list[str]) -> None:
    told(*map(odd, words))


def busy(n: int) -> Turn:
    """One of many turns, none of which says or does the same."""
    name = f"{n:05}"
    asks, _ = called("AskUserQuestion", questions=[{"question": f"Which of {name}?"}])
    steps = (
        bash(f"./tool{name} --flag", f"error: reason of tool{name}", exit_code=1),
        bash(f"git commit -m 'fix SHOP-{n + 10}'", f"[main {n:07x}] fix {name}\n 1 file changed"),
        called("Edit", "ok", file_path=f"f{name}.py", old_string="a" * 20, new_string=name * 4),
        called("Edit", f"rule{name} broken", success=False, file_path=f"g{name}.py"),
        called("Read", "text", file_path=f"r{name}.py"),
        called("TaskCreate", f"Task #{n} created successfully: t", subject=f"step {name}"),
        called("ExitPlanMode", "ok", plan=f"# P\n1. do {name}\n2. see {name}"),
        called("Task", f"agentId: agent{name}", run_in_background=True, description=name),
        refused("Write", "", file_path=f"w{name}.py"),
    )
    says = f"Next steps: write {name}\n\nWant me to drop table {name} of the index?"
    one = turn(n, *steps, user=f"Never touch {name}. Why is it slow?", says=says, exchange=n // 7)
    return Turn(
        index=n,
        exchange=n // 7,
        user_message=one.user_message,
        assistant_response=says,
        tool_calls=(
            *one.tool_calls,
            ToolCall(id="asks", tool=asks.tool, parameters=asks.parameters),
        ),
        tool_results=one.tool_results,
        notes=(Note(kind="instructions", text=f"Always run {name}."),),
    )


@pytest.mark.parametrize("make", EXTRACTORS, ids=lambda one: one.__name__)
def test_what_is_remembered_does_not_grow(make: Callable[[Setting], Extractor]) -> None:
    extractor, sizes = make(Setting(root="/srv/app")), []
    for n in range(MANY):
        one = busy(n)
        list(extractor.see(one, outcomes_of(one)))
        if n + 1 in (FEW, MANY):
            sizes.append(len(pickle.dumps(vars(extractor) | {"_setting": None})))
    assert sizes[1] < 1.1 * sizes[0] + 500
