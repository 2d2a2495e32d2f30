"""What holds whatever happened: everything told answers everything asked, and asks follow room."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kedgeline.model import (
    AgentReported,
    AnyFact,
    Committed,
    DeadEnd,
    Decided,
    FileRead,
    InstructionGiven,
    Matter,
    Probe,
    Requested,
    SectionName,
    Stated,
)
from kedgeline.probes import Shown, answer, probes_of
from kedgeline.probes.making import RATIONS, left_of
from kedgeline.summary import Standing, build, entries_of, handoff
from tests.probes.facts import NO_LIMIT, change, facts, failing, run, size, whole

rooms = st.integers(0, 4_000)
standings = st.sampled_from(("here", "beside", "later"))
NOT_SHRUNK = settings(max_examples=40, phases=[Phase.generate])


@settings(max_examples=120)
@given(facts, rooms, standings)
def test_a_text_that_tells_everything_answers_everything(
    found: list[AnyFact], room: int, standing: Standing
) -> None:
    verdict = whole(build(found), room, standing)
    assert failing(verdict) == []
    assert verdict.strays == ()
    assert verdict.score == (1.0 if verdict.answers else None)
    assert verdict.accepted


def renamed(found: list[AnyFact], moves: list[tuple[str, str, int]]) -> list[AnyFact]:
    more = [
        change(turn, to, "renamed", renamed_from=path) for path, to, turn in moves if path != to
    ]
    return sorted([*found, *more], key=lambda one: one.turn)


MOVED = st.sampled_from(("a.py", "src/b.py", "moved.py"))


@NOT_SHRUNK
@given(facts, st.lists(st.tuples(MOVED, MOVED, st.integers(0, 30)), min_size=2, max_size=4))
def test_files_that_are_renamed_are_told_as_they_are_asked_for(
    found: list[AnyFact], moves: list[tuple[str, str, int]]
) -> None:
    assert failing(whole(build(renamed(found, moves)), 0)) == []


def parts(probes: tuple[Probe, ...]) -> set[tuple[str, ...]]:
    """All that is asked for."""
    return {(probe.section, probe.matter, probe.key, *probe.expected) for probe in probes}


@settings(max_examples=80)
@given(facts, rooms, rooms, st.booleans())
def test_what_is_asked_in_less_room_is_asked_in_more(
    found: list[AnyFact], one: int, other: int, current: bool
) -> None:
    state = build(found)
    small, large = (probes_of(state, room, current=current) for room in sorted((one, other)))
    assert parts(small) <= parts(large)


RATIONED: dict[Matter, Callable[[int], AnyFact]] = {
    "command": lambda n: run(n, "other", f"make {n}"),
    "read": lambda n: FileRead(turn=n, path=f"{n}.py"),
    "decision": lambda n: Decided(turn=n, by="agent", key=str(n), decision=f"use {n}"),
    "commit": lambda n: Committed(turn=n, what="commit", name=f"{n:07}", about="Add it"),
    "report": lambda n: AgentReported(turn=n, task=f"task {n}", report="done"),
    "dead end": lambda n: DeadEnd(turn=n, what=f"mast {n}"),
    "finding": lambda n: Stated(turn=n, text=f"`mast{n}` is 12 feet", where="answer"),
}


@pytest.mark.parametrize("matter", RATIONED)
def test_more_room_asks_for_more_of_each_matter_and_the_newest_first(matter: Matter) -> None:
    state = build([RATIONED[matter](n) for n in range(40)])
    each, behind = RATIONS[matter]
    must = NO_LIMIT - left_of(NO_LIMIT, probes_of(state, 0))
    counts = []
    for many in (0, 1, 2, 5):
        found = probes_of(state, must + behind + many * each)
        turns = [one.turn for one in found if one.matter == matter]
        assert turns == [*range(40)][::-1][:many]
        counts.append(len(turns))
    assert counts == [0, 1, 2, 5]


def test_what_must_be_said_takes_the_room_of_what_else_is_asked() -> None:
    runs = [run(n, "other", f"make {n}") for n in range(200)]
    rule = InstructionGiven(turn=0, by="user", text="x" * 4_000)
    alone, beside = (parts(probes_of(build(found), 9_000)) for found in (runs, [rule, *runs]))
    assert len(alone) - len(beside) == 1_000 // RATIONS["command"].each
    assert ("Standing Instructions", "rule", rule.text, rule.text) in beside


@settings(max_examples=60)
@given(facts, rooms)
def test_what_is_critical_is_asked_in_any_room(found: list[AnyFact], room: int) -> None:
    state = build(found)
    critical = [one for one in probes_of(state, room) if one.critical]
    assert critical == [one for one in probes_of(state, 0) if one.critical]


@settings(max_examples=60)
@given(facts, rooms)
def test_every_probe_expects_words_and_names_a_turn(found: list[AnyFact], room: int) -> None:
    state = build(found)
    turns = {fact.turn for fact in found}
    for probe in probes_of(state, room):
        assert probe.expected
        assert all(part.strip() for part in probe.expected)
        assert probe.turn in turns
        assert probe.question.endswith("?")


@settings(max_examples=60)
@given(facts)
def test_only_what_no_newer_fact_moves_is_asked_for_again(found: list[AnyFact]) -> None:
    lasting = {one.matter for one in probes_of(build(found), NO_LIMIT) if one.lasting}
    assert lasting <= {"rule", "created", "modified", "deleted", "renamed", "decision"}


ELSEWHERE: defaultdict[Matter, tuple[SectionName, ...]] = defaultdict(
    tuple,
    {"rule": ("Session Intent",), "finding": ("Files Modified", "Current State")},
)
"""A rule may also stand in the request, a finding where its file or the state is told."""


@settings(max_examples=60)
@given(facts, st.data())
def test_without_its_section_nothing_is_answered(found: list[AnyFact], data: st.DataObject) -> None:
    state = build(found)
    probes = probes_of(state, NO_LIMIT)
    if not probes:
        return
    probe = data.draw(st.sampled_from(probes))
    entries = entries_of(handoff(state, NO_LIMIT, size))
    left = [one for one in entries if one.section not in (probe.section, *ELSEWHERE[probe.matter])]
    if probe.matter not in ("earlier request", "said since"):  # their words may stand anywhere
        assert not answer(probe, Shown(left)).passed
    assert answer(probe, Shown(entries)).passed


@settings(max_examples=80)
@given(facts, st.data())
def test_an_answer_with_one_word_changed_is_none(found: list[AnyFact], data: st.DataObject) -> None:
    """The question for words that are nowhere has no answer in a text that tells everything."""
    state = build(found)
    probes = probes_of(state, NO_LIMIT)
    if not probes:
        return
    probe = data.draw(st.sampled_from(probes))
    place = data.draw(st.integers(0, len(probe.expected) - 1))
    other = tuple(f"{part}qq" if n == place else part for n, part in enumerate(probe.expected))
    shown = Shown(entries_of(handoff(state, NO_LIMIT, size)))
    assert not answer(replace(probe, expected=other), shown).passed


def same_key(probes: tuple[Probe, ...]) -> list[tuple[str, ...]]:
    """What shares its matter and key with something else: an answer to one would count for both."""
    seen: dict[tuple[str, str, str], Probe] = {}
    return [
        probe.expected
        for probe in probes
        if seen.setdefault((probe.section, probe.matter, probe.key), probe).expected
        != probe.expected
    ]


def test_probes_of_different_things_have_keys_of_their_own() -> None:
    state = build(
        [
            *(change(1, path, "created", what="adds `f`") for path in ("a.py", "b.py")),
            *(Committed(turn=2, what=what, name="v1") for what in ("push", "tag")),
            *(AgentReported(turn=3, task=task, report="done") for task in ("a", "b")),
            *(Requested(turn=n, by="user", text=f"word {n}") for n in range(4)),
        ]
    )
    assert same_key(probes_of(state, NO_LIMIT)) == []
