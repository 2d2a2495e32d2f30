"""A fork of a session that was compacted: Claude Code writes its file from the compaction on."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedgeline.hosts import places
from tests.claude import text
from tests.integrations.hooks.following import RULE, SHORT, Host


class Claude(Host):
    def __init__(self, home: Path, name: str) -> None:
        super().__init__(home / "project", name=name)

    def forked(self, home: Path, name: str) -> Claude:
        """A session of its own whose file begins with the last compaction, ids and all."""
        fork = Claude(home, name)
        lines = self.records.lines
        start = max(n for n, line in enumerate(lines) if b"compact_boundary" in line)
        own = f'"sessionId":"{name}"'.encode()
        fork.records.raw({"type": "mode", "mode": "normal", "sessionId": name})
        for line in lines[start:]:
            fork.records.lines.append(line.replace(b'"sessionId":"s1"', own))
        fork.records._tip = self.records._tip
        while len(fork.records.lines) < len(lines):  # ids are counted by lines
            fork.records.raw({"type": "mode", "mode": "normal", "sessionId": name})
        return fork


@pytest.fixture
def parent(home: Path) -> Claude:
    """Compacted, told what its summary lacks, and gone on."""
    made = Claude(home, "parent")
    made.says(f"Mend the harbour light. {RULE}")
    made.records.user("Begin with the lamp.")
    made.edits("src/lamp.py")
    made.compacts(SHORT)
    made.runs()
    told = made.kept(places.LACKING)
    places.add_line(str(made.folder), places.PUT_BACK, f"{told}\n")
    places.forget(str(made.folder), places.LACKING)
    added = {"type": "hook_additional_context", "content": [told]}
    made.records.add("attachment", attachment=added)
    made.records.user("Now the mast.")
    made.edits("src/mast.py")
    made.runs()
    return made


def test_a_fork_knows_the_rules_of_before_its_first_record(home: Path, parent: Claude) -> None:
    fork = parent.forked(home, "fork")
    fork.says("Hello in the fork.")
    status = fork.runs()
    assert f'- "{RULE}" [t0]' in fork.kept(places.RULES)
    assert RULE in fork.kept(places.STEERING)
    assert "Hello in the fork." in fork.kept(places.STEERING)
    assert (status["turns"], status["compactions"]) == (4, 1)


def test_what_was_put_back_in_the_parent_is_not_put_back_again(home: Path, parent: Claude) -> None:
    fork = parent.forked(home, "fork")
    fork.says("Hello in the fork.")
    fork.runs()
    assert not fork.kept(places.LACKING)


def test_what_was_not_put_back_yet_is_put_back_in_the_fork(home: Path) -> None:
    parent = Claude(home, "parent")
    parent.says(f"Mend the harbour light. {RULE}")
    parent.compacts(SHORT)
    parent.runs()
    fork = parent.forked(home, "fork")
    fork.runs()
    assert RULE in fork.kept(places.LACKING)


def test_the_next_compaction_of_a_fork_is_judged_by_all_that_was_said(
    home: Path, parent: Claude
) -> None:
    fork = parent.forked(home, "fork")
    fork.says("Hello in the fork.")
    fork.runs()
    fork.compacts("This session is being continued from a previous conversation. Mast work.")
    status = fork.runs()
    assert (status["last"]["turn"], status["compactions"]) == (4, 2)
    told = fork.kept(places.LACKING)
    assert all(one in told for one in (RULE, "src/lamp.py", "src/mast.py"))


def test_words_that_waited_when_the_compaction_began_go_along(home: Path) -> None:
    parent = Claude(home, "parent")
    parent.says("Mend the harbour light.")
    parent.records.user(f"Now the mast. {RULE}")
    parent.compacts(SHORT)
    parent.records.assistant("m1", text("The mast is mended."))
    parent.runs()
    fork = parent.forked(home, "fork")
    fork.says("Hello in the fork.")
    fork.runs()
    assert RULE in fork.kept(places.RULES)


def test_a_file_in_which_nothing_is_said_yet_waits(home: Path, parent: Claude) -> None:
    fork = parent.forked(home, "fork")
    whole = fork.records.lines
    fork.records.lines = [whole[0], whole[1][:40]]  # a line is just being written
    assert fork.runs() == {}
    fork.records.lines = whole
    fork.runs()
    assert RULE in fork.kept(places.RULES)


def test_a_session_with_another_compaction_is_no_parent(home: Path, parent: Claude) -> None:
    other = Claude(home, "other")
    other.records.raw({"type": "mode", "mode": "normal", "sessionId": "other"})
    other.compacts(SHORT)  # the same words, but of another record
    other.says("Hello.")
    assert other.runs()["turns"] == 1
    assert RULE not in other.kept(places.RULES)
