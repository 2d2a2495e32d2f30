"""Whether cited turns hold what a line says; every check with a line that must not pass."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from bench.claims import Citations, added
from kedgeline.model import Transcript
from kedgeline.model.summary import SectionName
from kedgeline.pipeline.handoff import summarize
from kedgeline.summary import items_of
from kedgeline.summary.state import Item
from tests.turns import bash, called, edit, turn

ROOT = "/home/sam/harbor"


def session() -> Transcript:
    wrote = called(
        "Write",
        "File created successfully at: it",
        file_path=f"{ROOT}/src/berths/fair.py",
        content="class Pier:\n    def assign(self):\n        return 'fairly'\n",
    )
    looked = called("Read", "   120→    return tide\n", file_path=f"{ROOT}/src/tide.py", offset=120)
    failed = bash("pytest -q tests/test_pier.py", "E   TideError: too low\n1 failed")
    return Transcript(
        format="plain",
        turns=(
            turn(0, looked, user="Make the berths fair, please.", says="I read the tide table."),
            turn(1, wrote, edit(f"{ROOT}/src/pier.py"), says="The new class assigns fairly."),
            turn(2, failed),
        ),
    )


def missed(*items: Item, transcript: Transcript | None = None) -> int:
    shares = Citations(transcript or session()).shares(items)
    return sum(share.words - share.held for share in shares)


def item(section: SectionName, text: str, *turns: int, detail: str = "") -> Item:
    return Item(section, text, turns, detail=detail)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (
            item("Session Intent", 'Make the berths fair, please." [t0]', 0),
            item("Session Intent", "Make the berths unfair, please.", 0),
        ),
        (
            item("Files Modified", "src/berths/fair.py", 1, detail="class Pier [t1]"),
            item("Files Modified", "src/berths/foul.py", 1, detail="class Quays [t1]"),
        ),
        (
            item("Files Read (Not Modified)", "src/tide.py", 0, detail="120"),
            item("Files Read (Not Modified)", "src/tide.py", 0, detail="139"),
        ),
        (
            item("Commands", "`pytest -q tests/test_pier.py`", 2, 99),
            item("Commands", "`pytest -q tests/test_pier.py`", 99),
        ),
    ],
)
def test_a_line_is_held_up_and_one_with_a_mistake_is_not(right: Item, wrong: Item) -> None:
    assert missed(right) == 0
    assert missed(wrong) > 0


def test_lines_without_a_turn_are_not_checked() -> None:
    (share,) = added(Citations(session()).shares([item("Commands", "`anything`")])).values()
    assert (share.unchecked, share.lines, share.words) == (1, 0, 0)


def test_a_sub_agents_turns_count_for_the_turn_that_started_it_and_are_told() -> None:
    started = called("Task", "done", prompt="Look at the quay.")
    agent = Transcript(
        format="plain",
        turns=(turn(0, edit(f"{ROOT}/src/quay.py")),),
        agent="a1",
        delegated_by=started[0].id,
    )
    main = Transcript(format="plain", turns=(turn(0, started), turn(1)), agents=(agent,))
    lines = [item("Files Modified", "src/quay.py", number) for number in (0, 1)]
    shares = list(Citations(main).shares(lines))
    assert [(share.held, share.by_agents) for share in shares] == [(1, 1), (0, 0)]


def test_the_summary_of_a_session_is_held_up_by_its_turns() -> None:
    """And falls when the turns change places."""
    whole = session()
    items = [one for one in items_of(summarize(whole)) if one.turns]
    moved = tuple(replace(one, index=(one.index + 1) % 3) for one in whole.turns)
    assert missed(*items, transcript=replace(whole, turns=moved)) > 2 * missed(*items)
