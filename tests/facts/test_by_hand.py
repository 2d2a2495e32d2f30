"""Commands that the user ran inside the session: what their output says of them."""

from __future__ import annotations

import pytest

from kedgeline.facts.commands import CommandExtractor
from kedgeline.facts.extractor import Setting
from kedgeline.model import CommandRun, Note, NoteKind
from tests.turns import turn

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
