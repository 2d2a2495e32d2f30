"""Mode, plan file, folder, model: what a session is in."""

from __future__ import annotations

from typing import Any

from kedgeline.facts.extractor import Setting
from kedgeline.facts.session import SessionExtractor, session_facts
from kedgeline.model import Change, Note, SessionFacts, SessionNoted, Turn
from tests.facts.speaking import told_by
from tests.facts.todo_calls import approved, refused
from tests.turns import called, turn


def noted(*turns: Turn, root: str = "/r") -> list[tuple[int, str, str]]:
    facts: list[SessionNoted] = told_by(SessionExtractor(Setting(root=root)), *turns)
    return [(fact.turn, fact.name, fact.value) for fact in facts]


def test_plan_mode_is_entered_and_left_by_calls_that_succeed():
    found = noted(
        turn(0, refused(called("EnterPlanMode"))),
        turn(1, called("EnterPlanMode", "Entered plan mode.")),
        turn(2, refused(approved("# Plan"), "no")),
        turn(3, approved("# Plan")),
    )

    assert found == [(1, "mode", "plan"), (3, "mode", "plan approved")]


def test_the_plan_file_is_what_is_written_among_plans_in_plan_mode():
    def write(path: str) -> Any:
        return called("Write", "created", file_path=path, content="x")

    found = noted(
        turn(0, write("/r/docs/plans/a.md")),
        turn(1, called("EnterPlanMode", "ok"), write("/r/plans/b.md"), write("/r/b.md")),
    )

    assert found == [(1, "mode", "plan"), (1, "plan_file", "/r/plans/b.md")]


def test_the_plan_file_is_also_told_by_the_client():
    saved = "User has approved your plan.\n\nYour plan has been saved to: /h/plans/c.md\nGo."
    note = Note(
        kind="injected", text="Plan mode is active. No plan file exists at /h/plans/d.md yet"
    )

    assert noted(turn(0, approved("# P", saved))) == [
        (0, "mode", "plan approved"),
        (0, "plan_file", "/h/plans/c.md"),
    ]
    assert noted(turn(0, notes=(note,))) == [(0, "plan_file", "/h/plans/d.md")]


def test_what_a_user_types_is_no_note_of_the_client():
    output = Note(kind="command_output", text="the plan file is /h/plans/x.md")

    assert noted(turn(0, notes=(output,))) == []
    assert noted(turn(0, user="the plan file is /h/plans/x.md", says="plan file /y.md")) == []


def test_a_folder_is_noted_where_it_is_not_the_root():
    def environment(folder: str) -> Note:
        return Note(kind="environment", text=f"<environment><cwd>{folder}</cwd></environment>")

    found = noted(turn(0, notes=(environment("/r"),)), turn(1, notes=(environment("/r/app"),)))

    assert found == [(1, "folder", "/r/app")]


def recorded(*changes: tuple[int, str, str], turns: tuple[Turn, ...] = ()) -> list[Any]:
    session = SessionFacts(changes=tuple(Change(turn=t, name=n, value=v) for t, n, v in changes))
    return [(fact.turn, fact.name, fact.value) for fact in session_facts(session, turns)]


def test_what_the_client_recorded_is_given_with_its_turn():
    turns = (turn(0), turn(1), turn(2))

    assert recorded(
        (0, "id", "x"),
        (0, "root", "/r"),
        (0, "client", "2.1"),
        (1, "branch", "main"),
        (2, "mode", "plan"),
        (3, "title", "Retry"),
        turns=turns,
    ) == [(0, "root", "/r"), (1, "branch", "main"), (2, "mode", "plan"), (2, "title", "Retry")]


def test_a_folder_without_a_repository_is_on_no_branch():
    assert recorded((0, "branch", "HEAD"), turns=(turn(0),)) == []
    detached = [(0, "branch", "main"), (1, "branch", "HEAD")]
    assert recorded(*detached, turns=(turn(0), turn(1))) == detached


def test_a_folder_below_the_root_is_no_other_root():
    found = recorded(
        (0, "root", "/r"),
        (1, "root", "/r/app"),
        (2, "root", "/r"),
        (3, "root", "/rest"),
        turns=(turn(9),),
    )

    assert found == [
        (0, "root", "/r"),
        (1, "folder", "/r/app"),
        (2, "folder", "/r"),
        (3, "root", "/rest"),
    ]


def test_the_name_of_a_plan_file_counts_only_where_there_is_a_plan():
    change = (1, "plan_file", "red-fox.md")
    plain = (turn(0), turn(5))
    note = Note(kind="plan", text="# Plan")

    assert recorded(change, turns=plain) == []
    assert recorded(change, turns=(*plain, turn(6, called("EnterPlanMode", "ok")))) == [
        (6, "plan_file", "red-fox.md")
    ]
    assert recorded(change, turns=(turn(0, notes=(note,)), turn(5))) == [
        (1, "plan_file", "red-fox.md")
    ]
    assert recorded(change, (3, "mode", "plan"), turns=plain)[0] == (3, "mode", "plan")
    assert (3, "plan_file", "red-fox.md") in recorded(change, (3, "mode", "plan"), turns=plain)
