"""When a compaction pays: what it saves in the turns to come against what it costs now.

What is minimised is the cost of a whole task, not of one request. A compaction makes every request
after it smaller, and that is easily had: a task pays for the new prefix of the cache, and for what
the agent has to read again because it was folded. A context that is cut so small that the agent
reads everything twice has small requests and a dear task.

All of it is arithmetic on a handful of numbers; no turn is looked at.
"""

from __future__ import annotations

from kedgeline.model import Rates, Value
from kedgeline.model.ask import MILLION
from kedgeline.planning.policy import Policy, Signals, reached

WEIGHTED = "weighted tokens"
WEIGHTS = Rates(
    input=1.0 * MILLION,
    output=5.0 * MILLION,
    cache_read=0.1 * MILLION,
    cache_write=1.25 * MILLION,
    currency=WEIGHTED,
    source="weights of a typical provider",
)
"""Where no prices are known: in units of one input token, as providers that cache charge them. What
the cache has costs a tenth, writing it there a quarter more."""

REMAINING = ((0, 12), (20, 30), (50, 50))
"""From which turn on, how many more turns come in half of the sessions. `kedgeline bench paying`
measured medians of 12 to 13 in the first 20 turns, 31 from the 20th on and 50 to 74 from the 50th
to the 150th. The median and no mean: a few very long sessions would promise savings that most
sessions never see."""
REFETCHED = 0.06
"""Share of the folded tokens that is read again because it was folded. `kedgeline bench paying`:
in the 40 turns after a real compaction agents read files again with 9 % of what was folded, and
with 3 % in as many turns before it, which they would have done anyway."""
GROWTH = 900
"""Tokens a turn adds, where the session does not show it yet: the middle of the sessions that
`kedgeline bench paying` looked at."""
LEAST_SHOWN = 5
"""Turns since the last compaction from which on a session shows by itself how fast it grows."""


class Advice(Value, frozen=True):
    """What a compaction now would save and cost. It is an estimate of cost alone: what a summary
    loses has no price."""

    saves: float
    """By carrying less, over the turns that are counted."""
    costs: float
    """Of the new prefix in the cache, and of what is read again."""
    net: float
    """What is saved without what it costs."""
    break_even_turns: int | None
    """So many turns must come for it to pay. None: it never does."""
    remaining_turns: int
    """The turns that are counted."""
    unit: str
    """`USD` or another currency, or `weighted tokens` where prices are not known."""
    reason: str
    """One sentence with the numbers."""
    assumptions: tuple[str, ...] = ()
    """What was taken for granted, in words."""

    @property
    def pays(self) -> bool:
        return self.net > 0


def advice_on(signals: Signals, policy: Policy) -> Advice | None:
    """What a compaction now would save and cost; none where no window is known.

    What is counted ends with the next compaction after this one, as it would be due anyway. More
    context never makes it pay less. What a turn adds is the same with and without a compaction, so
    it falls out. A turn is one request.
    """
    usable = signals.usable(policy)
    if not usable:
        return None
    carried = signals.context_tokens
    after, leaves = _left(signals, policy)
    turns, coming = _turns_to_come(signals, policy, usable, after)
    refetched = round(REFETCHED * (carried - after))
    read, written, unit, prices = _prices(signals)
    freed = max(0, carried - after)
    saves = freed * turns * read
    # Once in the cache, what is left and what is read again are carried like everything else: what
    # they cost beyond that is being written there.
    writing = (after + refetched) * (written - read)
    costs = writing + refetched * turns * read if turns else 0.0
    each = (freed - refetched) * read
    return Advice(
        saves=saves,
        costs=costs,
        net=saves - costs,
        break_even_turns=int(writing / each) + 1 if each > 0 else None,
        remaining_turns=turns,
        unit=unit,
        reason=(
            f"a compaction now would save {_amount(saves, unit)} over {turns:,} "
            f"turn{'' if turns == 1 else 's'} and cost {_amount(costs, unit)}: "
            f"{'it pays' if saves > costs else 'it does not pay'}"
        ),
        assumptions=(
            *(coming, leaves),
            f"{100 * REFETCHED:.0f} % of what is folded is read again ({refetched:,} tokens)",
            *(prices, "no model is asked for the summary"),
        ),
    )


def remaining_after(turns: int) -> int:
    """Turns that come after so many, in half of the sessions."""
    return next(more for first, more in reversed(REMAINING) if turns >= first)


def _turns_to_come(signals: Signals, policy: Policy, usable: int, after: int) -> tuple[int, str]:
    """How many turns carry less, and why so many."""
    history = signals.history
    expected = signals.remaining_turns
    words = f"{expected} more turns, as was told"
    if expected is None:
        so_far = max(signals.turns, history.turns_since)
        expected = remaining_after(so_far)
        words = f"{expected} more turns, as half of the sessions have after {so_far:,}"
    shown = history.turns_since >= LEAST_SHOWN
    growth = max(1, history.tokens_since // history.turns_since if shown else GROWTH)
    lasts = max(1, (reached(policy.begin, usable) - after) // growth)
    if lasts >= expected:
        return max(0, expected), words
    return lasts, (
        f"{lasts} turns until the next compaction, at {growth:,} tokens a turn; "
        f"{expected} more turns are expected"
    )


def _left(signals: Signals, policy: Policy) -> tuple[int, str]:
    """Tokens that a compaction would leave: its plan's, or as much as it may."""
    if signals.after is not None:
        left = min(signals.after, signals.context_tokens)
        return left, f"{left:,} tokens are left, as planned"
    budget = policy.budget(signals.window, overhead=signals.overhead, max_output=signals.max_output)
    left = min(budget.target, signals.context_tokens)
    return left, f"{left:,} tokens are left, as many as the target allows"


def _prices(signals: Signals) -> tuple[float, float, str, str]:
    """Of one token that the cache has and of one that is written there, in which unit, and what was
    taken for granted. Where prices are known and have none for it, nothing is cached."""
    rates, named = WEIGHTS, "prices are not known, weights of a typical provider are taken"
    if signals.rates is not None and signals.rates.input is not None:
        rates = signals.rates
        named = f"prices of {rates.source or 'the model'}"
    sent = (rates.input or 0.0) / MILLION
    read = written = sent
    if rates.cache_read is not None:
        read = rates.cache_read / MILLION
        written = sent if rates.cache_write is None else rates.cache_write / MILLION
        cache = "input is free"
        if sent:
            shares = f"read at {read / sent:.3g} and written at {written / sent:.3g}"
            cache = f"the cache is {shares} of the price of input"
    else:
        cache = "the provider caches nothing" if sent else "input is free"
    return read, written, rates.currency, f"{named}; {cache}"


def _amount(value: float, unit: str) -> str:
    if unit == WEIGHTED:
        return f"{value:,.0f} {unit}"
    return f"{value:,.2f} {unit}" if value >= 1 else f"{value:,.4f} {unit}"
