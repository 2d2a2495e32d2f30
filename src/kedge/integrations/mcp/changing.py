"""The tools that write: `pin` and `compact`."""

from __future__ import annotations

from typing import Annotated, Any

import anyio
from mcp.server.mcpserver import Context
from mcp_types import InputRequiredResult
from pydantic import Field

from kedge.foreign import foreign
from kedge.integrations.mcp.bounding import short, shortened
from kedge.integrations.mcp.kept import Chosen, Kept
from kedge.integrations.mcp.looking import SessionName
from kedge.integrations.mcp.results import Compacted, Pinned, about, sealed
from kedge.integrations.mcp.sampling import TOO_LATE, Asked, Jobs, Work, as_answer, lacking
from kedge.integrations.mcp.telling import rounded
from kedge.integrations.mcp.watched import Check, Waited
from kedge.integrations.mcp.words import pinnable
from kedge.living.values import Pin
from kedge.model import Compaction
from kedge.models import Model, Terms
from kedge.settings import Settings

PINS_SHOWN = 20
"""Pins that a result lists: whoever has more looks for them on the command line."""
LONGEST_PIN = 4_000
"""Characters: what is pinned stands in every view to come."""
WARNINGS_SHOWN = 10
"""Warnings of one compaction that are told."""
NOTHING_NEW = "nothing was newly folded, so that there was nothing to write about"
NOT_WANTED = "the call said so (sampling=false)"

Window = Annotated[
    int | None,
    Field(description="The model's context window in tokens; else what settings say.", ge=1_000),
]


class Changing:
    def __init__(self, kept: Kept, jobs: Jobs) -> None:
        self._kept, self._jobs = kept, jobs

    def pin(
        self,
        what: Annotated[
            str,
            Field(
                description="A turn of the user's (t12), or whole sentences that they wrote.",
                max_length=LONGEST_PIN,
            ),
        ],
        session: SessionName = "",
    ) -> Pinned:
        """Where the user asks for it: keep a turn or words of theirs, word for word, through every
        compaction to come. Only what the user wrote is taken; only the user takes it back, with
        `kedge unpin`."""
        chosen = self._kept.under_way(session)
        kept = chosen.session
        pin = kept.pin(pinnable(self._kept.journal(kept.name), kept.name, what))
        pins = [self._told(one) for one in kept.pins()]
        result = Pinned(
            **about(chosen),
            done=f"pinned: {self._told(pin)}",
            pins=shortened(pins, self._kept.count, most=PINS_SHOWN),
        )
        return sealed(result, self._kept)

    async def compact(
        self,
        context: Context[Any, Any],
        window: Window = None,
        sampling: Annotated[
            bool, Field(description="Let the client's model write prose, where it is offered.")
        ] = True,
        session: SessionName = "",
    ) -> Compacted | InputRequiredResult:
        """Compact a session in the store: old turns are folded into the summary. Nothing is lost:
        `recall` finds all of it, and `kedge undo` takes it back."""
        chosen = await anyio.to_thread.run_sync(self._kept.under_way, session)

        def work(model: Model | None, check: Check) -> Compaction:
            terms = terms_of(self._kept.settings)
            watched = self._kept.watched(chosen.session.name, check)
            return watched.compact(model=model, terms=terms, window=window)

        made, unasked = await self._made(context, work, sampling=sampling)
        if isinstance(made, Asked):
            return as_answer(made)
        return sealed(_report(made, chosen, unasked, self._kept), self._kept)

    async def _made(
        self,
        context: Context[Any, Any],
        work: Work,
        *,
        sampling: bool,
    ) -> tuple[Compaction | Asked, str]:
        """What was done or is asked, and why nobody was asked."""
        unasked, found = "", None
        if context.request_state is not None:
            found = await self._jobs.resumed(context)
        elif not (unasked := lacking(context) if sampling else NOT_WANTED):
            found = await self._jobs.compacted(work, context)
        if found is not None:
            return found, ""
        return await _alone(work), unasked or TOO_LATE

    def _told(self, pin: Pin) -> str:
        """A pin in a line, cleaned before it is cut."""
        words = f"t{pin.turn}" if pin.turn >= 0 else f'"{foreign(self._kept.clean(pin.text))}"'
        return f"#{pin.number} {short(words, self._kept.count)}"


async def _alone(work: Work) -> Compaction:
    """Without a model. The thread of a call that is given up goes on, and writes nothing then."""
    waited = Waited()
    try:
        return await anyio.to_thread.run_sync(work, None, waited.check, abandon_on_cancel=True)
    finally:
        waited.end()


def terms_of(settings: Settings) -> Terms:
    """Time and tokens; what it costs is between the client and its model."""
    return Terms(
        window=settings.model_window,
        call_seconds=settings.model_call_seconds,
        seconds=settings.model_seconds,
        tokens=settings.model_tokens,
    )


def _report(made: Compaction, chosen: Chosen, unasked: str, kept: Kept) -> Compacted:
    wording, verdict = made.wording, made.verdict
    return Compacted(
        **about(chosen),
        done=short(foreign(_done(made)), kept.count),
        folded_turns=sum(span.last - span.first + 1 for span in made.plan.folded),
        kept_turns=sum(span.last - span.first + 1 for span in made.plan.kept),
        tokens_before=made.tokens_before,
        tokens_after=made.tokens_after,
        summary_tokens=made.summary_tokens,
        score=rounded(verdict.score) if verdict else None,
        accepted=verdict.accepted if verdict else None,
        model=wording.model if wording else "",
        words=wording.outcome if wording else "not asked for",
        why=short(foreign(wording.why if wording else unasked or NOTHING_NEW), kept.count),
        warnings=shortened([*map(foreign, made.warnings)], kept.count, most=WARNINGS_SHOWN),
    )


def _done(made: Compaction) -> str:
    if made.plan.nothing_to_do:
        return f"nothing was folded: {made.plan.reason}"
    return (
        f"{made.tokens_before:,} → {made.tokens_after:,} tokens ({made.context_reduction:.0%} "
        f"freed), cut before t{made.first + made.plan.cut}: {made.plan.reason}"
    )
