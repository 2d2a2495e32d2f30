"""Turns that a rewind takes back are still given out, and none that stand are lost with them."""

from __future__ import annotations

from kedgeline.formats.log import Line, Log
from kedgeline.formats.turns import Assembler
from kedgeline.model import Text, ToolCall, ToolResult, Turn, Usage
from kedgeline.pipeline.read import read
from tests.claude import Records, text, use

LINE = Line(0)


def said(assembler: Assembler, number: int, *calls: str) -> list[Turn]:
    assembler.user(LINE, [Text(text=f"ask {number}")])
    pieces = [Text(text=f"say {number}"), *(ToolCall(id=call, tool="Bash") for call in calls)]
    assembler.assistant(LINE, pieces, message_id=f"m{number}", usage=Usage(output=number))
    return list(assembler.ready())


def test_a_turn_taken_back_before_it_was_given_out_is_given_out_in_its_place() -> None:
    log = Log()
    assembler = Assembler(log)
    given = [turn for number in (1, 2, 3) for turn in said(assembler, number)]
    given += assembler.go_back(1, 0)
    given += said(assembler, 4)
    given += assembler.finish()
    assert [(turn.index, turn.message_id) for turn in given] == [
        (0, "m1"),
        (1, "m2"),
        (2, "m3"),
        (1, "m4"),
    ]
    assert sum(turn.usage.output for turn in given if turn.usage) == 10
    assert (log.rewound, log.lengths[0, ""]) == (2, 2)


def test_a_call_that_was_taken_back_lacks_no_result_and_leaves_no_error() -> None:
    log = Log()
    assembler = Assembler(log)
    said(assembler, 1, "c1")
    assembler.results(LINE, [ToolResult(call_id="c1", success=False)])
    said(assembler, 2, "c2")
    assembler.go_back(0, -1)
    said(assembler, 3)
    given = list(assembler.finish())
    assert given[-1].message_id == "m3"
    assert not given[-1].previous_error
    assert not log.damage


def test_a_rewind_behind_an_unanswered_call_loses_no_turn_that_stands() -> None:
    """Turns behind a call without a result wait for it; a rewind dropped them all."""
    records = Records()
    records.user("one")
    records.assistant("m0", text("a"), use("interrupted"))
    records.user("two")
    fork = records.assistant("m1", text("b"))
    records.user("three")
    records.assistant("m2", text("c"))
    records.user("three, but better", parent=fork)
    records.assistant("m3", text("d"))
    turns = read(b"".join(records.lines)).turns
    assert [(turn.index, turn.message_id) for turn in turns] == [(0, "m0"), (1, "m1"), (2, "m3")]


def test_going_back_to_a_branch_still_finds_its_turns() -> None:
    records = Records()
    records.user("one")
    fork = records.assistant("m0", text("a"))
    records.user("two")
    left = records.assistant("m1", text("b"))
    records.user("another two", parent=fork)
    records.assistant("m2", text("c"))
    records.user("three", parent=left)
    records.assistant("m3", text("d"))
    turns, _ = records.read()
    standing: list[Turn] = []
    for turn in turns:
        del standing[turn.index :]
        standing.append(turn)
    assert [turn.message_id for turn in standing] == ["m0", "m1", "m3"]
    assert {turn.message_id for turn in turns} == {"m0", "m1", "m2", "m3"}
