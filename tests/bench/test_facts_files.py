"""Facts about files against what the edit tools report; each check with a planted mistake."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from msgspec.structs import replace

from bench import claims as facts_files
from bench.claims import ELSEWHERE, file_shares, reported_in, summed
from kedgeline.facts import facts_of
from kedgeline.model import (
    AnyFact,
    Change,
    FileChanged,
    SessionFacts,
    ToolCall,
    ToolResult,
    Transcript,
    Turn,
)
from tests.turns import bash, called, edit, turn

ROOT = "/home/sam/harbor"
PATCH = """*** Begin Patch
*** Add File: src/new.py
+tide = 1
*** Update File: src/old.py
*** Move to: src/moved.py
-tide = 1
+tide = 2
*** Update File: src/pier.py
-a
+b
*** Delete File: src/gone.py
*** End Patch"""

Step = tuple[ToolCall, ToolResult]


def reporting(step: Step, change: str) -> Step:
    return step[0], replace(step[1], change=change)


def wrote(path: str, change: str = "create", *, success: bool = True) -> Step:
    return reporting(called("Write", "ok", success=success, file_path=path, content="a\n"), change)


def transcript(*turns: Turn, agents: tuple[Transcript, ...] = ()) -> Transcript:
    root = Change(turn=0, name="root", value=ROOT)
    return Transcript(
        format="plain", turns=turns, agents=agents, session=SessionFacts(changes=(root,))
    )


def session() -> Transcript:
    return transcript(
        turn(0, wrote(f"{ROOT}/src/fair.py"), reporting(edit(f"{ROOT}/src/pier.py"), "update")),
        turn(1, wrote(f"{ROOT}/src/tide.py", success=False), bash("rm src/old.py")),
        turn(2, reporting(edit(f"{ROOT}/src/pier.py"), "update")),
    )


def shares(of: Transcript) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Reported, facts, right: by source and action."""
    return {
        (share.source, share.action): (share.reported, share.facts, share.right)
        for share in summed(file_shares(of))
    }


def test_facts_that_agree_with_every_report_are_right() -> None:
    assert shares(session()) == {
        ("tool", "created"): (1, 1, 1),
        ("tool", "modified"): (2, 2, 2),
        ("shell", "deleted"): (0, 1, 0),
    }


def planted(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[list[AnyFact]], Iterable[AnyFact]]
) -> None:
    monkeypatch.setattr(facts_files, "facts_of", lambda given: change(list(facts_of(given))))


def files_in(facts: Iterable[AnyFact]) -> list[FileChanged]:
    return [fact for fact in facts if isinstance(fact, FileChanged)]


@pytest.mark.parametrize(
    ("mistake", "created", "modified"),
    [
        (lambda facts: files_in(facts)[1:], (1, 0, 0), (2, 2, 2)),
        (lambda facts: [*facts, files_in(facts)[0]], (1, 2, 1), (2, 2, 2)),
        (
            lambda facts: [replace(one, action="modified") for one in files_in(facts)],
            (1, 0, 0),
            (2, 3, 2),
        ),
        (
            lambda facts: [replace(one, path=one.path + "x") for one in files_in(facts)],
            (1, 1, 0),
            (2, 2, 0),
        ),
        (
            lambda facts: [replace(one, turn=one.turn + 1) for one in files_in(facts)],
            (1, 1, 0),
            (2, 2, 0),
        ),
        (
            lambda facts: [
                *facts,
                FileChanged(turn=1, path="src/tide.py", action="created"),
            ],
            (1, 2, 1),
            (2, 2, 2),
        ),
    ],
    ids=["one missing", "one twice", "wrong action", "wrong path", "wrong turn", "a failed call"],
)
def test_a_wrong_fact_is_counted(
    monkeypatch: pytest.MonkeyPatch,
    mistake: Callable[[list[AnyFact]], Iterable[AnyFact]],
    created: tuple[int, int, int],
    modified: tuple[int, int, int],
) -> None:
    planted(monkeypatch, mistake)
    found = shares(session())
    assert found["tool", "created"] == created
    assert found["tool", "modified"] == modified


def test_what_a_sub_agent_did_stands_at_the_turn_that_started_it() -> None:
    first, inner = called("Task", "done", prompt="x"), called("Task", "done", prompt="y")
    agents = (
        replace(transcript(turn(0, wrote("a.py"), inner)), agent="1", delegated_by=first[0].id),
        replace(transcript(turn(0, wrote("b.py"))), agent="2", delegated_by=inner[0].id),
        replace(transcript(turn(0, wrote("c.py"))), agent="3", delegated_by="nobody"),
    )
    main = transcript(turn(0), turn(1, first), agents=agents)
    assert [tuple(change[:3]) for change in reported_in(main)] == [
        ("agent", 1, "a.py"),
        ("agent", 1, "b.py"),
        ("agent", ELSEWHERE, "c.py"),
    ]
    assert shares(main)["agent", "created"] == (3, 2, 2)
