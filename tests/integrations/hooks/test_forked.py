"""A fork of a session that was compacted: Claude Code writes its file from the compaction on."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedgeline.hosts import places
from tests.claude import text
from tests.integrations.hooks.forking import Claude

RULE = "Never push to main. Always run make check before a commit."


@pytest.fixture
def parent(home: Path) -> Claude:
    """Compacted, told what its summary lacks, and gone on."""
    made = Claude(home, "parent")
    made.says(f"Mend the harbour light. {RULE}")
    made.edits("Begin with the lamp.", "src/lamp.py")
    made.compacts()
    made.is_seen()
    made.is_handed(places.LACKING)
    made.edits("Now the mast.", "src/mast.py")
    made.is_seen()
    return made


def test_a_fork_knows_the_rules_of_before_its_first_record(home: Path, parent: Claude) -> None:
    fork = parent.forked(home, "fork")
    fork.says("Hello in the fork.")
    status = fork.is_seen()
    assert f'- "{RULE}" [t0]' in fork.kept(places.RULES)
    assert RULE in fork.kept(places.STEERING)
    assert "Hello in the fork." in fork.kept(places.STEERING)
    assert (status["turns"], status["compactions"]) == (4, 1)


def test_what_was_put_back_in_the_parent_is_not_put_back_again(home: Path, parent: Claude) -> None:
    fork = parent.forked(home, "fork")
    fork.says("Hello in the fork.")
    fork.is_seen()
    assert not fork.kept(places.LACKING)


def test_what_was_not_put_back_yet_is_put_back_in_the_fork(home: Path) -> None:
    parent = Claude(home, "parent")
    parent.says(f"Mend the harbour light. {RULE}")
    parent.compacts()
    parent.is_seen()
    fork = parent.forked(home, "fork")
    fork.is_seen()
    assert RULE in fork.kept(places.LACKING)


def test_the_next_compaction_of_a_fork_is_judged_by_all_that_was_said(
    home: Path, parent: Claude
) -> None:
    fork = parent.forked(home, "fork")
    fork.says("Hello in the fork.")
    fork.is_seen()
    fork.compacts("This session is being continued from a previous conversation. Mast work.")
    status = fork.is_seen()
    assert (status["last"]["turn"], status["compactions"]) == (4, 2)
    told = fork.kept(places.LACKING)
    assert all(one in told for one in (RULE, "src/lamp.py", "src/mast.py"))


def test_words_that_waited_when_the_compaction_began_go_along(home: Path) -> None:
    parent = Claude(home, "parent")
    parent.says("Mend the harbour light.")
    parent.records.user(f"Now the mast. {RULE}")
    parent.compacts()
    parent.records.assistant("m1", text("The mast is mended."))
    parent.is_seen()
    fork = parent.forked(home, "fork")
    fork.says("Hello in the fork.")
    fork.is_seen()
    assert RULE in fork.kept(places.RULES)


def test_a_file_in_which_nothing_is_said_yet_waits(home: Path, parent: Claude) -> None:
    fork = parent.forked(home, "fork")
    whole = fork.records.lines
    fork.records.lines = [whole[0], whole[1][:40]]  # a line is just being written
    assert fork.is_seen() == {}
    fork.records.lines = whole
    fork.is_seen()
    assert RULE in fork.kept(places.RULES)


def test_a_session_with_another_compaction_is_no_parent(home: Path, parent: Claude) -> None:
    other = Claude(home, "other")
    other.records.raw({"type": "mode", "mode": "normal", "sessionId": "other"})
    other.compacts()  # the same words, but of another record
    other.says("Hello.")
    assert other.is_seen()["turns"] == 1
    assert RULE not in other.kept(places.RULES)
