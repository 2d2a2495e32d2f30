"""A fork of a session that was compacted: Claude Code writes its file from the compaction on."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedgeline.hosts.hooks import places
from kedgeline.hosts.hooks.compactions import is_ready
from kedgeline.hosts.hooks.work import opened_session
from tests.claude import text, use
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


def test_what_the_fork_says_stands_behind_what_its_parent_said(home: Path, parent: Claude) -> None:
    fork = parent.forked(home, "fork")
    fork.says("Hello in the fork.")
    fork.is_seen()
    with opened_session("fork") as session:
        said = [turn.user_message for turn in session.turns()]
        assert RULE in session.original("t0").turn.user_message
        assert session.about().compactions[0].turn == 2
    assert [one.split(".")[0] for one in said] == [
        "Mend the harbour light",
        "Begin with the lamp",
        "Now the mast",
        "Hello in the fork",
    ]


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


def test_a_fork_is_followed_on_as_it_grows(home: Path, parent: Claude) -> None:
    fork = parent.forked(home, "fork")
    fork.is_seen()
    for number in range(3):
        fork.edits(f"Lamp {number}.", f"src/lamp{number}.py")
        assert fork.is_seen()["turns"] == 4 + number
    assert RULE in fork.kept(places.RULES)
    assert "src/lamp2.py" in fork.kept(places.STEERING)


def test_a_rule_that_is_taken_back_in_the_fork_is_over(home: Path, parent: Claude) -> None:
    parent.says("Don't touch the keel.")
    parent.compacts()
    parent.is_seen()
    fork = parent.forked(home, "fork")
    fork.is_seen()
    assert "Don't touch the keel." in fork.kept(places.RULES)
    fork.says("OK, you can touch the keel now.")
    fork.is_seen()
    assert "Don't touch the keel." not in fork.kept(places.RULES)
    assert RULE in fork.kept(places.RULES)


def test_a_fork_of_a_fork_knows_all_of_it(home: Path, parent: Claude) -> None:
    fork = parent.forked(home, "fork")
    fork.says("Always paint in red.")
    fork.is_seen()
    fork.compacts("This session is being continued from a previous conversation. Red.")
    fork.is_seen()
    again = fork.forked(home, "again")
    again.says("Go further.")
    assert again.is_seen()["turns"] == 5
    assert RULE in again.kept(places.RULES)
    assert "Always paint in red." in again.kept(places.RULES)


def test_pins_go_along(home: Path, parent: Claude) -> None:
    with opened_session("parent") as session:
        session.pin("Begin with the lamp.")
    fork = parent.forked(home, "fork")
    fork.is_seen()
    assert "Pinned by the user\n- Begin with the lamp." in fork.kept(places.RULES)


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


def test_a_session_of_another_project_is_no_parent(home: Path, parent: Claude) -> None:
    fork = parent.forked(home, "fork")
    fork.path = home / "fork.jsonl"
    fork.is_seen()
    assert RULE not in fork.kept(places.RULES)


def test_a_fork_whose_file_was_moved_is_followed_there(home: Path, parent: Claude) -> None:
    fork = parent.forked(home, "fork")
    fork.is_seen()
    fork.path = home / "moved.jsonl"
    fork.says("Hello again.")
    status = fork.is_seen()
    assert (status["turns"], status["transcript"]) == (4, str(fork.path))
    assert RULE in fork.kept(places.RULES)


def test_words_that_wait_in_a_fork_come_behind_all_else(home: Path, parent: Claude) -> None:
    fork = parent.forked(home, "fork")
    fork.records.user("Are you there?")
    fork.is_seen()
    with opened_session("fork") as session:
        waiting = session.about().pending
    assert waiting is not None
    assert (waiting.index, waiting.user_message) == (3, "Are you there?")


def test_what_a_sub_agent_did_before_the_compaction_stands_in_the_fork(home: Path) -> None:
    parent = Claude(home, "parent")
    parent.records.user(f"Mend the harbour light. {RULE}")
    task = {"description": "Mend", "prompt": "Mend the lens.", "subagent_type": "claude"}
    parent.records.assistant("m1", use("task1", "Task", **task))
    about = {"isSidechain": True, "agentId": "a77"}
    edit = {"file_path": "/home/sam/harbor/src/lens.py", "old_string": "a", "new_string": "b"}
    parent.records.user("Mend the lens.", parent=None, **about)
    parent.records.assistant("m2", use("c2", "Edit", **edit), **about)
    parent.records.result("c2", "updated", **about)
    report = {"toolUseResult": {"status": "completed", "agentId": "a77"}, "parent": "u1"}
    parent.records.result("task1", "The lens is mended.", **report)
    parent.records.assistant("m3", text("Mended."))
    parent.compacts()
    parent.is_seen()
    assert "src/lens.py" in parent.kept(places.STEERING)
    fork = parent.forked(home, "fork")
    for number in range(2):
        fork.says(f"Hello {number}.")
        fork.is_seen()
        assert "src/lens.py" in fork.kept(places.STEERING)


def test_a_file_that_is_one_document_is_no_fork_that_waits(home: Path) -> None:
    path = home / "session.json"
    path.write_text('{"sessionId": "s1", "messages": []}\n')
    with opened_session("s1") as session:
        assert is_ready(session, path)
