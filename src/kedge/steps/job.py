"""What a compaction is asked to do."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from kedge.model import Budget, Compaction, Transcript
from kedge.tokens import Counter, overhead_tokens, tokens_of
from kedge.viewing import lead

Style = Literal["anchored", "outcomes"]
"""How the summary is told."""
STYLES: tuple[Style, ...] = get_args(Style)


class Job(NamedTuple):
    transcript: Transcript
    budget: Budget
    provider: str
    previous: Compaction | None
    counter: Counter
    masking: bool
    style: Style = "anchored"

    @property
    def start(self) -> int:
        """The first turn that no earlier compaction folded."""
        return self.previous.plan.cut if self.previous else 0

    @property
    def earlier(self) -> int:
        """Tokens of what stands for the turns before the start."""
        if self.previous is None:
            return 0
        stands = lead(self.transcript, self.previous)
        return sum(tokens_of(turn, self.counter).total for turn in stands)

    @property
    def waiting(self) -> int:
        """Tokens of the words that no assistant has answered yet."""
        pending = self.transcript.pending
        return tokens_of(pending, self.counter).total if pending else 0

    @property
    def fixed(self) -> int:
        """Tokens that no compaction touches: system prompt, tools, and words that wait."""
        return overhead_tokens(self.transcript, self.counter) + self.waiting

    @property
    def is_settled(self) -> bool:
        """Whether nothing came since the last compaction and what it left keeps the budget: to do
        it again would only wear the summary down."""
        done = self.previous
        return (
            done is not None
            and done.turns == len(self.transcript.turns)
            and not done.plan.over_budget
            and done.tokens_after <= self.budget.target
        )
