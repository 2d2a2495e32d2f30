"""When to compact: every number of it with its unit, its default and its reason; when it pays; and
the triggers."""

from __future__ import annotations

import math
from typing import Literal, NoReturn, get_args

import msgspec

from kedgeline.errors import BadSettings
from kedgeline.model import Budget, Rates, Value
from kedgeline.model.ask import MILLION

PLACES = 6
"""Decimal places a product of share and tokens is rounded to: 0.07 x 100 is
7.000000000000001 in floating point, and a bar of 7 tokens must not become one of 8."""


class Policy(Value, frozen=True):
    """When a compaction begins, and what it may spend.

    The first sentence under each number is its unit. A share is from 0 to 1; the usable window is
    the window without the reserve for the answer, the system prompt and the tools.
    """

    begin: float = 0.70
    """Share of the usable window. From here on the context is compacted: early enough that a
    large tool output still fits before it is done."""
    force: float = 0.85
    """Share of the usable window. From here on tool outputs are masked too: what a summary alone
    frees may no longer be enough."""
    target: float = 0.50
    """Share of the usable window. What the rebuilt context comes to at the most: so far below
    `begin` that the next compaction is many turns away."""
    evaluate_turns: int = 20
    """Turns since the last compaction. Above it a look at the plan is worth its while; alone never
    a reason to compact, as a run without a user passes it within minutes."""
    boundary: float = 0.20
    """Share of the usable window, as new tokens since the last compaction. A finished task is the
    best place to cut, but not more often than filling from `target` to `begin` would."""

    output_reserve: int = 32_000
    """Tokens. The longest answer that room is kept for; few are longer, and a reserve is room the
    conversation does not have."""
    output_share: float = 0.20
    """Share of the window. The reserve where that is smaller than `output_reserve`."""
    recent_turns: int = 3
    """Turns. So many of the newest are kept, whatever they cost (BR-003)."""
    summary_tokens: int = 32_000
    """Tokens. The longest text for what is folded: from 20,000 on real sessions answer nearly every
    question, and more is only paid for again with every request."""
    summary_share: float = 0.125
    """Share of the usable window, a tenth of the whole. The text for what is folded: in most
    sessions every word that was said fits into it."""
    least_reduction: float = 0.25
    """Share of the context. What a compaction should free where the target asks for less, as one
    does that the user asks for; below it there is a warning that a fresh conversation may serve
    better (BR-005). Less than what `begin` and `target` come to, so that the target is spent."""

    rest: float = 0.10
    """Share of the usable window, as new tokens. What the next try waits for where the last would
    have freed too little and was not made, at every fill. After one that was made and stayed above
    `target`, it is what lies between `target` and `begin`."""
    failures: int = 3
    """Compactions. So many failures in a row stop further tries: an outage is longer than that,
    and each try may cost money."""
    cool_down: int = 10
    """Turns. After this pause one try is made, and another pause follows if it fails: a stop that
    lasts for ever lets the context grow until nothing can be sent."""

    def __post_init__(self) -> None:
        for name, default in zip(self.__struct_fields__, self.__struct_defaults__, strict=True):
            _check(name, getattr(self, name), share=isinstance(default, float))
        for name in POSITIVE:
            if not getattr(self, name):
                raise BadSettings(f"policy.{name}", f"must be more than 0: {POSITIVE[name]}")
        for low, high in ORDER:
            if getattr(self, low) >= getattr(self, high):
                raise BadSettings(
                    f"policy.{low}",
                    f"must be less than {high} ({getattr(self, high)}), not {getattr(self, low)}",
                )

    def reserve(self, window: int) -> int:
        """Tokens of the window kept for the answer."""
        return min(self.output_reserve, within(self.output_share, window))

    def usable(self, window: int, *, overhead: int = 0) -> int:
        """What a conversation may have; more than this is over the hard limit. Never negative."""
        _check_given("window", window, least=1)
        _check_given("overhead", overhead, least=0)
        return max(0, window - self.reserve(window) - overhead)

    def budget(self, window: int, *, overhead: int = 0) -> Budget:
        """Room for a compaction. `overhead` is what the system prompt and the tools take."""
        usable = self.usable(window, overhead=overhead)
        return Budget(
            usable=usable,
            target=within(self.target, usable),
            recent_turns=self.recent_turns,
            summary=min(self.summary_tokens, within(self.summary_share, usable)),
            least_reduction=self.least_reduction,
        )


POSITIVE = {
    "target": "a rebuilt context is never empty",
    "recent_turns": "the newest turn is always kept",
    "rest": "without it a compaction that frees nothing runs every turn",
    "failures": "without a failure there is nothing to cool down from",
    "cool_down": "without it a compaction that fails runs every turn",
}
"""Numbers that may not be 0, and why."""

ORDER = (("target", "begin"), ("begin", "force"))
"""What must be less than what."""


def reached(share: float, whole: int) -> int:
    """The least number of tokens that is at least this share of the whole."""
    return math.ceil(round(share * whole, PLACES))


def within(share: float, whole: int) -> int:
    """The largest number of tokens that is at most this share of the whole."""
    return math.floor(round(share * whole, PLACES))


def _check(name: str, value: object, *, share: bool) -> None:
    if share:
        fine = isinstance(value, (int, float)) and 0 <= value <= 1
    else:
        fine = isinstance(value, int) and value >= 0
    if not fine:
        wanted = "a share from 0 to 1" if share else "a whole number from 0 on"
        raise BadSettings(f"policy.{name}", f"must be {wanted}, not {value!r}")


def _check_given(name: str, value: int, *, least: int) -> None:
    if value < least:
        raise BadSettings(name, f"must be at least {least} tokens, not {value:,}")


POLICY = Policy()
"""The defaults."""


def policy_of(at: float, target: float) -> Policy:
    """The numbers with these two; what must lie above them does."""
    if not 0 < target < at < 1:
        raise BadSettings(
            "at, target",
            "are shares of the usable window, target below at and both between 0 and 1, and not "
            f"at={at} with target={target}",
        )
    force = max(POLICY.force, round(at + (1 - at) / 2, 4))
    return msgspec.structs.replace(POLICY, begin=at, target=target, force=force)


# What a decision about compacting is made from: sizes, and what became of earlier compactions.


class History(Value, frozen=True):
    """What happened since the last compaction. A living session folds its events into it."""

    turns_since: int = 0
    """Turns since the last compaction; from the start where there was none."""
    tokens_since: int = 0
    """Tokens those turns added."""
    anchor_since: str | None = None
    """Description of the newest anchor among those turns."""
    freed: int | None = None
    """Tokens the last compaction freed. None: there was none yet."""
    usable: int = 0
    """The usable window at the last compaction."""
    held_up: str = ""
    """What kept the last compaction above its target, or from being made."""
    failures: int = 0
    """Compactions that failed in a row."""
    turns_since_failure: int = 0

    def new_tokens(self, usable: int) -> int:
        """Tokens that came since the last compaction. What the window lost since then, as with a
        change to a smaller model, is as good a reason to try again as what came."""
        return self.tokens_since + max(0, self.usable - usable)

    def failed(self) -> History:
        """A compaction failed and changed nothing."""
        return msgspec.structs.replace(self, failures=self.failures + 1, turns_since_failure=0)


class Signals(Value, frozen=True):
    """A session at one moment."""

    context_tokens: int
    """Of the conversation as it would be sent now: summary, turns, words that wait for an answer.
    Without `overhead`; cached tokens count as any other; never a sum over several calls."""
    window: int = 0
    """The model's context window in tokens. 0: not known."""
    overhead: int = 0
    """What the system prompt and the tools take."""
    history: History = History()
    manual: bool = False
    """The user asks for a compaction now."""
    turns: int = 0
    """Of the session so far, those of earlier compactions included."""
    remaining_turns: int | None = None
    """Turns that are still to come. None: not known, as many as come in real sessions."""
    after: int | None = None
    """Tokens a compaction would leave. None: not planned, as much as one may leave."""
    rates: Rates | None = None
    """What the model's tokens cost. None: not known, weights of a typical provider."""

    def usable(self, policy: Policy = POLICY) -> int:
        """The usable window in tokens; 0 where the window is not known or nothing is left of it."""
        if self.window <= 0:
            return 0
        return policy.usable(self.window, overhead=self.overhead)


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
    budget = policy.budget(signals.window, overhead=signals.overhead)
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


# When to compact: each trigger is one function, and the strongest that holds decides.
#
# What holds compaction back (nothing new, nothing to free, failures) comes after the triggers and
# leaves a warning in their place. A manual compaction asks neither. Whether a compaction pays
# decides where a trigger only gives the occasion: a finished task, many turns. It never holds
# back one that the window demands.

Action = Literal["nothing", "warn", "evaluate", "compact", "force"]
ACTIONS: tuple[Action, ...] = get_args(Action)
"""Weakest first."""

TriggerName = (
    Literal["none", "turns", "task_boundary", "context", "context_force", "hard_limit", "manual"]
    | Literal["no_new_tokens", "held_up", "cool_down", "no_room", "no_window"]
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
        raise TypeError("a decision is not a boolean; use decision.compacts or decision.action")


def should_compact(signals: Signals, policy: Policy = POLICY) -> Decision:
    """The strongest trigger that holds, or why there is none.

    More context never weakens the action; a window that is not known never compacts.
    """
    usable = signals.usable(policy)
    if signals.manual:
        found = [_manual(signals, policy, usable)]
    else:
        found = _triggered(signals, policy, usable) if usable else [_no_room(signals)]
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
