"""One compaction, from the transcript to its record."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, TypedDict, Unpack

from kedgeline.errors import UserError
from kedgeline.model import Ask, Budget, Compaction, Step, Transcript
from kedgeline.pipeline.draft import Draft, Writer, record_of, repaired, summary_of, verdict_of
from kedgeline.pipeline.job import ConversationFlow, Job, Style, alone, flow_of, plan_of, prepared
from kedgeline.pipeline.telemetry import compaction_span
from kedgeline.planning.masking import FILE
from kedgeline.redact import REDACTOR, Redactor
from kedgeline.tokens import BY_MODEL, ContextTokens, Counter

if TYPE_CHECKING:
    from kedgeline.models import AsyncModel, Model, Stop, Terms


class Options(TypedDict, total=False):
    """What `compacting` takes by name."""

    provider: str
    previous: Compaction | None
    counter: Counter
    masking: bool
    flow: ConversationFlow | None
    style: Style
    redactor: Redactor | None
    at: datetime | None
    name: str
    context: ContextTokens | None


def compact(
    transcript: Transcript,
    budget: Budget,
    *,
    model: Model | None = None,
    terms: Terms | None = None,
    stop: Stop | None = None,
    **options: Unpack[Options],
) -> Compaction:
    """Run `compacting`, whose options these are. A `model` writes prose on top of the facts, under
    `terms`; `stop` cancels the request under way. Without a model nothing is asked."""
    if model is None:
        return alone(compacting(transcript, budget, **options))
    from kedgeline.models import drive
    from kedgeline.pipeline.words import writer_for

    writer = writer_for(model, terms, options.get("redactor", REDACTOR))
    return drive(compacting(transcript, budget, writer=writer, **options), model, stop=stop)


async def compact_async(
    transcript: Transcript,
    budget: Budget,
    *,
    model: Model | AsyncModel,
    terms: Terms | None = None,
    **options: Unpack[Options],
) -> Compaction:
    """The same, awaited. A cancelled one leaves nothing behind."""
    from kedgeline.models import awaited, drive_async
    from kedgeline.pipeline.words import writer_for

    writer = writer_for(model, terms, options.get("redactor", REDACTOR))
    step = compacting(transcript, budget, writer=writer, **options)
    return await drive_async(step, awaited(model))


def requests_for(
    transcript: Transcript,
    budget: Budget,
    *,
    terms: Terms | None = None,
    **options: Unpack[Options],
) -> list[Ask]:
    """What a model would be sent for this compaction; nothing is sent."""
    from kedgeline.pipeline.words import rehearsal_for

    writer = rehearsal_for(terms, options.get("redactor", REDACTOR))
    alone(compacting(transcript, budget, writer=writer, **options))
    return writer.asks


def compacting(
    transcript: Transcript,
    budget: Budget,
    *,
    provider: str = "",
    previous: Compaction | None = None,
    counter: Counter = BY_MODEL,
    masking: bool = False,
    flow: ConversationFlow | None = None,
    style: Style = "anchored",
    redactor: Redactor | None = REDACTOR,
    at: datetime | None = None,
    name: str = FILE,
    context: ContextTokens | None = None,
    writer: Writer | None = None,
) -> Step[Compaction]:
    """Find what matters, plan, fold the rest into the summary, check with probes that it says what
    it must, measure the rebuilt context.

    `provider` is where the context will be sent: its rules say where it may be cut. `previous` is
    the compaction before this one: what it folded stays folded, and its summary is merged.
    `masking` masks old outputs even where the budget is kept. `flow` is the transcript's, where it
    is known. `style` is how the summary is told, `at` the time that the record names. Secrets that
    the `redactor` finds do not get into the record. `name` is the session's, for what says where an
    original is. `context` is what the next request would send, where more is known of it than the
    turns say. A `writer` asks a model for prose; without one nothing is asked. The transcript
    stays as it is; `view` shows it compacted.
    """
    if writer is not None and style != "anchored":
        raise UserError(f"the style {style} cannot hold a model's words; use anchored")
    known_as = transcript.session.latest("id") if name == FILE else name
    with compaction_span(known_as, provider=provider) as told:
        ready = prepared(transcript, counter, redactor)
        job = Job(ready, budget, provider, previous, counter, masking, style, at, name, context)
        root = ready.session.latest("root")
        flow = flow or flow_of(ready.turns, root=root, outcomes=job.outcomes)
        plan = plan_of(job, flow)
        summary = summary_of(job, flow, plan)
        verdict = verdict_of(job, plan, summary)
        draft = repaired(job, flow, Draft(plan, summary, verdict))
        if writer is not None:
            draft = yield from writer.words(job, draft)
        return told(record_of(job, flow, draft))
