"""The index: which names stand in it, what they are worth, and how they are written and read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.model import AnyFact, FileChanged, FileRead, NameSeen
from kedge.model.summary import HALF_LIFE
from kedge.summary.items import Item
from kedge.summary.markdown import parse, render
from kedge.summary.sections.index import index
from kedge.summary.state import build

odd = st.text(st.sampled_from("ab (),:`[]'./"), min_size=1, max_size=12).filter(
    lambda text: bool(text.strip()) and "[" not in text
)


def named(*found: AnyFact) -> dict[str, Item]:
    return {item.text: item for item in index(build(found))}


def read_again(*items: Item) -> list[Item]:
    return parse(render(items))[0]


def test_files_that_stand_among_the_files_are_not_told_again() -> None:
    found = named(
        FileChanged(turn=1, path="src/crane.py", action="modified"),
        FileRead(turn=1, path="docs/harbor.md"),
        NameSeen(turn=1, name="src/crane.py", kind="file", weight=90),
        NameSeen(turn=1, name="harbor.md", kind="file", weight=90),
        NameSeen(turn=1, name="src/berth.py", kind="file"),
    )
    assert list(found) == ["src/berth.py"]


def test_a_file_that_hotter_names_stand_under_is_told_by_their_line() -> None:
    path = NameSeen(turn=1, name="src/crane.py", kind="file", weight=20)
    hotter = NameSeen(turn=1, name="lift_load", kind="symbol", topic="src/crane.py", weight=30)
    colder = NameSeen(turn=1, name="lift_load", kind="symbol", topic="src/crane.py", weight=10)
    assert list(named(path, hotter)) == ["lift_load"]
    assert list(named(path, colder)) == ["src/crane.py", "lift_load"]


def test_folders_are_told_by_the_files_below_them() -> None:
    folder = NameSeen(turn=1, name="src/harbor", kind="file", weight=20)
    changed = FileChanged(turn=1, path="src/harbor/deep/crane.py", action="modified")
    below = NameSeen(turn=1, name="src/harbor/berth.py", kind="file", weight=30)
    colder = NameSeen(turn=1, name="src/harbor/berth.py", kind="file", weight=10)
    beside = NameSeen(turn=1, name="src/harbor_test.py", kind="file", weight=30)
    assert list(named(folder, changed)) == []
    assert list(named(folder, below)) == ["src/harbor/berth.py"]
    assert "src/harbor" in named(folder, colder)
    assert "src/harbor" in named(folder, beside)


def test_two_names_that_are_each_others_topic_are_both_told() -> None:
    found = named(
        NameSeen(turn=1, name="lift_load", kind="symbol", topic="src/crane.py", weight=9),
        NameSeen(turn=1, name="src/crane.py", kind="call_site", topic="lift_load", weight=9),
    )
    assert set(found) == {"lift_load", "src/crane.py"}


def test_worth_grows_with_the_root_of_heat_and_halves_with_two_half_lives() -> None:
    late = 2 * HALF_LIFE
    found = named(
        NameSeen(turn=0, name="old_name", kind="symbol", weight=4),
        NameSeen(turn=late, name="new_name", kind="symbol", weight=4),
        NameSeen(turn=late, name="used_much", kind="symbol", weight=16),
    )
    worth = {name: item.worth for name, item in found.items()}
    assert worth["used_much"] == pytest.approx(2 * worth["new_name"])
    assert worth["old_name"] == pytest.approx(worth["new_name"] / 2)


def test_names_are_parted_by_blanks_and_loose_ones_are_bound() -> None:
    items = (
        Item("Index", "Berth", (2,), topic="a.py", detail="12"),
        Item("Index", "30 seconds", (4,), topic="a.py", detail="timeout"),
        Item("Index", "(shop)/page.tsx", (3,), topic="d e.md"),
    )
    text = render(items)
    assert "- a.py: Berth (12) `30 seconds` (timeout) [t2-4]" in text
    assert "- `d e.md`: `(shop)/page.tsx` [t3]" in text
    told = [(item.text, item.detail, item.topic) for item in parse(text)[0]]
    assert told == [(item.text, item.detail, item.topic) for item in items]


def test_commas_of_a_person_part_names_too() -> None:
    text = render([Item("Index", "x", (1,), topic="a.py")]).replace("x [t1]", "x, y [t1]")
    assert [item.text for item in parse(text)[0]] == ["x", "y"]


@given(st.lists(st.tuples(odd, odd | st.just(""), odd | st.just("")), min_size=1, max_size=6))
def test_any_name_can_be_read_again(found: list[tuple[str, str, str]]) -> None:
    items = [Item("Index", name, (1,), detail=why, topic=of) for name, why, of in found]
    again = read_again(*items)
    assert len(again) == len(items)
    assert render(again) == render(items)
