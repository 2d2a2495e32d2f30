"""Errors: seen, and shown to be past."""

from __future__ import annotations

from typing import Any

import pytest

from kedgeline.facts.errors import MOST_SEEN, ErrorExtractor
from kedgeline.facts.extractor import Setting
from kedgeline.model import ErrorResolved, ErrorSeen, ToolResult, Transcript, Turn
from tests.facts.speaking import told_by
from tests.turns import Step, bash, called, edit, turn

ROOT = "/srv/app"

BUILD = "go build ./..."
BROKEN = "# app\npkg/a.go:57:9: not enough arguments in call to run\n"
RED = "--- FAIL: TestA (0.1s)\n    a_test.go:4: got 1, want 2\nFAIL\nFAIL\tapp/pkg\t0.1s\n"


def found(*turns: Turn, setting: Setting | None = None) -> list[ErrorSeen | ErrorResolved]:
    return told_by(ErrorExtractor(setting or Setting(root=ROOT)), *turns)


def facts(*steps: Step | list[Step]) -> list[ErrorSeen | ErrorResolved]:
    """One turn per step."""
    return found(
        *(turn(n, *(step if isinstance(step, list) else [step])) for n, step in enumerate(steps))
    )


def seen(*steps: Step) -> list[ErrorSeen]:
    return [fact for fact in facts(*steps) if isinstance(fact, ErrorSeen)]


def past(*steps: Step) -> list[tuple[int, str]]:
    return [(f.turn, f.how) for f in facts(*steps) if isinstance(f, ErrorResolved)]


def failed(command: str, output: str = "error: no", exit_code: int = 1) -> Step:
    return bash(command, output, exit_code=exit_code)


def with_result(step: Step, **fields: Any) -> Step:
    call, result = step
    return call, ToolResult(call_id=result.call_id, success=False, **fields)


def test_an_error_says_its_line_its_command_and_its_place() -> None:
    (one,) = seen(failed("cd sub && go build ./... 2>&1 | head -30; exit 1", BROKEN))
    assert one == ErrorSeen(
        turn=0,
        key="pkg/a.go:#:#: not enough arguments in call to run",
        line="pkg/a.go:57:9: not enough arguments in call to run",
        about="cd sub && go build ./... 2>&1 | head -30; exit 1",
        places=("sub/pkg/a.go:57",),
    )


def test_the_same_error_has_the_same_key() -> None:
    first, second = seen(
        failed(
            "./run", f"{ROOT}/a.py: error: “x” at 0x7f3a took 3.2s, /tmp/x81/y 2026-01-02 10:11:12"
        ),
        failed("./run", "a.py: error: 'x' at 0x99 took 14s, /tmp/z/y 2027-03-04 05:06:07"),
    )
    assert first.key == second.key == "a.py: error: 'x' at # took #, # #"
    one, other = seen(
        failed("tsc", "a.ts(1,2): error TS2304: x"), failed("tsc", "a.ts(1,2): error TS2305: x")
    )
    assert one.key != other.key


def test_errors_with_one_key_are_one_with_all_places_and_only_the_first_are_given() -> None:
    lines = [f"a.go:{n}:1: undefined: x" for n in (1, 2)]
    lines += [f"f{letter}.go:9:1: undefined: x" for letter in "abcdef"]
    given = seen(failed(BUILD, "\n".join(lines)))
    assert len(given) == MOST_SEEN
    assert given[0].places == ("a.go:1", "a.go:2")


@pytest.mark.parametrize(
    "step",
    [
        failed("grep -n x a.py", ""),
        failed("cat log.txt; grep y a.py", "error: an old one in the log"),
        failed("diff a b", "< error: one\n> error: two"),
        failed("ls /none", "ls: cannot access '/none': No such file or directory", 2),
        failed("find . -name x | grep y", ""),
        failed("git diff --exit-code", "+error: in the text"),
        failed("cd lib && make", "bash: cd: lib: No such file or directory"),
        called("Read", "File does not exist.", success=False, file_path="/srv/app/a"),
        called("Grep", "Path does not exist: x", success=False, pattern="x"),
        called("Edit", "Sibling tool call errored", success=False, file_path="/srv/app/a"),
        bash("grep x y || true", "error: tolerated"),
        bash("cp a b || echo failed", "failed"),
        with_result(failed("make"), output="error: refused", refused=True),
        with_result(failed("make"), output="error: stopped", interrupted=True),
        with_result(failed("make"), output="", exit_code=130),
    ],
)
def test_no_error(step: Step) -> None:
    assert facts(step) == []


def test_what_programs_that_look_complain_about_is_an_error() -> None:
    (one,) = seen(failed("rg x", "bash: line 1: rg: command not found", 127))
    assert one.line == "bash: line 1: rg: command not found"
    (other,) = seen(failed("grep --nope x", "text\ngrep: unrecognized option '--nope'", 2))
    assert other.line == "grep: unrecognized option '--nope'"


def test_a_command_that_fails_without_a_word_is_known_by_itself() -> None:
    one, other = seen(failed("make a", "", 2), failed("make b", "", 2))
    assert (one.line, one.about) == ("exit code 2", "make a")
    assert one.key != other.key


def test_a_check_that_failed_is_an_error_although_a_pipe_hid_it() -> None:
    (one,) = seen(bash("go test ./... 2>&1 | tail -20", RED))
    assert one.line == "TestA: a_test.go:4: got 1, want 2"
    assert seen(bash("./deploy 2>&1 | tail", "error: no")) == []


def test_an_error_is_past_when_the_same_line_no_longer_shows_it() -> None:
    """A pipe hid how the build ended: an error stood open through runs that did not have it."""
    red = bash("npm run build 2>&1 | tail -3", "npm error command failed\nnpm error code 2")
    shown = "> app@1.0.0 build\n> tsc"
    again, other = (bash(f"npm run build 2>&1 | tail -{n}", shown) for n in (3, 2))
    assert past(red, edit(f"{ROOT}/a.ts"), again) == [(2, "after editing a.ts")]
    assert past(red, again) == [(1, "not shown at the next run")]
    assert past(red, other) == past(red, bash("npm run build 2>&1 | tail -3")) == []


def test_an_error_is_past_when_the_same_command_succeeds() -> None:
    red = failed("node x.js 2>&1 | cat; exit 1", "error: boom")
    assert past(red, bash("node y.js")) == []
    assert past(red, bash("node x.js > log")) == [(1, "`node x.js > log` works")]
    assert past(red, edit(f"{ROOT}/lib/a.js"), bash("node x.js")) == [(2, "after editing a.js")]
    assert past(red, bash("npm install ms"), bash("node x.js")) == [(2, "by `npm install ms`")]


def test_what_was_edited_before_the_error_did_not_mend_it() -> None:
    red = failed("node x.js")
    assert past(edit(f"{ROOT}/a.js"), red, bash("node x.js")) == [(2, "`node x.js` works")]
    assert past(red, edit("/tmp/try.js"), bash("node x.js")) == [(2, "`node x.js` works")]


def test_an_error_seen_again_is_open_since_it_was_first_seen() -> None:
    red = failed("node x.js")
    how = past(red, edit(f"{ROOT}/a.js"), red, bash("node x.js"))
    assert how == [(3, "after editing a.js")]


def test_the_last_files_are_named_and_the_others_counted() -> None:
    edits = [edit(f"{ROOT}/f{n}.js") for n in range(5)]
    ((_, how),) = past(failed("node x.js"), *edits, bash("node x.js"))
    assert how == "after editing f4.js, f3.js, f2.js and 2 more"


def test_tests_pass_that_concern_at_least_as_much() -> None:
    red = failed("go test ./pkg/...", RED)
    assert past(red, bash("go test ./other/...", "ok  \tapp/other\t0.1s")) == []
    assert past(red, bash("go test -run TestB ./pkg/...", "ok  \tapp/pkg\t0.1s")) == []
    assert past(red, bash("go test ./...", "ok  \tapp/pkg\t0.1s\nok  \tapp/x\t0.1s"))
    assert past(
        red, bash("go test -v -run TestA ./pkg/...", "--- PASS: TestA (0.0s)\nok  \tapp/pkg\t1s")
    )
    assert past(red, bash("go build ./...")) == []
    part = failed("pytest tests", "FAILED tests/a.py::b - x\n1 failed in 1s")
    assert past(part, bash("pytest docs", "1 passed in 1s")) == []
    assert past(part, bash("pytest", "1 passed in 1s")) != []
    assert past(part, bash("npm run test", "Tests:  1 passed, 1 total")) == []


def test_one_test_of_many_settles_only_itself() -> None:
    two = "FAILED t.py::one - x\nFAILED t.py::two - y\n2 failed, 98 passed in 1s"
    steps = (failed("pytest", two), bash("pytest t.py::one -v", "t.py::one PASSED\n1 passed in 1s"))
    given = facts(*steps)
    assert [fact.key for fact in given if isinstance(fact, ErrorResolved)] == [
        "FAILED t.py::one - x"
    ]


def test_tests_behind_a_tag_are_not_settled_by_those_without() -> None:
    red = failed("go test -tags=integration ./it/...", RED)
    assert past(red, bash("mise run test", "ok  \tapp/pkg\t0.1s\nok  \tapp/x\t0.1s")) == []
    assert past(failed("go test ./pkg/...", RED), bash("mise run test", "ok  \tapp/pkg\t0.1s"))


def test_a_build_settles_what_it_compiles() -> None:
    red = failed("go test ./...", BROKEN + "FAIL\tapp [build failed]\n")
    assert past(red, bash("go build ./pkg/...")) == [(1, "by `go build ./pkg/...`")]
    assert past(red, bash("go build ./cmd/...")) == []
    assert past(red, bash("npm run build", "✓ built in 1s")) == []
    in_test = failed("go test ./...", "pkg/a_test.go:5:9: undefined: x\nFAIL\tapp [build failed]\n")
    assert past(in_test, bash("go build ./...")) == []


def test_other_options_may_check_something_else() -> None:
    red = failed("ruff check --select=ALL src", "src/a.py:1:1: D100 Missing docstring")
    assert past(red, bash("ruff check src", "All checks passed!")) == []
    assert past(red, bash("ruff check --select=ALL src", "All checks passed!"))


def test_errors_that_the_same_command_no_longer_names_are_past() -> None:
    other = "# app\npkg/b.go:3:2: undefined: y\n"
    again = (failed(BUILD, BROKEN), edit(f"{ROOT}/pkg/a.go"))
    assert past(*again, failed(BUILD, other)) == [(2, "after editing a.go")]
    assert past(failed(BUILD, BROKEN), failed(BUILD, other)) == []
    assert past(*again, bash(f"{BUILD} | grep b.go; exit 1", other, exit_code=1)) == []
    assert past(*again, bash(f"{BUILD} 2>&1 | head -2", other)) == []
    assert past(*again, failed(BUILD, BROKEN)) == []
    assert past(*again, failed(BUILD, other + "pkg/b.go:3:2: too many errors\n")) == []


def test_what_does_not_compile_says_nothing_about_tests() -> None:
    run = "go test ./..."
    broken = failed(run, BROKEN + "FAIL\tapp [build failed]\n")
    red = failed(run, RED)
    assert past(red, edit(f"{ROOT}/a.go"), broken) == []
    assert past(broken, edit(f"{ROOT}/a.go"), red) == [(2, "after editing a.go")]


def test_tests_that_ran_show_that_it_compiles_although_their_output_is_cut() -> None:
    run = "go test ./... 2>&1"
    broken = failed(f"{run} | head -4", BROKEN + "FAIL\tapp [build failed]\n")
    for cut, gone in (("head -4", [(2, "after editing a.go")]), ("tail -4", []), ("grep FAIL", [])):
        assert past(broken, edit(f"{ROOT}/a.go"), failed(f"{run} | {cut}", RED * 4)) == gone


def test_one_of_several_commands_failed_and_all_must_succeed() -> None:
    red = failed("./prepare && ./serve", "error: no port")
    assert past(red, bash("./serve")) == []
    assert [t for t, _ in past(red, bash("./serve"), bash("./prepare"))] == [2]


def test_a_rebase_that_goes_on_ends_what_it_could_not_apply() -> None:
    red = failed("git fetch && git rebase main", "error: could not apply 1a2b3c4... x")
    assert past(red, edit(f"{ROOT}/a.py"), bash("git add a.py && git rebase --continue")) == [
        (2, "after editing a.py")
    ]
    assert past(red, bash("git rebase --abort")) == []


def test_a_missing_program_is_there_when_it_runs() -> None:
    red = failed("golint ./...", "bash: golint: command not found", 127)
    assert past(red, bash("golint ./a")) == [(1, "by `golint ./a`")]


def test_a_rule_of_the_client_is_repaired_by_the_next_call() -> None:
    path = f"{ROOT}/a.py"
    unread = called("Edit", "File has not been read yet.", success=False, file_path=path)
    read = called("Read", "text", file_path=path)
    assert seen(unread)[0].about == "Edit a.py"
    assert past(unread, read, edit(path)) == [(2, "at the next try")]
    assert past(unread, edit(path)) == [(1, "at the next try")]
    assert past(unread, edit(f"{ROOT}/b.py")) == []


def test_a_failed_edit_is_told_by_the_tool_not_by_the_text_it_was_given() -> None:
    output = "String to replace not found in file.\nString: raise ValueError('error: x')"
    (one,) = seen(called("Edit", output, success=False, file_path=f"{ROOT}/a.py"))
    assert one.line == "String to replace not found in file."


def test_a_rule_broken_again_in_the_same_exchange_is_told_once() -> None:
    def unread(name: str) -> Step:
        return called(
            "Edit", "File has not been read yet.", success=False, file_path=f"{ROOT}/{name}"
        )

    assert len(seen(unread("a.py"), unread("b.py"))) == 1
    assert len(found(turn(0, unread("a.py")), turn(1, unread("b.py"), exchange=1))) == 2


def test_what_a_sub_agent_left_unsolved_is_its_word() -> None:
    inner = Transcript(
        format="x",
        turns=(
            turn(0, failed("make a")),
            turn(1, bash("make a")),
            turn(2, failed("make b", "error: z")),
        ),
    )
    task = called("Task", "done", description="d", prompt="p")
    setting = Setting(root=ROOT, agents={task[0].id: inner})
    (one,) = found(turn(7, task), setting=setting)
    assert isinstance(one, ErrorSeen)
    assert (one.turn, one.by, one.line) == (7, "agent", "error: z")
    after = found(turn(7, task), turn(8, bash("make b")), setting=setting)
    assert isinstance(after[-1], ErrorResolved)


def test_the_compilers_message_told_by_a_linter_is_the_same_error() -> None:
    plain, told, closed, linted = (
        "pkg/a.go:3:1: undefined: x (see y)",
        "pkg/a.go:9:4: undefined: x (see y) (typecheck)",
        "pkg/a.go:9:4: undefined: x (see y)) (typecheck)",
        "pkg/a.go:9:4: undefined: x (see y) (errcheck)",
    )
    keys = [one.key for line in (plain, told, closed, linted) for one in seen(failed("./x", line))]
    assert keys[0] == keys[1] == keys[2] == "pkg/a.go:#:#: undefined: x (see y)"
    assert keys[3] != keys[0]
    (one,) = seen(failed("golangci-lint run", f"{plain}\n{told}"))
    assert one.places == ("pkg/a.go:3", "pkg/a.go:9")


STUCK = failed("git add a.go && git rebase --continue", "error: could not apply 1a2b3c4... more")


def test_a_conflict_is_past_by_the_edit_that_resolved_it() -> None:
    go_on = bash("git add b.go && git rebase --continue", "Successfully rebased")
    assert past(STUCK, edit(f"{ROOT}/b.go"), go_on) == [(2, "after editing b.go")]
    assert past(STUCK, bash("git add a.go b.go && git status")) == []
