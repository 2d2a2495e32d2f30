"""The same probes asked of another system's summary and of ours, where it really compacted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kedge.bench.corpus import Session
from kedge.bench.replay.boundaries import before, cuts_of
from kedge.bench.replay.names import roots_of
from kedge.matching import holds_plain, plain
from kedge.model import Probe, Quality, Summary, Value
from kedge.probes import subject
from kedge.summarizing import summarize
from kedge.summary import handoff
from kedge.tokens import EXACT
from kedge.verifying import asked, verify

OF_OUR_FORM = ("factual", "format")
"""Criteria that are measured on entries in our sections: another text has none of them."""


class Compared(Value, frozen=True):
    """One text at one cut."""

    tokens: int
    score: float | None
    named: float | None
    """Share of the probes whose subject, such as a path, a command or a name, stands anywhere in
    the text; without those that have no subject but our own words."""
    critical_failures: int
    dimensions: dict[str, float]
    """By probes alone, without the criteria that look at the form of the text."""


class Boundary(Value, frozen=True):
    file: str
    session: int
    turn: int
    """The first one after the cut."""
    probes: int
    critical: int
    recorded: Compared
    kedge: Compared
    """In as many tokens as the other has, as it is first rendered: nothing is put back for the
    probes that are asked."""

    @property
    def key(self) -> str:
        """Of the session."""
        return f"{self.file} {self.session}"


def at_boundaries(session: Session) -> Iterator[Boundary]:
    """Every compaction that another system made in a session."""
    for cut in cuts_of(session.transcript):
        if cut.where != "boundary":
            continue
        known = before(session.transcript, cut)
        state, room = summarize(known), EXACT.count(cut.recorded)
        probes = asked(state, room)
        recorded = without_roots(cut.recorded, roots_of(known))
        yield Boundary(
            file=session.file,
            session=session.number,
            turn=cut.turn,
            probes=len(probes),
            critical=sum(probe.critical for probe in probes),
            recorded=compared(state, recorded, probes),
            kedge=compared(state, handoff(state, room, EXACT.count), probes),
        )


def compared(state: Summary, text: str, probes: Sequence[Probe]) -> Compared:
    verdict = verify(state, text, probes)
    words = plain(text.replace("\\|", "|"))  # in a table a bar is written in this way
    named = [holds_plain(words, plain(one)) for one in map(subject, probes) if one]
    return Compared(
        tokens=EXACT.count(text),
        score=verdict.score,
        named=sum(named) / len(named) if named else None,
        critical_failures=len(verdict.critical_failures),
        dimensions=by_probes_alone(verdict.quality),
    )


def without_roots(text: str, roots: Sequence[str]) -> str:
    """Paths as the facts have them: as seen from the folder of the session."""
    for root in sorted(roots, key=len, reverse=True):
        text = text.replace(f"{root}/", "")
    return text


def by_probes_alone(quality: Quality | None) -> dict[str, float]:
    """Scores by dimension, without the criteria that look at the form of a text."""
    found: dict[str, float] = {}
    for one in quality.dimensions if quality else ():
        known = [
            (criterion.weight, criterion.score)
            for criterion in one.criteria
            if criterion.score is not None and criterion.criterion not in OF_OUR_FORM
        ]
        if known:
            weights = sum(weight for weight, _ in known)
            found[one.dimension] = sum(weight * score for weight, score in known) / weights
    return found
