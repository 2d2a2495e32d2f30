"""What calls came to: whether each command of a line succeeded."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kedgeline
from kedgeline.model import ToolCall, ToolResult, Turn
from kedgeline.shell import Outcome, Run, outcomes_of
from kedgeline.shell.calls import shell_line
from tests.turns import bash, called, edit, turn

Verdicts = list[tuple[str, bool | None]]

PASSED = "....\n4 passed in 0.12s\n"
FAILED = "..F.\n1 failed, 3 passed in 0.12s\n"
COMMITTED = "[main 1a2b3c4] Add a\n 1 file changed, 1 insertion(+)\n"
PUSHED = "To example.org:a/b.git\n   1a2b3c4..5d6e7f8  main -> main\n"
REJECTED = " ! [rejected]        main -> main (fetch first)\nerror: failed to push some refs\n"


def outcome(line: str, output: str = "", *, exit_code: int = 0) -> Outcome:
    (found,) = outcomes_of(turn(0, bash(line, output, exit_code=exit_code)))
    return found


def runs(line: str, output: str = "", *, exit_code: int = 0) -> tuple[Run, ...]:
    return outcome(line, output, exit_code=exit_code).runs


def verdicts(line: str, output: str = "", *, exit_code: int = 0) -> Verdicts:
    """Purpose and success of the commands that have a purpose."""
    found = runs(line, output, exit_code=exit_code)
    return [(run.purpose, run.success) for run in found if run.purpose != "other"]


def test_one_outcome_per_call_in_order() -> None:
    steps = (bash("ls"), edit("a.py"), called("WebSearch", query="x"), bash("pytest", PASSED))
    found = outcomes_of(turn(0, *steps))
    assert [one.call for one in found] == [call for call, _ in steps]
    assert [one.result for one in found] == [result for _, result in steps]
    assert [len(one.runs) for one in found] == [1, 0, 0, 1]


@pytest.mark.parametrize(
    ("line", "output", "exit_code", "expected"),
    [
        ("npm install", "", 0, [("install", True)]),
        ("npm install", "", 1, [("install", False)]),
        ("make; ls", "", 0, [("build", None)]),
        ("make || true", "", 0, [("build", None)]),
        ("make | tail", "", 0, [("build", None)]),
        ("set -o pipefail; make | tail", "", 0, [("build", True)]),
        ("make && npm ci", "", 0, [("build", True), ("install", True)]),
        ("make && npm ci", "", 2, [("build", None), ("install", None)]),
        ("cd a && make", "", 2, [("build", False)]),
        ("make; npm ci", "", 1, [("build", None), ("install", False)]),
        ("make &", "", 0, [("build", None)]),
    ],
)
def test_exit_codes(line: str, output: str, exit_code: int, expected: Verdicts) -> None:
    assert verdicts(line, output, exit_code=exit_code) == expected


@pytest.mark.parametrize(
    ("line", "output", "exit_code", "expected"),
    [
        ("pytest -q", PASSED, 0, True),
        ("pytest -q", FAILED, 1, False),
        ("pytest -q | tail -3", PASSED, 0, True),
        ("pytest -q | tail -3", FAILED, 0, False),
        ("pytest -q; true", FAILED, 0, False),
        ("pytest -q || true", PASSED, 0, True),
        ("pytest -q", FAILED, 0, False),
        ("pytest -q", PASSED, 1, False),
        ("pytest -q", "", 0, True),
        ("pytest -q", "no tests ran in 0.01s\n", 5, None),
        ("pytest -q | tail", "", 0, None),
        ("pytest -q | tail", "all passwords bypass the test\n", 0, None),
        ("npm test | tail", "npm error code 1\n", 0, False),
        ("pytest -q; echo 'exit'", "unsuccessfully\nexit\n", 0, None),
    ],
)
def test_tests_are_judged_by_their_counts(
    line: str, output: str, exit_code: int, expected: bool | None
) -> None:
    assert verdicts(line, output, exit_code=exit_code) == [("test", expected)]


def test_a_script_whose_output_closes_as_a_runners_does_was_a_test() -> None:
    (run,) = runs("./ci.sh", FAILED)
    assert (run.purpose, run.success) == ("test", False)
    assert run.counts is not None


@pytest.mark.parametrize(
    "line",
    [
        "cat test.log",
        "grep passed test.log",
        "tail -5 out.txt",
        "git log -1",
        "git show HEAD:out.txt",
        "sed -n 1,9p out.txt",
        "echo '4 passed in 0.12s'",
        "./start.sh; tail out.txt",
        "docker logs app",
        "gh run view 1 --log",
        "curl -s example.org/log",
    ],
)
def test_an_old_log_is_no_test(line: str) -> None:
    assert all(run.purpose == "other" and run.counts is None for run in runs(line, PASSED))


def test_a_failing_run_beside_a_passing_one_is_not_forgotten() -> None:
    found = verdicts("pytest a; pytest b", FAILED + PASSED)
    assert found == [("test", None), ("test", False)]


@pytest.mark.parametrize(
    ("line", "output", "exit_code", "expected"),
    [
        ("git commit -m a; ls", COMMITTED, 0, [("commit", True)]),
        (
            "git commit -m a | cat",
            "nothing to commit, working tree clean\n",
            0,
            [("commit", False)],
        ),
        ("git commit -m a; ls", "the commit is done\n", 0, [("commit", None)]),
        ("git push 2>&1 | tail -1", PUSHED, 0, [("push", True)]),
        ("git push 2>&1 | tail -2", REJECTED, 0, [("push", False)]),
        ("git push", "Everything up-to-date\n", 0, [("push", None)]),
        ("git push; ls", "fatal: no remote\n", 0, [("push", False)]),
        ("git fetch; git push | tail", " * branch main -> FETCH_HEAD\n", 0, [("push", None)]),
        ("git merge x; ls", "CONFLICT (content): a.py\n", 0, [("merge", False)]),
        ("git merge x", "Already up to date.\n", 0, [("merge", None)]),
        ("gh pr create | cat", "https://example.org/a/b/pull/7\n", 0, [("pull_request", True)]),
        ("npm i | tail", "added 5 packages in 1s\n", 0, [("install", True)]),
        ("npm i | tail", "npm ERR! code E404\n", 0, [("install", False)]),
        ("npm i | tail", "package x is not installed\n", 0, [("install", None)]),
        ("pip install x; ls", "Successfully installed x-1\n", 0, [("install", True)]),
        ("pip install x; ls", "it was unsuccessfully installed\n", 0, [("install", None)]),
        ("make | tail", "make: *** [all] Error 2\n", 0, [("build", False)]),
        ("dotnet build | tail", "Build FAILED.\n", 0, [("build", False)]),
        ("npm run build", "error: no such file\n", 0, [("build", False)]),
        ("npm run build; ls", "no error: fine\n", 0, [("build", None)]),
        ("mise run lint | tail", "[lint:go] 2 issues:\n", 0, [("lint", False)]),
        ("ruff check | tail", "All checks passed!\n", 0, [("lint", True)]),
        ("jest; ls", "bash: line 1: jest: command not found\n", 0, [("test", False)]),
        ("go build ./... 2>&1 | head", "", 0, [("build", True)]),
        ("go build ./... 2>&1 | grep x", "", 0, [("build", None)]),
        ("go build ./... 2>/dev/null | head", "", 0, [("build", None)]),
    ],
)
def test_closing_lines(line: str, output: str, exit_code: int, expected: Verdicts) -> None:
    assert verdicts(line, output, exit_code=exit_code) == expected


@pytest.mark.parametrize(
    ("line", "output", "expected"),
    [
        ('make; echo "EXIT: $?"', "EXIT: 1\n", False),
        ('make; echo "EXIT: $?"', "EXIT: 0\n", True),
        ('make\necho "code=${?}."', "code=2.\n", False),
        ("make; echo $?", "12\n", False),
        ('make | tail; echo "EXIT: $?"', "EXIT: 0\n", None),
        ("make && echo BUILT || echo BROKEN", "BUILT\n", True),
        ("make && echo BUILT || echo BROKEN", "BROKEN\n", False),
        ("make && echo BUILT; ls", "it was BUILT\n", None),
        ("cd a && make || echo 'build failed'", "build failed\n", False),
        ("./configure && make || echo 'failed!'", "failed!\n", None),
        ("for i in 1 2; do make; done; echo $?", "0\n", None),
        ('X=$(make); make; Y=$(ls); echo "EXIT: $?"', "EXIT: 1\n", None),
    ],
)
def test_what_the_line_tells_of_itself(line: str, output: str, expected: bool | None) -> None:
    assert verdicts(line, output) == [("build", expected)]


@pytest.mark.parametrize(
    ("line", "output", "expected"),
    [
        ("make && pytest -q", FAILED, [("build", True), ("test", False)]),
        ("pytest -q && git push", PASSED + REJECTED, [("test", True), ("push", False)]),
        ("pytest -q && git push", PASSED, [("test", True), ("push", False)]),
        ("pytest -q && git push", FAILED, [("test", False), ("push", None)]),
        ("git commit -m a && git push", COMMITTED + REJECTED, [("commit", True), ("push", False)]),
        ("npm ci && npm run build", "npm error code 1\n", [("install", None), ("build", None)]),
    ],
)
def test_which_command_of_a_failed_chain_it_was(line: str, output: str, expected: Verdicts) -> None:
    assert verdicts(line, output, exit_code=1) == expected


def test_what_ran_behind_proves_what_stands_before() -> None:
    found = verdicts("npm ci && pytest -q 2>&1 | tail; date", PASSED)
    assert found == [("install", True), ("test", True)]


def test_refused_interrupted_unanswered_and_left_alone() -> None:
    call, result = bash("npm install", "added 5 packages in 1s")
    refused = ToolResult(call_id=call.id, success=False, refused=True)
    stopped = ToolResult(call_id=call.id, success=False, interrupted=True)
    for results in ((refused,), (stopped,), ()):
        (found,) = outcomes_of(Turn(tool_calls=(call,), tool_results=results))
        assert [run.success for run in found.runs] == [None]
    started = ToolCall(
        id=call.id, tool="Bash", parameters={"command": "npm i", "run_in_background": True}
    )
    (found,) = outcomes_of(Turn(tool_calls=(started,), tool_results=(result,)))
    assert [run.success for run in found.runs] == [None]


def test_a_command_that_still_runs_has_not_succeeded() -> None:
    output = "Wall time: 10.0 seconds\nProcess running with session ID 7\nOutput:\n"
    (found,) = outcomes_of(turn(0, called("exec_command", output, cmd="npm install")))
    assert [run.success for run in found.runs] == [None]


@pytest.mark.parametrize(
    ("tool", "given", "line"),
    [
        ("Bash", {"command": "ls"}, "ls"),
        ("exec_command", {"cmd": "ls"}, "ls"),
        ("shell", {"command": ["bash", "-lc", "a && b"]}, "a && b"),
        ("shell", {"command": ["grep", "a b", "c"]}, "grep 'a b' c"),
        ("shell", {"command": ["apply_patch", "*** Begin Patch"]}, "apply_patch '*** Begin Patch'"),
        ("execute_bash", {"command": "ls"}, "ls"),
        ("python", {"command": "print(1)"}, ""),
        ("code_interpreter", {"code": "print(1)"}, ""),
        ("write_stdin", {"chars": "ls"}, ""),
        ("Bash", {"command": 7}, ""),
        ("Read", {"command": "ls"}, ""),
    ],
)
def test_where_the_shell_line_is(tool: str, given: dict[str, object], line: str) -> None:
    assert shell_line(ToolCall(id="1", tool=tool, parameters=given)) == line


@given(st.text(), st.text(), st.booleans())
def test_any_line_and_output_have_an_outcome(line: str, output: str, success: bool) -> None:
    outcomes_of(turn(0, called("Bash", output, success=success, command=line)))


_PIECES = ["make", "pytest", " && ", "; ", " | ", " || ", "echo $?", "git push", " > a", "cd b"]
_PRINTED = ["error: x\n", PASSED, FAILED, "0\n", "1\n", PUSHED, "make: *** [a]\n"]


@given(st.lists(st.sampled_from(_PIECES)), st.lists(st.sampled_from(_PRINTED)), st.integers(0, 1))
def test_a_failed_line_has_no_clean_record(
    pieces: list[str], printed: list[str], exit_code: int
) -> None:
    """Whatever was printed: where the line failed, not all that decides can have succeeded; where
    tests failed, no lone test run has passed."""
    found = runs("".join(pieces), "".join(printed), exit_code=exit_code)
    alone = len(found) == 1 and " > a" not in pieces  # a bare redirection can fail by itself
    if exit_code and alone and found[0].words[0] in ("make", "pytest"):
        assert found[0].success is not True
    tests = [run for run in found if run.purpose == "test"]
    if len(tests) == 1 and FAILED in printed:
        assert tests[0].success is not True


def test_long_output_is_read_at_both_ends() -> None:
    filler = "a line of a log\n" * 200_000
    assert verdicts("npm i | cat", "npm ERR! code 1\n" + filler) == [("install", False)]
    assert verdicts("npm i | cat", filler + "added 1 package in 2s\n") == [("install", True)]
    assert verdicts("pytest | cat", filler + FAILED) == [("test", False)]


@pytest.mark.torture
@pytest.mark.parametrize(
    "piece", ["\n", " ", "a", "0\n", "[", "error", ": ", "not found\n", " x -> ", "a.go:", "1,1): "]
)
def test_hostile_output_takes_no_time(piece: str) -> None:
    """A pattern that looks past line ends would take minutes for an output of empty lines."""
    line = "make; echo $a$b$?; npm i; git push; git commit; jest; ruff; gh pr create; git merge a"
    begun = process_time()
    runs(line + ' && echo "$a$b"', piece * 200_000)
    assert process_time() - begun < 2


def test_real_sessions_have_outcomes(corpus: Path) -> None:
    session = max((corpus / "claude-code").glob("*.jsonl"), key=lambda path: path.stat().st_size)
    turns = kedgeline.read(session).turns
    found = [one for each in turns for one in outcomes_of(each)]
    assert len(found) == sum(len(each.tool_calls) for each in turns)
    assert {"test", "other"} <= {run.purpose for one in found for run in one.runs}
