"""Facts about the repository: commits, branches, pushes, pull requests, tags."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kedgeline.facts.extractor import Setting
from kedgeline.facts.repository import RepositoryExtractor
from kedgeline.model import Committed, SessionNoted, Transcript, Turn
from tests.facts.speaking import told_by
from tests.turns import Step, bash, called, turn

ROOT = "/srv/shop"


def facts(*turns: Turn, root: str = ROOT, **setting: Any) -> list[Committed | SessionNoted]:
    return told_by(RepositoryExtractor(Setting(root=root, **setting)), *turns)


def said(*steps: Step, root: str = ROOT) -> list[tuple[str, str, str]]:
    """What was found, without what the session notes of its branch."""
    found = facts(*(turn(place, step) for place, step in enumerate(steps)), root=root)
    return [(one.what, one.name, one.about) for one in found if isinstance(one, Committed)]


COMMIT = "[topic 1a2b3c4] Add tax\n 1 file changed, 2 insertions(+)\n"


def test_a_commit_is_known_by_what_git_prints() -> None:
    found = facts(turn(4, bash('git commit -m "Add tax"', COMMIT)))
    assert found == [
        Committed(turn=4, what="branch", name="topic"),
        SessionNoted(turn=4, name="branch", value="topic"),
        Committed(turn=4, what="commit", name="1a2b3c4", about="Add tax"),
    ]


def test_the_first_commit_and_a_hook_s_words_before_it() -> None:
    output = "[lint] fine\n[main (root-commit) 0f1e2d3] Begin\n"
    assert ("commit", "0f1e2d3", "Begin") in said(bash("git commit -qam Begin", output))


def test_a_commit_counts_although_the_line_failed_later() -> None:
    step = bash("git commit -m x && npm test", COMMIT + "1 failing\n", exit_code=1)
    assert ("commit", "1a2b3c4", "Add tax") in said(step)


def test_a_quiet_commit_has_its_message_and_no_hash() -> None:
    line = "git add . && git commit -q -m \"$(cat <<'EOF'\nAdd tax\n\nLong story.\nEOF\n)\""
    assert said(bash(line)) == [("commit", "", "Add tax")]
    shown = bash("git commit -m 'Add tax' | tail -1", " 1 file changed, 2 insertions(+)\n")
    assert said(shown) == [("commit", "", "Add tax")]


def test_failed_refused_and_unfinished_commands_give_nothing() -> None:
    call, result = bash("git commit -m x", COMMIT)
    refused = replace(result, success=False, refused=True)
    assert said((call, refused), (call, replace(result, success=False, interrupted=True))) == []
    assert facts(Turn(tool_calls=(call,))) == []
    assert said(bash("git commit -q -m x", "nothing to commit\n", exit_code=1)) == []
    assert said(bash("git tag v1", "fatal: tag 'v1' already exists\n", exit_code=128)) == []
    assert said(bash("git checkout -b a", "fatal: a branch named 'a'\n", exit_code=128)) == []
    background = called("Bash", COMMIT, command="git commit -m x", run_in_background=True)
    assert said(background) == []


def test_an_amend_names_what_it_replaced() -> None:
    amended = "[topic 5d6e7f8] Add taxes\n Date: today\n"
    found = facts(
        turn(0, bash("git commit -m x", COMMIT)),
        turn(1, bash("git commit --amend -m 'Add taxes'", amended)),
        turn(2, bash("git commit --amend --no-edit", amended)),
        turn(3, bash("git commit -m y", "[topic 9a8b7c6] More\n")),
    )
    commits = [one for one in found if isinstance(one, Committed) and one.what == "commit"]
    assert [one.replaces for one in commits] == ["", "1a2b3c4", "", ""]


def test_a_step_of_a_rebase_is_no_commit() -> None:
    output = (
        "[detached HEAD 1a2b3c4] Add tax\n"
        "Rebasing (2/3)\rSuccessfully rebased and updated refs/heads/topic.\n"
    )
    assert said(bash("git add a && git rebase --continue", output)) == [("branch", "topic", "")]


def test_trials_in_a_temporary_folder_are_no_news() -> None:
    line = "cd /tmp && mkdir t && cd t && git init && git commit -m x"
    assert said(bash(line, COMMIT), bash("git -C /tmp/t commit -m x", COMMIT)) == []
    assert said(bash("cd $(mktemp -d) && git init && git commit -m x", COMMIT)) == []
    assert said(bash("cd /tmp/shop/web && git commit -m x", COMMIT), root="/tmp/shop") != []


def test_another_repository_has_commits_but_not_the_session_s_branch() -> None:
    there = bash("cd /srv/other && git commit -m x && git log --oneline -1", COMMIT + "1a2b3c4 x\n")
    assert said(there) == [("commit", "1a2b3c4", "Add tax")]
    made = bash("mkdir app && cd app && git init && git commit -m x", COMMIT)
    assert said(made) == [("commit", "1a2b3c4", "Add tax")]
    assert said(bash(f"cd {ROOT}/web && git commit -m x", COMMIT))[0][0] == "branch"
    assert said(bash(f"git -C {ROOT} commit -m x", COMMIT))[0][0] == "branch"


@pytest.mark.parametrize(
    ("line", "output"),
    [
        ("git log --oneline -3", "1a2b3c4 Add tax\n0f1e2d3 Begin\n"),
        ("git log --oneline | head -2", "1a2b3c4 Add tax\n"),
        ("git log --oneline main..HEAD", "1a2b3c4 Add tax\n"),
        ("git status -s && git log --oneline --graph", " M a.py\n* 1a2b3c4 Add tax\n| 0f1e2d3 B\n"),
        (
            "git log -1",
            f"commit {'1a2b3c4'}\nAuthor: A <a@b>\nDate: now\n\n    Add tax\n\n    Why\n",
        ),
        ("git log -1 --format='%h %s'", "1a2b3c4 Add tax\n"),
        ("git log --oneline -1 && git log --oneline other", "1a2b3c4 Add tax\n0f1e2d3 Begin\n"),
        ("git log -1 --format='%h %s' && git log -1 --format=%b", "1a2b3c4 Add tax\n0f1e2d3 x\n"),
        ("git log -1 --format=%H%n%B", "1a2b3c4\nAdd tax\n\nWhy\n"),
        ("git reset --hard HEAD~1", "HEAD is now at 1a2b3c4 Add tax\n"),
    ],
)
def test_the_head_is_the_newest_line_of_a_plain_log(line: str, output: str) -> None:
    assert said(bash(line, output)) == [("head", "1a2b3c4", "Add tax")]


@pytest.mark.parametrize(
    "line",
    [
        "git log --oneline -- a.py",
        "git log --oneline a.py",
        "git log --oneline other",
        "git log --oneline main...HEAD",
        "git log --oneline --all",
        "git log --oneline --author=me",
        "git log --oneline --no-merges",
        "git log --oneline --reverse",
        "git log --oneline | grep tax",
        "git log --oneline main.. && git log --oneline other",
        "git log -1 --format=%ci && git log --oneline -3",
        "git show HEAD --oneline && git log --oneline -3",
        "git show 1a2b3c4 --oneline",
        "for b in x y; do git log --oneline $b; done",
        "for b in x y; do git checkout -q $b; git log --oneline -1; done",
        "git log -1 --format=%ci",
        "cat log.txt",
    ],
)
def test_other_logs_say_nothing_of_the_head(line: str) -> None:
    assert said(bash(line, "1a2b3c4 Add tax\n")) == []


def test_the_head_keeps_the_message_known_before() -> None:
    steps = (bash("git commit -m x", COMMIT), bash("git rev-parse HEAD", "1a2b3c4\n"))
    assert said(*steps)[-1] == ("head", "1a2b3c4", "Add tax")
    assert said(bash("git pull", "Updating 0f1e2d3..1a2b3c4\nFast-forward\n a | 1 +\n")) == [
        ("head", "1a2b3c4", "")
    ]


@pytest.mark.parametrize(
    ("line", "output", "about"),
    [
        ("git checkout -b topic", "Switched to a new branch 'topic'\n", "created"),
        ("git switch -c topic main", "", "created"),
        ("git checkout topic", "Switched to branch 'topic'\n", "switched to"),
        ("git status", "On branch topic\nnothing to commit\n", ""),
        ("git status -sb", "## topic...origin/topic [ahead 1]\n M a\n", ""),
        ("git branch --show-current", "topic\n", ""),
        ("git rev-parse --abbrev-ref HEAD", "topic\n", ""),
        ("git branch", "  main\n* topic\n", ""),
    ],
)
def test_the_branch_the_session_is_on(line: str, output: str, about: str) -> None:
    found = facts(turn(0, bash(line, output)), turn(1, bash("git status", "On branch topic\n")))
    assert found == [
        Committed(turn=0, what="branch", name="topic", about=about),
        SessionNoted(turn=0, name="branch", value="topic"),
    ]


def test_the_last_of_several_switches_counts() -> None:
    output = "Switched to branch 'main'\nSwitched to branch 'topic'\n"
    found = said(bash("git checkout main && git pull -q && git checkout topic", output))
    assert found[-1] == ("branch", "topic", "switched to")


def test_no_branch_where_none_is_shown() -> None:
    assert (
        said(
            bash("git branch -a | grep x", "* topic\n"),
            bash("git checkout -- a.py", "Updated 1 path from the index\n"),
            bash("git branch", "* (HEAD detached at 1a2b3c4)\n  main\n"),
            bash("git status -sb", "## HEAD (no branch)\n"),
            bash("git branch --show-current; cat name", "topic\n"),
            bash(
                "git worktree add ../w -b other", "Preparing worktree\nHEAD is now at 1a2b3c4 x\n"
            ),
        )
        == []
    )


@pytest.mark.parametrize(
    ("line", "output", "found"),
    [
        ("git push", "To x\n   0f1e2d3..1a2b3c4  topic -> topic\n", ("push", "topic", "1a2b3c4")),
        ("git push -u origin topic", " * [new branch]      topic -> topic\n",
         ("push", "topic", "new branch")),
        ("git push -f", " + 0f1e2d3...1a2b3c4 t -> t (forced update)\n",
         ("push", "t", "1a2b3c4, forced")),
        ("git fetch && git push",
         "   0f1e2d3..5d6e7f8  main -> origin/main\n   0f1e2d3..1a2b3c4  topic -> topic\n",
         ("push", "topic", "1a2b3c4")),
        ("git push -q origin HEAD:topic", "", ("push", "topic", "")),
        ("git tag -a v1.2 -m 'First'", "", ("tag", "v1.2", "First")),
        ("git merge other", "Merge made by the 'ort' strategy.\n", ("merge", "other", "")),
        ("gh pr merge 7 --squash", "✓ Squashed and merged pull request #7 (Add tax)\n",
         ("merge", "#7", "Add tax")),
        ("gh pr create -t 'Add tax' --fill", "https://host/a/b/pull/7\n",
         ("pull_request", "https://host/a/b/pull/7", "Add tax")),
    ],
)  # fmt: skip
def test_pushes_tags_merges_and_pull_requests(
    line: str, output: str, found: tuple[str, str, str]
) -> None:
    assert said(bash(line, output)) == [found]


def test_what_did_nothing_is_no_news() -> None:
    assert (
        said(
            bash("git push", "Everything up-to-date\n"),
            bash("git push --dry-run origin a", ""),
            bash("git push origin --delete a", " - [deleted]  a\n"),
            bash("git fetch", "   0f1e2d3..1a2b3c4  main -> origin/main\n"),
            bash("git merge other", "Already up to date.\n"),
            bash("git tag", "v1\n"),
            bash("make check || git tag v1", "fine\n"),
            bash("git tag -d v1", "Deleted tag\n"),
            bash("echo git commit -m x", COMMIT),
        )
        == []
    )


def test_a_pull_request_that_is_edited_is_given_once() -> None:
    address = "https://host/a/b/pull/7"
    made = bash("gh pr create -t 'Add tax' --fill", f"{address}\n")
    assert said(made, bash("gh pr edit 7 --add-label x", f"{address}\n")) == [
        ("pull_request", address, "Add tax")
    ]


def test_sub_agents_commits_are_theirs_and_their_branches_nobody_s() -> None:
    task, report = called("Task", "done", prompt="do it")
    work = turn(0, bash("git commit -m x && git log --oneline -1", COMMIT + "1a2b3c4 Add tax\n"))
    agent = Transcript(format="plain", turns=(work,), delegated_by=task.id)
    found = facts(turn(5, (task, report)), agents={task.id: agent})
    assert found == [Committed(turn=5, by="agent", what="commit", name="1a2b3c4", about="Add tax")]
