"""A compaction of a living session, and what its model's requests are counted towards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
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

Instead = Callable[[Prepared], object]
"""Is given what would be written."""


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
    """Tokens of system prompt and tools that the session does not show; else it is what providers
    reported."""


class SessionCompaction:
    """One compaction of one session, as it was asked for."""

    def __init__(
        self,
        name: str,
        hold: Hold,
        read: Callable[[], Journal],
        keeping: Keeping,
        policy: Policy,
        *,
        usual: int,
        writer: Writer | None = None,
        instead: Instead | None = None,
        window: int | None = None,
        target: float | None = None,
        provider: str = "",
        style: Style = "anchored",
        masking: bool = False,
        overhead: int = 0,
    ) -> None:
        """`usual` is the session's own window; with `instead` nothing is written."""
        self._name, self._hold, self._read, self._policy = name, hold, read, policy
        self._keeping = fitted(read(), keeping)
        self._window = usual if window is None else window
        self._writer, self._instead, self._target = writer, instead, target
        self._provider, self._overhead = provider, overhead
        self._style: Style = style
        self._masking = masking

    def run(self, trigger: str = "") -> Step[Compaction]:
        """Compact what is there. `trigger` is what made it begin."""
        if self._instead is not None:
            return (yield from self._tried())
        with compaction_span(self._name, provider=self._provider, trigger=trigger) as told:
            return told((yield from self._tried()))

    def _tried(self) -> Step[Compaction]:
        """Nobody waits while it is made. A compaction that fails or frees nothing is written down
        as an attempt: that decides when the next one comes."""
        for _ in range(TRIES):
            journal = self._read()
            try:
                made, ready = yield from self._prepared(journal)
            except KedgelineError as error:
                if self._instead is None:
                    attempt = self._attempt(journal, str(error), journal.history().failed())
                    with self._hold() as held:
                        add_value(held.writing, "attempt", attempt, self._keeping)
                raise
            if self._instead is not None:
                self._instead(ready)
                return made
            if written(self._hold, journal, self._keeping, ready):
                return made
        raise StoreFailed(
            "session",
            f"turns were rewound {TRIES} times while they were compacted",
            next_step="nothing was changed; try again when the session is idle",
        )

    def _prepared(self, journal: Journal) -> Step[tuple[Compaction, Prepared]]:
        """A compaction, and what is to be written of it."""
        keeping, head, mark = self._keeping, journal.head(), journal.compaction_mark()
        standing, context = in_force(journal), context_tokens(journal, self._keeping)
        done, budget = standing.compaction if standing else None, self.room(journal, context)
        region = for_compaction(journal, done, window=budget.usable, clean=keeping.cleaned)
        made = _with_ahead((yield from self.make(region, budget, context)), region)
        idle = made.count == (done.count if done else 0)
        history = History(
            freed=max(0, made.tokens_before - made.tokens_after),
            usable=budget.usable,
            held_up=(made.plan.reason or NOTHING_GAINED) if idle else made.plan.held_up,
        )
        before = mark.number if mark else 0
        if idle:
            attempt = self._attempt(journal, made.plan.reason, history)
            return made, Prepared(None, attempt, before, head.number)
        last = journal.place(made.plan.cut - 1) if made.plan.cut else None
        record = Recorded(
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
            provider=self._provider,
            masked=masked_entries(journal, made, head.number),
        )
        return made, Prepared(record, None, before, head.number)

    def make(self, region: Region, budget: Budget, context: ContextTokens) -> Step[Compaction]:
        return compacting(
            region.transcript,
            budget,
            provider=self._provider,
            previous=region.previous,
            counter=self._keeping.counter,
            masking=self._masking,
            style=self._style,
            redactor=None,  # the region is clean
            at=datetime.fromtimestamp(self._keeping.clock() / 1_000_000, UTC),
            name=self._name,
            context=context.within(self._window),
            writer=self._writer,
        )

    def room(self, journal: Journal, context: ContextTokens) -> Budget:
        """The room of the window, without what is pinned: that stays whatever is folded."""
        count = self._keeping.counter.count
        budget = budget_for(
            journal.about(),
            self._window,
            counter=self._keeping.counter,
            overhead=self._overhead or context.within(self._window).hidden,
            policy=self._policy,
        )
        pinned = sum(map(count, pinned_texts(journal, journal.count())))
        target = budget.target if self._target is None else within(self._target, budget.usable)
        return replace(
            budget, usable=max(0, budget.usable - pinned), target=max(0, target - pinned)
        )

    def _attempt(self, journal: Journal, why: str, history: History) -> Attempt:
        """That nothing was changed."""
        turns, tokens = journal.count(), journal.tokens()
        return Attempt(why=self._keeping.clean(why), history=history, turns=turns, tokens=tokens)


def _with_ahead(made: Compaction, region: Region) -> Compaction:
    """The record with what was folded while it was read. Where nothing came of it, what was folded
    ahead is still there."""
    span = region.ahead
    if span is None or made.count == (region.previous.count if region.previous else 0):
        return made
    plan = replace(
        made.plan,
        folded=(span, *made.plan.folded),
        tokens_before=made.plan.tokens_before + span.tokens,
    )
    return replace(made, plan=plan, span_tokens=made.span_tokens + span.tokens)
