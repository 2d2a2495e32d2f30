"""A session opened for its pages: without secrets, with what its turns came to, counted once."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import NamedTuple

from msgspec.structs import replace

from kedgeline.economy.ledger import (
    Base,
    Thread,
    cost_of,
    prices_installed,
    rates_of,
    sizes_of,
    tiers_of,
)
from kedgeline.facts import facts_of
from kedgeline.model import (
    AnyFact,
    CommandRun,
    Compaction,
    EarlierCompaction,
    FileChanged,
    Transcript,
    Turn,
)
from kedgeline.models.windows import window_named
from kedgeline.pipeline.view import numbered
from kedgeline.planning import POLICY
from kedgeline.redact import Redactor
from kedgeline.session.journal import Event, Recorded
from kedgeline.session.session import Session
from kedgeline.settings import Settings
from kedgeline.shell import CHECKS
from kedgeline.tokens import counter_named, fitting, model_of, overhead_tokens


class Numbers(NamedTuple):
    """Of the main conversation, turn by turn."""

    context: tuple[int, ...]
    """Tokens that the model was sent."""
    reported: tuple[bool, ...]
    """Whether the provider said so; else it is estimated."""
    tokens: tuple[int, ...]
    """Of the turn itself, estimated."""
    cost: tuple[float, ...] | None
    """Of all turns up to this one; None where prices are not known."""


class _Window(NamedTuple):
    tokens: int
    known_from: str
    trigger: int
    """Tokens of context from which on it is compacted."""
    target: int
    """What a compaction leaves at the most."""


class ShownSession:
    """One session. Its turns carry numbers as its summaries cite them."""

    def __init__(
        self,
        name: str,
        transcript: Transcript,
        redactor: Redactor,
        *,
        settings: Settings | None = None,
        window: int = 0,
        kept: Session | None = None,
        seen: str = "",
    ) -> None:
        """`window` is the one that was asked for; `kept` the session in its store, where it is
        kept; `seen` tells states of its source apart."""
        self.name, self.kept, self.seen = name, kept, seen
        self.settings, self._asked = settings or Settings(), window
        self.clean = redactor.clean
        self.transcript = redactor.transcript(numbered(transcript))
        self.model = model_of(self.transcript, reversed(self.transcript.turns))
        self.counter = fitting(counter_named(self.settings.vocabulary), self.model)
        self.first = self.turns[0].index if self.turns else 0
        self.agents = {one.delegated_by: one.agent for one in self.transcript.agents}
        self.made: dict[str, object] = {}
        """Pages that take long, by what they show."""

    @property
    def turns(self) -> tuple[Turn, ...]:
        return self.transcript.turns

    def thread(self, agent: str = "") -> tuple[Turn, ...]:
        """The turns of a sub-agent, or of the main conversation."""
        found = (one.turns for one in self.transcript.agents if one.agent == agent)
        return next(found, ()) if agent else self.turns

    @cached_property
    def window(self) -> _Window:
        """The one asked for, that of settings, or the model's own."""
        tokens, known_from = self._asked, "asked for"
        if not tokens and self.settings.window != Settings().window:
            tokens, known_from = self.settings.window, "settings"
        if not tokens and (own := window_named(self.model)):
            tokens, known_from = own, self.model
        tokens, known_from = (tokens or self.settings.window), known_from if tokens else "usual"
        beside = overhead_tokens(self.transcript, self.counter)
        usable = POLICY.usable(tokens, overhead=beside)
        return _Window(
            tokens,
            known_from,
            beside + round(POLICY.begin * usable),
            beside + round(POLICY.target * usable),
        )

    @cached_property
    def events(self) -> list[tuple[Event, Compaction]]:
        """Compactions of ours, oldest first."""
        every = self.kept.history() if self.kept else []
        return [(one, one.what.compaction) for one in every if isinstance(one.what, Recorded)]

    @cached_property
    def hosts(self) -> tuple[EarlierCompaction, ...]:
        return tuple(one for one in self.transcript.compactions if one.by != "kedgeline")

    @cached_property
    def numbers(self) -> Numbers:
        bases = self._bases()
        starts = [base.turn for base in bases]
        thread, context, reported, tokens = Thread(), [], [], []
        for place, turn in enumerate(self.turns):
            sizes = sizes_of(turn)
            thread.take(turn if turn.index == place else _at(turn, place), sizes)
            known = thread.context(place)
            base = bases[max(0, bisect_right(starts, place) - 1)]
            context.append(thread.carried(base) if known is None else known)
            reported.append(known is not None)
            tokens.append(sizes.total)
        return Numbers(tuple(context), tuple(reported), tuple(tokens), _costs(self.turns))

    def _bases(self) -> list[Base]:
        """Where the context began anew."""
        beside = overhead_tokens(self.transcript, self.counter)
        found = [Base(0, beside)]
        for one in self.hosts:
            if one.kind != "outputs_cleared":
                left = one.tokens_after or self.counter.count(one.summary) + beside
                found.append(Base(one.turn - self.first, left))
        for event, made in self.events:
            if not event.undone:
                found.append(Base(made.turns, made.tokens_after))
        return sorted(found, key=lambda base: base.turn)

    @cached_property
    def facts(self) -> tuple[AnyFact, ...]:
        return tuple(facts_of(self.transcript))

    @property
    def checks(self) -> list[CommandRun]:
        """Tests, builds and the like that came to something."""
        runs = (one for one in self.facts if isinstance(one, CommandRun))
        return [one for one in runs if one.purpose in CHECKS and one.success is not None]

    @property
    def changes(self) -> list[FileChanged]:
        return [one for one in self.facts if isinstance(one, FileChanged)]


def _at(turn: Turn, place: int) -> Turn:
    return replace(turn, index=place)


def _costs(turns: tuple[Turn, ...]) -> tuple[float, ...] | None:
    """What was reported, at today's prices; None where nothing of it has one."""
    if not prices_installed():
        return None
    total, known, found = 0.0, False, []
    for turn in turns:
        if turn.usage is not None and turn.model:
            above = [tier for tier in tiers_of(turn.model) if turn.usage.context > tier]
            rates = rates_of(turn.model, context=above[-1] + 1 if above else 0)
            amount = cost_of(turn.usage, rates, model=turn.model).amount
            known = known or amount is not None
            total += amount or 0.0
        found.append(round(total, 6))
    return tuple(found) if known else None
