"""The budget of a window for one transcript."""

from __future__ import annotations

from kedge.model import Budget, Transcript
from kedge.planning import POLICY, Policy
from kedge.tokens import EXACT, Counter, overhead_tokens


def budget_for(
    transcript: Transcript,
    window: int,
    *,
    counter: Counter = EXACT,
    overhead: int = 0,
    max_output: int | None = None,
    policy: Policy = POLICY,
) -> Budget:
    """What a compaction may spend in a window of so many tokens.

    The system prompt and the tools that the transcript shows are taken off; `overhead` is what it
    does not show of them, `max_output` the longest answer of the model."""
    shown = overhead_tokens(transcript, counter)
    return policy.budget(window, overhead=overhead + shown, max_output=max_output)
