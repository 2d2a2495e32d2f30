"""The index: which names stand in it, and how they are written and read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedgeline.model import AnyFact, Called, Decided, FileChanged, Stated, Summary
from kedgeline.pipeline.handoff import summarize
from kedgeline.pipeline.read import read
from kedgeline.summary import build, handoff, items_of, parse, render
from kedgeline.summary.state import Item
from kedgeline.summary.story import HALF_LIFE
from kedgeline.tokens import EXACT

EXAMPLES = Path(__file__).parents[2] / "examples"
odd = st.text(st.sampled_from("ab (),:`[]'./"), min_size=1, max_size=12).filter(
    lambda text: bool(text.strip()) and "[" not in text
)
ROOM = Decided(turn=0, by="user", key="room", decision="moor at the second berth " * 60)
"""Text of another section: the index may have a twentieth of it."""


def said(turn: int, text: str) -> Stated:
    return Stated(turn=turn, by="agent", text=text, where="answer")


def named(*found: AnyFact) -> dict[str, Item]:
    items = items_of(build([ROOM, *found]))
    return {item.text: item for item in items if item.section == "Index"}


def index_of(summary: Summary, room: int) -> str:
    return handoff(summary, room, EXACT.count).partition("## Index\n")[2].partition("\n\n")[0]


def test_names_of_statements_and_calls_stand_there_with_their_newest_turn() -> None:
    found = named(
        said(3, "The crane uses `lift_load`."),
        said(7, "So lift_load fails."),
        Called(turn=5, kind="run", what="ran `make x`", about="with --dry-run"),
    )
    assert {name: item.turns for name, item in found.items()} == {
        "lift_load": (7,),
        "--dry-run": (5,),
    }


def test_a_name_with_another_home_is_not_told_again() -> None:
    changed = FileChanged(turn=1, path="src/deep/crane.py", action="modified", what="adds `hoist`")
    told = said(2, "In src/deep/crane.py, deep/crane.py and `hoist`.")
    assert list(named(changed, told, said(3, "It is not `lower`."))) == ["lower"]
    assert list(named(said(2, "See `Crane.lift` and `Crane.lift`, and `lift`."))) == ["Crane.lift"]


def test_what_is_used_often_and_lately_comes_first() -> None:
    late = 4 * HALF_LIFE
    found = named(
        *(said(0, f"`old_name` for the {n}th time") for n in range(5)),
        said(late, "`new_name`, once"),
        *(said(late - n, "`used_much` again") for n in range(3)),
    )
    assert list(found) == ["used_much", "new_name", "old_name"]


@pytest.mark.parametrize("name", ["codex.jsonl", "claude-code-long.jsonl"])
@pytest.mark.parametrize("room", [512, 2_048, 10_000, 100_000])
def test_the_index_has_a_twentieth_of_the_room_at_the_most(name: str, room: int) -> None:
    """Readers of a text that was a third names took them for noise."""
    summary = summarize(read(str(EXAMPLES / name)))
    assert index_of(summary, 100_000) != "N/A"
    assert EXACT.count(index_of(summary, room)) <= room / 20


def test_names_of_one_turn_share_a_line_and_loose_ones_are_bound() -> None:
    items = (
        Item("Index", "Berth", (2,)),
        Item("Index", "30 seconds", (2,)),
        Item("Index", "(shop)/page.tsx", (3,)),
    )
    text = render(items)
    assert "- Berth `30 seconds` [t2]\n- (shop)/page.tsx [t3]" in text
    assert parse(text)[0] == list(items)


@given(st.lists(odd, min_size=1, max_size=6))
def test_any_name_can_be_read_again(found: list[str]) -> None:
    items = [Item("Index", name, (1,)) for name in found]
    again = parse(render(items))[0]
    assert len(again) == len(items)
    assert render(again) == render(items)
