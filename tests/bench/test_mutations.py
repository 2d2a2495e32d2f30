"""The mutation check: summaries gone wrong in one place, and whether the probes notice."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest
from msgspec.structs import replace

from bench.probes.mutations import (
    COUNTED,
    CUT,
    DELETED,
    GROUPS,
    LEFT_OUT,
    MUTATIONS,
    Good,
    Look,
    Mutation,
    checked,
)
from kedgeline.model import Answer, Entry, Probe, Summary, Transcript, Verdict
from kedgeline.pipeline.handoff import asked, is_well_formed, summarize, verify
from kedgeline.summary import Standing, entries_of, handoff, parse, render
from kedgeline.summary.sections import SECTIONS
from kedgeline.tokens import EXACT
from tests.turns import bash, called, edit, turn

TEXT = """## Session Intent
- Now: "chart the tides of the harbour and do not draw the moon" [t9]
- Asked: "find the 12 buoys that are not on the map" [t2]

## Standing Instructions
- "Never push to main without asking me first" [t1]
- "Keep 2 blank lines" (AGENTS.md) [t0]

## Files Modified
| File | Action | What Changed |
|---|---|---|
| src/tides/moon.py | created | adds phase with 28 days [t4] |
| docs/chart.md | modified | names the 12 buoys [t6] |

## Files Read (Not Modified)
- src/tides/harbour.py: lines 1-40 [t3]

## Decisions Made
- Use local time (sailors read it so). Not taken: universal time [t5]

## Current State
- test: `pytest -q --maxfail=1 tests`: FAILS, 3 tests failed, 40 passed [t8]
- build: `make chart`: passes [t8]

## Blockers / Open Questions
- The agent asked: should the chart be printed before noon? [t9]

## Error Context
- OPEN: ValueError: depth below 0 at src/tides/moon.py:12 [t8]
- Resolved: KeyError: buoy: the key was renamed [t4, t6]

## Next Steps
1. Mark the shallows (in progress) [t7]
2. Print the chart [t7]

## Commands
- `pytest -q --maxfail=1 tests` [t8]

## Index
- phase_of DAYS_28 [t4]
- BuoyTable [t6]

## Story
- Agent: The 12 buoys are not where the old map has them [t6]
"""
EVERY = (*MUTATIONS, CUT, LEFT_OUT)
DELETIONS = (DELETED, COUNTED)


def places(mutation: Mutation) -> list[int]:
    return [n for n, item in enumerate(parse(TEXT)[0]) if item.section in mutation.sections]


def results(mutation: Mutation) -> list[tuple[int, str]]:
    """What a mutation makes of each entry it may stand in, with several chances each."""
    items, left_out = parse(TEXT)
    made = (
        (place, mutation.mutate(items, place, Random(seed)))
        for place in places(mutation)
        for seed in range(8)
    )
    return [(place, render(one, left_out)) for place, one in made if one is not None]


def told(text: str) -> list[Entry]:
    """Without turns: names on one line of the index share theirs."""
    return [replace(entry, turns=()) for entry in entries_of(text)]


@pytest.mark.parametrize("mutation", EVERY, ids=lambda one: one.name)
def test_a_mutation_changes_one_entry_and_leaves_the_text_whole(mutation: Mutation) -> None:
    found = results(mutation)
    before = told(TEXT)
    assert found, "it applies nowhere"
    touched = 2 if mutation.name == "last cells exchanged" else 1
    for place, text in found:
        after = told(text)
        assert is_well_formed(text)
        gone = [entry for entry in before if entry not in after]
        assert before[place] in gone
        assert len(gone) == touched
        assert len(after) == len(before) - (mutation.name in DELETIONS)


LONG = "We sail from harbour to harbour and write down what the water does. " * 5
"""Behind it nothing is told of a request that was worked on before."""


def session() -> Transcript:
    return Transcript(
        format="plain",
        turns=(
            turn(0, user=f"{LONG} Never use global state in this project.", says="I will not."),
            turn(
                1,
                called("Write", "ok", file_path="src/tides.py", content="def tide():\n    pass\n"),
                user="write the tide tables",
                exchange=1,
            ),
            turn(2, edit("src/moon.py"), exchange=1),
            turn(3, called("Read", "1\tx = 1", file_path="src/harbour.py"), exchange=1),
            turn(4, bash("pytest -q tests", "3 failed, 40 passed", exit_code=1), exchange=1),
            turn(5, called("Read", "1\ty = 1", file_path="src/buoys.py"), exchange=1),
        ),
    )


def good(*, standing: Standing = "here", beside: tuple[str, ...] = ()) -> Good:
    state = summarize(session())
    text = handoff(state, 4_000, EXACT.count, standing=standing)
    probes = asked(state, 4_000, standing=standing)
    assert verify(state, text, probes, standing=standing, beside=beside).accepted
    return Good("one 0", 8_000, text, state, standing, probes, beside)


def blind(
    summary: Summary,
    text: str,
    probes: Iterable[Probe],
    *,
    standing: Standing = "here",
    beside: Iterable[str] = (),
) -> Verdict:
    """A matcher that finds everything everywhere."""
    return Verdict(answers=tuple(Answer(probe=p, found=p.expected, passed=True) for p in probes))


def without_strays(
    summary: Summary,
    text: str,
    probes: Iterable[Probe],
    *,
    standing: Standing = "here",
    beside: Iterable[str] = (),
) -> Verdict:
    found = verify(summary, text, probes, standing=standing, beside=beside)
    return Verdict(answers=found.answers)


def test_what_is_lost_or_wrong_is_noticed() -> None:
    found = checked([good()], 300, seed=1)
    every = found.kinds[-1]
    assert (every.kind, every.cases + every.elsewhere, found.summaries) == ("all", 300, 1)
    assert every.noticed is not None
    assert every.noticed.mean > 0.8
    asked = [case for case in found.cases if case.asked and not case.elsewhere]
    assert all(case.noticed for case in asked)
    assert every.asked == len(asked)
    assert every.asked_by_probes is not None
    assert every.asked_by_probes.mean == sum(case.by_probes for case in asked) / len(asked)
    assert every.critical > 50
    assert every.critical_noticed == every.critical
    assert every.critical_by_probes == sum(case.by_probes for case in asked if case.critical)
    assert 0 < every.critical_by_probes < every.critical
    assert sum(one.cases for one in found.kinds[: len(SECTIONS)]) == every.cases


def test_what_is_deleted_and_counted_only_probes_miss() -> None:
    found = checked([good()], 300, seed=1)
    sorts = {one.kind: one for one in found.kinds[-len(GROUPS) :]}
    assert list(sorts) == list(GROUPS)
    assert sum(sorts[kind].cases for kind in GROUPS[:-1]) == sorts["all"].cases
    torn, counted = sorts[DELETED], sorts[COUNTED]
    assert counted.by_probes is not None
    assert counted.noticed == counted.by_probes
    assert torn.noticed is not None
    assert torn.noticed.mean == 1, "its section does not add up"
    assert not any(case.by_strays for case in found.cases if case.mutation == COUNTED)
    assert counted.critical_by_probes == counted.critical > 0


@pytest.mark.parametrize(("look", "least", "most"), [(blind, 0, 0), (without_strays, 0.4, 0.99)])
def test_a_matcher_that_sees_less_notices_less(look: Look, least: float, most: float) -> None:
    found = checked([good()], 200, seed=1, look=look)
    noticed = found.kinds[-1].noticed
    assert noticed is not None
    assert least <= noticed.mean <= most
    assert all(not case.by_strays for case in found.cases)
