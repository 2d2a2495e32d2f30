"""Commands that reach something, errors fixed, tests that verify, requests done."""

from __future__ import annotations

from typing import Any

import pytest

from kedgeline.anchors.detectors.work import (
    CommandMilestone,
    ErrorResolution,
    FeatureMilestone,
    TaskCompletion,
    VerifiedTests,
)
from kedgeline.anchors.evidence import leaves_open
from kedgeline.model import Turn
from kedgeline.shell import Counts, Outcome, Purpose, Run
from tests.anchors.watching import found_by, memory_after, talk
from tests.turns import bash, called, edit, turn

PASSING = bash("pytest", "15 passed in 1.1s")
FAILING = bash("pytest", "1 failed, 14 passed in 1.2s", exit_code=1)
PIPED = bash("pytest 2>&1 | tail -1", "1 failed, 14 passed in 1.2s")
BUILDS, BUILD_FAILS = bash("go build ./..."), bash("go build ./...", "undefined: x", exit_code=1)
REPORT, REPORT_FAILS = bash("python report.py"), bash("python report.py", "KeyError", exit_code=1)
RECOMMITTED = bash("git commit -m Fix", "[main 7777777] Fix")
DEPLOY = bash("kubectl apply -f app.yaml")
SUBMIT = called("submit", "diff")
WEB = bash("pytest tests/web/test_login.py", "1 failed in 1s", exit_code=1)
CORE = bash("pytest tests/core", "9 passed in 1s")


def refused() -> Any:
    call, result = bash("pytest", exit_code=1, success=False)
    return call, type(result)(call_id=call.id, success=False, refused=True)


Scene = tuple[str, list[Any], dict[int, str] | list[int]]
"""What it shows, the turns, and what is found: in which turns, or in which words too."""

ERRORS: list[Scene] = [
    (
        "the seed's error, read, edit and passing tests in four turns",
        [FAILING, called("Read", "code", file_path="src/auth.py"), edit("src/auth.py"), PASSING],
        {3: "Error fixed in auth.py and tests pass (15 passed)"},
    ),
    (
        "the seed's one turn after an error",
        [{"steps": (edit("src/auth.py"), PASSING), "previous_error": True}],
        {0: "Error fixed in auth.py and tests pass (15 passed)"},
    ),
    ("no error before", [(edit("src/auth.py"), PASSING)], []),
    (
        "a build that failed is resolved by a build",
        [BUILD_FAILS, edit("auth.go"), BUILDS],
        {2: "Error fixed in auth.go and the build passes (go build ./...)"},
    ),
    ("failing tests are not", [FAILING, edit("a.py"), bash("npm run build")], []),
    (
        "the very same command resolves what it failed with",
        [REPORT_FAILS, edit("report.py"), bash("python other.py"), REPORT],
        {3: "Error fixed in report.py and `python report.py` succeeds"},
    ),
    ("passing tests resolve what failed when run", [REPORT_FAILS, edit("a.py"), PASSING], [2]),
    (
        "what was tried out beside the work is no error of it",
        [bash("python /tmp/try.py", "SyntaxError", exit_code=1), edit("report.py"), PASSING],
        [],
    ),
    (
        "another task of the same program closes nothing",
        [
            bash("npm run build", "error: no such type", exit_code=1),
            *(edit("a.ts"), bash("npm run lint"), bash("npm run build")),
        ],
        [3],
    ),
    (
        "passing tests say nothing about other commands",
        [bash("docker compose up -d", "no network", exit_code=1), edit("report.py"), PASSING],
        [],
    ),
    (
        "a linter's complaint is no error",
        [
            bash("ruff check", "Found 1 error.", exit_code=1),
            *(edit("a.py"), bash("ruff check", "All checks passed!")),
        ],
        [],
    ),
    (
        "of a failed line that does not tell the first command is blamed",
        [bash("go build ./... && go vet ./...", "trouble", exit_code=1), edit("a.go"), PASSING],
        [2],
    ),
    (
        "even if it is a linter",
        [bash("ruff check && pytest", "trouble", exit_code=1), edit("a.py"), PASSING],
        [],
    ),
    (
        "adding is never what a line fails at",
        [
            bash("git add a.py && git rebase --continue", "CONFLICT in b.py", exit_code=1),
            *(edit("b.py"), bash("git add a.py && git rebase --continue")),
        ],
        {2: "Error fixed in b.py and `git rebase --continue` succeeds"},
    ),
    ("tests of another package pass", [WEB, edit("a.py"), CORE], []),
    (
        "a narrower run of the same tests",
        [WEB, edit("a.py"), bash("pytest tests/web/test_login.py::test_logout", "1 passed in 1s")],
        [2],
    ),
    ("a wider one", [WEB, edit("a.py"), CORE, bash("pytest tests/", "90 passed in 9s")], [3]),
    (
        "a flaky test that passes the second time was not fixed",
        [edit("a.py"), FAILING, PASSING, edit("a.py"), PASSING],
        [],
    ),
    ("it is resolved once", [FAILING, edit("a.py"), PASSING, edit("b.py"), PASSING], [2]),
    ("tests that ran before the edit in one batch", [FAILING, (PASSING, edit("a.py"))], []),
    (
        "other tests of the turn fail",
        [FAILING, edit("a.py"), (CORE, bash("pytest e2e", "2 failed", exit_code=1))],
        [],
    ),
    ("counts outweigh an exit code that a pipe swallowed", [PIPED, edit("a"), PIPED, PASSING], [3]),
    (
        "left open by the exchange before",
        [
            *(FAILING, "One test fails."),
            {"steps": (edit("auth.py"),), "user": "fix it", "exchange": 1},
            {"steps": (PASSING,), "exchange": 1},
        ],
        [3],
    ),
    (
        "of two exchanges ago",
        [
            FAILING,
            {"says": "It is Python.", "user": "which language?", "exchange": 1},
            {"steps": (edit("about.py"),), "user": "say so", "exchange": 2},
            {"steps": (PASSING,), "exchange": 2},
        ],
        [],
    ),
    ("a refused run did not fail", [refused(), edit("a.py"), PASSING], []),
    (
        "three files are named and the others counted",
        [FAILING, tuple(edit(f"src/part{number}.py") for number in range(5)), PASSING],
        {2: "Error fixed in part0.py, part1.py, part2.py +2 more and tests pass (15 passed)"},
    ),
    *(
        (f"a failing {name} is an answer", [failed, edit("a.py"), succeeded, PASSING], [])
        for name, failed, succeeded in (
            ("grep", bash("grep -rn x src", exit_code=1), bash("grep -rn x src", "src/a.py:1: x")),
            ("diff", bash("git diff --exit-code", "x", exit_code=1), bash("git diff --exit-code")),
            ("read", called("Read", "none", success=False, file_path="a"), called("Read", "text")),
            ("search", called("Grep", "bad", success=False, pattern="("), called("Grep", "a.py")),
        )
    ),
]

VERIFIED: list[Scene] = [
    (
        "changes and tests in different turns",
        [edit("src/auth.py"), edit("src/login.py"), "Now the tests.", PASSING],
        {3: "Changes in auth.py, login.py verified: tests pass (15 passed)"},
    ),
    (
        "and in different exchanges",
        [edit("auth.py"), {"steps": (PASSING,), "user": "run the tests", "exchange": 1}],
        [1],
    ),
    (
        "the seed's third example has neither an edit nor a word of a milestone",
        [
            called("Write", "created", file_path="src/app.rs", content="fn main() {}"),
            bash("cargo test", "test result: ok. 3 passed; 0 failed; 0 ignored"),
        ],
        {1: "Changes in app.rs verified: tests pass (3 passed)"},
    ),
    ("nothing changed", [PASSING, PASSING], []),
    (
        "after an anchor it takes new changes",
        [edit("a.py"), PASSING, PASSING, edit("b.py"), PASSING],
        {
            1: "Changes in a.py verified: tests pass (15 passed)",
            4: "Changes in b.py verified: tests pass (15 passed)",
        },
    ),
    (
        "changes wait until tests pass",
        [edit("a.py"), FAILING, edit("b.py"), PASSING],
        {3: "Changes in a.py, b.py verified: tests pass (15 passed)"},
    ),
    *(
        (f"R11: {output!r} is no passing test", [edit("a.py"), bash("cat log", output)], [])
        for output in ("0 passed in 0.1s", "no tests ran in 0.01s", "bypass the password test")
    ),
    ("no tests ran", [edit("a.py"), bash("pytest", "no tests ran", exit_code=5)], []),
    ("an edit that failed", [edit("a.py", success=False), PASSING], []),
    ("documents are not verified by tests", [edit("docs/plan.md"), PASSING], []),
    (
        "what is only tried out, where the work is elsewhere",
        [edit("src/app.py"), (edit("/tmp/try.py"), PASSING), (edit("/tmp/try.py"), PASSING)],
        {1: "Changes in app.py verified: tests pass (15 passed)"},
    ),
    ("work in a folder for scratch counts", [edit("/tmp/project/app.py"), PASSING], [1]),
    (
        "other tests of the turn fail",
        [edit("a.py"), (PASSING, bash("pytest e2e", "2 failed in 3s", exit_code=1)), PASSING],
        [2],
    ),
]

COMMANDS: list[Scene] = [
    (
        "commit and push in one turn are told together",
        [(RECOMMITTED, bash("git push origin main"))],
        {0: "Committed: Fix; Pushed: git push origin main"},
    ),
    (
        "a loop of edits and builds is one milestone",
        [edit("a.go"), BUILDS, edit("a.go"), BUILDS],
        {1: "Built: go build ./..."},
    ),
    ("a build that passes after it failed", [BUILDS, BUILD_FAILS, BUILDS, BUILDS], [0, 2]),
    (
        "the same installation counts once",
        [bash("npm install"), edit("package.json"), bash("npm install"), bash("npm install pad")],
        [0, 3],
    ),
    ("the same deployment only after a change", [DEPLOY, DEPLOY, edit("a"), DEPLOY], [0, 3]),
    (
        "a commit where things are tried out",
        [bash("cd /tmp && git init t && git commit -m first", "[main 1a2b3c4] first")],
        [],
    ),
    (
        "the same while the work is elsewhere",
        [edit("src/a.py"), bash("cd /tmp/copy && git commit -m x", "[main 1a2b3c4] x")],
        [],
    ),
    ("and where it is there", [bash("cd /tmp/copy && git commit -m x", "[main 1a2b3c4] x")], [0]),
    (
        "amending under the same message reaches nothing new",
        [
            bash("git commit -m Fix", "[main 1a2b3c4] Fix"),
            bash("git commit --amend --no-edit", "[main 5d6e7f8] Fix"),
            bash("git commit --amend -m 'Fix all'", "[main 9a9b9c9] Fix all"),
        ],
        [0, 2],
    ),
]

PASSED = "auth.py changed and tests pass (15 passed)"
COMPLETED: list[Scene] = [
    ("the seed's form", [(edit("src/auth.py"), PASSING)], {0: PASSED}),
    ("in different turns of an exchange", [edit("src/auth.py"), PASSING], {1: PASSED}),
    ("an edit alone", [edit("src/auth.py")], []),
    (
        "files of another exchange",
        [edit("a.py"), {"steps": (PASSING,), "user": "test it", "exchange": 1}],
        [],
    ),
    (
        "an exchange is completed once",
        [
            (edit("a.py"), PASSING),
            (edit("b.py"), PASSING),
            {"steps": (edit("c.py"), PASSING), "user": "next", "exchange": 1},
        ],
        [0, 2],
    ),
    ("what ends an error is for others to tell", [FAILING, edit("a.py"), PASSING, PASSING], []),
    ("documents", [(edit("docs/plan.md"), PASSING)], []),
    (
        "a booking",
        [called("book_reservation", '{"id": "R1"}'), "Your flight has been booked. Safe travels!"],
        {1: "Completed: Your flight has been booked. Safe travels! (book_reservation)"},
    ),
    (
        "edits without tests",
        [edit("src/app/handler.ts"), "Done. I've updated the handler to retry."],
        {1: "Completed: Done. I've updated the handler to retry. (handler.ts)"},
    ),
    (
        "a commit",
        [bash("git commit -m 'Add retries'", "[main 1234567] Add retries"), "Committed."],
        {1: "Completed: Committed. (commit)"},
    ),
    *(
        (f"{tool} changes something", [called(tool, "ok"), "All set!"], [1])
        for tool in ("createIssue", "mcp__tracker__update-ticket", "Tracker.DeleteItem")
    ),
    *(
        (f"{tool} only looks", [called(tool, "ok"), "Your flight has been booked."], [])
        for tool in ("get_reservation_details", "calculate", "settings_list", "address")
    ),
    (
        "agents that end with a call have no closing answer",
        [SUBMIT, edit("src/a.py"), SUBMIT, SUBMIT],
        {2: "Completed: submit (a.py)"},
    ),
    ("nothing was changed", [bash("ls", "a.py"), "I've fixed it."], []),
    (
        "a change that failed",
        [called("book_reservation", "no seats", success=False), "Your flight has been booked."],
        [],
    ),
    (
        "a change of the exchange before",
        [
            called("cancel_order", "ok"),
            {"says": "Your order has been cancelled.", "user": "and now?", "exchange": 1},
        ],
        [],
    ),
    ("left at a failure", [(edit("parser.py"), FAILING), "I've updated the parser."], []),
    (
        "tried again",
        [
            (called("update_ticket", "locked", success=False), called("update_ticket", "ok")),
            "I've updated the ticket.",
        ],
        [1],
    ),
    (
        "a linter need not be asked in the same words",
        [
            bash("ruff check .", "Found 1 error.", exit_code=1),
            *(edit("parser.py"), bash("ruff check src", "All checks passed!"), "I've updated it."),
        ],
        [3],
    ),
    ("a plain command is left behind", [REPORT_FAILS, edit("a.py"), "I've updated it."], [2]),
    ("unless it is the last", [edit("a.py"), REPORT_FAILS, "I've updated it."], []),
    ("one report", [edit("a.py"), "Done, the name is changed.", "I've updated the name."], [1]),
    ("it goes on", [edit("a.py"), {"steps": (bash("ls"),), "says": "I've fixed it."}], []),
]


def todos(*states: str, tool: str = "TodoWrite", key: str = "todos", text: str = "content") -> Any:
    items = [{text: f"item {number}", "status": state} for number, state in enumerate(states)]
    return called(tool, "ok", **{key: items})


def created(*numbers: int) -> list[Any]:
    return [
        called("TaskCreate", f"Task #{number} created", subject=f"t{number}", description="more")
        for number in numbers
    ]


def updated(number: int, status: str = "completed", *, success: bool = True) -> Any:
    return called("TaskUpdate", f"#{number}", success=success, taskId=str(number), status=status)


def merged(merge: bool, **states: str) -> Any:
    items = [{"id": key, "content": key, "status": value} for key, value in states.items()]
    return called("todo_write", "ok", merge=merge, todos=items)


FEATURES: list[Scene] = [
    (
        "the last open item becomes completed",
        [
            todos("in_progress", "pending"),
            todos("completed", "in_progress"),
            *(todos("completed", "completed"), todos("completed", "completed")),
        ],
        {2: "All 2 todos done: item 1"},
    ),
    *(
        (
            f"the list of {tool}",
            [
                todos("pending", "pending", "pending", tool=tool, key=key, text=text),
                todos("completed", "cancelled", "completed", tool=tool, key=key, text=text),
            ],
            {1: "All 2 todos done: item 2"},
        )
        for tool, key, text in (
            ("update_plan", "plan", "step"),
            ("write_todos", "todos", "description"),
            ("manage_todo_list", "todoList", "title"),
        )
    ),
    (
        "a server's list is not the agent's own",
        [
            todos(*two, tool="mcp__tasks__todo_write")
            for two in (["pending"] * 2, ["completed"] * 2)
        ],
        [],
    ),
    (
        "single tasks are remembered by their id",
        [
            created(1, 2),
            (updated(2), updated(1, "in_progress")),
            *(updated(1), created(3, 4), updated(3), updated(4)),
        ],
        {2: "All 2 todos done: t1", 5: "All 2 todos done: t4"},
    ),
    ("one item is the request itself", [created(1), updated(1), todos("pending")], []),
    (
        "what failed or was dropped completes nothing",
        [
            *(created(1, 2, 3), (updated(1), updated(2)), updated(3, success=False)),
            *(updated(3, "deleted"), called("TodoWrite", "cleared", todos=[])),
        ],
        [],
    ),
    (
        "new items in the same turn keep the list open",
        [created(1, 2), (updated(1), updated(2), *created(3)), updated(3)],
        {2: "All 3 todos done: t3"},
    ),
    ("a list that was never open", [todos("completed", "completed")], []),
    (
        "items merged into a list",
        [
            merged(False, a="pending", b="pending"),
            *(merged(True, a="completed"), merged(True, b="completed")),
        ],
        {2: "All 2 todos done: b"},
    ),
    (
        "merges and tags of the shell",
        [
            bash("cd app && git merge feature/login", "Updating 1a2b..3c4d"),
            bash("git merge feature/next", "CONFLICT", exit_code=1),
            *(bash("git merge-base main HEAD", "1a2b3c"), bash("git tag v2.0")),
        ],
        {0: "Merged: git merge feature/login", 3: "Tagged: git tag v2.0"},
    ),
    (
        "a server's tool merges",
        [called("mcp__github__merge_pull_request", "merged", pullNumber=3)],
        {0: "Merged: mcp__github__merge_pull_request"},
    ),
]
DETECTORS = {
    ErrorResolution: ERRORS,
    VerifiedTests: VERIFIED,
    CommandMilestone: COMMANDS,
    TaskCompletion: COMPLETED,
    FeatureMilestone: FEATURES,
}


@pytest.mark.parametrize(
    ("detector", "turns", "expected"),
    [
        pytest.param(detector, turns, expected, id=f"{detector.name}: {title}")
        for detector, scenes in DETECTORS.items()
        for title, turns, expected in scenes
    ],
)
def test_an_anchor_is_found_where_its_evidence_becomes_complete(
    detector: Any, turns: list[Any], expected: Any
) -> None:
    found = found_by(detector(), *talk(*turns))
    assert (list(found) if isinstance(expected, list) else found) == expected


@pytest.mark.parametrize("detector", DETECTORS)
def test_memory_does_not_grow_with_the_conversation(detector: Any) -> None:
    def make(index: int) -> Turn:
        steps = (
            edit(f"src/{index}.py"),
            bash(f"python run{index}.py", exit_code=1),
            bash(f"git commit -m 'Change {index}'", f"[main 1a2b3c4] Change {index}"),
            bash(f"npm install package-{index}"),
            created(index)[0] if index % 2 else updated(index - 9, "in_progress"),
        )
        return turn(index, *steps, user=f"step {index}", exchange=index // 3, says="y" * 300)

    short, long = (memory_after(detector(), turns, make) for turns in (500, 2_000))
    assert long <= short * 1.1


def test_a_run_in_which_nothing_passed_resolves_nothing_whatever_its_success() -> None:
    call, result = bash("pytest", "no tests ran")
    run = Run(purpose="test", words=("pytest",), success=True, counts=Counts(runner="pytest"))
    detector = ErrorResolution()
    found_by(detector, *talk(FAILING, edit("a.py")))
    assert detector.see(turn(2), [Outcome(call=call, result=result, runs=(run,))]) == ""


def test_handing_in_is_often_not_answered() -> None:
    last = Turn(index=1, tool_calls=(SUBMIT[0],))
    assert list(found_by(TaskCompletion(), turn(0, edit("a.py")), last)) == [1]


# What a command says it reached


def said_of(command: str, output: str = "", *, exit_code: int = 0) -> str:
    found = found_by(CommandMilestone(), turn(0, bash(command, output, exit_code=exit_code)))
    return found.get(0, "")


@pytest.mark.parametrize(
    ("command", "output", "said"),
    [
        ("git commit -m 'Add retries'", "[main 1a2b3c4] Add retries\n 1", "Committed: Add retries"),
        ("git commit -am 'Add retries'", "", "Committed: git commit -am Add retries"),
        ("git commit", "[main (root-commit) 1a2b3c4] First", "Committed: First"),
        (
            "git commit -m \"$(cat <<'EOF'\nAdd retries\n\nWhy.\nEOF\n)\"",
            *("[main 1a2b3c4] Add retries", "Committed: Add retries"),
        ),
        ("git push -u origin feature", "", "Pushed: git push -u origin feature"),
        (
            "gh pr create --title x --body y",
            "https://example.org/team/app/pull/7",
            "Pull request created: https://example.org/team/app/pull/7",
        ),
        ("pip install requests httpx", "", "Installed: pip install requests httpx"),
        ("npm ci", "", "Installed: npm ci"),
        ("kubectl apply -f app.yaml", "configured", "Deployed: kubectl apply -f app.yaml"),
        ("alembic upgrade head", "", "Migrated: alembic upgrade head"),
        ("go build ./...", "", "Built: go build ./..."),
        # R11: words in an output are no evidence; the command must itself have succeeded.
        ("git push origin main", "Everything up-to-date", ""),
        ("git push --dry-run origin main", "", ""),
        ("git push origin --delete old", "", ""),
        ("gh pr view 7", "https://example.org/team/app/pull/7", ""),
        ("cat install.log", "successfully installed, built, compiled, completed", ""),
        ("pip show requests", "not installed", ""),
        ("pytest", "15 passed in 1s", ""),
    ],
)
def test_a_milestone_says_what_was_reached(command: str, output: str, said: str) -> None:
    assert said_of(command, output) == said


@pytest.mark.parametrize("command", ["npm install express", "git commit -m x"])
def test_a_command_that_failed_reached_nothing(command: str) -> None:
    assert said_of(command, "unsuccessfully installed", exit_code=1) == ""


def ran(purpose: Purpose, command: str, *, success: bool | None = True, output: str = "") -> str:
    call, result = bash(command, output)
    run = Run(purpose=purpose, words=tuple(command.split()), success=success)
    return FeatureMilestone().see(turn(0), [Outcome(call=call, result=result, runs=(run,))])


def test_a_merge_and_a_tag_are_milestones() -> None:
    assert ran("merge", "gh pr merge 12 --squash") == "Merged: gh pr merge 12 --squash"
    assert ran("tag", "git tag -a v1.2 -m release") == "Tagged: git tag -a v1.2 -m release"
    for success in (False, None):
        assert ran("merge", "git merge feature/login", success=success) == ""
        assert ran("tag", "git tag v1", success=success) == ""
    for command in ("--abort", "origin/main", "master", "--no-commit x"):
        assert ran("merge", f"git merge {command}") == "", "a branch is brought up to date"
    assert ran("merge", "git merge feature/x", output="Already up to date.\n") == ""


# Answers that leave something open


@pytest.mark.parametrize(
    ("answer", "open"),
    [
        ("Done.", False),
        ("Fixed. The parser now accepts tabs.", False),
        ("Your reservation has been cancelled. Is there anything else?", False),
        ("Beide Dateien sind angepasst.", False),
        ("I will update both files.", True),
        ("The reservation has not been cancelled yet.", True),
        ("I could not update the second file. I've updated the first.", True),
        ("Unfortunately the flight is full.", True),
        ("The change is partially done.", True),
        ("Would you like to have it cancelled?", True),
        ("This remains to be done.", True),
        ("Shall I proceed? I've created a draft.", True),
    ],
)
def test_an_answer_that_leaves_something_open_completes_nothing(answer: str, open: bool) -> None:
    assert leaves_open(answer) is open
