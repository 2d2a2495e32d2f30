"""What each phase hands on."""

from __future__ import annotations

from hypothesis import given

from kedgeline.model import (
    AnyFact,
    FileChanged,
    FileRead,
    InstructionGiven,
    Requested,
    SessionNoted,
    TodoSet,
)
from kedgeline.summary import PHASES, build, phase_of, phased
from kedgeline.summary.levels import TEMPLATES
from tests.summary.facts import facts

CHANGED = FileChanged(turn=5, path="a.py", action="modified")
PLANNING = SessionNoted(turn=3, name="mode", value="plan")


def test_the_phase_is_what_the_session_was_doing_last() -> None:
    assert phase_of(build([FileRead(turn=1, path="a.py")])) == "research"
    assert phase_of(build([PLANNING])) == "planning"
    assert phase_of(build([PLANNING, CHANGED])) == "implementation"
    later = SessionNoted(turn=9, name="mode", value="plan")
    assert phase_of(build([CHANGED, later])) == "planning"
    scratch = FileChanged(turn=5, path="/tmp/x", action="created", scratch=True)
    assert phase_of(build([scratch])) == "research"


def test_every_phase_has_its_headings() -> None:
    state = build([FileRead(turn=1, path="a.py"), CHANGED])
    for phase in PHASES:
        found = [line[3:] for line in phased(state, phase).split("\n") if line.startswith("## ")]
        assert found == list(TEMPLATES[phase].headings)


def test_research_tells_of_files_and_constraints() -> None:
    rule = InstructionGiven(turn=0, by="user", text="no new dependency")
    text = phased(build([rule, FileRead(turn=1, path="src/a.py")]), "research")
    assert "- src/a.py [t1]" in text.partition("## Relevant Files")[2]
    assert '"no new dependency"' in text.partition("## Constraints Discovered")[2]


@given(facts)
def test_a_phase_keeps_to_its_words(found: list[AnyFact]) -> None:
    """But for rules and the current request."""
    kept = [f for f in found if not isinstance(f, (InstructionGiven, Requested))]
    many = [
        TodoSet(turn=n, key=str(n), text="word " * 60, status="pending", place=n)
        for n in range(200)
    ]
    for phase in PHASES:
        assert len(phased(build([*kept, *many]), phase).split()) <= TEMPLATES[phase].words
