"""When to compact: each trigger is one function, and the strongest that holds decides.

What holds compaction back (nothing new, nothing to free, failures) comes after the triggers and
leaves a warning in their place. A manual compaction asks neither. Whether a compaction pays
decides where a trigger only gives the occasion: a finished task, many turns. It never holds back
one that the window demands.
"""

from __future__ import annotations

from typing import Literal, NoReturn, get_args

import msgspec

from kedgeline.model import Rates, Value
from kedgeline.model.ask import MILLION
from kedgeline.planning.policy import POLICY, Policy, Signals, reached

# When a compaction pays: what it saves in the turns to come against what it costs now.
#
# What is minimised is the cost of a whole task, not of one request. A compaction makes every
# request after it smaller, and that is easily had: a task pays for the new prefix of the cache, and
# for what the agent has to read again because it was folded. A context that is cut so small that
# the agent reads everything twice has small requests and a dear task.
#
# All of it is arithmetic on a handful of numbers; no turn is looked at.

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


Action = Literal["nothing", "warn", "evaluate", "compact", "force"]
ACTIONS: tuple[Action, ...] = get_args(Action)
"""Weakest first."""

TriggerName = (
    Literal["none", "session_budget", "turns", "task_boundary", "context", "context_force"]
    | Literal["hard_limit", "manual", "no_new_tokens", "held_up", "cool_down"]
    | Literal["no_room", "no_window"]
)


class Decision(Value, frozen=True):
    """What to do now, and why. `evaluate`: look at a plan, compact only where it pays."""

    action: Action
    trigger: TriggerName
    reason: str
    """One sentence with the numbers."""
    also: tuple[str, ...] = ()
    """Reasons of the weaker triggers that hold as well."""
    advice: Advice | None = None
    """Whether a compaction would pay now, where the action is `evaluate` or stronger and the window
    is known."""

    @property
    def compacts(self) -> bool:
        return self.action in ("compact", "force")

    @property
    def masking(self) -> bool:
        """Whether old tool outputs are masked beside the summary."""
        return self.action == "force"

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a decision is neither true nor false; ask decision.compacts, or look at .action"
        )


def should_compact(signals: Signals, policy: Policy = POLICY) -> Decision:
    """The strongest trigger that holds, or why there is none.

    More context never weakens the action; a window that is not known never compacts.
    """
    usable = signals.usable(policy)
    if signals.manual:
        found = [_manual(signals, policy, usable)]
    else:
        found = _triggered(signals, policy, usable) if usable else [_no_room(signals)]
        found += _session_budget(signals, policy)
        found.sort(key=lambda decision: ACTIONS.index(decision.action), reverse=True)
    if not found:
        reason = f"{_fill(signals, usable)}; compaction begins at {_percent(policy.begin)}"
        return Decision(action="nothing", trigger="none", reason=reason)
    first, *others = found
    also = tuple(other.reason for other in others if other.action != "nothing")
    strong = ACTIONS.index(first.action) >= ACTIONS.index("evaluate")
    advice = advice_on(signals, policy) if strong else None
    return msgspec.structs.replace(first, also=also, advice=advice)


def _triggered(signals: Signals, policy: Policy, usable: int) -> list[Decision]:
    """What the triggers say of a window; one warning where compaction is held back."""
    asked = (trigger(signals, policy, usable) for trigger in TRIGGERS)
    found = [decision for decision in asked if decision is not None]
    if not found or (held := _held_back(signals, policy, usable)) is None:
        return found
    return [held] if any(decision.compacts for decision in found) else []


def _context(signals: Signals, policy: Policy, usable: int) -> Decision | None:
    tokens = signals.context_tokens
    if tokens < reached(policy.begin, usable):
        return None
    fill = _fill(signals, usable)
    if tokens > usable:
        reason = f"{fill}; above 100 % there is no room for an answer of full length"
        return Decision(action="force", trigger="hard_limit", reason=reason)
    if tokens >= reached(policy.force, usable):
        reason = f"{fill}; compaction with masking is forced at {_percent(policy.force)}"
        return Decision(action="force", trigger="context_force", reason=reason)
    reason = f"{fill}; compaction begins at {_percent(policy.begin)}"
    return Decision(action="compact", trigger="context", reason=reason)


def _task_boundary(signals: Signals, policy: Policy, usable: int) -> Decision | None:
    """A good place to cut: compacted where that pays, however little."""
    history = signals.history
    # Not below the target: such a context already is what a compaction aims at.
    enough = history.tokens_since >= reached(
        policy.boundary, usable
    ) and signals.context_tokens >= reached(policy.target, usable)
    if history.anchor_since is None or not enough:
        return None
    reason = (
        f"a task was finished ({history.anchor_since}) and {history.tokens_since:,} tokens came "
        f"since the last compaction, at least {_percent(policy.boundary)} of the usable window; "
        f"{_fill(signals, usable)}"
    )
    advice = advice_on(signals, policy)
    if advice is not None and not advice.pays:
        reason = f"{reason}; {advice.reason}"
        return Decision(action="evaluate", trigger="task_boundary", reason=reason)
    return Decision(action="compact", trigger="task_boundary", reason=reason)


def _turns(signals: Signals, policy: Policy, usable: int) -> Decision | None:
    """Never a reason to compact (R31)."""
    turns = signals.history.turns_since
    if turns <= policy.evaluate_turns:
        return None
    reason = (
        f"{turns:,} turns since the last compaction, more than {policy.evaluate_turns:,}; "
        f"{_fill(signals, usable)}"
    )
    return Decision(action="evaluate", trigger="turns", reason=reason)


TRIGGERS = (_context, _task_boundary, _turns)
"""Those that look at the window. Of equally strong ones the first gives the reason."""


def _session_budget(signals: Signals, policy: Policy) -> list[Decision]:
    spent, budget = signals.session_tokens, signals.session_budget
    if not budget or budget < 0 or spent < reached(policy.session_warn, budget):
        return []
    reason = (
        f"the session has spent {100 * spent // budget:,} % of its token budget "
        f"({spent:,} of {budget:,} tokens); the warning comes at {_percent(policy.session_warn)}"
    )
    return [Decision(action="warn", trigger="session_budget", reason=reason)]


def _held_back(signals: Signals, policy: Policy, usable: int) -> Decision | None:
    """Why no compaction may run by itself now."""
    history, fill = signals.history, _fill(signals, usable)
    if history.failures >= policy.failures and history.turns_since_failure < policy.cool_down:
        left = policy.cool_down - history.turns_since_failure
        reason = (
            f"{fill}, but {history.failures:,} compactions failed in a row; the next try comes "
            f"in {left:,} turn{'' if left == 1 else 's'}, a manual one runs at any time"
        )
        return Decision(action="warn", trigger="cool_down", reason=reason)
    new = history.new_tokens(usable)
    if history.freed is not None and new <= 0:
        reason = f"{fill}, but nothing was added since the last compaction"
        return Decision(action="warn", trigger="no_new_tokens", reason=reason)
    rest = reached(policy.begin - policy.target if history.freed else policy.rest, usable)
    if history.held_up and new < rest:
        last = f"freed only {history.freed:,} tokens" if history.freed else "was not made"
        reason = (
            f"{fill}, but the last compaction {last}: {history.held_up}; the next comes after "
            f"{rest:,} new tokens, {new:,} are there"
        )
        return Decision(action="warn", trigger="held_up", reason=reason)
    return None


def _manual(signals: Signals, policy: Policy, usable: int) -> Decision:
    full = usable > 0 and signals.context_tokens >= reached(policy.force, usable)
    fill = _fill(signals, usable) if usable else f"context has {signals.context_tokens:,} tokens"
    return Decision(
        action="force" if full else "compact",
        trigger="manual",
        reason=f"asked for by the user; {fill}",
    )


def _no_room(signals: Signals) -> Decision:
    """Nothing a compaction could do: no window to fit, or none left for the conversation."""
    if signals.window <= 0:
        reason = "the context window is not known, so nothing is compacted; give its size in tokens"
        return Decision(action="nothing", trigger="no_window", reason=reason)
    reason = (
        f"system prompt and tools ({signals.overhead:,} tokens) and the reserve for the answer "
        f"leave nothing of the window of {signals.window:,} tokens; only a larger window or "
        f"fewer tools help"
    )
    return Decision(action="warn", trigger="no_room", reason=reason)


def _fill(signals: Signals, usable: int) -> str:
    tokens, beside = signals.context_tokens, signals.overhead
    of = f"of {tokens + beside:,} tokens " if beside else ""
    less = f" without {beside:,} of system prompt and tools" if beside else ""
    return (
        f"context {of}is at {100 * tokens // usable:,} % of the usable window "
        f"({tokens:,} of {usable:,} tokens{less})"
    )


def _percent(share: float) -> str:
    return f"{round(100 * share, 1):g} %"
