"""The budget of a window for one transcript."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeVar, get_args

from msgspec.structs import replace

from kedgeline.anchors import THRESHOLD, Finder, synthetic_checkpoint
from kedgeline.facts import facts_of
from kedgeline.model import (
    Anchor,
    AnyFact,
    Budget,
    Change,
    Compaction,
    MigrationStrategy,
    Plan,
    Requested,
    SessionFacts,
    Step,
    Transcript,
    Turn,
)
from kedgeline.pipeline.view import lead, numbered
from kedgeline.planning import POLICY, WORTH_NAMING, Policy, make_plan, rules_for
from kedgeline.planning.masking import FILE
from kedgeline.redact import Redactor
from kedgeline.shell import KnownOutcomes, OutcomesOf, outcomes_of
from kedgeline.summary import build
from kedgeline.tokens import EXACT, ContextTokens, Counter, overhead_tokens, tokens_of

if TYPE_CHECKING:
    from kedgeline.pipeline.outcomes import PreservationContext


def budget_for(
    transcript: Transcript,
    window: int,
    *,
    counter: Counter = EXACT,
    overhead: int = 0,
    policy: Policy = POLICY,
) -> Budget:
    """What a compaction may spend in a window of so many tokens.

    The system prompt and the tools that the transcript shows are taken off; `overhead` is what it
    does not show of them."""
    return policy.budget(window, overhead=overhead + overhead_tokens(transcript, counter))


# A step that asks nobody.

T = TypeVar("T")


def alone(step: Step[T]) -> T:
    """The result of a step that was given no model to ask, without any of the drivers."""
    try:
        asked = next(step)
    except StopIteration as done:
        result: T = done.value
        return result
    step.close()
    raise AssertionError(f"a step that has no model asked for one: {type(asked).__name__}")


def prepared(
    transcript: Transcript, counter: Counter, redactor: Redactor | None = None
) -> Transcript:
    """Turns numbered, with their exchanges, and counted, as those that were read are already; and
    without secrets that the redactor finds."""
    ready = numbered(transcript)
    turns = tuple(_counted(turn, counter) for turn in ready.turns)
    ready = ready if turns == ready.turns else replace(ready, turns=turns)
    return ready if redactor is None else redactor.transcript(ready)


def _counted(turn: Turn, counter: Counter) -> Turn:
    return (
        turn
        if turn.tokens or turn.is_blank
        else replace(turn, tokens=tokens_of(turn, counter).total)
    )


# What a compaction is asked to do.

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
    name: str = FILE
    """The session's, by which `kedgeline show` knows it."""
    context: ContextTokens | None = None
    """What the next request would send, where it is known better than by counting the turns."""
    outcomes: KnownOutcomes = field(default_factory=KnownOutcomes)
    """What calls came to, found out once for all who ask."""

    known: tuple[AnyFact, ...] | None = None
    """Its facts, where they were extracted before."""

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
    def asked(self) -> int:
        """Index of the turn in which the user last asked for something, not only agreed or thanked;
        the first where nothing was asked for."""
        requests = (fact for fact in reversed(self.facts) if isinstance(fact, Requested))
        asked = (one.turn for one in requests if one.scope != "step" and not one.queued)
        return next(asked, self.transcript.turns[0].index if self.transcript.turns else 0)

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
        known = self.context
        shown = known.shown if known else overhead_tokens(self.transcript, self.counter)
        return shown + self.hidden + self.waiting

    @property
    def hidden(self) -> int:
        return self.context.hidden if self.context else 0

    def room(self, tokens: int) -> int:
        """What should stay of the turns and what stands for them, where they have so many."""
        return replace(self.budget, target=self.budget.target - self.waiting).room(
            tokens, self.fixed
        )

    @property
    def is_settled(self) -> bool:
        """Whether nothing came since the last compaction and what it left keeps the budget: to do
        it again would only wear the summary down."""
        done = self.previous
        return (
            done is not None
            and done.turns == len(self.transcript.turns)
            and not done.plan.over_budget
            and done.tokens_after - done.hidden <= self.budget.target
        )


# The plan of a compaction.


def plan_of(job: Job, flow: ConversationFlow, budget: Budget | None = None) -> Plan:
    """The words that wait take their room; where there are no tool calls, recency alone counts.
    Another `budget` than the job's is for trying out."""
    budget = budget or job.budget
    previous = job.previous
    if previous is not None and job.is_settled:
        return replace(previous.plan, folded=(), reason="there are no new turns")
    waiting = job.waiting
    by_recency = flow.migration_strategy == "legacy_fallback"
    plan = make_plan(
        job.transcript.turns,
        () if by_recency else flow.anchor_points,
        replace(budget, target=budget.target - waiting, usable=budget.usable - waiting),
        rules=rules_for(job.provider),
        count=job.counter.count,
        start=job.start,
        earlier=job.earlier,
        masked=previous.plan.masked if previous else (),
        masking=job.masking,
        asked=job.asked,
        pending=job.transcript.pending,
        fixed=job.fixed - job.hidden,
        name=job.name,
    )
    if previous is not None and not plan.folded:
        plan = replace(plan, repeated=previous.plan.repeated)  # what leads the view stays
    if plan.over_budget and waiting > 0 and waiting >= WORTH_NAMING * job.budget.target:
        advice = f"the words that wait for an answer have {waiting:,} tokens: give them as a file"
        return replace(plan, advice=(advice, *plan.advice))
    return plan


# A conversation with what is found in it.


@dataclass(frozen=True)
class ConversationFlow:
    turns: tuple[Turn, ...]
    anchor_points: tuple[Anchor, ...]
    """In the order of their turns, the synthetic one among them."""
    migration_strategy: MigrationStrategy = "anchor_point_only"
    synthetic_anchor: Anchor | None = None
    root: str = ""
    """The session's folder: paths below it are shown from there."""

    @property
    def total_tokens(self) -> int:
        return sum(turn.tokens for turn in self.turns)

    @cached_property
    def preservation_context(self) -> PreservationContext:
        from kedgeline.pipeline.outcomes import (
            preservation_context_of,  # only who asks for it needs it
        )

        named = (Change(turn=0, name="root", value=self.root),) if self.root else ()
        session = SessionFacts(changes=named)
        return preservation_context_of(
            build(facts_of(Transcript(format="", turns=self.turns, session=session)))
        )


def flow_of(
    turns: Sequence[Turn],
    *,
    root: str = "",
    threshold: float = THRESHOLD,
    profile: str = "standard",
    outcomes: OutcomesOf = outcomes_of,
) -> ConversationFlow:
    """The anchors of a conversation; a synthetic checkpoint where it has none.

    One without a single tool call is taken over by recency alone: its anchors are named, and none
    of them moves the cut. `outcomes` is where those of the turns are known, or kept for others."""
    finder = Finder(threshold=threshold, profile=profile)
    shown = (finder.add(turn, outcomes(turn)) for turn in turns if not turn.is_blank)
    anchors = tuple(anchor for anchor in shown if anchor is not None)
    synthetic = synthetic_checkpoint(turns) if turns and not anchors else None
    structured = any(turn.tool_calls for turn in turns)
    return ConversationFlow(
        turns=tuple(turns),
        anchor_points=anchors if synthetic is None else (synthetic,),
        migration_strategy="anchor_point_only" if structured else "legacy_fallback",
        synthetic_anchor=synthetic,
        root=root,
    )
