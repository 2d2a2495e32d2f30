"""When a compaction pays: what it saves in the turns to come against what it costs now.

What is minimised is the cost of a whole task, not of one request. A compaction makes every request
after it smaller, and that is easily had: a task pays for the new prefix of the cache, for the
summary, and for what the agent has to read again because it was folded. A context that is cut so
small that the agent reads everything twice has small requests and a dear task.

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
"""Where no prices are known: in units of one input token, as providers that cache charge them. An
answer costs five times what is sent, what the cache has a tenth of it, writing it there a quarter
more."""

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
    """Of the new prefix in the cache, the summary, and what is read again."""
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


class Going(Value, frozen=True):
    """A session that could be compacted now."""

    carried: int
    """Tokens of the conversation that every request carries."""
    after: int
    """Tokens of it that a compaction would leave."""
    turns: int
    """That carry it from here on."""
    refetched: int = 0
    """Tokens that are read again because they were folded."""
    asked: int = 0
    """Tokens that a model is sent for the summary; 0 without a model."""
    answered: int = 0
    """Tokens of its answers."""

    @property
    def freed(self) -> int:
        return max(0, self.carried - self.after)


class _Prices(Value, frozen=True):
    """Of one token each."""

    sent: float
    answered: float
    read: float
    written: float
    unit: str
    words: str


def advise(
    going: Going,
    *,
    rates: Rates | None = None,
    caches: bool | None = None,
    assumptions: tuple[str, ...] = (),
) -> Advice:
    """What a compaction saves and costs, by its numbers.

    `caches` says whether the provider caches what was sent before; where that is not told, it does
    unless prices are known and have none for it. What a turn adds is the same with and without a
    compaction, so it falls out. A turn is one request.
    """
    prices = _prices(rates, caches)
    turns = max(0, going.turns)
    saves = going.freed * turns * prices.read
    # Once in the cache, what is left and what is read again are carried like everything else: what
    # they cost beyond that is being written there.
    writing = (going.after + going.refetched) * (prices.written - prices.read)
    asking = going.asked * prices.sent + going.answered * prices.answered
    carrying = going.refetched * turns * prices.read
    costs = asking + (writing + carrying if turns else 0.0)
    each = (going.freed - going.refetched) * prices.read
    return Advice(
        saves=saves,
        costs=costs,
        net=saves - costs,
        break_even_turns=int((writing + asking) / each) + 1 if each > 0 else None,
        remaining_turns=turns,
        unit=prices.unit,
        reason=_reason(saves, costs, turns, prices.unit),
        assumptions=(*assumptions, prices.words, _asked(going)),
    )


def advice_on(signals: Signals, policy: Policy) -> Advice | None:
    """The same from what a decision is made from; none where no window is known.

    What is counted ends with the next compaction after this one, as it would be due anyway. More
    context never makes it pay less.
    """
    usable = signals.usable(policy)
    if not usable:
        return None
    after, leaves = _left(signals, policy)
    so_far = max(signals.turns, signals.history.turns_since)
    turns, words = _turns_to_come(signals, policy, usable, after, so_far)
    refetched = round(REFETCHED * (signals.context_tokens - after))
    again = f"{100 * REFETCHED:.0f} % of what is folded is read again ({refetched:,} tokens)"
    return advise(
        Going(carried=signals.context_tokens, after=after, turns=turns, refetched=refetched),
        rates=signals.rates,
        caches=signals.caches,
        assumptions=(words, leaves, again),
    )


def remaining_after(turns: int) -> int:
    """Turns that come after so many, in half of the sessions."""
    return next(more for first, more in reversed(REMAINING) if turns >= first)


def _turns_to_come(
    signals: Signals, policy: Policy, usable: int, after: int, so_far: int
) -> tuple[int, str]:
    """How many turns carry less, and why so many."""
    expected = signals.remaining_turns
    words = f"{expected} more turns, as was told"
    if expected is None:
        expected = remaining_after(so_far)
        words = f"{expected} more turns, as half of the sessions have after {so_far:,}"
    history = signals.history
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
    most = signals.context_tokens
    if signals.after is not None:
        left = min(signals.after, most)
        return left, f"{left:,} tokens are left, as planned"
    budget = policy.budget(signals.window, overhead=signals.overhead, max_output=signals.max_output)
    left = min(budget.target, most)
    return left, f"{left:,} tokens are left, as many as the target allows"


def _prices(rates: Rates | None, caches: bool | None) -> _Prices:
    known = rates is not None and rates.input is not None
    taken = rates if rates is not None and rates.input is not None else WEIGHTS
    sent = _per_token(taken.input, 0.0)
    cached = (taken.cache_read is not None) if caches is None else caches
    read = _per_token(taken.cache_read, sent) if cached else sent
    written = _per_token(taken.cache_write, sent) if cached else sent
    answered = _per_token(taken.output, sent * (WEIGHTS.output or 0) / (WEIGHTS.input or 1))
    named = (
        f"prices of {taken.source or 'the model'}"
        if known
        else ("prices are not known, weights of a typical provider are taken")
    )
    cache = "the provider caches nothing"
    if not sent:
        cache = "input is free"
    elif cached:
        shares = f"read at {read / sent:.3g} and written at {written / sent:.3g}"
        cache = f"the cache is {shares} of the price of input"
    return _Prices(
        sent=sent,
        answered=answered,
        read=read,
        written=written,
        unit=taken.currency,
        words=f"{named}; {cache}",
    )


def _per_token(price: float | None, otherwise: float) -> float:
    return otherwise if price is None else price / MILLION


def _asked(going: Going) -> str:
    if not going.asked and not going.answered:
        return "no model is asked for the summary"
    return f"a model is sent {going.asked:,} tokens for the summary and answers {going.answered:,}"


def _reason(saves: float, costs: float, turns: int, unit: str) -> str:
    counted = "1 turn" if turns == 1 else f"{turns:,} turns"
    verdict = "it pays" if saves > costs else "it does not pay"
    return (
        f"a compaction now would save {_amount(saves, unit)} over {counted} and cost "
        f"{_amount(costs, unit)}: {verdict}"
    )


def _amount(value: float, unit: str) -> str:
    if unit == WEIGHTED:
        return f"{value:,.0f} {unit}"
    return f"{value:,.2f} {unit}" if value >= 1 else f"{value:,.4f} {unit}"
