"""Changes of files that the conversation's own calls did not make."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kedgeline.facts.extractor import Setting
from kedgeline.model import Note, ToolCall, ToolResult, Transcript
from tests.facts.changed import ROOT, THREE, Step, edit, read, seen, write
from tests.turns import bash, turn


def test_a_file_the_client_says_was_edited_outside() -> None:
    note = Note(kind="edited", text="/srv/shop/a.py\n12\tnew line")
    (fact,) = seen(turn(0, user="go on", notes=(note,)))
    assert (fact.path, fact.source, fact.by, fact.action) == ("a.py", "outside", "user", "modified")
    assert "new line" in fact.what


def test_a_command_that_ran_may_have_done_it_too() -> None:
    note = Note(kind="edited", text="/srv/shop/a.py\nline")
    facts = seen([bash("make format")], turn(1, notes=(note,)))
    assert [fact.by for fact in facts] == ["tool"]


def test_other_notes_are_no_edits() -> None:
    assert seen(turn(0, notes=(Note(kind="instructions", text="/srv/shop/a.py\nrule"),))) == []


def test_an_edit_that_is_gone_from_the_file_was_undone_outside() -> None:
    facts = seen([edit("a.py", "old = 1", THREE)], [read("a.py", "1\told = 1\n")])
    assert [(fact.source, fact.by, fact.action) for fact in facts][1:] == [
        ("outside", "user", "modified")
    ]


@pytest.mark.parametrize(
    "between",
    [
        [read("a.py", "1\ttotal = price * amount\n")],
        [read("a.py", "1\told = 1\n", offset=10, limit=5)],
        [bash("make format"), read("a.py", "1\told = 1\n")],
        [edit("a.py", "x", "y"), read("a.py", "1\told = 1\n")],
        [read("b.py", "1\told = 1\n")],
        [read("a.py", "x" * 40_000)],
    ],
)
def test_where_it_is_not_certain_nothing_was_undone(between: list[Step]) -> None:
    facts = seen([edit("a.py", "old = 1", THREE)], between)
    assert all(fact.source != "outside" for fact in facts)


def agent(*turns_of_agent: Any) -> Transcript:
    return Transcript(format="x", turns=tuple(turns_of_agent), delegated_by="call-agent")


def delegated(**result: Any) -> Step:
    return (
        ToolCall(id="call-agent", tool="Task", parameters={"prompt": "do it"}),
        ToolResult(call_id="call-agent", **result),
    )


@pytest.mark.parametrize("refused", [False, True])
def test_what_a_sub_agent_did_stands_at_the_turn_that_started_it(refused: bool) -> None:
    inner = agent(turn(0, write("/srv/shop/a.py")), turn(1, edit("a.py", success=False)))
    setting = Setting(root=ROOT, agents={"call-agent": inner})
    own = replace(turn(7, delegated(success=not refused, refused=refused)), index=7)
    facts = seen(own, [write("a.py")], setting=setting)
    assert [(fact.turn, fact.action, fact.path, fact.source) for fact in facts] == [
        (7, "created", "a.py", "agent"),
        (1, "modified", "a.py", "tool"),
    ]


def test_a_sub_agent_that_starts_itself_ends() -> None:
    inner = agent(turn(0, write("a.py"), delegated()))
    setting = Setting(root=ROOT, agents={"call-agent": inner})
    assert 1 <= len(seen([delegated()], setting=setting)) <= 5
