"""The table of files: what each has now, in few words before many."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from kedgeline.model import AnyFact, CommandRun, FileChanged, Stated
from kedgeline.summary import handoff
from kedgeline.summary.files import files
from kedgeline.summary.state import build
from kedgeline.summary.work import commands
from kedgeline.tokens import EXACT


def changed(*whats: str, action: str = "modified", path: str = "crane.go") -> list[FileChanged]:
    """The first change of each word in the turn of its place."""
    first, *later = whats
    return [
        FileChanged(turn=1, path=path, action=action, what=first),  # type: ignore[arg-type]
        *(
            FileChanged(turn=place, path=path, action="modified", what=what)
            for place, what in enumerate(later, 2)
        ),
    ]


@pytest.mark.parametrize(
    ("whats", "told"),
    [
        (["in `TestLift`: adds `TestDrop` (`TestDrop`: “drops”)", "in `TestLift`: without `x`"],
         "adds `TestDrop`; in `TestLift` [t1-2]"),
        (["adds `lift`", "adds `drop`", "removes `lift`"], "adds `drop` [t1-3]"),
        (["in `Crane`: adds `Load`"], "adds `Load` in `Crane` [t1]"),
        (["in `hoist`: adds `lift`, `drop`"], "adds `lift`, `drop` [t1]"),
        (["removes `lift`, `drop`", "imports `os`"], "removes `lift`, `drop` [t1-2]"),
        (["in `lift`: adds `wind: 12`"], "in `lift`: adds `wind: 12` [t1]"),
        (["adds “Berths (north)”"], "adds “Berths (north)” [t1]"),
    ],
)  # fmt: skip
def test_a_row_tells_what_a_file_has_now_by_name(whats: list[str], told: str) -> None:
    """A test added in the middle of a file was told as the last word that changed in it."""
    (row,) = files(build(changed(*whats)))
    assert row.detail == told


def test_a_new_file_tells_what_it_has_whatever_changed_in_it_last() -> None:
    (row,) = files(build(changed("`Crane`, `lift`", "adds `drop`", "`a` → `_`", action="created")))
    assert row.detail == "`Crane`, `lift`, `drop` [t1-3]"


def test_of_changes_without_a_name_the_largest_is_told() -> None:
    large = FileChanged(turn=1, path="a.go", action="modified", what="in `f`: with `g`", added=40)
    small = FileChanged(turn=2, path="a.go", action="modified", what="in `h`: with `e`", added=1)
    (row,) = files(build([large, small]))
    assert row.detail == "in `f`: with `g`; in `h` [t1-2]"


def test_a_row_is_short_before_it_is_long() -> None:
    """With long rows alone 71 of 155 changed files of hand-offs in 2,000 to 3,000 tokens told what
    changed, and 95 with shorter ones."""
    names = [f"`load_the_crane_of_berth_{n}`" for n in range(8)]
    (row,) = files(build(changed(f"adds {', '.join(names)}")))
    told = [row.raised(rung).detail for rung in range(1, row.rungs)]
    assert told[0] == f"adds {', '.join(names[:3])} and 5 more [t1]"
    assert told[1].startswith(f"adds {', '.join(names[:6])} and 2 more")
    assert set(names) <= set(re.findall("`[^`]+`", told[-1]))


def section(text: str, name: str) -> str:
    return text.partition(f"## {name}\n")[2].partition("\n## ")[0]


def said(text: str) -> Stated:
    return Stated(turn=3, by="agent", text=text, where="answer")


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("`src/crane.go` - Lifts again when it is calm", "“Lifts again when it is calm”"),
        ("crane.go (lines 12-40)", ""),
        ("`Crane` (`src/crane.go:31`)", ""),
    ],
)  # fmt: skip
def test_a_row_quotes_what_was_said_of_the_file_but_no_mere_place(text: str, quoted: str) -> None:
    (row,) = files(build([*changed("adds `lift`", path="src/crane.go"), said(text)]))
    longest = row.raised(row.rungs - 1).detail
    assert longest == (f"{quoted} [t3]; adds `lift` [t1]" if quoted else "adds `lift` [t1]")


@pytest.mark.parametrize("room", range(160, 420, 20))
def test_every_file_tells_something_before_one_tells_more(room: int) -> None:
    turns = (*range(1, 5), *range(60, 64))
    facts: list[AnyFact] = [
        *(
            FileChanged(turn=n, path=f"berth{n}.go", action="modified", what=f"adds `moor{n}`")
            for n in turns
        ),
        *(replace(said(f"`berth{n}.go` - It moors one ship"), turn=63, place=n) for n in turns[4:]),
    ]
    table = section(handoff(build(facts), room, EXACT.count), "Files Modified")
    assert "It moors" not in table or [n for n in turns if f"adds `moor{n}`" not in table] == []


def test_what_was_only_looked_at_once_is_no_command_to_run_again() -> None:
    runs = [
        CommandRun(turn=1, command="grep -rn crane src", key="a", purpose="look"),
        CommandRun(turn=2, command="cat crane.log", key="b", purpose="look"),
        CommandRun(turn=3, command="cat crane.log", key="b", purpose="look"),
        CommandRun(turn=3, command="lint", key="d", success=False, about="lint: command not found"),
        CommandRun(turn=4, command="make test", key="c", purpose="test"),
    ]
    assert [item.text for item in commands(build(runs))] == ["`cat crane.log`", "`make test`"]
