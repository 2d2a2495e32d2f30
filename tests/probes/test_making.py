"""What is asked of requests, rules and files: the exact probe; and of nothing, nothing."""

from __future__ import annotations

from typing import Any

import pytest

from kedgeline.model import Answered, FileRead, InstructionGiven, Requested, Summary, Verdict
from kedgeline.pipeline.handoff import asked, verify
from kedgeline.probes import probes_of
from kedgeline.summary import handoff
from tests.probes.facts import NO_LIMIT, size
from tests.probes.making import asks, change, made, of, only, told


def words(turn: int, text: str, scope: Any = "same") -> Requested:
    return Requested(turn=turn, by="user", text=text, scope=scope)


def test_the_current_request_is_asked_for_in_all_its_words() -> None:
    long = "Fix the light.\n\n" + "And then the other lamp. " * 30
    earlier, current = made(words(0, "Build it", "new"), words(4, long), room=0), long.strip()
    assert [told(one) for one in earlier] == [
        asks("continuation", "request", "Session Intent", 4, current, critical=True)
    ]


def test_a_request_that_is_still_there_is_not_asked_for() -> None:
    found = (words(0, "Build a crane", "new"), words(4, "Fix the light"))
    assert of("request", *found, current=False) == []
    assert [one.expected for one in of("earlier request", *found, current=False)] == [
        ("Fix the light",),
        ("Build a crane",),
    ]


def test_earlier_requests_are_those_of_the_scope_and_how_others_began() -> None:
    probes = of(
        "earlier request",
        words(0, "Build a crane", "new"),
        words(1, "higher, please"),
        words(2, "go on", "step"),
        words(3, "Now the light", "new"),
        words(4, "and the lamp"),
        words(5, "and the mast"),
    )
    assert [(one.turn, *one.expected) for one in probes] == [
        (4, "and the lamp"),
        (3, "Now the light"),
        (0, "Build a crane"),
    ]
    assert told(probes[0]) == asks("continuation", "earlier request", "Story", 4, "and the lamp")


def test_a_long_request_is_known_by_its_beginning() -> None:
    long = "Moor the ferry at the second berth, " * 5
    (probe,) = of("earlier request", words(0, long, "new"), words(1, "go"))
    assert probe.expected == (
        "Moor the ferry at the second berth, Moor the ferry at the second berth, Moor",
    )


def test_words_on_the_way_are_asked_for_while_the_request_is_under_way() -> None:
    found = (
        words(0, "Build a crane", "new"),
        words(1, "yes", "step"),
        words(2, "Fix it"),
        words(3, "the red one", "step"),
    )
    (probe,) = of("said since", *found)
    assert told(probe) == asks("continuation", "said since", "Story", 3, "the red one")
    assert of("said since", *found, current=False) == []
    assert of("said since", words(3, "yes", "step")) == []


def test_the_closing_answer_is_asked_for_where_nothing_came_after_it() -> None:
    request, closing = words(0, "Fix it", "new"), Answered(turn=2, by="agent", text="It works.")
    (probe,) = of("answer", request, closing, room=0)
    assert told(probe) == asks("continuation", "answer", "Story", 2, "It works.")
    assert of("answer", request, closing, FileRead(turn=3, path="a.py")) == []
    assert of("answer", request, closing, words(3, "And the lamp")) == []
    assert of("answer", request, closing, current=False) == []
    assert of("answer", closing) == []


def test_every_rule_is_asked_for_once_and_in_its_words() -> None:
    rules = [
        InstructionGiven(turn=0, by="user", text="never  push\nto main"),
        InstructionGiven(turn=2, by="user", text="tabs", source="AGENTS.md"),
        InstructionGiven(turn=5, by="user", text="never  push\nto main"),
    ]
    second, first = made(*rules, room=0)
    assert told(first) == asks(
        "instruction",
        "rule",
        "Standing Instructions",
        0,
        "never  push\nto main",
        critical=True,
        lasting=True,
    )
    assert first.question == "Which rule of the user holds since t0?"
    assert second.question == "Which rule of AGENTS.md holds since t2?"


@pytest.mark.parametrize("action", ["created", "modified", "deleted"])
def test_a_file_is_asked_for_with_what_became_of_it(action: Any) -> None:
    probe = only(change(3, "src/a.py", action), room=0)
    assert told(probe) == asks(
        "artifact", action, "Files Modified", 3, "src/a.py", action, critical=True, lasting=True
    )
    assert probe.key == "src/a.py"


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (["created", "modified"], "created"),
        (["created", "modified", "deleted"], None),
        (["modified", "deleted"], "deleted"),
        (["deleted", "created"], "modified"),
        (["modified", "created"], "modified"),
        (["created", "deleted", "created"], "created"),
    ],
)
def test_what_became_of_a_file_is_the_net_effect(events: list[str], expected: str | None) -> None:
    found = [change(turn, "a.py", action) for turn, action in enumerate(events)]
    assert [probe.expected for probe in made(*found)] == ([("a.py", expected)] if expected else [])


def test_a_file_that_was_renamed_is_asked_for_under_its_name_now() -> None:
    found = [
        change(1, "old.py", "modified"),
        change(2, "new.py", "renamed", renamed_from="old.py"),
    ]
    probe = only(*found, room=0)
    assert told(probe) == asks(
        "artifact", "renamed", "Files Modified", 2, "new.py", "renamed", critical=True, lasting=True
    )
    assert only(change(0, "old.py", "created"), *found, room=0).expected == ("new.py", "created")
    gone = change(3, "new.py", "deleted")
    assert only(*found, gone, room=0).expected == ("new.py", "deleted")
    assert made(change(0, "old.py", "created"), *found, gone) == []


def test_an_old_name_that_is_used_again_is_another_file() -> None:
    probes = made(
        change(1, "a.py", "modified"),
        change(2, "b.py", "renamed", renamed_from="a.py"),
        change(3, "a.py", "created"),
        room=0,
    )
    assert {probe.expected for probe in probes} == {("b.py", "renamed"), ("a.py", "created")}


def test_scratch_files_are_not_asked_for() -> None:
    scratch = change(1, "tmp/x.py", "created", what="adds `f`", scratch=True)
    assert made(scratch) == []
    assert [one.expected for one in made(scratch, change(2, "tmp/x.py", "modified"), room=0)] == [
        ("tmp/x.py", "created")
    ]


def test_a_change_is_asked_for_in_the_row_of_its_file_the_newest_first() -> None:
    probes = of(
        "change",
        change(1, "a.py", "modified", what="adds `f`"),
        change(2, "b.py", "modified", said="The rule was wrong"),
        change(3, "c.py", "modified"),
        change(4, "a.py", "modified", what="drops `g`"),
    )
    assert [told(one) for one in probes] == [
        asks("artifact", "change", "Files Modified", 4, "a.py", "drops `g`"),
        asks("artifact", "change", "Files Modified", 2, "b.py", "The rule was wrong"),
    ]


def test_a_file_that_was_read_and_is_as_it_was_is_asked_for() -> None:
    reads = [FileRead(turn=n, path=path) for n, path in enumerate(["a.py", "b.py", "c.py", "a.py"])]
    gone = [change(5, "c.py", "created"), change(6, "c.py", "deleted")]
    probes = of("read", *reads, change(4, "b.py", "modified"), *gone)
    assert [told(one) for one in probes] == [
        asks("artifact", "read", "Files Read (Not Modified)", 3, "a.py"),
        asks("artifact", "read", "Files Read (Not Modified)", 2, "c.py"),
    ]


def test_of_nothing_nothing_is_asked_and_nothing_is_proved() -> None:
    nothing = Summary()
    assert probes_of(nothing, NO_LIMIT) == ()
    verdict = verify(nothing, handoff(nothing, NO_LIMIT, size), asked(nothing, NO_LIMIT))
    assert verdict.answers == ()
    assert verdict.score is None
    assert Verdict().score is None
    assert Verdict().accepted
