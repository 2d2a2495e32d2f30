"""Where sessions are cut, and what was needed after a cut."""

from __future__ import annotations

from msgspec.structs import replace

from bench.replay.names import HORIZON, Cut, Finder, after, before, cuts_of, files_of
from bench.replay.needed import Needed, Session
from kedgeline.model import (
    Change,
    EarlierCompaction,
    Message,
    Note,
    SessionFacts,
    Text,
    ToolCall,
    ToolResult,
    Transcript,
    Turn,
)
from tests.turns import bash, called, edit, turn

ROOT = "/home/sam/harbor"


def session(*turns: Turn, **fields: object) -> Transcript:
    numbered = tuple(replace(one, index=index) for index, one in enumerate(turns))
    facts = SessionFacts(changes=(Change(turn=0, name="root", value=ROOT),))
    return Transcript(format="plain", turns=numbered, session=facts, **fields)  # type: ignore[arg-type]


def needed(earlier: list[Turn], later: list[Turn], **fields: object) -> Needed:
    made = session(*earlier, *later, **fields)
    cut = Cut(where="fair", turn=len(earlier), end=len(made.turns))
    return Session(made).needed(cut)


def reads(path: str, text: str) -> tuple[ToolCall, ToolResult]:
    return called("Read", text, file_path=f"{ROOT}/{path}")


KNOWN = turn(0, reads("src/pier.py", "def assign_berth(): ..."), user="Make assign_berth fair.")


def test_a_name_known_before_and_written_after_is_needed() -> None:
    found = needed([KNOWN], [turn(0, says="I change assign_berth.")])
    assert found.names == {"assign_berth": "identifier"}


def test_a_name_that_was_not_known_before_is_not_needed() -> None:
    assert needed([KNOWN], [turn(0, says="I add moor_vessel.")]).names == {}


def test_a_name_shown_again_by_a_result_is_not_needed() -> None:
    shown = turn(0, called("Grep", "src/pier.py:1:def assign_berth", pattern="def"))
    found = needed([KNOWN], [shown, turn(0, edit(f"{ROOT}/src/pier.py"), says="assign_berth")])
    assert found.names == {}


def test_a_name_is_needed_where_only_the_result_of_its_own_call_shows_it() -> None:
    search = turn(0, called("Grep", "def assign_berth", pattern="assign_berth"))
    assert needed([KNOWN], [search]).names == {"assign_berth": "identifier"}


def test_a_name_the_user_or_a_note_says_again_is_not_needed() -> None:
    note = Note(kind="injected", text="assign_berth changed")
    assert needed([KNOWN], [turn(0, user="And assign_berth?", says="assign_berth.")]).names == {}
    assert needed([KNOWN], [turn(0, says="assign_berth.", notes=(note,))]).names == {}


def test_a_name_in_the_system_prompt_is_not_needed() -> None:
    head = (Message(role="system", parts=(Text(text="Mind assign_berth."),)),)
    assert needed([KNOWN], [turn(0, says="assign_berth.")], head=head).names == {}


def test_a_path_is_the_same_with_and_without_its_root() -> None:
    assert needed([KNOWN], [turn(0, says="In src/pier.py now.")]).names == {"src/pier.py": "path"}


def test_thinking_is_neither_known_nor_written() -> None:
    assert needed([KNOWN], [turn(0, thinking="assign_berth")]).names == {}
    assert needed([turn(0, thinking="assign_berth")], [turn(0, says="assign_berth")]).names == {}


def test_a_command_counts_when_it_is_run_again_to_the_letter() -> None:
    earlier = [turn(0, bash("pytest -q tests"), bash("make lint"))]
    later = [turn(0, bash("pytest -q tests")), turn(0, bash("pytest tests"), bash("make build"))]
    assert needed(earlier, later).commands == ("pytest -q tests",)
    listed = [turn(0, called("shell", "", command=["bash", "-lc", "pytest -q tests"]))]
    assert needed(earlier, listed).commands == ("pytest -q tests",)


def test_the_request_is_what_the_user_said_last_before_the_cut() -> None:
    earlier = [turn(0, user="First."), turn(0, user="Then moor her."), turn(0)]
    assert needed(earlier, [turn(0, user="Later.")]).request == "Then moor her."


def changed(*steps: tuple[ToolCall, ToolResult]) -> dict[str, str]:
    return dict(files_of([turn(0, *steps)], Finder((ROOT,))).changed)


def wrote(path: str, change: str = "") -> tuple[ToolCall, ToolResult]:
    call, result = called("Write", "ok", file_path=f"{ROOT}/{path}", content="x")
    return call, replace(result, change=change)


def test_files_have_the_action_they_end_with() -> None:
    assert changed(wrote("a.py", "create"), edit(f"{ROOT}/a.py")) == {"a.py": "created"}
    assert changed(wrote("a.py", "update")) == {"a.py": "modified"}
    assert changed(wrote("a.py")) == {"a.py": "created"}
    assert changed(reads("a.py", "x"), wrote("a.py")) == {"a.py": "modified"}
    assert changed(edit(f"{ROOT}/a.py", success=False)) == {}
    gone = called("delete_file", "ok", path=f"{ROOT}/a.py")
    assert changed(wrote("a.py", "create"), gone) == {}
    assert changed(edit(f"{ROOT}/a.py"), gone) == {"a.py": "deleted"}
    patch = "*** Begin Patch\n*** Add File: b.py\n+x\n*** Delete File: c.py\n*** End Patch"
    assert changed(called("apply_patch", "ok", input=patch)) == {
        "b.py": "created",
        "c.py": "deleted",
    }


def compaction(at: int, summary: str = "So far.", kind: str = "summary") -> EarlierCompaction:
    return EarlierCompaction(turn=at, by="someone", kind=kind, summary=summary)  # type: ignore[arg-type]


def test_a_session_is_cut_at_real_compactions_up_to_the_next() -> None:
    made = session(*[turn(0)] * 100, compactions=(compaction(20), compaction(30), compaction(97)))
    cuts = [cut for cut in cuts_of(made) if cut.where == "boundary"]
    assert [(cut.turn, cut.end) for cut in cuts] == [(20, 30), (30, 30 + HORIZON)]
    assert cuts[0].recorded == "So far."


def test_fair_cuts_lie_where_the_agent_had_everything() -> None:
    assert [c.turn for c in cuts_of(session(*[turn(0)] * 100))] == [40, 60, 80]
    assert [c.turn for c in cuts_of(session(*[turn(0)] * 40))] == [16, 24]
    assert cuts_of(session(*[turn(0)] * 29)) == ()
    compacted = session(*[turn(0)] * 100, compactions=(compaction(50, "", "outputs_cleared"),))
    assert [(c.turn, c.end) for c in cuts_of(compacted)] == [(20, 50), (30, 50)]


def test_nothing_before_a_cut_comes_from_after_it() -> None:
    agents = tuple(Transcript(format="plain", delegated_by=name) for name in ("early", "late"))
    early, late = (ToolCall(id=name, tool="Task") for name in ("early", "late"))
    made = session(
        Turn(tool_calls=(early,)),
        Turn(tool_calls=(late,)),
        agents=agents,
        pending=turn(2, user="and then?"),
        compactions=(compaction(1),),
    )
    facts = (*made.session.changes, Change(turn=1, name="title", value="what came of it"))
    made = replace(made, session=SessionFacts(changes=facts))
    seen = before(made, Cut(where="boundary", turn=1, end=2))
    assert (seen.turns, seen.agents) == (made.turns[:1], agents[:1])
    assert (seen.pending, seen.compactions) == (None, ())
    assert seen.session.latest("title") == ""


def test_the_summary_the_agent_went_on_from_shows_nothing() -> None:
    summary = Note(kind="summary", text="assign_berth")
    later = turn(0, says="assign_berth", notes=(summary,))
    made = session(KNOWN, later, compactions=(compaction(1),))
    cut = Cut(where="boundary", turn=1, end=2, recorded="assign_berth")
    assert after(made, cut)[0].notes == ()
    assert Session(made).needed(cut).names == {"assign_berth": "identifier"}
