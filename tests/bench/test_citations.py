"""Whether a cited turn holds what a line says; every check with a line that must not pass."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from bench.claims import Citations, added, claims_of
from kedgeline.model import Transcript
from kedgeline.model.summary import SectionName
from kedgeline.pipeline.handoff import summarize
from kedgeline.summary import items_of
from kedgeline.summary.state import Item
from tests.turns import bash, called, edit, turn

ROOT = "/home/sam/harbor"
ASKED = "Make the berths fair, please.\n  Never touch `legacy.py`."


def session() -> Transcript:
    wrote = called(
        "Write",
        "File created successfully at: it",
        file_path=f"{ROOT}/src/berths/fair.py",
        content="class Pier:\n    def assign(self):\n        return 'fairly'\n",
    )
    looked = called("Read", "   120→    return tide\n", file_path=f"{ROOT}/src/tide.py", offset=120)
    return Transcript(
        format="plain",
        turns=(
            turn(0, looked, user=ASKED, says="I read the tide table before the berths."),
            turn(1, wrote, edit(f"{ROOT}/src/pier.py"), says="The new class assigns fairly."),
            turn(
                2, bash("pytest -q tests/test_pier.py", "E   TideError: too low\n1 failed"), says=""
            ),
        ),
    )


def supported(*items: Item, transcript: Transcript | None = None) -> list[bool]:
    citations = Citations(transcript or session())
    return [bool(share.supported) for share in citations.shares(items) if share.lines]


def item(section: SectionName, text: str, *turns: int, detail: str = "") -> Item:
    return Item(section, text, turns, detail=detail)


RIGHT_AND_WRONG: dict[str, tuple[Item, Item]] = {
    "the user's words, cut": (
        item("Session Intent", 'Asked: "Make the berths fair, please. Never…"', 0),
        item("Session Intent", 'Asked: "Make the berths unfair, please. Never…"', 0),
    ),
    "the user's words, at another turn": (
        item("Session Intent", f'Now: "{ASKED}"', 0),
        item("Session Intent", f'Now: "{ASKED}"', 1),
    ),
    "what the agent said is not asked": (
        item("Session Intent", 'Asked: "Make the berths fair"', 0),
        item("Session Intent", 'Asked: "The new class assigns fairly."', 1),
    ),
    "a rule byte for byte": (
        item("Standing Instructions", '"please.\n  Never touch `legacy.py`."', 0),
        item("Standing Instructions", '"please. Never touch `legacy.py`."', 0),
    ),
    "a changed file": (
        item("Files Modified", "src/berths/fair.py", 1, detail="adds `Pier` [t1]"),
        item("Files Modified", "src/berths/foul.py", 1, detail="adds `Pier` [t1]"),
    ),
    "what changed in it": (
        item("Files Modified", "src/berths/fair.py", 1, detail="adds `Pier.assign` [t1]"),
        item("Files Modified", "src/berths/fair.py", 1, detail="adds `Pier.moor` [t1]"),
    ),
    "each change at its own turn": (
        item("Files Modified", "tests/test_pier.py", 1, 2, detail="`Pier` [t1]; `TideError` [t2]"),
        item("Files Modified", "tests/test_pier.py", 1, 2, detail="`Pier` [t2]; `TideError` [t2]"),
    ),
    "a file that was read, and from where": (
        item("Files Read (Not Modified)", "src/tide.py", 0, detail="lines 120-139"),
        item("Files Read (Not Modified)", "src/tide.py", 0, detail="lines 12-139"),
    ),
    "why it was read": (
        item("Files Read (Not Modified)", "src/tide.py", 0, detail="I read the tide table"),
        item("Files Read (Not Modified)", "src/tide.py", 0, detail="I read the harbour table"),
    ),
    "a decision in the agent's words": (
        item("Decisions Made", "assigns fairly. Not taken: the tide table", 0, 1),
        item("Decisions Made", "assigns fairly. Not taken: the lottery", 0, 1),
    ),
    "a check": (
        item("Current State", "test: `pytest -q tests/test_pier.py`: FAILS, 1 tests failed", 2),
        item("Current State", "test: `pytest -x tests/test_pier.py`: FAILS, 1 tests failed", 2),
    ),
    "what a check came to": (
        item("Current State", "test: `pytest -q tests/test_pier.py`: FAILS: TideError: too low", 2),
        item("Current State", "test: `pytest -q tests/test_pier.py`: FAILS: WindError: too low", 2),
    ),
    "files edited since": (
        item("Current State", "Edited since the last test run: src/pier.py and 3 more", 1),
        item("Current State", "Edited since the last test run: src/pier.py, src/quay.py", 1),
    ),
    "an error": (
        item("Error Context", "OPEN: TideError: too low in `pytest -q tests/test_pier.py`", 2),
        item("Error Context", "OPEN: TideError: too low in `pytest -q tests/test_pier.py`", 1),
    ),
    "how it was resolved": (
        item("Error Context", "Resolved: TideError: too low: after editing pier.py", 2, 1),
        item("Error Context", "Resolved: TideError: too low: after editing quay.py", 2, 1),
    ),
    "a command verbatim": (
        item("Commands", "`pytest -q tests/test_pier.py`", 2),
        item("Commands", "`pytest -q tests`; rm", 2),
    ),
    "a name": (
        item("Index", "`TideError`", 2),
        item("Index", "`TideErrors`", 2),
    ),
    "what is to be done": (
        item("Next Steps", "assigns fairly (in progress)", 1),
        item("Next Steps", "assigns quickly (in progress)", 1),
    ),
    "a question": (
        item("Blockers / Open Questions", "The user asked: Make the berths fair, please.", 0),
        item("Blockers / Open Questions", "The user asked: Is the lottery fair?", 0),
    ),
    "a turn that is not there": (
        item("Commands", "`pytest -q tests/test_pier.py`", 2, 99),
        item("Commands", "`pytest -q tests/test_pier.py`", 99),
    ),
}


@pytest.mark.parametrize("what", RIGHT_AND_WRONG)
def test_a_line_is_held_up_and_one_with_a_mistake_is_not(what: str) -> None:
    right, wrong = RIGHT_AND_WRONG[what]
    assert supported(right) == [True]
    assert supported(wrong) == [False]


def test_what_is_derived_is_not_asked_for() -> None:
    derived = [
        item("Current State", "Tasks: 5 of 7 completed", 1),
        item("Current State", "Mode: plan", 1),
        item("Current State", "The agent made no commit"),
        item("Commands", "`anything at all`"),
    ]
    assert [claims_of(one) for one in derived] == [[]] * len(derived)
    shares = added(Citations(session()).shares(derived))
    assert [share.unchecked for share in shares.values()] == [3, 1]
    assert all(share.lines == share.supported == 0 for share in shares.values())


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
    assert [share.supported for share in shares] == [1, 0]
    assert [share.by_agents for share in shares] == [1, 0]


def test_numbers_and_names_do_not_match_inside_of_others() -> None:
    within = Transcript(format="plain", turns=(turn(0, says="see 1205 in mypier.py"),))
    lines = [item("Files Modified", "src/pier.py", 0), item("Current State", "see 120", 0)]
    assert supported(*lines, transcript=within) == [False, False]


def test_the_summary_of_a_session_is_held_up_by_its_turns() -> None:
    """And all of it falls when the turns change places."""
    whole = session()
    items = [one for one in items_of(summarize(whole)) if claims_of(one)]
    assert len(items) > 5
    assert [one for one, fine in zip(items, supported(*items), strict=True) if not fine] == []
    moved = tuple(replace(one, index=(one.index + 1) % 3) for one in whole.turns)
    assert not any(supported(*items, transcript=replace(whole, turns=moved)))
