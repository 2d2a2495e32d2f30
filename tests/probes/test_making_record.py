"""What is asked of the record, and of what an earlier text told: the exact probe."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kedgeline.model import (
    ActionTaken,
    AgentReported,
    Committed,
    Entry,
    SectionName,
    SessionNoted,
    Summary,
)
from kedgeline.probes import probes_of
from tests.probes.facts import NO_LIMIT
from tests.probes.making import asks, change, made, of, only, run, told


def test_the_newest_actions_are_critical_and_older_ones_wait_for_room() -> None:
    found = [ActionTaken(turn=n, tool="book", about=f"berth {n}", result="ok") for n in range(7)]
    newest = made(*found, room=0)
    assert [one.turn for one in newest] == [2, 3, 4, 5, 6]
    assert told(newest[-1]) == asks(
        "recall", "action", "Current State", 6, "book", "berth 6", "ok", critical=True
    )
    older = made(*found)[5:]
    assert [(one.turn, one.critical) for one in older] == [(1, False), (0, False)]
    assert only(ActionTaken(turn=1, tool="book")).expected == ("book",)


def test_the_branch_and_what_was_published_are_asked_for() -> None:
    found = [
        Committed(turn=1, what="branch", name="main"),
        SessionNoted(turn=2, name="branch", value="fix/light"),
        Committed(turn=3, what="push", name="origin/fix"),
        Committed(turn=4, what="push", name="origin/light"),
        Committed(turn=5, what="pull_request", name="https://harbour.test/pull/7"),
        Committed(turn=6, what="tag", name="v1.2"),
    ]
    assert [told(one) for one in made(*found, room=0)] == [
        asks("continuation", matter, "Current State", turn, *expected)
        for matter, expected, turn in (
            ("branch", ("Branch", "fix/light"), 2),
            ("published", ("Pushed", "origin/light"), 4),
            ("published", ("Pull request", "https://harbour.test/pull/7"), 5),
            ("published", ("Tag", "v1.2"), 6),
        )
    ]


def test_commits_are_asked_for_but_not_those_that_were_replaced() -> None:
    found = [
        Committed(turn=1, what="commit", name="aaaaaaa", about="Add the mast"),
        Committed(turn=2, what="commit", name="bbbbbbb", about="Add the keel"),
        Committed(turn=3, what="commit", name="ccccccc", about="Add the keel", replaces="bbbbbbb"),
        Committed(turn=4, what="commit", name=""),
    ]
    assert [told(one) for one in of("commit", *found)] == [
        asks("recall", "commit", "Current State", turn, name, about)
        for name, about, turn in (("ccccccc", "Add the keel", 3), ("aaaaaaa", "Add the mast", 1))
    ]


def test_reports_of_sub_agents_are_asked_for() -> None:
    probe = only(AgentReported(turn=2, task="look for it", report="it is gone"))
    assert told(probe) == asks("recall", "report", "Current State", 2, "look for it", "it is gone")
    assert made(AgentReported(turn=2, task="look for it", report="")) == []


def test_what_the_session_notes_of_itself_is_asked_for() -> None:
    found = [
        SessionNoted(turn=0, name="mode", value="plan"),
        SessionNoted(turn=2, name="mode", value="build"),
        SessionNoted(turn=1, name="plan_file", value="docs/plan.md"),
        SessionNoted(turn=1, name="model", value="whatever"),
    ]
    assert [told(one) for one in made(*found, room=0)] == [
        asks("continuation", "session", "Current State", 2, "Mode: build"),
        asks("continuation", "session", "Current State", 1, "Plan file: docs/plan.md"),
    ]


def test_commands_are_asked_for_verbatim_and_checks_first() -> None:
    found = [
        run(1, "other", "ls  -l"),
        run(2, "other", "git status"),
        run(3, "other", "git status"),
        run(4, success=False, command="make old"),
        run(5, success=True),
    ]
    probes = of("command", *found)
    assert [one.expected[0] for one in probes] == ["make test", "make old", "git status", "ls -l"]
    assert told(probes[0]) == asks("recall", "command", "Commands", 5, "make test")


def test_scripts_are_not_asked_for() -> None:
    assert of("command", run(1, command="echo " + "x" * 400), run(2, command="cat <<E\nx\nE")) == []
    assert len(of("command", run(1, command="x" * 400))) == 1


def carrying(*entries: Entry) -> Summary:
    return replace(Summary(), carried=entries)


def test_what_an_earlier_text_told_is_asked_for() -> None:
    rule = Entry(section="Standing Instructions", text='"never push"', turns=(2, 3))
    row = Entry(
        section="Files Modified", text="a.py", action="created", detail="x [t4]", turns=(4,)
    )
    name = Entry(section="Index", text="find")
    probes = probes_of(carrying(rule, row, name), NO_LIMIT)
    assert [told(one) for one in probes] == [
        asks(
            "instruction",
            "earlier text",
            "Standing Instructions",
            3,
            '"never push"',
            critical=True,
            lasting=True,
        ),
        asks(
            "artifact",
            "earlier text",
            "Files Modified",
            4,
            "a.py",
            "created",
            critical=True,
            lasting=True,
        ),
        asks("recall", "earlier text", "Index", -1, "find"),
    ]


def test_rules_and_files_of_an_earlier_text_are_asked_for_in_any_room() -> None:
    first = Entry(section="Current State", text="Branch `main`")
    rule = Entry(section="Standing Instructions", text='"never push"')
    row = Entry(section="Files Modified", text="a.py", action="created")
    state = carrying(first, rule, row)
    assert [one.expected for one in probes_of(state, 0)] == [('"never push"',), ("a.py", "created")]
    changed = replace(state, files={"a.py": (change(4, "a.py", "deleted"),)})
    assert ("a.py", "created") not in [one.expected for one in probes_of(changed, 0)]


@pytest.mark.parametrize("section", ["Standing Instructions", "Files Modified"])
def test_an_entry_without_words_asks_for_nothing(section: SectionName) -> None:
    """A text that somebody wrote into may hold `- [t1]` or an empty row."""
    assert probes_of(carrying(Entry(section=section, text="", turns=(1,))), NO_LIMIT) == ()
