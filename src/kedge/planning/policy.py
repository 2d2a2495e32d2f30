"""Every number of triggering and budgeting: its unit, its default and the reason for it."""

from __future__ import annotations

import math

from kedge.errors import BadSettings
from kedge.model import Budget, Value

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
    evaluate_costs: float = 0.0
    """Share of what a compaction saves. Above `evaluate_turns` one is made where it costs no more
    than this and the tokens of a task boundary are there. 0 never: a cut amid a task loses more
    than tokens; whoever counts money alone takes 0.5."""
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
    recent: float = 0.10
    """Share of the usable window. The newest turns are kept up to this: they are what the next
    step builds on."""
    recent_turns: int = 3
    """Turns. So many of the newest are kept, whatever they cost (BR-003)."""
    summary_tokens: int = 4_096
    """Tokens. The longest summary: twice the largest named level, so that kept anchors and user
    words fit beside it."""
    summary_share: float = 0.125
    """Share of the usable window. The longest summary in a small window."""
    least_reduction: float = 0.60
    """Share of the context. What a compaction should free; below it there is a warning that a
    fresh conversation may serve better (BR-005)."""

    weak: float = 0.10
    """Share of the usable window. A compaction that freed less and stayed above `target` was
    weak: it would soon be due again."""
    weak_step: float = 0.10
    """Share of the usable window. Each weak compaction in a row raises `begin` and the bar of a
    task boundary by this, up to `force`: trying again at the same fill frees as little."""
    weak_in_a_row: int = 2
    """Compactions. From so many weak ones in a row on, the next waits for new tokens: one may be
    bad luck with the cut, two mean that there is nothing to free."""
    rest: float = 0.10
    """Share of the usable window, as new tokens. What the next compaction waits for after weak
    ones, at every fill; it bounds how often a compaction that frees nothing can run."""
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
            recent=within(self.recent, usable),
            recent_turns=self.recent_turns,
            summary=min(self.summary_tokens, within(self.summary_share, usable)),
            least_reduction=self.least_reduction,
        )


POSITIVE = {
    "target": "a rebuilt context is never empty",
    "recent_turns": "the newest turn is always kept",
    "weak": "a compaction that frees nothing must count as weak",
    "weak_in_a_row": "a compaction that was not weak needs no rest",
    "rest": "without it a compaction that frees nothing runs every turn",
    "failures": "without a failure there is nothing to cool down from",
    "cool_down": "without it a compaction that fails runs every turn",
}
"""Numbers that may not be 0, and why."""

ORDER = (("target", "begin"), ("begin", "force"), ("recent", "target"))
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
