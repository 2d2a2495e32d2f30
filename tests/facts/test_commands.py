"""Facts about commands: verbatim lines, what came of them, and what was only planned."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import kedgeline
from kedgeline.facts.commands import CommandExtractor, canonical
from kedgeline.facts.extractor import Setting
from kedgeline.facts.paths import below
from kedgeline.model import CommandRun, Note, NoteKind, Transcript, Turn
from kedgeline.shell.calls import shell_line
from tests.facts.speaking import told_by
from tests.turns import Step, bash, called, edit, turn

ROOT = "/srv/shop"


def commands(*turns: Turn, root: str = ROOT, **setting: Any) -> list[CommandRun]:
    return told_by(CommandExtractor(Setting(root=root, **setting)), *turns)


def only(step: Step) -> CommandRun:
    (found,) = commands(turn(3, step))
    return found


def test_a_line_stands_as_it_was_run() -> None:
    run = only(bash("  go test ./... -run 'A|B' 2>&1 | tail -5 \n", "ok  \tshop/cart\t0.1s\n"))
    assert run.command == "go test ./... -run 'A|B' 2>&1 | tail -5"
    assert (run.turn, run.by, run.key) == (3, "tool", "go test ./... -run 'A|B'")


def test_counts_and_success_come_from_the_runner() -> None:
    run = only(bash("pytest -q | tail -3", "1 failed, 7 passed, 2 skipped in 0.10s\n"))
    assert (run.purpose, run.success) == ("test", False)
    assert (run.passed, run.failed, run.skipped, run.unit) == (7, 1, 2, "tests")


@pytest.mark.parametrize(
    ("line", "purpose"),
    [
        ("ruff check . && pytest -q", "test"),
        ("ruff check . && npm run build", "build"),
        ("npm ci && ruff check .", "lint"),
        ("pip install -r a.txt && git commit -m x", "install"),
        ("git add a && git commit -m x", "commit"),
        ("ls && cat a", "look"),
        ("git status", "other"),
        ("git show 0a1b2c3d", "look"),
    ],
)
def test_a_line_is_named_after_its_weightiest_command(line: str, purpose: str) -> None:
    assert only(bash(line)).purpose == purpose


def test_a_linter_that_stopped_the_line_gives_it_its_name() -> None:
    output = "cart.go:4:2: unused variable (unused)\n2 issues:\n* unused: 2\n"
    run = only(bash("golangci-lint run && go test ./...", output, exit_code=1))
    assert (run.purpose, run.success) == ("lint", False)
    assert run.about == "2 issues: cart.go:4:2: unused variable (unused)"


def test_a_compiler_s_error_behind_a_pipe_is_a_failure() -> None:
    error = "src/cart.ts(3,9): error TS2304: Cannot find name 'tax'."
    run = only(bash('npm run check 2>&1 | grep "error TS"', error))
    assert (run.success, run.about) == (False, error)
    assert only(bash('npm run check 2>&1 | grep "error TS"', "")).about == "no output"
    assert only(bash('npm run check 2>&1 | grep "error TS"', "")).success is None


@pytest.mark.parametrize(
    ("line", "output", "code", "about"),
    [
        ("ruff check .", "All checks passed!\n", 0, "0 issues"),
        ("golangci-lint run", "0 issues.\n", 0, "0 issues"),
        ("mypy src", "a.py:1: error: bad\nFound 3 errors in 2 files\n", 1,
         "3 errors: a.py:1: error: bad"),
        ("git status", "On branch a\nnothing to commit, working tree clean\n", 0, "clean"),
        ("git status", "On branch a\n\tmodified:   x.py\n\tnew file:   y.py\n", 0,
         "2 files changed"),
        ("git status -s", " M x.py\n?? y.py\nR  a -> b\n", 0, "3 files changed"),
        ("git status --porcelain", "", 0, "clean"),
        ("pytest -q", "FAILED tests/test_a.py::test_tax - assert 1\n1 failed in 1s\n", 1,
         "tests/test_a.py::test_tax"),
        ("go test ./...", "    --- FAIL: TestTax/zero (0.00s)\nFAIL\tshop/cart\t0.1s\n", 1,
         "TestTax/zero"),
        ("cargo test", "---- cart::tax stdout ----\nassertion failed: x\n", 101,
         "cart::tax: assertion failed: x"),
        ("python tax.py", 'Traceback (most recent call last):\n  File "a"\nKeyError: 3\n', 1,
         "KeyError: 3"),
        ("cat none", "cat: none: No such file or directory\n", 1,
         "cat: none: No such file or directory"),
        ("./run", "", 3, "exit code 3"),
        ("./run", "3 apples\n", 3, "exit code 3"),
        ("ls", "a\nb\n", 0, ""),
    ],
)  # fmt: skip
def test_the_telling_part_of_a_result(line: str, output: str, code: int, about: str) -> None:
    assert only(bash(line, output, exit_code=code)).about == about


def test_what_tests_print_is_not_taken_for_their_failure() -> None:
    output = "error: remote not found\nFAIL\tshop/cart\t0.1s\nok  \tshop/tax\t0.1s\n"
    assert only(bash("go test ./...", output, exit_code=1)).about == "shop/cart"
    counted = "error: remote not found\n1 failed, 2 passed in 1s\n"
    assert only(bash("pytest -q", counted, exit_code=1)).about == "exit code 1"
    assert only(bash("cat lint.log", "0 issues.\n")).about == ""


def test_refused_unanswered_and_given_up_calls_did_not_run() -> None:
    call, result = bash("npm test")
    assert commands(turn(0, (call, replace(result, success=False, refused=True)))) == []
    assert commands(Turn(tool_calls=(call,))) == []
    given_up = "<tool_use_error>Sibling tool call errored</tool_use_error>"
    assert commands(turn(0, called("Bash", given_up, success=False, command="npm test"))) == []
    assert commands(turn(0, edit("a.py"))) == []


def test_interrupted_and_background_commands_have_no_outcome() -> None:
    call, result = bash("npm test", "1 passed")
    broken = replace(result, success=False, interrupted=True)
    stopped = only((call, broken))
    assert (stopped.success, stopped.about) == (None, "interrupted")
    call, result = bash("sleep 9", exit_code=1)
    assert only((call, replace(result, interrupted=True))).success is None
    for step in (
        called("Bash", "", command="npm run dev", run_in_background=True),
        called("Bash", "Command running in background with ID: b1", command="npm run dev"),
        bash("npm run dev &"),
    ):
        started = only(step)
        assert (started.success, started.about) == (None, "in the background")


def test_a_file_written_by_the_shell_is_no_command_to_keep() -> None:
    body = "x = 1\n" * 80
    assert commands(turn(0, bash(f"cat > a.py <<'EOF'\n{body}EOF"))) == []
    assert only(bash("cat > a.py <<'EOF'\nx = 1\nEOF")).command.endswith("EOF")


def test_the_folder_is_given_where_it_is_not_the_root() -> None:
    given = only(called("shell", command=["bash", "-lc", "npm test"], workdir=f"{ROOT}/web"))
    assert (given.command, given.folder, given.key) == ("npm test", "web", "cd web && npm test")
    assert only(called("shell", command=["npm", "test"], workdir=ROOT)).folder == ""
    stays = commands(turn(0, bash("cd web && ls")), turn(1, bash("npm test")))
    assert [run.folder for run in stays] == ["", "web"]


def test_the_folder_is_forgotten_after_a_long_pause() -> None:
    noon = datetime(2026, 1, 5, 12)
    later = [noon, noon + timedelta(hours=1), noon + timedelta(hours=9)]
    turns = [turn(i, bash("cd web"), timestamp=t) for i, t in enumerate(later[:1])]
    turns += [turn(i, bash("npm test"), timestamp=t) for i, t in enumerate(later[1:], start=1)]
    assert [run.folder for run in commands(*turns)] == ["", "web", ""]


def test_of_a_sub_agent_the_newest_weighty_runs_are_kept() -> None:
    steps = [
        turn(0, bash("pytest -q", "1 failed in 1s", exit_code=1), bash("ls")),
        turn(1, bash("pytest -q 2>&1", "4 passed in 1s"), bash("ruff check .")),
    ]
    task, report = called("Task", "done", prompt="test it")
    refused = replace(report, success=False, refused=True)
    agent = Transcript(format="plain", turns=tuple(steps), delegated_by=task.id)
    (run,) = commands(turn(8, (task, refused)), agents={task.id: agent})
    assert (run.turn, run.by, run.command, run.passed) == (8, "agent", "pytest -q 2>&1", 4)


def test_what_the_user_runs_by_hand_is_theirs() -> None:
    notes = (
        Note(kind="shell", text="<bash-input>git pull</bash-input>"),
        Note(kind="shell", text="/test pytest -q"),
        Note(kind="shell", text="/clear"),
    )
    found = commands(turn(0, notes=notes))
    assert [(run.by, run.command, run.success) for run in found] == [
        ("user", "git pull", None),
        ("user", "pytest -q", None),
    ]


def test_what_a_client_writes_around_an_output_is_no_error() -> None:
    around = "Command: npm run build\nDirectory: (root)\nOutput: done\nError: (none)\nExit Code: 0"
    run = only(called("run_shell_command", around, exit_code=0, command="npm run build"))
    assert (run.success, run.about) == (True, "")


def test_every_line_of_a_real_session_stands_as_it_was_run(corpus: Path) -> None:
    checked = 0
    for path in (*sorted((corpus / "codex").glob("*.jsonl")), corpus / "pi/large-session.jsonl"):
        transcript = kedgeline.read(path, counter=None)
        for one in transcript.turns:
            lines = {shell_line(call).strip() for call in one.tool_calls}
            found = [run for run in commands(one, root="") if run.by == "tool"]
            checked += len(found)
            assert {run.command for run in found if run.about != "part of a longer line"} <= lines
    assert checked > 100


# The one form that variants of a command share.


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("npm test 2>&1 | tail -20", "npm test"),
        ("npm test 2>&1 | grep -E 'a|b' | head -5", "npm test"),
        ("npm test > /dev/null 2>&1; echo $?", "npm test"),
        ("npm test && echo OK || echo BAD", "npm test"),
        ("npm test || true", "npm test"),
        ("timeout 60 npm test", "npm test"),
        (f"cd {ROOT} && npm test", "npm test"),
        (f'cd "{ROOT}/" ; npm test', "npm test"),
        (f"cd {ROOT}/web && npm test", "cd web && npm test"),
        (f"git -C {ROOT} status", "git status"),
        (f"ls {ROOT}/web/a {ROOT}", "ls web/a ."),
        (f"ls {ROOT}s/a", f"ls {ROOT}s/a"),
        ("# all\nnpm test\nnpm run lint 2>&1", "npm test; npm run lint"),
        ("npm run lint 2>&1 | tail -3 && npm test | tail", "npm run lint && npm test"),
        ("git log | grep fix", "git log | grep fix"),
        ("git log | head -3", "git log"),
        ("echo 'a | tail -5; b'", "echo 'a | tail -5; b'"),
        ("a $(b | tail -1) | tail", "a $(b | tail -1)"),
        ("npm test; echo done", "npm test; echo done"),
        ("a | tee log && b", "a && b"),
        ("echo $?", "echo $?"),
        ("", ""),
    ],
)
def test_variants_of_a_command_share_one_form(line: str, key: str) -> None:
    assert canonical(line, root=ROOT) == key
    assert canonical(key, root=ROOT) == key


def test_the_folder_is_a_part_of_the_form() -> None:
    assert canonical("npm test | tail", folder="web") == "cd web && npm test"


def test_scripts_are_their_own_form() -> None:
    script = "python - <<'EOF' | tail -1\nprint(1)\nEOF"
    assert canonical(f" {script} ", root=ROOT) == script
    long = "echo " + "word " * 500 + "| tail"
    assert canonical(long) == long


@pytest.mark.parametrize(
    ("path", "named"),
    [(ROOT, ""), (f"{ROOT}/", ""), (f"{ROOT}/web", "web"), (f"{ROOT}s", f"{ROOT}s"), (".", "")],
)
def test_a_path_is_given_from_the_root(path: str, named: str) -> None:
    assert below(ROOT, path) == named


# Commands that the user ran inside the session: what their output says of them.


FAILED = (
    "===== test session starts =====\n    def test_lift():\n>       assert load\nE       Error\n"
    "FAILED tests/test_crane.py::test_lift\n===== 1 failed, 6 passed in 3.28s ====="
)


def ran(*notes: tuple[NoteKind, str]) -> list[CommandRun]:
    one = turn(3, notes=tuple(Note(kind=kind, text=text) for kind, text in notes))
    return list(CommandExtractor(Setting()).see(one, ()))


def outcome(line: str, *printed: str) -> tuple[bool | None, int | None, int | None, str]:
    (run,) = ran(("shell", line), *(("shell_output", text) for text in printed))
    return run.success, run.passed, run.failed, run.about


def test_a_runner_s_counts_are_those_of_the_run_before_them() -> None:
    told = (False, 6, 1, "tests/test_crane.py::test_lift")
    assert outcome("/test pytest", FAILED) == told
    assert (
        outcome("/run pytest tests", "```", FAILED, "```\n\nAdd the output? [y/n] (y): y") == told
    )
    passed = outcome("!pytest", "===== 25 passed in 1.41s =====")
    assert passed == (True, 25, 0, "run by the user")


def test_an_output_that_is_repeated_counts_once() -> None:
    first = FAILED.replace(">       assert", "assert")
    again = "\n".join(f"{line.lstrip()} " for line in FAILED.split("\n")) + "\nAdd it? y"
    assert outcome("/test pytest", f"{first}\n{again}")[:3] == (False, 6, 1)
    twice = FAILED + "\n" + FAILED.replace("3.28s", "3.30s")
    assert outcome("/test pytest; pytest", twice)[:3] == (False, 12, 2)


def test_the_output_belongs_to_the_command_right_before_it() -> None:
    first, second = ran(
        ("shell", "/run make lint"),
        ("shell", "/test pytest"),
        ("shell_output", FAILED),
    )
    assert (first.success, first.about) == (None, "run by the user")
    assert (second.success, second.failed, second.by, second.turn) == (False, 1, "user", 3)
    (apart,) = ran(("shell", "/test pytest"), ("injected", "words"), ("shell_output", FAILED))
    assert (apart.success, apart.failed) == (None, None)


@pytest.mark.parametrize(
    ("line", "printed", "success"),
    [
        ("/run ls", "a.py\n", None),
        ("/test pytest", "no tests here\n", None),
        ("!npm run build", "> build\n", None),
        ("!npm run build", "npm ERR! missing script: build\n", False),
        ("<bash-input>git commit -m x</bash-input>", "<bash-stdout>[main 1a2b3c4] x\n</bash-stdout>"
         "<bash-stderr></bash-stderr>", True),
        ("<bash-input>pytest -q</bash-input>", "<bash-stdout>5 passed in 0.2s</bash-stdout>", True),
        ("/run ruff check .", "All checks passed!\n", True),
    ],
)  # fmt: skip
def test_only_what_the_output_proves_is_known(
    line: str, printed: str, success: bool | None
) -> None:
    assert outcome(line, printed)[0] is success


def test_a_run_that_was_interrupted_came_to_nothing() -> None:
    (run,) = ran(("shell", "/test pytest"), ("shell_output", FAILED), ("interruption", "^C"))
    assert (run.success, run.failed, run.about) == (None, None, "interrupted")
