"""Changes of files, and commits, that were taken back: they stand nowhere as done."""

from __future__ import annotations

from typing import Any

from kedgeline.model import AnyFact, CommandRun, Committed, FileChanged, FileRead
from kedgeline.model.fact import standing
from kedgeline.probes import probes_of
from kedgeline.summary.files import files, reads
from kedgeline.summary.state import build, merged
from kedgeline.summary.work import state

ROOM = 100_000


def change(turn: int, path: str = "crane.py", action: Any = "modified", **more: Any) -> FileChanged:
    return FileChanged(turn=turn, path=path, action=action, what=f"change of t{turn}", **more)


def undo(turn: int, of: int, path: str = "crane.py") -> FileChanged:
    return FileChanged(turn=turn, by="user", path=path, action="modified", takes_back=of)


def rows(*found: AnyFact) -> list[tuple[str, str, tuple[int, ...]]]:
    return sorted((item.text, item.action, item.turns) for item in files(build(found)))


def asked(*found: AnyFact) -> list[str]:
    probes = probes_of(build(found), ROOM)
    return [probe.key for probe in probes if probe.section == "Files Modified"]


def lines(*found: AnyFact) -> list[str]:
    return [item.text for item in state(build(found))]


def test_a_file_whose_changes_were_all_taken_back_is_as_it_was() -> None:
    found = (change(1), change(2), undo(3, 2), undo(3, 1))
    assert standing(found) == ()
    assert rows(*found) == []
    assert asked(*found) == []
    sight = FileRead(turn=0, path="crane.py")
    assert [item.text for item in reads(build((sight, *found)))] == ["crane.py"]


def test_what_was_not_taken_back_stands() -> None:
    found = (change(1), change(2), undo(3, 2), change(3), change(2, "mast.py"))
    assert rows(*found) == [("crane.py", "modified", (1, 3)), ("mast.py", "modified", (2,))]
    assert "change of t2" not in "".join(item.detail for item in files(build(found[:4])))
    assert set(asked(*found)) == {"crane.py", "mast.py"}


def test_a_file_created_taken_back_and_created_again_is_created() -> None:
    found = (change(1, action="created"), undo(2, 1), change(2, action="created"))
    assert rows(*found) == [("crane.py", "created", (2,))]


def test_an_undo_counts_although_the_edit_was_folded_long_before() -> None:
    earlier = build((change(1), change(2, "mast.py")))
    now = merged(earlier, (undo(9, 1),))
    assert [item.text for item in files(now)] == ["mast.py"]
    again = merged(now, (change(1),))
    assert [item.text for item in files(again)] == ["mast.py"]


def test_an_undo_is_no_edit_since_the_last_test_or_commit() -> None:
    run = CommandRun(turn=2, command="pytest", key="pytest", purpose="test", success=True)
    made = Committed(turn=2, what="commit", name="aaaaaa1", about="Lift")
    told = lines(change(1), run, made, change(2), undo(3, 2))
    assert not [line for line in told if line.startswith("Edited since")]


def test_an_undone_commit_is_neither_the_head_nor_among_the_commits() -> None:
    made = (
        Committed(turn=1, what="commit", name="aaaaaa1", about="Lift"),
        Committed(turn=2, what="commit", name="aaaaaa2", about="Sink"),
    )
    told = lines(*made, Committed(turn=3, what="head", name="aaaaaa1", replaces="aaaaaa2"))
    assert "HEAD aaaaaa1" in told
    assert not [line for line in told if "aaaaaa2" in line]
    unnamed = lines(*made, Committed(turn=3, what="head", name="", replaces="aaaaaa2"))
    assert unnamed[0] == 'HEAD aaaaaa1 "Lift"'
    assert not [x for x in unnamed if "aaaaaa2" in x]
