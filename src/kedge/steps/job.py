"""What a compaction is asked to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Literal, get_args

from kedge.facts import facts_of
from kedge.model import AnyFact, Budget, Compaction, Transcript
from kedge.outcomes import Known
from kedge.planning.notices import FILE
from kedge.tokens import Counter, overhead_tokens, tokens_of
from kedge.viewing import lead

Style = Literal["anchored", "outcomes"]
"""How the summary is told."""
STYLES: tuple[Style, ...] = get_args(Style)


@dataclass(frozen=True)
class Job:
    transcript: Transcript
    budget: Budget
    provider: str
    previous: Compaction | None
    counter: Counter
    masking: bool
    style: Style = "anchored"
    at: datetime | None = None
    """When it is done."""
    outcomes: Known = field(default_factory=Known)
    """What calls came to, found out once for all who ask."""

    known: tuple[AnyFact, ...] | None = None
    """Its facts, where they were extracted before."""
    name: str = FILE
    """The session's, by which `kedge show` knows it."""

    @property
    def kept_as(self) -> str:
        """The name where the session is kept; a file has none."""
        return "" if self.name == FILE else self.name

    @property
    def start(self) -> int:
        """The first turn that no earlier compaction folded."""
        return self.previous.plan.cut if self.previous else 0

    @cached_property
    def facts(self) -> tuple[AnyFact, ...]:
        """Of the whole transcript: what a folded turn means may show only later."""
        if self.known is not None:
            return self.known
        return tuple(facts_of(self.transcript, self.outcomes))

    @cached_property
    def earlier(self) -> int:
        """Tokens of what stands for the turns before the start."""
        if self.previous is None:
            return 0
        stands = lead(self.transcript, self.previous)
        return sum(tokens_of(turn, self.counter).total for turn in stands)

    @cached_property
    def waiting(self) -> int:
        """Tokens of the words that no assistant has answered yet."""
        pending = self.transcript.pending
        return tokens_of(pending, self.counter).total if pending else 0

    @cached_property
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
