"""A compaction of a living session: written down only if what it was made from still stands."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from kedge.errors import KedgeError, StoreFailed
from kedge.living.adding import Keeping, add_value
from kedge.living.appending import Appending, Hold
from kedge.living.journal import Journal, Standing
from kedge.living.masks import as_it_stands, masked_entries
from kedge.living.pinning import pinned_texts
from kedge.living.region import Region, for_compaction
from kedge.living.values import Attempt, Recorded
from kedge.model import Budget, Compaction, Step, Turn
from kedge.planning import History, Policy
from kedge.steps import budget_for
from kedge.tokens import tokens_of
from kedge.viewing import lead

TRIES = 5
"""How often a compaction begins again because what it folded was taken back meanwhile."""

Make = Callable[[Region, Budget], Step[Compaction]]
Room = Callable[[Journal], Budget]


def compacted(
    hold: Hold,
    read: Callable[[], Journal],
    keeping: Keeping,
    make: Make,
    room: Room,
    *,
    policy: Policy,
    provider: str = "",
) -> Step[Compaction]:
    """Nobody waits while it is made. A compaction that fails or frees nothing is written down as an
    attempt: that decides when the next one comes."""
    for _ in range(TRIES):
        journal = read()
        head, standing = journal.head(), journal.recorded()
        done = _done(journal, standing)
        budget = room(journal)
        region = for_compaction(journal, done, window=budget.usable, clean=keeping.cleaned)
        try:
            made = _with_ahead((yield from make(region, budget)), region)
        except KedgeError as error:
            with hold() as held:
                _note(held, keeping, str(error), read().history().failed())
            raise
        with hold() as held:
            if not _stands(held.journal, standing, made, head.number):
                continue
            history = (
                read()
                .history()
                .compacted(
                    before=made.tokens_before,
                    after=made.tokens_after,
                    usable=budget.usable,
                    policy=policy,
                )
            )
            if made.count == (done.count if done else 0):
                _note(held, keeping, made.plan.reason, history)
            else:
                masked = masked_entries(held.journal, made, head.number)
                _write(held, keeping, made, region, history, provider, masked)
            return made
    raise StoreFailed(
        "session",
        f"turns were taken back {TRIES} times while they were compacted",
        next_step="nothing was changed; try again when the session rests",
    )


def rehearsal(journal: Journal, keeping: Keeping, make: Make, room: Room) -> Step[Compaction]:
    """The same, and nothing is written down."""
    budget = room(journal)
    done = _done(journal, journal.recorded())
    region = for_compaction(journal, done, window=budget.usable, clean=keeping.cleaned)
    return (yield from make(region, budget))


def _done(journal: Journal, standing: Standing | None) -> Compaction | None:
    return as_it_stands(journal, standing.record).compaction if standing else None


def room(
    journal: Journal,
    keeping: Keeping,
    window: int,
    *,
    overhead: int,
    max_output: int | None,
    policy: Policy,
) -> Budget:
    """The room of a window, without what is pinned: that stays whatever is folded."""
    budget = budget_for(
        journal.about(),
        window,
        counter=keeping.counter,
        overhead=overhead,
        max_output=max_output,
        policy=policy,
    )
    every = pinned_texts(journal, journal.count())
    pinned = sum(map(keeping.counter.count, every))
    return replace(
        budget,
        usable=max(0, budget.usable - pinned),
        target=max(0, budget.target - pinned),
    )


def _stands(journal: Journal, before: Standing | None, made: Compaction, head: int) -> bool:
    """Whether what was folded is what was read, and no other compaction came between. A kept turn
    may have changed: what was masked in it is then left out of the view."""
    now = journal.recorded()
    if (now and now.number) != (before and before.number):
        return False
    cut = made.plan.cut
    place = journal.place(cut - 1) if cut else None
    return not cut or (place is not None and place.number <= head)


def _write(
    held: Appending,
    keeping: Keeping,
    made: Compaction,
    region: Region,
    history: History,
    provider: str,
    masked: tuple[tuple[int, int], ...],
) -> None:
    journal = held.journal
    last = journal.place(made.plan.cut - 1) if made.plan.cut else None
    leads = lead(region.transcript, made)
    recorded = Recorded(
        compaction=made,
        history=history,
        turns=journal.count(),
        tokens=journal.tokens(),
        leads=sum(_tokens(turn, keeping) for turn in leads),
        folded=last.number if last else 0,
        chain=journal.chain(last.number) if last else "",
        provider=provider,
        masked=masked,
    )
    add_value(held.writing, "compaction", recorded, keeping, index=made.plan.cut)


def _note(held: Appending, keeping: Keeping, why: str, history: History) -> None:
    """Write down that nothing was changed."""
    journal = held.journal
    attempt = Attempt(
        why=keeping.clean(why), history=history, turns=journal.count(), tokens=journal.tokens()
    )
    add_value(held.writing, "attempt", attempt, keeping)


def _with_ahead(made: Compaction, region: Region) -> Compaction:
    """The record with what was folded while it was read."""
    span = region.ahead
    if span is None:
        return made
    if made.count == (region.previous.count if region.previous else 0):
        # Nothing came of it, so what was folded ahead is still there.
        tokens = made.tokens_before + span.tokens
        return replace(made, tokens_before=tokens, tokens_after=tokens)
    plan = made.plan
    return replace(
        made,
        plan=replace(
            plan,
            folded=(span, *plan.folded),
            tokens_before=plan.tokens_before + span.tokens,
        ),
        tokens_before=made.tokens_before + span.tokens,
        span_tokens=made.span_tokens + span.tokens,
    )


def _tokens(turn: Turn, keeping: Keeping) -> int:
    return turn.tokens or tokens_of(turn, keeping.counter).total
