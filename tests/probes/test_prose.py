"""Probes asked of a text in words of its own."""

from __future__ import annotations

import pytest

from kedgeline.model import Matter, Probe
from kedgeline.probes.making import probe
from kedgeline.probes.prose import Prose, bare, subject

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
    (
        "`make test` fails. All lights now pass the `make lint`.",
        asked("check", "make test", "FAILS"),
    ),
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
    (f"{PATH} is there.\nOthers were modified.", MODIFIED),
    (f"- {PATH}: how a lamp is addressed (read only)", MODIFIED),
    (f"- {PATH}\n- other.py: modified", MODIFIED),
    (f"- {PATH}\n  - one\n  - two\n  - three\n  - modified", MODIFIED),
    ("I updated lamps/mains.py.", MODIFIED),
    (f"I renamed {PATH}.", asked("deleted", PATH, "deleted")),
    ("Run `make testing`.", asked("command", "make test 2>&1 | tail -5")),
    ("Run `make test`.\nThe lamp passes the pier.", CHECK),
    ("`make test` passes", asked("check", "make test", "FAILS")),
    ("`make test` passes", asked("check", "make test", "12 tests passed")),
    ("on pier-lamps", asked("published", "Pushed", "pier-lamps")),
    (f"{LONG[:200]} … and so on", asked("request", LONG)),
    (f"Edited since the last commit: {PATH}", asked("edited since", "Edited since", PATH)),
    ("3 of 4 are done", asked("task", "3 of 4")),
    ("Mend the lamp", asked("request", "Mend the lamps")),
    # the file itself went, or is as it was
    (f"{PATH}: I modified the test and then deleted {PATH}", MODIFIED),
    (f"Modified and later removed `{PATH}`", MODIFIED),
    (f"Added {PATH}; it was wrong, so I removed the file {PATH}", asked("created", PATH)),
    (f"Deleted: other.py, {PATH}", MODIFIED),
    (f"Deleted other.py and {PATH}", MODIFIED),
    (f"{PATH} (deleted)", MODIFIED),
    (f"Renamed {PATH} to deck.py", MODIFIED),
    (f"Changed the lens; {PATH} was then reverted", MODIFIED),
    (f"Reverted all changes to {PATH}", MODIFIED),
    (f"{PATH}: `white` to `red` was never applied", asked("change", PATH, "`red`")),
    (f"{PATH} is not modified", MODIFIED),
    (f"{PATH} has not yet been updated", MODIFIED),
    (f"{PATH} still to be changed", MODIFIED),
    (f"No changes to {PATH}", MODIFIED),
    (f"{PATH} was not deleted", DELETED),
    (f"- {PATH}: removed the old switch", DELETED),
    # what a sentence takes back
    ("`make test` no longer FAILS: 3 tests failed, 10 passed before, now all pass", FAILS),
    ("`make test`: 3 tests failed before, now passes", FAILS),
    ("`make test`: no errors", asked("check", "make test", "FAILS")),
    ("`make test`: 0 failed", asked("check", "make test", "FAILS")),
    ("`make test`: 13 failed", FAILS),
    ("`make test`: 3 passed 10 failed", FAILS),
    ("`make test`: 3 suites failed", FAILS),
    ("`make test`: 12 passed, 3 failed", TWELVE),
    ("`make test` does not pass", CHECK),
    ("`make test` passed once and now fails", CHECK),
    # rules, code and other things that were not done
    ("Nothing may be committed without a review.", COMMIT),
    ("Secrets must not be committed.", COMMIT),
    ("Do not commit to main.", COMMIT),
    ("```\n// the file is fresh: changes were not committed\n```", COMMIT),
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
