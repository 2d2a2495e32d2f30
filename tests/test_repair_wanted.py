"""What repair puts first: the items that answer probes, and no more than the room holds."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from kedgeline.model import AnyFact, Probe
from kedgeline.pipeline.handoff import wanted
from kedgeline.probes import Shown, answer, probes_of
from kedgeline.summary import Wanted, build, entries_of, fit, items_of, render
from kedgeline.summary.state import ALWAYS, Item
from tests.probes.facts import NO_LIMIT, facts, size


def answering(items: Iterable[Item], probes: list[Probe]) -> set[Probe]:
    shown = Shown(entries_of(render(items)))
    return {probe for probe in probes if answer(probe, shown).passed}


def is_asked(place: int, asked: Wanted) -> bool:
    return (place, True) in asked or (place, False) in asked


@settings(max_examples=40)
@given(facts, st.integers(0, 900), st.integers(0, 300))
def test_what_is_wanted_comes_first_and_keeps_the_room(
    found: list[AnyFact], room: int, besides: int
) -> None:
    state = build(found)
    items = items_of(state)
    probes = list(probes_of(state, 1_000))
    asked = wanted(items, probes)
    least = [item.raised(0) for item in items if item.tier == ALWAYS]
    first = fit(items, room, size, asked)
    assert size(first.text) <= room or list(first.items) == least
    assert [item for item in least if plain(item) not in bare(first.items)] == []
    there = bare(first.items)
    others = [n for n, item in enumerate(items) if item.tier != ALWAYS and not is_asked(n, asked)]
    if any(plain(items[n]) in there for n in others):
        assert [n for n, _ in asked if plain(items[n]) not in there] == []
    usual = fit(items, room, size)
    more = fit(items, room, size, asked, besides=besides)
    if besides:
        assert bare(usual.items) <= bare(more.items)
        assert answering(usual.items, probes) <= answering(more.items, probes)
    within = size(more.text) <= room + besides
    assert within or more.items == usual.items or list(more.items) == least


def bare(items: Iterable[Item]) -> set[tuple[str, str]]:
    return set(map(plain, items))


def plain(item: Item) -> tuple[str, str]:
    """Whatever rendition it has."""
    return (item.section, item.text if not item.more or item.detail else item.raised(0).text)


@settings(max_examples=40)
@given(facts)
def test_all_that_is_wanted_answers_all_that_can_be_answered(found: list[AnyFact]) -> None:
    state = build(found)
    items = items_of(state)
    probes = list(probes_of(state, NO_LIMIT))
    asked = wanted(items, probes)
    told = [
        item if (place, True) in asked else item._replace(detail="")
        for place, item in enumerate(items)
        if is_asked(place, asked)
    ]
    assert answering(told, probes) == answering(items, probes)
    critical = [probe for probe in probes if probe.critical]
    urgent = [items[place] for (place, _), urgency in asked.items() if urgency == 0]
    assert answering(urgent, critical) == set(critical)
