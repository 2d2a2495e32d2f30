"""What is asked of facts: the exact probes, one row a case."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kedgeline.model import (
    ActionTaken,
    AgentReported,
    Answered,
    AnyFact,
    Asked,
    Committed,
    DeadEnd,
    Decided,
    Entry,
    ErrorResolved,
    ErrorSeen,
    FileRead,
    InstructionGiven,
    Matter,
    Probe,
    Requested,
    SectionName,
    SessionNoted,
    Stated,
    Summary,
    TodoSet,
    Verdict,
)
from kedgeline.pipeline.handoff import asked, verify
from kedgeline.probes import probes_of
from kedgeline.summary import build, handoff
from tests.probes.facts import NO_LIMIT, change, made, run, size

Row = tuple[str, list[AnyFact], list[str]]
"""A matter, facts, and the probes of the matter: turn, `!` if critical, `*` if it lasts, and what
is expected, parted by strokes."""


def words(turn: int, text: str, scope: Any = "same") -> Requested:
    return Requested(turn=turn, by="user", text=text, scope=scope)


def rule(turn: int, text: str, source: str = "user") -> InstructionGiven:
    return InstructionGiven(turn=turn, by="user", text=text, source=source)


def decided(turn: int, decision: str, by: Any = "user", **fields: Any) -> Decided:
    return Decided(turn=turn, by=by, key="db", decision=decision, **fields)


def commit(turn: int, name: str, about: str = "", what: Any = "commit", **more: Any) -> Committed:
    return Committed(turn=turn, what=what, name=name, about=about, **more)


def todo(turn: int, key: str, status: Any, **fields: Any) -> TodoSet:
    return TodoSet(turn=turn, key=key, text=f"the {key}", status=status, **fields)


def noted(turn: int, name: str, value: str) -> SessionNoted:
    return SessionNoted(turn=turn, name=name, value=value)


def said(turn: int, text: str, **fields: Any) -> Stated:
    return Stated(**{"turn": turn, "text": text, "where": "answer", **fields})


LONG = "Moor the ferry at the second berth, " * 5
CRANE = [words(0, "Build a crane", "new"), words(1, "yes", "step"), words(2, "Fix it")]
SCOPES = [words(0, "Build a crane", "new"), words(1, "higher"), words(3, "Now the light", "new")]
CLOSED = [words(0, "Fix it", "new"), Answered(turn=2, by="agent", text="It works.")]
RENAMED = [change(1, "old.py", "modified"), change(2, "new.py", "renamed", renamed_from="old.py")]
EDITS = [change(1, "a.py", "modified"), change(3, "b.py", "modified")]
GIT = run(2, "other", "git status", success=True)
BOOM = ErrorSeen(turn=1, key="k", line="boom")
SOLVED = ErrorResolved(turn=3, key="k", how="`make clean`")
ROWS: list[Row] = [
    # the user's words
    ("request", [words(0, "Build it", "new"), words(4, " Fix\n\nit ")], ["4! Fix\n\nit"]),
    (
        "earlier request",
        [*SCOPES, words(4, "and the lamp"), words(5, "and the mast")],
        ["4 and the lamp", "3 Now the light", "0 Build a crane"],
    ),
    ("earlier request", [words(0, LONG, "new"), words(1, "go")], [f"0 {LONG[:77].rstrip(' ,')}"]),
    ("said since", [*CRANE, words(3, "the red one", "step")], ["3 the red one"]),
    ("answer", CLOSED, ["2 It works."]),
    ("answer", [*CLOSED, FileRead(turn=3, path="a.py")], []),
    ("answer", [*CLOSED, words(3, "And the lamp")], []),
    ("rule", [rule(0, "never  push\nto"), rule(2, "tabs", "AGENTS.md"), rule(5, "never  push\nto")],
     ["2!* tabs", "0!* never  push\nto"]),
    # files
    ("created", [change(3, "a.py", "created"), change(4, "a.py", "modified")],
     ["4!* a.py|created"]),
    ("created", [change(1, "a.py", "created"), change(2, "a.py", "deleted")], []),
    ("created", [change(n, "a.py", x) for n, x in enumerate(("created", "deleted", "created"))],
     ["2!* a.py|created"]),
    ("deleted", [change(1, "a.py", "modified"), change(2, "a.py", "deleted")],
     ["2!* a.py|deleted"]),
    ("modified", [change(1, "a.py", "deleted"), change(2, "a.py", "created")],
     ["2!* a.py|modified"]),
    ("renamed", RENAMED, ["2!* new.py|renamed"]),
    ("created", [change(0, "old.py", "created"), *RENAMED], ["2!* new.py|created"]),
    ("deleted", [*RENAMED, change(3, "new.py", "deleted")], ["3!* new.py|deleted"]),
    ("created", [*RENAMED, change(3, "old.py", "created")], ["3!* old.py|created"]),
    ("created", [change(1, "tmp/x.py", "created", scratch=True)], []),
    ("change", [change(1, "a.py", "modified", what="adds `f`"),
                change(2, "b.py", "modified", said="The rule was wrong"),
                change(3, "c.py", "modified"), change(4, "a.py", "modified", what="drops `g`")],
     ["4 a.py|drops `g`", "2 b.py|The rule was wrong"]),
    ("read", [*(FileRead(turn=n, path=path) for n, path in enumerate(("a", "b", "c", "a"))),
              change(4, "b", "modified"), change(5, "c", "created"), change(6, "c", "deleted")],
     ["3 a", "2 c"]),
    # decisions, checks, tasks
    ("decision", [decided(2, "use sqlite", rationale="it is small", rejected="postgres")],
     ["2!* use sqlite|it is small|postgres"]),
    ("decision", [decided(2, "use sqlite", "agent")], ["2 use sqlite"]),
    ("decision", [decided(2, "use sqlite"), decided(5, "use postgres")], ["5!* use postgres"]),
    ("decision", [rule(2, "use sqlite"), decided(2, "use sqlite")], []),
    ("check", [run(1, command="make a", success=False), run(4, success=True)],
     ["4! make test|passes"]),
    ("check", [run(1, "build", "make it", success=False)], ["1 make it|FAILS"]),
    ("check", [run(1), run(2, "other", "ls", success=True)], []),
    ("edited since", [run(2, success=True), *EDITS], ["3 Edited since the last test run|b.py"]),
    ("edited since", [commit(2, "aaaaaaa"), *EDITS], ["3 Edited since the last commit|b.py"]),
    ("edited since", EDITS, []),
    ("absence", [EDITS[0], GIT], ["2 No test was run", "2 The agent made no commit"]),
    ("absence", [EDITS[0], GIT, run(3)], ["3 The agent made no commit"]),
    ("absence", [EDITS[0], GIT, commit(4, "aaaaaaa")], ["4 No test was run"]),
    ("absence", [GIT], []),
    ("task", [todo(1, "mast", "pending"), todo(2, "keel", "in_progress")],
     ["1 the mast", "2! the keel|(in progress)", "2 0 of 2"]),
    ("task", [todo(1, "mast", "pending"), todo(3, "mast", "completed"), todo(4, "keel", "dropped")],
     ["3 1 of 1"]),
    ("task", [todo(1, "mast", "pending", source="plan"), todo(2, "keel", "pending")],
     ["2 the keel", "2 0 of 1"]),
    ("task done", [todo(3, "mast", "completed")], ["3 the mast"]),
    ("question", [Asked(turn=3, by="agent", key="k", question="Which berth?")], ["3 Which berth?"]),
    ("question", [Asked(turn=3, by="agent", key="k", question="Which?", answer="2")], []),
    # errors
    ("open error", [BOOM, ErrorSeen(turn=20, key="n", line="bang"), FileRead(turn=21, path="a")],
     ["20! OPEN|bang", "1 OPEN|boom"]),
    ("resolved error", [BOOM, SOLVED], ["3 Resolved|boom|`make clean`"]),
    ("resolved error", [BOOM, SOLVED, replace(BOOM, turn=5)], []),
    ("dead end", [DeadEnd(turn=4, what="a mast", why="too heavy")], ["4 a mast|too heavy"]),
    # the record
    ("action", [ActionTaken(turn=n, tool="book", result=f"{n}") for n in range(7)],
     [*(f"{n}! book|{n}" for n in range(2, 7)), "1 book|1", "0 book|0"]),
    ("branch", [commit(1, "main", what="branch"), noted(2, "branch", "fix")], ["2 Branch|fix"]),
    ("published", [commit(3, "a", what="push"), commit(4, "b", what="push"),
                   commit(6, "v1.2", what="tag")], ["4 Pushed|b", "6 Tag|v1.2"]),
    ("commit", [commit(1, "aaaaaaa", "Mast"), commit(2, "bbbbbbb", "Keel"),
                commit(3, "ccccccc", "Keel", replaces="bbbbbbb"), commit(4, "")],
     ["3 ccccccc|Keel", "1 aaaaaaa|Mast"]),
    ("report", [AgentReported(turn=2, task="look", report="gone")], ["2 look|gone"]),
    ("report", [AgentReported(turn=2, task="look", report="")], []),
    ("session", [noted(0, "mode", "plan"), noted(2, "mode", "build"), noted(1, "model", "x")],
     ["2 Mode: build"]),
    ("command", [run(1, "other", "ls  -l"), run(2, "other", "git x"), run(3, "other", "git x"),
                 run(4, success=False, command="make old"), run(5, success=True)],
     ["5 make test", "4 make old", "3 git x", "1 ls -l"]),
    ("command", [run(1, command="x" * 401), run(2, command="cat <<E\nx\nE")], []),
    # findings: what says nothing for certain is not asked for
    ("finding", [said(4, "`find_free` fails on 12 berths, as a.py:9 says")],
     ["4 find_free|a.py|12|9"]),
    ("finding", [said(4, "`a.py` holds 3?"), said(4, "It works."), said(4, "`a` `b`", code=True),
                 said(4, "`a.py` is 12 lines", where="narration")], []),
]  # fmt: skip


def told(probe: Probe) -> str:
    marks = ("!" if probe.critical else "") + ("*" if probe.lasting else "")
    return f"{probe.turn}{marks} {'|'.join(probe.expected)}"


@pytest.mark.parametrize(("matter", "facts", "expected"), ROWS)
def test_what_is_asked(matter: Matter, facts: list[AnyFact], expected: list[str]) -> None:
    state = build(facts)
    probes = [probe for probe in made(*facts) if probe.matter == matter]
    assert [told(probe) for probe in probes] == expected
    shown = verify(state, handoff(state, NO_LIMIT, size), probes)
    assert [one.probe.expected for one in shown.failed] == []


@pytest.mark.parametrize(
    ("fields", "ending"),
    [
        ({"success": True}, ("passes",)),
        ({"success": None, "passed": 12}, ("12 tests passed",)),
        ({"success": True, "passed": 3, "unit": "packages"}, ("3 packages passed",)),
        ({"success": False, "passed": 12}, ("FAILS",)),
        ({"success": True, "failed": 2}, ("FAILS", "2 tests failed")),
    ],
)
def test_the_newest_test_run_is_asked_for_with_its_counts(
    fields: dict[str, Any], ending: tuple[str, ...]
) -> None:
    (probe,) = made(run(1, success=True, passed=99), run(3, **fields), room=0)
    assert (probe.expected, probe.critical) == (("make test", *ending), True)


def test_a_request_that_is_still_there_is_not_asked_for() -> None:
    state = build([words(0, "Build a crane", "new"), words(4, "Fix the light")])
    found = [one.matter for one in probes_of(state, NO_LIMIT, current=False)]
    assert found == ["earlier request", "earlier request"]


def carrying(*entries: Entry) -> Summary:
    return replace(Summary(), carried=entries)


def test_what_an_earlier_text_told_is_asked_for_rules_and_files_in_any_room() -> None:
    line = Entry(section="Current State", text="Branch `main`")
    rule = Entry(section="Standing Instructions", text='"never push"', turns=(2, 3))
    row = Entry(section="Files Modified", text="a.py", action="created", turns=(4,))
    state = carrying(line, rule, row)
    must = ['3!* "never push"', "4!* a.py|created"]
    assert [told(one) for one in probes_of(state, NO_LIMIT)] == [*must, "-1 Branch `main`"]
    assert [told(one) for one in probes_of(state, 0)] == must
    gone = replace(state, files={"a.py": (change(4, "a.py", "deleted"),)})
    assert must[1] not in [told(one) for one in probes_of(gone, 0)]


@pytest.mark.parametrize("section", ["Standing Instructions", "Files Modified"])
def test_an_entry_without_words_asks_for_nothing(section: SectionName) -> None:
    """A text that somebody wrote into may hold `- [t1]` or an empty row."""
    assert probes_of(carrying(Entry(section=section, text="", turns=(1,))), NO_LIMIT) == ()


def test_of_nothing_nothing_is_asked_and_nothing_is_proved() -> None:
    verdict = verify(Summary(), handoff(Summary(), NO_LIMIT, size), asked(Summary(), NO_LIMIT))
    assert (verdict.answers, verdict.score) == ((), None)
    assert Verdict().accepted


def test_a_text_that_leaves_a_finding_out_does_not_pass() -> None:
    """Texts from which readers answered four questions of ten had scores of 1.00."""
    lock = "The lock in `src/pier.py` is held for 30 seconds because `free_berth` never returns."
    state = build([said(4, lock, by="agent"), said(6, "`quay.py` has 12 tests now.", by="agent")])
    text = handoff(state, NO_LIMIT, size)
    probes = [one for one in made(*state.statements) if one.matter == "finding"]
    assert verify(state, text, probes).score == 1.0
    for worse in (text.replace("12 tests", "some tests"), text.replace("[t6]", "[t7]")):
        assert [one.probe.turn for one in verify(state, worse, probes).failed] == [6]
