"""What shows an error to be past that another command, or another tool, told."""

from __future__ import annotations

import pytest

from kedgeline.model import ErrorResolved
from tests.facts.test_errors import BROKEN, ROOT, Step, facts, failed, past, seen
from tests.turns import bash, edit

NOT_FOUND = "gh: Not Found (HTTP 404)"
LOST = failed("gh api repos/a/b/pulls/comments/7654321/replies -f body='a long answer'", NOT_FOUND)


def replied(address: str, rest: str = "-f body=short") -> Step:
    return bash(f"gh api {address} {rest}", "{}")


def test_the_same_request_at_another_address() -> None:
    there = replied("repos/a/b/pulls/9/comments/7654321/replies")
    assert past(LOST, there) == [
        (1, "by `gh api repos/a/b/pulls/9/comments/7654321/replies -f body=short` instead")
    ]


@pytest.mark.parametrize(
    "other",
    [
        replied("repos/a/b/pulls/9/comments/1234567/replies"),
        replied("repos/a/b/pulls/9/comments/7654321/reactions"),
        replied("repos/a/b/pulls/9/comments/7654321/replies", "--jq .id"),
        replied("repos/a/b/pulls/9/comments/7654321/replies", "-X DELETE -f body=x"),
        bash("curl -d x api/pulls/9/comments/7654321/replies", "{}"),
        bash("gh pr comment 7654321 -f x/7654321/replies", "{}"),
        failed("gh api repos/a/b/pulls/9/comments/7654321/replies -f body=short", "gh: 500"),
    ],
)
def test_another_request_shows_nothing(other: Step) -> None:
    assert past(LOST, other) == []


def test_programs_that_send_no_requests_may_name_an_identifier_by_chance() -> None:
    lost = failed("tool run logs/7654321/x -a first -b second -c third", "error: no")
    assert past(lost, bash("tool run other/7654321/x -k key -l list", "done")) == []


EXCLUDED = (
    "# example.org/app/it\n"
    "package example.org/app/it: build constraints exclude all Go files in /srv/app/it\n"
    "FAIL\texample.org/app/it [setup failed]\nFAIL\n"
)
TAGGED = "go test -tags=integration ./it -run TestA"


def red(package: str, ending: str = "0.4s") -> str:
    return (
        f"--- FAIL: TestA (0.1s)\n    a_test.go:4: got 1, want 2\nFAIL\nFAIL\t{package}\t{ending}\n"
    )


def test_a_package_that_could_not_be_set_up_was_when_its_tests_are_run() -> None:
    apart = failed("go test ./it -run TestA", EXCLUDED)
    assert past(apart, failed(TAGGED, red("example.org/app/it"))) == [(1, f"by `{TAGGED}`")]
    assert past(apart, failed(TAGGED, red("example.org/app/other"))) == []
    assert past(apart, failed(TAGGED, EXCLUDED)) == []
    assert past(apart, bash("cat log", red("example.org/app/it"))) == []
    assert past(apart, failed(TAGGED, red("example.org/app/it", "[build failed]"))) == []


def test_a_task_that_runs_the_tests_shows_what_could_be_built() -> None:
    red_build = BROKEN + "FAIL\tapp/pkg [build failed]\n"
    again = (failed("mise run test 2>&1 | head -250", red_build), edit(f"{ROOT}/pkg/a.go"))
    built = "ok  \tapp/pkg\t(cached)\n" + red("app/other")

    def ended(output: str, task: str = "test") -> Step:
        """The end of what a task said: more may have stood before it."""
        return failed(f"mise run {task} 2>&1 | tail -{output.count(chr(10))}", output)

    assert past(*again, ended(built)) == [(2, "after editing a.go")]
    assert past(*again, ended(red("app/other"))) == []
    assert past(*again, ended(red_build)) == []
    assert past(*again, ended(built, "bench")) == []


def test_the_test_that_fails_then_stays_open() -> None:
    given = facts(failed("go test ./it", EXCLUDED), failed(TAGGED, red("example.org/app/it")))
    gone = [fact.key for fact in given if isinstance(fact, ErrorResolved)]
    assert gone == [given[0].key]
    assert given[-1].key.startswith("TestA: ")


def test_a_message_of_the_compiler_is_past_when_tests_of_its_package_are_run() -> None:
    broken = failed("go build ./...", BROKEN)
    one = "go test ./pkg/... -run TestA"
    assert past(broken, edit(f"{ROOT}/pkg/a.go"), failed(one, red("example.org/pkg"))) == [
        (2, "after editing a.go")
    ]
    assert past(broken, failed(one, red("example.org/pkg"))) == [(1, f"by `{one}`")]
    assert past(broken, failed(one, red("example.org/otherpkg"))) == []
    assert past(broken, failed("npm test", red("example.org/pkg"))) == []
    assert past(broken, bash("cat log", red("example.org/pkg"))) == []


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("go build -tags=e2e ./...", BROKEN),
        ("GOOS=plan9 go build ./...", BROKEN),
        ("go vet ./...", "pkg/a.go:57:9: Error return value is not checked (errcheck)"),
        ("go build ./...", "a.go:3:1: undefined: x"),
    ],
)
def test_unless_they_are_built_otherwise_or_its_place_is_not_known(
    command: str, output: str
) -> None:
    assert past(failed(command, output), failed("go test ./pkg", red("example.org/pkg"))) == []


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


def test_told_by_two_commands_it_is_past_for_both() -> None:
    both = (
        failed("go test ./pkg", "pkg/a.go:3:1: undefined: x\nFAIL\tapp/pkg [build failed]"),
        failed("golangci-lint run", "pkg/a.go:3:1: undefined: x (typecheck)"),
    )
    assert [turn for turn, _ in past(*both, bash("go test ./pkg", "ok  \tapp/pkg\t0.1s"))] == [2]


STUCK = failed("git add a.go && git rebase --continue", "error: could not apply 1a2b3c4... more")


def test_a_conflict_is_past_by_the_edit_that_resolved_it() -> None:
    go_on = bash("git add b.go && git rebase --continue", "Successfully rebased")
    assert past(STUCK, edit(f"{ROOT}/b.go"), go_on) == [(2, "after editing b.go")]
    assert past(STUCK, bash("git add a.go b.go && git status")) == []


def test_a_variant_is_told_by_the_edit_of_what_it_names() -> None:
    red_one = failed("./deploy.sh prod fast", "error: deploy.sh: no target")
    works = bash("./deploy.sh prod fast --again", "done")
    assert past(red_one, edit(f"{ROOT}/deploy.sh"), works) == [(2, "after editing deploy.sh")]
    assert past(red_one, edit(f"{ROOT}/notes.md"), works) == [
        (2, "by `./deploy.sh prod fast --again` instead")
    ]
