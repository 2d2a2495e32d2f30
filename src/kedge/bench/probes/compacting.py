"""One session compacted for several windows, with what the probes find on the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kedge.facts import facts_of
from kedge.flow import flow_of
from kedge.model import Compaction, Probe, Summary, Transcript, Verdict
from kedge.steps import (
    Draft,
    Job,
    budget_for,
    plan_of,
    prepared,
    record_of,
    repaired,
    summary_of,
    verdict_of,
)
from kedge.summary import Standing
from kedge.tokens import EXACT
from kedge.viewing import said_again


class Good(NamedTuple):
    """A summary that was accepted, and all it was asked by."""

    session: str
    window: int
    text: str
    state: Summary
    standing: Standing
    probes: tuple[Probe, ...]
    beside: tuple[str, ...]
    """Words that stand verbatim beside it."""


class Proved(NamedTuple):
    """One compaction: as it was rendered first, and as it was repaired."""

    window: int
    first: Verdict
    first_tokens: int
    made: Compaction
    verdict: Verdict
    anew: Verdict
    """The repaired text asked what a text of its own room is asked: that may be more than it was
    repaired for."""
    standing: Standing
    beside: tuple[str, ...]

    def good(self, session: str) -> Good | None:
        """None where the summary may not stand for its turns."""
        state = self.made.state
        if state is None or not self.verdict.accepted or not self.verdict.answers:
            return None
        return Good(
            session=session,
            window=self.window,
            text=self.made.summary,
            state=state,
            standing=self.standing,
            probes=tuple(answer.probe for answer in self.verdict.answers),
            beside=self.beside,
        )


def proved(transcript: Transcript, windows: Sequence[int]) -> Iterator[Proved]:
    """A compaction for each window that the session does not fit, where one frees anything."""
    size = sum(turn.tokens for turn in transcript.turns)
    budgets = {window: budget_for(transcript, window) for window in windows}
    small = {window: budget for window, budget in budgets.items() if size > budget.usable}
    if not small:
        return
    transcript = prepared(transcript, EXACT)
    flow = flow_of(transcript.turns, root=transcript.session.latest("root"))
    known = tuple(facts_of(transcript))
    for window, budget in small.items():
        job = Job(transcript, budget, "", None, EXACT, masking=False, known=known)
        plan = plan_of(job, flow)
        told = summary_of(job, flow, plan)
        first = verdict_of(job, plan, told)
        draft = repaired(job, flow, Draft(plan, told, first))
        made = record_of(job, flow, draft)
        anew = verdict_of(job, draft.plan, draft.told)
        if first is None or anew is None or made.verdict is None or made.plan.nothing_to_do:
            continue
        yield Proved(
            window=window,
            first=first,
            first_tokens=EXACT.count(told.text),
            made=made,
            verdict=made.verdict,
            anew=anew,
            standing=draft.told.standing,
            beside=said_again(transcript, made.plan.repeated),
        )
