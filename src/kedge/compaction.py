"""One compaction, from the transcript to its record."""

from __future__ import annotations

from datetime import datetime

from kedge.flow import flow_of
from kedge.model import Budget, Compaction, ConversationFlow, Transcript
from kedge.planning.notices import FILE
from kedge.redaction import REDACTOR, Redactor
from kedge.steps import (
    Draft,
    Job,
    Style,
    plan_of,
    prepared,
    record_of,
    repaired,
    summary_of,
    verdict_of,
)
from kedge.telemetry import Compacting
from kedge.tokens import EXACT, Counter


def compact(
    transcript: Transcript,
    budget: Budget,
    *,
    provider: str = "",
    previous: Compaction | None = None,
    counter: Counter = EXACT,
    masking: bool = False,
    flow: ConversationFlow | None = None,
    style: Style = "anchored",
    redactor: Redactor | None = REDACTOR,
    at: datetime | None = None,
    name: str = FILE,
) -> Compaction:
    """Find what matters, plan, fold the rest into the summary, prove with probes that it says what
    it must, measure the rebuilt context.

    `provider` is where the context will be sent: its rules say where it may be cut. `previous` is
    the compaction before this one: what it folded stays folded, and its summary is merged.
    `masking` masks old outputs even where the budget is kept. `flow` is the transcript's, where it
    is known. `style` is how the summary is told, `at` the time that the record names. Secrets that
    the `redactor` finds do not get into the record. `name` is the session's, for what says where an
    original is. The transcript stays as it is; `view` shows it compacted.
    """
    known_as = transcript.session.latest("id") if name == FILE else name
    with Compacting(known_as, provider=provider) as watch:
        transcript = prepared(transcript, counter)
        transcript = transcript if redactor is None else redactor.transcript(transcript)
        job = Job(transcript, budget, provider, previous, counter, masking, style, at, name=name)
        root = transcript.session.latest("root")
        flow = flow or flow_of(transcript.turns, root=root, outcomes=job.outcomes)
        plan = plan_of(job, flow)
        summary = summary_of(job, flow, plan)
        verdict = verdict_of(job, plan, summary)
        draft = repaired(job, flow, Draft(plan, summary, verdict))
        return watch.made(record_of(job, flow, draft))
