"""A compaction of a living session, and what its model's requests are counted towards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import TypedDict

from msgspec.structs import replace

from kedgeline.errors import KedgelineError, StoreFailed
from kedgeline.model import Budget, Compaction, ModelCall, Step, Turn
from kedgeline.models import TERMS, AsyncModel, Meter, Model, Terms, name_of
from kedgeline.pipeline.compact import compacting
from kedgeline.pipeline.draft import NOTHING_GAINED, Writer
from kedgeline.pipeline.job import Style, budget_for
from kedgeline.pipeline.telemetry import compaction_span
from kedgeline.pipeline.view import lead
from kedgeline.pipeline.words import ModelWriter
from kedgeline.planning import History, Policy
from kedgeline.planning.policy import within
from kedgeline.session.appending import Hold
from kedgeline.session.deciding import (
    Region,
    context_tokens,
    fitted,
    for_compaction,
    grown,
    in_force,
    masked_entries,
    pinned_texts,
    turn_written,
)
from kedgeline.session.journal import (
    Attempt,
    Journal,
    Keeping,
    Prepared,
    Recorded,
    add_value,
    written,
)
from kedgeline.store import Kind, StoreReading
from kedgeline.tokens import ContextTokens, tokens_of


def writer_of(
    model: Model | AsyncModel,
    terms: Terms | None,
    journal: Journal,
    hold: Hold,
    keeping: Keeping,
) -> ModelWriter:
    """What earlier requests of the session used counts towards its budget."""

    def written_down(call: ModelCall) -> None:
        with hold() as held:
            add_value(held.writing, "call", call, keeping)

    terms = terms or TERMS
    meter = Meter(terms, count=keeping.counter.count, earlier=journal.calls(), on_call=written_down)
    return ModelWriter(name_of(model), meter, keeping.clean, terms)


# Every turn of a session that was paid for, those that were taken back included.

TURNS: tuple[Kind, ...] = ("turn", "rewound")


def paid_turns(store: StoreReading, session: str) -> Iterator[Turn]:
    """In the order of writing. A turn that was written again with more in it comes once, as it was
    last; one in whose place another came after a rewind is given too; one that
    the user went back to may come twice."""
    journal = Journal(store, session)
    last: dict[str, Turn] = {}
    for entry in store.entries(session, kinds=TURNS, light=True):
        turn = replace(turn_written(journal, entry.index, entry.number), agent=entry.thread)
        before = last.get(entry.thread)
        if before is not None and not (before.index == turn.index and grown(before, turn)):
            yield before
        last[entry.thread] = turn
    yield from last.values()


# A compaction of a living session: written down only if what it was made from still stands.

TRIES = 5
"""How often a compaction begins again because what it folded was taken back meanwhile."""

Make = Callable[[Region, Budget], Step[Compaction]]
Room = Callable[[Journal, ContextTokens], Budget]


Instead = Callable[[Prepared], object]
"""Is given what would be written."""


def compacted(
    hold: Hold,
    read: Callable[[], Journal],
    keeping: Keeping,
    make: Make,
    room: Room,
    *,
    provider: str = "",
    instead: Instead | None = None,
) -> Step[Compaction]:
    """Nobody waits while it is made. A compaction that fails or frees nothing is written down as an
    attempt: that decides when the next one comes. With `instead` nothing is written."""
    for _ in range(TRIES):
        journal = read()
        try:
            made, ready = yield from prepared(journal, keeping, make, room, provider)
        except KedgelineError as error:
            if instead is None:
                attempt = _noted(journal, keeping, str(error), journal.history().failed())
                with hold() as held:
                    add_value(held.writing, "attempt", attempt, keeping)
            raise
        if instead is not None:
            instead(ready)
            return made
        if written(hold, journal, keeping, ready):
            return made
    raise StoreFailed(
        "session",
        f"turns were rewound {TRIES} times while they were compacted",
        next_step="nothing was changed; try again when the session is idle",
    )


def prepared(
    journal: Journal, keeping: Keeping, make: Make, room: Room, provider: str
) -> Step[tuple[Compaction, Prepared]]:
    """A compaction, and what is to be written of it."""
    head, mark, standing = journal.head(), journal.compaction_mark(), in_force(journal)
    done = standing.compaction if standing else None
    context = context_tokens(journal, keeping)
    budget = room(journal, context)
    region = for_compaction(journal, done, window=budget.usable, clean=keeping.cleaned)
    made = _with_ahead((yield from make(region._replace(context=context), budget)), region)
    idle = made.count == (done.count if done else 0)
    history = History(
        freed=max(0, made.tokens_before - made.tokens_after),
        usable=budget.usable,
        held_up=(made.plan.reason or NOTHING_GAINED) if idle else made.plan.held_up,
    )
    record = attempt = None
    if idle:
        attempt = _noted(journal, keeping, made.plan.reason, history)
    else:
        masked = masked_entries(journal, made, head.number)
        record = _recorded(journal, keeping, made, region, history, provider, masked)
    return made, Prepared(record, attempt, mark.number if mark else 0, head.number)


def room(
    journal: Journal,
    context: ContextTokens,
    *,
    keeping: Keeping,
    window: int,
    policy: Policy,
    target: float | None = None,
    overhead: int = 0,
    max_output: int | None = None,
) -> Budget:
    """The room of a window, without what is pinned: that stays whatever is folded. `overhead` is
    what somebody says that the session does not show; else it is what providers reported."""
    hidden = context.within(window).hidden
    budget = budget_for(
        journal.about(),
        window,
        counter=keeping.counter,
        overhead=overhead or hidden,
        max_output=max_output,
        policy=policy,
    )
    every = pinned_texts(journal, journal.count())
    pinned = sum(map(keeping.counter.count, every))
    left = budget.target if target is None else within(target, budget.usable)
    return replace(budget, usable=max(0, budget.usable - pinned), target=max(0, left - pinned))


def _recorded(
    journal: Journal,
    keeping: Keeping,
    made: Compaction,
    region: Region,
    history: History,
    provider: str,
    masked: tuple[tuple[int, int], ...],
) -> Recorded:
    last = journal.place(made.plan.cut - 1) if made.plan.cut else None
    return Recorded(
        compaction=made,
        history=history,
        turns=journal.count(),
        tokens=journal.tokens(),
        leads=sum(
            turn.tokens or tokens_of(turn, keeping.counter).total
            for turn in lead(region.transcript, made)
        ),
        folded=last.number if last else 0,
        chain=journal.chain(last.number) if last else "",
        provider=provider,
        masked=masked,
    )


def _noted(journal: Journal, keeping: Keeping, why: str, history: History) -> Attempt:
    """That nothing was changed."""
    return Attempt(
        why=keeping.clean(why), history=history, turns=journal.count(), tokens=journal.tokens()
    )


def _with_ahead(made: Compaction, region: Region) -> Compaction:
    """The record with what was folded while it was read."""
    span = region.ahead
    if span is None:
        return made
    if made.count == (region.previous.count if region.previous else 0):
        return made  # nothing came of it, so what was folded ahead is still there
    plan = made.plan
    return replace(
        made,
        plan=replace(
            plan,
            folded=(span, *plan.folded),
            tokens_before=plan.tokens_before + span.tokens,
        ),
        span_tokens=made.span_tokens + span.tokens,
    )


# One compaction of a living session, as a step.


class CompactOptions(TypedDict, total=False):
    """What a compaction of a session takes by name."""

    window: int | None
    """The model's context window in tokens, where it is not the session's."""
    target: float
    """Share of the usable window that is left at the most, where it is not the session's."""
    provider: str
    """Where the context will be sent: its rules say where it may be cut."""
    style: Style
    masking: bool
    """Mask old outputs even where the budget is kept."""
    overhead: int
    """Tokens of system prompt and tools that the session does not show."""
    max_output: int | None
    """Longest answer of the model, in tokens."""


def compacting_session(
    name: str,
    hold: Hold,
    read: Callable[[], Journal],
    keeping: Keeping,
    policy: Policy,
    usual: int,
    writer: Writer | None,
    *,
    window: int | None = None,
    target: float | None = None,
    trigger: str = "",
    instead: Instead | None = None,
    provider: str = "",
    style: Style = "anchored",
    masking: bool = False,
    overhead: int = 0,
    max_output: int | None = None,
) -> Step[Compaction]:
    """What is there is compacted, and the record written down. `usual` is the session's own
    window, `trigger` what made it begin; with `instead` nothing is written."""

    keeping, size = fitted(read(), keeping), usual if window is None else window

    def make(region: Region, budget: Budget) -> Step[Compaction]:
        return compacting(
            region.transcript,
            budget,
            provider=provider,
            previous=region.previous,
            counter=keeping.counter,
            masking=masking,
            style=style,
            redactor=None,  # the region is clean
            at=datetime.fromtimestamp(keeping.clock() / 1_000_000, UTC),
            name=name,
            context=region.context.within(size) if region.context else None,
            writer=writer,
        )

    budget = partial(
        room,
        keeping=keeping,
        window=size,
        target=target,
        overhead=overhead,
        max_output=max_output,
        policy=policy,
    )

    if instead is not None:
        return (
            yield from compacted(
                hold, read, keeping, make, budget, provider=provider, instead=instead
            )
        )
    with compaction_span(name, provider=provider, trigger=trigger) as told:
        made = yield from compacted(hold, read, keeping, make, budget, provider=provider)
        return told(made)
