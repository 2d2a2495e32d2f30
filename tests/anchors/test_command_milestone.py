"""Commands that reach something lasting, and what they reached in words."""

from __future__ import annotations

import pytest

from kedgeline.anchors.detectors.work import CommandMilestone
from tests.anchors.watching import found_by, memory_after, seen_by
from tests.turns import bash, edit, turn


def said_of(command: str, output: str = "", *, exit_code: int = 0) -> str:
    return seen_by(CommandMilestone(), turn(0, bash(command, output, exit_code=exit_code)))[0]


@pytest.mark.parametrize(
    ("command", "output", "said"),
    [
        (
            "git commit -m 'Add retries'",
            "[main 1a2b3c4] Add retries\n 1 file",
            "Committed: Add retries",
        ),
        ("git commit -am 'Add retries'", "", "Committed: Add retries"),
        ("git commit", "[main (root-commit) 1a2b3c4] First", "Committed: First"),
        ("git push origin main", "", "Pushed to origin main"),
        ("git push -u origin feature", "", "Pushed to origin feature"),
        ("git -C app push origin main", "", "Pushed to origin main"),
        ("git push", "To host:app\n   1a2b3c4..5d6e7f8  main -> main\n", "Pushed main"),
        (
            "gh pr create --title x --body y",
            "https://example.org/team/app/pull/7",
            "Pull request created: https://example.org/team/app/pull/7",
        ),
        ("pip install requests httpx", "", "Installed requests, httpx"),
        ("npm install --save-dev a b c d", "", "Installed a, b, c +1 more"),
        (
            "pip install -r requirements.txt",
            "",
            "Installed dependencies: pip install -r requirements.txt",
        ),
        ("npm init -y", "", "Set up: npm init -y"),
        ("npm ci", "", "Installed dependencies: npm ci"),
        ("kubectl apply -f app.yaml", "configured", "Deployed: kubectl apply -f app.yaml"),
        ("alembic upgrade head", "", "Migrated: alembic upgrade head"),
        ("go build ./...", "", "Built: go build ./..."),
    ],
)
def test_a_milestone_says_what_was_reached(command, output, said):
    assert said_of(command, output) == said


@pytest.mark.parametrize(
    ("command", "output", "exit_code"),
    [
        ("npm install express", "unsuccessfully installed", 1),
        ("git commit -m x", "nothing to commit, working tree clean", 1),
        ("git push origin main", "Everything up-to-date", 0),
        ("git push --dry-run origin main", "", 0),
        ("git push origin --delete old", "", 0),
        ("gh pr view 7", "https://example.org/team/app/pull/7", 0),
        ("cat install.log", "successfully installed, built, compiled, completed", 0),
        ("pip show requests", "not installed", 0),
        ("pytest", "15 passed in 1s", 0),
    ],
)
def test_what_is_no_milestone(command, output, exit_code):
    """R11: words in an output are no evidence; the command must itself have succeeded."""
    assert said_of(command, output, exit_code=exit_code) == ""


def test_a_long_message_is_cut_to_a_line():
    message = "Add " + "x" * 200
    said = said_of(f"git commit -m '{message}'", f"[main 1a2b3c4] {message}")

    assert len(said) == len("Committed: ") + 80
    assert said.endswith("…")


def test_a_message_that_a_command_wrote_is_taken_from_the_output():
    command = "git commit -m \"$(cat <<'EOF'\nAdd retries\n\nWhy.\nEOF\n)\""

    assert said_of(command, "[main 1a2b3c4] Add retries") == "Committed: Add retries"


def test_commit_and_push_in_one_turn_are_told_together():
    found = found_by(
        CommandMilestone(),
        turn(0, bash("git commit -m 'Fix'", "[main 1a2b3c4] Fix"), bash("git push origin main")),
    )

    assert found == {0: "Committed: Fix; Pushed to origin main"}


def test_a_loop_of_edits_and_builds_is_no_row_of_milestones():
    rounds = [
        step
        for index in range(0, 20, 2)
        for step in (turn(index, edit("a.go")), turn(index + 1, bash("go build ./...")))
    ]

    assert found_by(CommandMilestone(), *rounds) == {1: "Built: go build ./..."}


def test_a_build_that_passes_after_it_failed_is_one():
    found = found_by(
        CommandMilestone(),
        turn(0, bash("go build ./...")),
        turn(1, bash("go build ./...", "undefined: x", exit_code=1)),
        turn(2, bash("go build ./...")),
        turn(3, bash("go build ./...")),
    )

    assert list(found) == [0, 2]


def test_the_same_installation_counts_once():
    found = found_by(
        CommandMilestone(),
        turn(0, bash("npm install")),
        turn(1, edit("package.json")),
        turn(2, bash("npm install")),
        turn(3, bash("npm install left-pad")),
    )

    assert list(found) == [0, 3]


def test_the_same_deployment_counts_again_only_after_a_change():
    deploy = bash("kubectl apply -f app.yaml")
    found = found_by(
        CommandMilestone(),
        turn(0, deploy),
        turn(1, deploy),
        turn(2, edit("app.yaml")),
        turn(3, deploy),
    )

    assert list(found) == [0, 3]


def test_a_commit_where_things_are_tried_out_is_none():
    trial = bash("cd /tmp && git init t && git commit -m first", "[main 1a2b3c4] first")
    later = bash("cd /tmp/copy && git commit -m second", "[main 1a2b3c4] second")

    assert found_by(CommandMilestone(), turn(0, trial)) == {}
    assert found_by(CommandMilestone(), turn(0, edit("src/a.py")), turn(1, later)) == {}
    assert list(found_by(CommandMilestone(), turn(0, later))) == [0]


def test_amending_under_the_same_message_reaches_nothing_new():
    found = found_by(
        CommandMilestone(),
        turn(0, bash("git commit -m Fix", "[main 1a2b3c4] Fix")),
        turn(1, bash("git commit --amend --no-edit", "[main 5d6e7f8] Fix")),
        turn(2, bash("git commit --amend -m 'Fix all'", "[main 9a9b9c9] Fix all")),
        turn(3, bash("git commit -m Fix", "[main 7777777] Fix")),
    )

    assert list(found) == [0, 2, 3]


def test_memory_does_not_grow_with_the_conversation():
    def make(index):
        commit = bash(f"git commit -m 'Change {index}'", f"[main 1a2b3c4] Change {index}")
        return turn(index, commit, bash(f"npm install package-{index}"))

    short, long = (memory_after(CommandMilestone(), turns, make) for turns in (500, 5_000))

    assert long <= short * 1.1
