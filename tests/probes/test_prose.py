"""Probes asked of a text in words of its own."""

from __future__ import annotations

import pytest

from kedge.model import Matter, Probe
from kedge.probes import Prose, bare, subject
from kedge.probes.making.homes import probe

PATH = "src/lamps/mains.py"
LONG = "Mend the lamp of the pier. " + "a line of the log " * 100 + "and tell the harbour master."


def asked(matter: Matter, *expected: str) -> Probe:
    return probe(matter=matter, question="?", expected=expected, turn=3)


MODIFIED = asked("modified", PATH, "modified")
CHECK = asked("check", "make test 2>&1 | tail -5", "passes")

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
    ("The agent made no commit", asked("absence", "The agent made no commit")),
    ("3 of 4 are done", asked("task", "3 of 4")),
    ("Mend the lamp", asked("request", "Mend the lamps")),
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
