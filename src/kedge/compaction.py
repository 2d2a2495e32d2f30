"""One compaction, from the transcript to its record."""

from __future__ import annotations

from kedge.flow import flow_of
from kedge.model import Budget, Compaction, ConversationFlow, Transcript
from kedge.steps import Job, Style, plan_of, prepared, record_of, summary_of
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
) -> Compaction:
    """Find what matters, plan, fold the rest into the summary, measure the rebuilt context.

    `provider` is where the context will be sent: its rules say where it may be cut. `previous` is
    the compaction before this one: what it folded stays folded, and its summary is merged.
    `masking` masks old outputs even where the budget is kept. `flow` is the transcript's, where it
    is known. `style` is how the summary is told. The transcript stays as it is; `view` shows it
    compacted.
    """
    transcript = prepared(transcript, counter)
    job = Job(transcript, budget, provider, previous, counter, masking, style)
    flow = flow or flow_of(transcript.turns, root=transcript.session.latest("root"))
    plan = plan_of(job, flow)
    summary = summary_of(job, flow, plan)
    return record_of(job, flow, plan, summary)
