"""The mutation check: do the probes notice when one entry of a good summary is lost or wrong?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Protocol

from kedge.bench.intervals import Mean, Resampling
from kedge.bench.probes.compacting import Good
from kedge.bench.probes.elsewhere import said_elsewhere
from kedge.bench.probes.mutations import COUNTED, DELETED, Mutated, mutated
from kedge.model import Probe, SectionName, Summary, Value, Verdict
from kedge.probes import Shown, answer
from kedge.summary import Standing
from kedge.summary.items import SECTIONS
from kedge.verifying import verify

TRIES = 20
"""Cases drawn for one that can be used: a text may say nothing."""

MADE_WRONG = "made wrong"
ALL = "all"
GROUPS = (DELETED, COUNTED, MADE_WRONG, ALL)
"""Sorts of mutations, and all of them."""


class Look(Protocol):
    """Asks a text what the facts behind it tell."""

    def __call__(
        self,
        summary: Summary,
        text: str,
        probes: Iterable[Probe],
        *,
        standing: Standing = ...,
        beside: Iterable[str] = ...,
    ) -> Verdict: ...


class Case(Value, frozen=True):
    """One mutation of one good summary."""

    session: str
    window: int
    section: SectionName
    mutation: str
    entry: str
    """As it stood there."""
    asked: bool
    """Whether it answers a probe of its section."""
    critical: bool
    """Whether it answers a critical one."""
    elsewhere: bool
    """The agent sees it still: nothing is lost."""
    by_probes: bool
    """A probe fails that passed before."""
    by_strays: bool
    """A line stands there that no fact holds, or a section does not add up, and did not before."""

    @property
    def noticed(self) -> bool:
        return self.by_probes or self.by_strays


class Noticed(Value, frozen=True):
    """Cases of one kind of entry, or of one sort of mutation. Those of what is said elsewhere as
    well are counted apart."""

    kind: str
    cases: int
    by_probes: Mean | None
    """Share of all cases in which a probe fails."""
    noticed: Mean | None
    """By probes, by lines that no fact holds or by sections that do not add up."""
    asked: int
    """Cases in which the entry answers a probe: what else it says only a longer summary is
    asked."""
    asked_by_probes: Mean | None
    """Share of these in which a probe fails."""
    critical: int
    """Cases in which the entry answers a critical probe."""
    critical_by_probes: int
    critical_noticed: int
    elsewhere: int
    elsewhere_noticed: int


class Checked(Value, frozen=True):
    seed: int
    summaries: int
    """Good ones that were drawn from."""
    kinds: tuple[Noticed, ...]
    mutations: tuple[Noticed, ...]
    cases: tuple[Case, ...]


def checked(goods: Sequence[Good], count: int, *, seed: int, look: Look = verify) -> Checked:
    """So many cases, drawn by chance; the same for the same summaries and seed."""
    cases = tuple(_cases(goods, count, seed, look))
    drawn = Resampling((case.session for case in cases), seed=seed)
    groups: list[tuple[str, Callable[[Case], bool]]] = [
        *((name, lambda case, name=name: case.section == name) for name in SECTIONS),
        *((name, lambda case, name=name: _is_of(case, name)) for name in GROUPS),
    ]
    ways = sorted({case.mutation for case in cases})
    return Checked(
        seed=seed,
        summaries=len(goods),
        kinds=tuple(_noticed(name, filter(of, cases), drawn) for name, of in groups),
        mutations=tuple(
            _noticed(way, (case for case in cases if case.mutation == way), drawn) for way in ways
        ),
        cases=cases,
    )


def _cases(goods: Sequence[Good], count: int, seed: int, look: Look) -> Iterator[Case]:
    chance = Random(seed)
    whole: dict[int, Verdict] = {}
    tries = count * TRIES if goods else 0
    while count and tries:
        tries -= 1
        place = chance.randrange(len(goods))
        made = mutated(goods[place].text, chance)
        if made is None:
            continue
        if place not in whole:
            whole[place] = _look(goods[place], goods[place].text, look)
        count -= 1
        yield _case(goods[place], made, whole[place], _look(goods[place], made.text, look))


def _look(good: Good, text: str, look: Look) -> Verdict:
    return look(good.state, text, good.probes, standing=good.standing, beside=good.beside)


def _case(good: Good, made: Mutated, before: Verdict, after: Verdict) -> Case:
    failed = {answer.probe for answer in before.failed}
    alone = Shown((made.entry,))
    own = (probe for probe in good.probes if probe.section == made.entry.section)
    answered = [probe for probe in own if _answers(probe, alone)]
    return Case(
        session=good.session,
        window=good.window,
        section=made.entry.section,
        mutation=made.mutation,
        entry=made.entry.text,
        asked=bool(answered),
        critical=any(probe.critical for probe in answered),
        elsewhere=said_elsewhere(made.entry, good),
        by_probes=any(answer.probe not in failed for answer in after.failed),
        by_strays=not set(after.strays) <= set(before.strays),
    )


def _answers(probe: Probe, alone: Shown) -> bool:
    """Whether an entry alone is an answer; to a probe for several names, each of them is a part."""
    given = answer(probe, alone)
    return given.passed or (probe.matter == "name" and bool(given.found))


def _is_of(case: Case, group: str) -> bool:
    sort = case.mutation if case.mutation in (DELETED, COUNTED) else MADE_WRONG
    return group in (sort, ALL)


def _noticed(kind: str, cases: Iterable[Case], drawn: Resampling) -> Noticed:
    every = list(cases)
    lost = [case for case in every if not case.elsewhere]
    apart = [case for case in every if case.elsewhere]
    asked = [case for case in lost if case.asked]
    critical = [case for case in lost if case.critical]
    return Noticed(
        kind=kind,
        cases=len(lost),
        by_probes=drawn.mean((case.session, float(case.by_probes), 1) for case in lost),
        noticed=drawn.mean((case.session, float(case.noticed), 1) for case in lost),
        asked=len(asked),
        asked_by_probes=drawn.mean((case.session, float(case.by_probes), 1) for case in asked),
        critical=len(critical),
        critical_by_probes=sum(case.by_probes for case in critical),
        critical_noticed=sum(case.noticed for case in critical),
        elsewhere=len(apart),
        elsewhere_noticed=sum(case.noticed for case in apart),
    )
