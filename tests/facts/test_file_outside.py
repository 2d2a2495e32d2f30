"""Changes of files that the conversation's own calls did not make."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kedgeline.facts.extractor import Setting
from kedgeline.model import Note, ToolCall, ToolResult, Transcript
from tests.facts.changed import ROOT, Step, edit, seen, write
from tests.turns import turn


def test_a_file_the_client_says_was_edited_outside() -> None:
    note = Note(kind="edited", text="/srv/shop/a.py\n12\tnew line")
    (fact,) = seen(turn(0, user="go on", notes=(note,)))
    assert (fact.path, fact.source, fact.by, fact.action) == ("a.py", "outside", "user", "modified")
    assert "new line" in fact.what


def test_other_notes_are_no_edits() -> None:
    assert seen(turn(0, notes=(Note(kind="instructions", text="/srv/shop/a.py\nrule"),))) == []


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
