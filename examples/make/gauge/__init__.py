"""A Codex session: three faults of a rain gauge's sums, found by tests."""

from __future__ import annotations

import stored
from recorders.codex import Record, Rollout
from workspace import Workspace

ROOT = "/home/pavel/gauge"
TEST = "tests/report.rs"
CHECK = "cargo test"


def record() -> list[Record]:
    """The whole session, record by record."""
    rollout = Rollout(
        seed="gauge",
        start="2026-03-09T19:02:11",
        workspace=Workspace(ROOT, stored.project("gauge")),
        version="0.47.0",
        model="gpt-5-codex",
    )
    rollout.instructions(rollout.workspace.files["AGENTS.md"].rstrip("\n"))
    for scene in (_last_day, _found, _fractions, _missing, _marked):
        scene(rollout)
    return rollout.records


def _out(name: str) -> str:
    return stored.text("gauge", name)


def _edit(name: str) -> tuple[str, str]:
    old, new = stored.file("gauge", name).split("=====\n")
    return old, new


def _last_day(r: Rollout) -> None:
    r.user(
        "The three-day mean is missing on the last day of every report. Find out why. Write the"
        " test that shows it before you fix it, always in that order.",
        after=4,
    )
    r.think("Looking at the repository")
    r.shell("git log --oneline -4 && ls src tests", _out("look"))
    r.shell("cat src/lib.rs src/totals.rs", _out("cat-totals"))
    r.think("Finding the off-by-one in moving_means")
    r.plan(
        "> Write a test for the mean of the last day",
        "  Fix moving_means",
        "  Run cargo test and clippy",
    )
    r.patch_by_shell(TEST, *_edit("edit-last-test.rs"))
    r.shell(CHECK, _out("last-red"), code=101, seconds=2.4)


def _found(r: Rollout) -> None:
    r.think("Using windows instead of indices")
    r.patch_by_shell("src/totals.rs", *_edit("edit-windows.rs"))
    r.shell(CHECK, _out("last-green"), seconds=2.2)
    r.plan(
        "x Write a test for the mean of the last day",
        "x Fix moving_means",
        "> Run cargo test and clippy",
    )
    r.shell("cargo clippy -- -D warnings", _out("clippy"), seconds=1.1)
    r.done(
        "`moving_means` stopped one window too early: it ran over `0..len - width`, which leaves"
        " out the window that ends at the last value. It uses `windows(width)` now, which also"
        " covers lists that are shorter than the window.\n\n`cargo test` passes (4 tests), clippy"
        " is clean."
    )


def _fractions(r: Rollout) -> None:
    r.user("Good. Next: a reading of 0.29 shows up as 0.28.", after=210)
    r.think("Suspecting float truncation")
    r.shell("sed -n 22,45p src/readings.rs", _out("cat-readings"))
    r.say(
        "`(0.29 * 100.0) as u32` is 28, because the product is a little below 29. AGENTS.md forbids"
        " floats for sums anyway. The test first."
    )
    r.patch(TEST, *_edit("edit-fraction-test.rs"))
    r.shell(CHECK, _out("fraction-red"), code=101, seconds=1.9)
    r.patch("src/readings.rs", *_edit("edit-exact.rs"))
    r.shell(CHECK, _out("padding-red"), code=101, seconds=2.0)
    r.think("Padding the fraction")
    r.patch("src/readings.rs", *_edit("edit-padded.rs"))
    r.shell(CHECK, _out("fraction-green"), seconds=2.1)
    r.done(
        "Depths are read digit by digit now, without floats. My first version read `1.2` as 1.02;"
        " the test caught it, and the fraction is filled up to two digits. More than two digits are"
        " refused. 5 tests pass."
    )


def _missing(r: Rollout) -> None:
    r.user(
        "Last one: when the logger has no reading it writes `-`, and we give up on the whole file."
        " Skip such readings, but put a * behind the total of the day.",
        after=480,
    )
    r.think("Planning optional depths")
    r.patch(TEST, *_edit("edit-missing-test.rs"))
    r.patch("src/readings.rs", *_edit("edit-missing-reading.rs"))
    r.patch("src/readings.rs", *_edit("edit-missing-parse.rs"))
    r.shell("cargo check", _out("check-types"), code=101, seconds=0.6)
    r.say("As expected, the compiler now names every place that has to decide what missing means.")
    r.patch("src/totals.rs", *_edit("edit-missing-totals.rs"))
    r.patch("src/lib.rs", *_edit("edit-missing-report.rs"))
    r.shell(CHECK, _out("missing-red"), code=101, seconds=2.3)


def _marked(r: Rollout) -> None:
    r.think("Comparing the columns")
    r.say(
        "The mark took the place of a blank, so the mean moved one column to the left. It needs a"
        " column of its own."
    )
    r.patch(
        "src/lib.rs",
        '        writeln!(out, "{}  {depth:>7}{mark}{mean}", day.date).unwrap();\n',
        '        writeln!(out, "{}  {depth:>7}{mark} {mean}", day.date).unwrap();\n',
    )
    r.shell(CHECK, _out("missing-green"), seconds=2.2)
    r.refused('git commit -am "Skip missing readings, exact hundredths, means of the last day"')
    r.user("Do not commit, never. I look at the diff and commit myself.", after=9)
    r.shell("git diff --stat", _out("stat"))
    r.done(
        "Understood, commits are yours. Nothing is committed; the working tree has the three fixes"
        " in `src/totals.rs`, `src/readings.rs` and `src/lib.rs` and their tests in"
        " `tests/report.rs`. 6 tests pass."
    )
