"""Facts of aider's own commits, and of what `/undo` took back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kedgeline
from kedgeline.facts import Extraction, facts_of
from kedgeline.facts.extractor import Setting
from kedgeline.model import (
    AnyFact,
    Committed,
    DeadEnd,
    FileChanged,
    Note,
    Turn,
)
from tests.turns import Step, called, turn

STARTED = Note(kind="environment", text="$ aider crane.py\nAdded crane.py to the chat")
HISTORY = """
# aider chat started at 2030-01-02 03:04:05

> Aider v9.8.7
> Model: some-model with diff edit format

#### lift the load

{block}

> Tokens: 1k sent, 20 received.
> Applied edit to crane.py
> Commit aaaaaa1 feat: Lift the load
> You can use /undo to revert and discard commit aaaaaa1.
> Commit aaaaaa2 style: Run the linter
> You can use /undo to revert and discard commit aaaaaa2.

#### /undo
> Removed: aaaaaa2 style: Run the linter
> HEAD is: aaaaaa1 feat: Lift the load

#### /undo
> Removed: aaaaaa1 feat: Lift the load
> Now at:  bbbbbb1 Begin

#### that dropped the load, use a hook instead

{block}

> Applied edit to crane.py
> Commit aaaaaa3 feat: Use a hook
"""
BLOCK = "crane.py\n```\n<<<<<<< SEARCH\nlift()\n=======\nlift(hook)\n>>>>>>> REPLACE\n```"


def block(path: str, said: str = "", *, search: str = "a\n") -> Step:
    output = f"Applied edit to {path}\n{said}"
    return called("edit_block", output, path=path, search=search, replace="b\n")


def undo(printed: str, command: str = "/undo") -> tuple[Note, Note]:
    return Note(kind="command", text=command), Note(kind="command_output", text=printed)


def facts(*turns: Turn) -> list[AnyFact]:
    extraction = Extraction(Setting())
    return [fact for one in turns for fact in extraction.add(one)]


def commits(*turns: Turn) -> list[tuple[str, str, str, str]]:
    found = [fact for fact in facts(*turns) if isinstance(fact, Committed)]
    return [(one.what, one.name, one.about, one.replaces) for one in found]


def taken_back(*turns: Turn) -> list[tuple[str, int]]:
    found = [fact for fact in facts(*turns) if isinstance(fact, FileChanged)]
    return [(one.path, one.takes_back) for one in found if one.takes_back >= 0]


def dead_ends(*turns: Turn) -> list[tuple[str, str]]:
    found = [fact for fact in facts(*turns) if isinstance(fact, DeadEnd)]
    return [(one.what, one.why) for one in found]


def test_a_history_tells_commits_undos_and_why(tmp_path: Path) -> None:
    path = tmp_path / ".aider.chat.history.md"
    lines = HISTORY.format(block=BLOCK).split("\n")
    path.write_text("\n".join(f"{one}  " if one[:2] in ("> ", "##") else one for one in lines))
    found = list(facts_of(kedgeline.read(path, counter=None)))
    assert [fact for fact in found if isinstance(fact, Committed)] == [
        Committed(turn=0, what="commit", name="aaaaaa1", about="feat: Lift the load"),
        Committed(turn=0, what="commit", name="aaaaaa2", about="style: Run the linter"),
        Committed(
            turn=1, what="head", name="aaaaaa1", about="feat: Lift the load", replaces="aaaaaa2"
        ),
        Committed(turn=1, what="head", name="bbbbbb1", about="Begin", replaces="aaaaaa1"),
        Committed(turn=1, what="commit", name="aaaaaa3", about="feat: Use a hook"),
    ]
    changes = [fact for fact in found if isinstance(fact, FileChanged)]
    assert [(one.turn, one.path, one.takes_back, one.by) for one in changes] == [
        (0, "crane.py", -1, "tool"),
        (1, "crane.py", 0, "user"),
        (1, "crane.py", -1, "tool"),
    ]
    assert [fact for fact in found if isinstance(fact, DeadEnd)] == [
        DeadEnd(
            turn=1,
            by="user",
            what="commit aaaaaa1 “feat: Lift the load” and 1 more after it (crane.py), undone by"
            " the user",
        )
    ]


@pytest.mark.parametrize(
    "printed",
    [
        "Lift\nThe above commit aaaaaa1bcdef was reset and removed from git.",
        "Commit `aaaaaa1` was reset and removed from git.",
        "Commit aaaaaa1 was reset and removed from git.",
    ],
)
def test_how_earlier_versions_word_an_undo(printed: str) -> None:
    first = turn(0, block("a.py"), block("b/c.py", "Commit aaaaaa1 Lift"))
    second = turn(1, notes=undo(printed, "/und"))
    assert taken_back(first, second) == [("a.py", 0), ("b/c.py", 0)]
    assert commits(first, second)[1:] == [("head", "", "", "aaaaaa1")]
    assert dead_ends(first, second)[0][0].startswith("commit aaaaaa1 “Lift” (c.py, a.py), undone")


def test_an_undo_that_was_not_made_takes_nothing_back() -> None:
    first = turn(0, block("a.py", "Commit aaaaaa1 Lift"))
    for printed in (
        "The last commit was not made by aider in this chat session.",
        "The file a.py has uncommitted changes. Please stash them before undoing.",
    ):
        second = turn(1, notes=undo(printed))
        assert taken_back(first, second) == []
        assert dead_ends(first, second) == []
    said = turn(1, notes=(Note(kind="injected", text="Removed: aaaaaa1 Lift"),))
    other = turn(1, notes=undo("Removed: aaaaaa1 Lift", "/drop a.py"))
    assert taken_back(first, said) == []
    assert taken_back(first, other) == []


def test_a_commit_of_an_earlier_session_is_undone_by_its_name() -> None:
    undone = turn(0, notes=undo("Removed: cccccc1 Sink\nNow at:  bbbbbb1 Begin"))
    assert commits(undone) == [("head", "bbbbbb1", "Begin", "cccccc1")]
    assert dead_ends(undone) == [("commit cccccc1 “Sink”, undone by the user", "")]
    assert taken_back(undone) == []


def test_what_was_changed_before_the_answer_is_a_commit_without_its_edits() -> None:
    before = "Committing a.py before applying edits.\nCommit aaaaaa1 Mine\n"
    first = turn(0, block("a.py"), block("a.py", f"{before}Applied edit to a.py\nCommit aaaaaa2 X"))
    assert [one[1] for one in commits(first)] == ["aaaaaa1", "aaaaaa2"]
    one = turn(1, notes=undo("Removed: aaaaaa2 X\nHEAD is: aaaaaa1 Mine"))
    assert taken_back(first, one) == [("a.py", 0)]
    two = turn(2, notes=undo("Removed: aaaaaa1 Mine\nHEAD is: bbbbbb1 Begin"))
    assert taken_back(first, one, two) == [("a.py", 0)]


def test_a_file_that_is_created_again_after_the_undo_is_created() -> None:
    first = turn(0, block("new.py", "Commit aaaaaa1 New", search=""))
    undone = turn(1, block("new.py", "Commit aaaaaa2 New", search=""), notes=undo("Removed: aaaaaa1"
        " New\nHEAD is: bbbbbb1 Begin"))  # fmt: skip
    found = [fact for fact in facts(first, undone) if isinstance(fact, FileChanged)]
    assert [(one.action, one.takes_back) for one in found] == [
        ("created", -1),
        ("deleted", 0),
        ("created", -1),
    ]


def test_commits_before_the_answer_count_in_a_session_of_aider_s() -> None:
    note = Note(kind="injected", text="Git repo has changes.\nCommit aaaaaa1 Mine")
    assert commits(turn(0, notes=(STARTED, note))) == [("commit", "aaaaaa1", "Mine", "")]
    banner = Note(kind="environment", text="Aider v9.8.7\nCommit aaaaaa1 Mine")
    assert commits(turn(0, notes=(banner,))) == [("commit", "aaaaaa1", "Mine", "")]
    assert commits(turn(0, notes=(note,))) == []
    reset = Note(kind="injected", text="Commit aaaaaa1 was reset and removed from git.")
    assert commits(turn(0, notes=(STARTED, reset))) == []
    shell = Note(kind="shell_output", text="Commit aaaaaa1 Mine")
    assert commits(turn(0, notes=(STARTED, shell))) == []


def test_another_tool_of_the_same_name_commits_nothing() -> None:
    step = called("edit_block", "Successfully edited\nCommit aaaaaa1 Lift", file_path="a.py")
    assert commits(turn(0, step)) == []
    assert commits(turn(0, called("Edit", "Applied edit to a\nCommit aaaaaa1 L", path="a"))) == []
    failed = called("edit_block", "Applied edit to a\nCommit aaaaaa1 L", success=False, path="a")
    assert commits(turn(0, failed)) == []


def test_every_commit_line_of_real_histories_is_a_fact(corpus: Path) -> None:
    for path in sorted((corpus / "aider").glob("*.md")):
        written = re.findall(r"^> Commit ([0-9a-f]{7}) ", path.read_text(), re.MULTILINE)
        found = facts_of(kedgeline.read(path, counter=None))
        made = [one for one in found if isinstance(one, Committed) and one.what == "commit"]
        assert [one.name for one in made] == written
