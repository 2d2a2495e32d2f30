"""Probes asked of a text in words of its own."""

from __future__ import annotations

import pytest

from kedgeline.model import Matter, Probe
from kedgeline.probes.answering import Prose, bare, subject
from kedgeline.probes.making import probe

PATH = "src/lamps/mains.py"
LONG = "Mend the lamp of the pier. " + "a line of the log " * 100 + "and tell the harbour master."


def asked(matter: Matter, *expected: str) -> Probe:
    return probe(matter=matter, question="?", expected=expected, turn=3)


MODIFIED = asked("modified", PATH, "modified")
CHECK = asked("check", "make test 2>&1 | tail -5", "passes")
FAILS = asked("check", "make test", "FAILS", "3 tests failed")
TWELVE = asked("check", "make test", "12 tests passed")
DELETED = asked("deleted", PATH, "deleted")
COMMIT = asked("absence", "The agent made no commit")
TEST = asked("absence", "No test was run")
RULE = asked("rule", "Never push to main")

TOLD: list[tuple[str, Probe]] = [
    (f"I updated `{PATH}` today.", MODIFIED),
    (f"- **{PATH}**\n  - Added the switch", MODIFIED),
    (f"**{PATH}**:\n- Added the switch", MODIFIED),
    (f"New file: {PATH}", asked("created", PATH, "created")),
    (f"{PATH} was removed", asked("deleted", PATH, "deleted")),
    (f"Fixed the fuse in {PATH}", asked("change", PATH, "adds `fuse`")),
    ("Run `make test`.", asked("command", "make test 2>&1 | tail -5")),
    ("`make test`: all green", CHECK),
    ("`make test` says 12 tests passed", asked("check", "make test", "12 tests passed")),
    ("on pier-lamps since then", asked("branch", "Branch", "pier-lamps")),
    ("Commit 69a35cf of today", asked("head", "HEAD", "69a35cf4")),
    ("pushed pier-lamps", asked("published", "Pushed", "pier-lamps")),
    ("the lamp is dark: E7", asked("open error", "OPEN", "the lamp is dark: E7")),
    (LONG, asked("request", LONG)),
    (f"{LONG[:200]} … (cut) … {LONG[-200:]}", asked("request", LONG)),
    ("We use brass, he said.", asked("decision", "We use brass", "it lasts", "iron")),
    ("Now: wire the lamp.", asked("task", "wire the lamp", "(in progress)")),
    # a part of a file that went changes it
    (f"- {PATH}: removed the old switch", MODIFIED),
    (f"**{PATH}**\n  - Removed the old switch", MODIFIED),
    (f"Dropped the fuse from `{PATH}`", MODIFIED),
    (f"{PATH} was edited so that the lamp does not flicker", MODIFIED),
    (f"Edited {PATH}. The deck is not to be changed.", MODIFIED),
    (f"Restored the fuse in {PATH}", MODIFIED),
    # counts in other words
    ("`make test` was run last: 3 failed, 10 passed.", FAILS),
    ("`make test`: 3 of 13 tests failed", FAILS),
    ("`make test`: 3 test failures, 0 errors", FAILS),
    ("`make test`: 3 tests are still failing; 10 now pass", FAILS),
    ("`make test` (failed: 3, passed: 10)", FAILS),
    ("`make test`: 12/12 pass", TWELVE),
    ("`make test`: all 12 passed, 0 failed", TWELVE),
    ("`make test`: 12 tests passed, 3 failed before", TWELVE),
    ("`make test`: 1,200 passed", asked("check", "make test", "1200 tests passed")),
    # what was not done
    ("Nothing was committed, branch main.", COMMIT),
    ("No commits were made yet; on branch `main`.", COMMIT),
    ("The agent made no commit", COMMIT),
    ("The changes have not been committed.", COMMIT),
    ("All of it is uncommitted", COMMIT),
    ("No tests were run.", TEST),
    ("I did not run the tests", TEST),
    # the user's words within a sentence
    ("They said: never push to main.", RULE),
    ("Use the red lens.", asked("request", "use the red lens.")),
]
NOT_TOLD: list[tuple[str, Probe]] = [
    ("I updated lamps/mains.py.", MODIFIED),
    (f"I renamed {PATH}.", DELETED),
    ("Run `make testing`.", asked("command", "make test 2>&1 | tail -5")),
    ("Run `make test`.\nThe lamp passes the pier.", CHECK),
    ("`make test` passes", asked("check", "make test", "FAILS")),
    ("`make test` passes", TWELVE),
    ("on pier-lamps", asked("published", "Pushed", "pier-lamps")),
    (f"{LONG[:200]} … and so on", asked("request", LONG)),
    (f"Edited since the last commit: {PATH}", asked("edited since", "Edited since", PATH)),
    ("3 of 4 are done", asked("task", "3 of 4")),
    ("Mend the lamp", asked("request", "Mend the lamps")),
    # a line that tells of both ends, or of another count
    ("`make test` failed once and now passes", asked("check", "make test", "FAILS")),
    ("`make test`: 13 failed", FAILS),
    ("`make test`: 3 passed 10 failed", FAILS),
    ("`make test`: 3 suites failed", FAILS),
    # rules are no state
    ("Nothing may be committed without a review.", COMMIT),
    ("Secrets must not be committed.", TEST),
    ("Do not commit to main.", COMMIT),
    ("Committed it.", COMMIT),
    ("Do not run the tests.", TEST),
    ("No commits were made.", TEST),
    ("NEVER push to main", RULE),
]


@pytest.mark.parametrize(("text", "one"), TOLD)
def test_told_in_other_words(text: str, one: Probe) -> None:
    assert Prose(f"Some words.\n{text}\nMore words.").tells(one)


@pytest.mark.parametrize(("text", "one"), NOT_TOLD)
def test_not_told(text: str, one: Probe) -> None:
    assert not Prose(f"Some words.\n{text}\nMore words.").tells(one)


def test_a_bar_in_a_table_is_a_bar() -> None:
    assert Prose("| `a \\| b` |").tells(asked("command", "a | b"))


def test_what_a_probe_is_about_is_no_word_of_ours() -> None:
    assert subject(asked("session", "Mode: plan")) == "plan"
    assert subject(asked("absence", "No test was run")) == ""


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("make test 2>&1", "make test"),
        ("make test 2>&1 | grep -i fail | head -5", "make test"),
        ("cat log | sort", "cat log | sort"),
        ("make test 2>/dev/null | tail -3", "make test"),
    ],
)
def test_what_is_put_behind_a_command_to_see_less(line: str, left: str) -> None:
    assert bare(line) == left
