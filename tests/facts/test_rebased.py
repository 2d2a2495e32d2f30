"""Commits whose hashes a rebase changed."""

from __future__ import annotations

from kedgeline.facts.extractor import Setting
from kedgeline.facts.repository import RepositoryExtractor
from kedgeline.model import Committed, Turn
from kedgeline.outcomes import outcomes_of
from tests.turns import bash, turn

UPDATED = "Successfully rebased and updated refs/heads/topic.\n"
MADE = bash("git commit -m x", "[topic 1a2b3c4] Add tax\n 1 file changed\n")
REBASED = bash("git pull --rebase", f"Rebasing (1/1)\n{UPDATED}")
PARSED = bash("git rev-parse --short HEAD", "5d6e7f8\n")


def told(*turns: Turn) -> list[tuple[str, str, str, str]]:
    extractor = RepositoryExtractor(Setting(root="/srv/shop"))
    found = [fact for one in turns for fact in extractor.see(one, outcomes_of(one))]
    kept = [one for one in found if isinstance(one, Committed) and one.what in ("commit", "head")]
    return [(one.what, one.name, one.about, one.replaces) for one in kept]


def test_the_newest_commit_is_the_same_one_under_another_hash() -> None:
    assert told(turn(0, MADE), turn(1, REBASED), turn(2, PARSED))[1:] == [
        ("head", "5d6e7f8", "Add tax", "1a2b3c4")
    ]
    plain = bash("git fetch && git rebase origin/main", f"Rebasing (1/1)\r{UPDATED}")
    assert told(turn(0, MADE, plain, PARSED))[-1] == ("head", "5d6e7f8", "Add tax", "1a2b3c4")


def test_what_the_user_may_have_done_in_between_is_not_known() -> None:
    later = turn(1, REBASED, PARSED, exchange=1)
    assert told(turn(0, MADE), later)[1:] == [("head", "5d6e7f8", "", "")]


def test_a_rebase_that_wrote_nothing_anew_replaces_nothing() -> None:
    idle = bash("git pull --rebase", UPDATED)
    assert told(turn(0, MADE, idle, PARSED))[1:] == [("head", "5d6e7f8", "", "")]
    failed = bash("git pull --rebase", "Rebasing (1/1)\nCONFLICT (content): a.py\n", exit_code=1)
    assert told(turn(0, MADE, failed, PARSED))[1:] == [("head", "5d6e7f8", "", "")]


def test_a_rebase_that_chooses_may_leave_another_commit_on_top() -> None:
    for line in ("git rebase -i main", "git rebase --continue", "git rebase main other"):
        chosen = bash(line, f"Rebasing (1/2)\nRebasing (2/2)\n{UPDATED}")
        assert told(turn(0, MADE, chosen, PARSED))[1:] == [("head", "5d6e7f8", "", "")]


def test_the_last_step_of_a_rebase_is_the_head() -> None:
    step = "[detached HEAD 9a8b7c6] Add tax\n 2 files changed\n"
    last = bash("git rebase --continue", step + UPDATED)
    assert told(turn(0, MADE), turn(1, last, exchange=1))[1:] == [
        ("head", "9a8b7c6", "Add tax", "1a2b3c4")
    ]
    between = bash("git rebase --continue", f"{step}Rebasing (2/2)\n{UPDATED}")
    assert told(turn(0, MADE, between))[1:] == []
    before = bash("git rebase --continue", UPDATED + step)
    assert told(turn(0, MADE, before))[1:] == []


def test_a_later_log_tells_the_new_hashes_by_the_messages() -> None:
    second = bash("git commit -m y", "[topic 0f1e2d3] Round it\n")
    rebased = bash("git rebase -i main", f"Rebasing (3/3)\n{UPDATED}")
    log = bash("git log --oneline -4", "aaaaaa1 Name it\naaaaaa2 Round it\naaaaaa3 Add tax\n")
    assert told(turn(0, MADE, second), turn(1, rebased, log), turn(2, log))[2:] == [
        ("commit", "aaaaaa3", "Add tax", "1a2b3c4"),
        ("commit", "aaaaaa2", "Round it", "0f1e2d3"),
        ("head", "aaaaaa1", "Name it", ""),
        ("head", "aaaaaa1", "Name it", ""),
    ]


def test_a_log_without_a_rebase_before_it_tells_only_the_head() -> None:
    log = bash("git log --oneline -4", "aaaaaa1 Name it\naaaaaa3 Add tax\n")
    assert told(turn(0, MADE, log))[1:] == [("head", "aaaaaa1", "Name it", "")]


def test_commits_a_rebase_left_alone_keep_their_hashes() -> None:
    log = bash("git log --oneline -4", "aaaaaa1 Name it\n1a2b3c4 Add tax\n")
    assert told(turn(0, MADE, REBASED, log))[1:] == [("head", "aaaaaa1", "Name it", "1a2b3c4")]
    idle = turn(1, REBASED, log, exchange=1)
    assert told(turn(0, MADE), idle)[1:] == [("head", "aaaaaa1", "Name it", "")]


def test_a_commit_made_later_with_the_same_message_replaces_none() -> None:
    again = bash("git commit -m x", "[topic 9a8b7c6] Add tax\n")
    log = bash("git log --oneline -1", "9a8b7c6 Add tax\n")
    assert told(turn(0, MADE, REBASED, again, log))[1:] == [
        ("commit", "9a8b7c6", "Add tax", ""),
        ("head", "9a8b7c6", "Add tax", ""),
    ]
