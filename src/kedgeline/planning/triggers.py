"""When to compact: each trigger is one function, and the strongest that holds decides.

What holds compaction back (nothing new, nothing to free, failures) comes after the triggers and
leaves a warning in their place. A manual compaction asks neither. Whether a compaction pays
decides where a trigger only gives the occasion: a finished task, many turns. It never holds back
one that the window demands.
"""

from __future__ import annotations

from typing import Literal, NoReturn, get_args

import msgspec

from kedgeline.model import Value
from kedgeline.planning.paying import Advice, advice_on
from kedgeline.planning.policy import POLICY, Policy, Signals, reached

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
