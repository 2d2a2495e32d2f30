"""Every number of triggering and budgeting: its unit, its default and the reason for it."""

from __future__ import annotations

import math

import msgspec

from kedgeline.errors import BadSettings
from kedgeline.model import Budget, Rates, Value

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
    session_warn: float = 0.60
    """Share of the session's token budget. From here on the user is warned: tokens that are
    spent do not come back, so compaction would not help."""
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
    """Share of the window. The reserve where the model's longest answer is not known, if smaller
    than `output_reserve`."""
    output_share_most: float = 0.50
    """Share of the window. The reserve is never larger: lists of models often give the window
    itself as the longest answer, which would leave nothing."""
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

    def reserve(self, window: int, max_output: int | None = None) -> int:
        """Tokens of the window kept for the answer. A `max_output` of 0 is not known either."""
        if max_output:
            return min(max_output, self.output_reserve, within(self.output_share_most, window))
        return min(self.output_reserve, within(self.output_share, window))

    def usable(self, window: int, *, overhead: int = 0, max_output: int | None = None) -> int:
        """What a conversation may have; more than this is over the hard limit. Never negative."""
        _check_given("window", window, least=1)
        _check_given("overhead", overhead, least=0)
        _check_given("max_output", max_output or 0, least=0)
        return max(0, window - self.reserve(window, max_output) - overhead)

    def budget(self, window: int, *, overhead: int = 0, max_output: int | None = None) -> Budget:
        """Room for a compaction. `overhead` is what the system prompt and the tools take."""
        usable = self.usable(window, overhead=overhead, max_output=max_output)
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

    def turn(self, tokens: int, *, anchor: str | None = None) -> History:
        """A turn was added, and maybe it is an anchor."""
        return msgspec.structs.replace(
            self,
            turns_since=self.turns_since + 1,
            tokens_since=self.tokens_since + tokens,
            anchor_since=anchor or self.anchor_since,
            turns_since_failure=self.turns_since_failure + 1,
        )

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
    max_output: int | None = None
    """The model's longest answer in tokens. None: not known."""
    session_tokens: int = 0
    """Spent by the session so far, over all its calls."""
    session_budget: int | None = None
    """What the session may spend in all. None or 0: no budget was given."""
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
        return policy.usable(self.window, overhead=self.overhead, max_output=self.max_output)
