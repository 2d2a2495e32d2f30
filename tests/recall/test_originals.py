"""Originals by their marks: a whole turn, or what one call gave back."""

from __future__ import annotations

import pytest

from kedgeline.errors import UserError
from kedgeline.model import ToolCall, ToolResult, Turn
from kedgeline.session.archive import original
from kedgeline.session.query import query_of
from kedgeline.session.recall import recall
from kedgeline.store import Store
from tests.recall.keeping import keep
from tests.turns import bash, turn

LONG = "a line of a large output\n" * 2_000


@pytest.fixture
def kept(store: Store) -> Store:
    first = (ToolCall(id="toolu_1", tool="Bash"), ToolResult(call_id="toolu_1", output=LONG))
    second = (
        ToolCall(id="a/t3", tool="Bash"),
        ToolResult(call_id="a/t3", success=False, error="boom"),
    )
    keep(
        store,
        "harbor",
        turn(0, user="first"),
        turn(1, first, second),
        turn(2, user="the dredger"),
        turn(2, user="another"),
        turn(0, says="found it", agent="explore/1"),
    )
    keep(store, "harbor", turn(-1, user="what is pinned"), kind="pin")
    return store


def test_a_turn_comes_back_as_it_was(kept: Store) -> None:
    found = original(kept, "harbor", "t1")
    assert found.turn.tool_results[0].output == LONG
    assert (found.call, found.result, found.text) == (None, None, "")
    assert original(kept, "harbor", "[t1]").turn == original(kept, "harbor", "1").turn


@pytest.mark.parametrize("mark", ["t1.0", "t1:toolu_1"])
def test_an_output_comes_back_by_its_id(kept: Store, mark: str) -> None:
    found = original(kept, "harbor", mark)
    assert found.text == LONG
    assert found.call is not None
    assert found.call.id == "toolu_1"


def test_threads_and_entries(kept: Store) -> None:
    assert original(kept, "harbor", "explore/1/t0").turn.assistant_response == "found it"
    assert original(kept, "harbor", "t2").turn.user_message == "another"
    assert original(kept, "harbor", "#3").turn.user_message == "the dredger"


def test_every_mark_that_recall_gives_leads_back(kept: Store) -> None:
    for asked in ("first", "large", "boom", "dredger", "another", "found"):
        (one,) = recall(kept, query_of(asked))
        assert original(kept, one.session, one.mark).turn.index == one.turn
        if one.output:
            assert one.lines[0].text in original(kept, one.session, one.output).text


@pytest.mark.parametrize(
    ("mark", "told"),
    [
        ("t9", "has no turn t9; the last is t2"),
        ("explore/2/t0", "no turn t0 of 'explore/2'; it has none"),
        ("t1.7", "not a call of turn t1; it has t1.0 to t1.1"),
        ("t0.0", "not a call of turn t0; it made none"),
        ("t1:nobody", "not a call of turn t1"),
        ("#6", "entry 6 of session 'harbor' is not a turn"),
        ("#99", "entry 99 of session 'harbor' is not a turn"),
        ("", "does not name a turn"),
        ("turn one", "does not name a turn"),
        ("t1.", "does not name a turn"),
        ("../t1x", "does not name a turn"),
        ("t" + "9" * 40, "does not name a turn"),
    ],
)
def test_a_mark_that_leads_nowhere_is_said_in_a_sentence(kept: Store, mark: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        original(kept, "harbor", mark)


def test_a_call_without_an_answer_has_no_text(store: Store) -> None:
    call, _ = bash("sleep 9")
    keep(store, "harbor", Turn(index=0, tool_calls=(call,)))
    found = original(store, "harbor", "t0.0")
    assert (found.call, found.result, found.text) == (call, None, "")
