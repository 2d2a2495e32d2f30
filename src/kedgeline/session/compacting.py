"""A model that writes for a session: its requests are written down as they are made."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypedDict

from msgspec.structs import replace

from kedgeline.errors import KedgelineError, StoreFailed
from kedgeline.facts import Extraction
from kedgeline.facts.extractor import Setting
from kedgeline.facts.files.paths import root_of
from kedgeline.facts.session import has_plan, session_facts
from kedgeline.model import (
    Budget,
    Compaction,
    ModelCall,
    Note,
    SessionNoted,
    Step,
    Summary,
    Transcript,
    Turn,
)
from kedgeline.models import TERMS, AsyncModel, Meter, Model, Terms, name_of
from kedgeline.outcomes import Known
from kedgeline.pipeline.compact import compacting
from kedgeline.pipeline.draft import Writer
from kedgeline.pipeline.job import Style, budget_for
from kedgeline.pipeline.record import NOTHING_GAINED
from kedgeline.pipeline.view import earlier_summary, lead
from kedgeline.pipeline.words import ModelWriter
from kedgeline.planning import History, Policy
from kedgeline.session.appending import Hold
from kedgeline.session.archive import content_id
from kedgeline.session.deciding import (
    Clean,
    Region,
    as_it_stands,
    context_tokens,
    fitted,
    for_compaction,
    grown,
    masked_entries,
    pinned_texts,
    written,
)
from kedgeline.session.journal import (
    PLACED,
    Attempt,
    Journal,
    Keeping,
    Ready,
    Recorded,
    Standing,
    add_value,
    ready_value,
)
from kedgeline.store import Entry, Kind, Reading
from kedgeline.summary import Fold
from kedgeline.telemetry import compaction_span
from kedgeline.tokens import tokens_of


def writer_of(
    model: Model | AsyncModel,
    terms: Terms | None,
    journal: Journal,
    hold: Hold,
    keeping: Keeping,
) -> ModelWriter:
    """What earlier requests of the session used counts towards its budget."""

    def written_down(call: ModelCall) -> None:
        with hold() as held:
            add_value(held.writing, "call", call, keeping)

    terms = terms or TERMS
    meter = Meter(terms, count=keeping.counter.count, earlier=journal.calls(), on_call=written_down)
    return ModelWriter(name_of(model), meter, keeping.clean, terms)


# Every turn of a session that was paid for, those that were taken back included.

TURNS: tuple[Kind, ...] = ("turn",)


def paid_turns(store: Reading, session: str) -> Iterator[Turn]:
    """In the order of writing. A turn that was written again with more in it comes once, as it was
    last; one in whose place another came after a rewind is given too."""
    journal = Journal(store, session)
    last: dict[str, Turn] = {}
    for entry in store.entries(session, kinds=TURNS, light=True):
        turn = replace(written(journal, entry.index, entry.number), agent=entry.thread)
        before = last.get(entry.thread)
        if before is not None and not (before.index == turn.index and grown(before, turn)):
            yield before
        last[entry.thread] = turn
    yield from last.values()


# What sub-agents did, for the call that started them: kept until that is folded.


class _Folded(NamedTuple):
    """A sub-agent as it was when the call that started it was folded."""

    turns: int
    last: str
    """What tells its last turn, which may still have been open."""


class HandedOn:
    def __init__(self) -> None:
        self.by_call: dict[str, Transcript] = {}
        """Sub-agents' conversations by the id of the call that started them."""
        self.stale = False
        """More of a sub-agent is known, or something else, than when its call was folded."""
        self._turns: dict[str, list[Turn]] = {}
        self._folded: dict[str, _Folded] = {}
        """Sub-agents of calls that are folded; their turns are kept no longer."""
        self._calls: dict[str, str] = {}
        """Calls that are folded, to the sub-agent that was known then; empty for none."""

    def take(self, turn: Turn) -> None:
        before = self._folded.get(turn.agent)
        if before is not None:
            again = turn.index == before.turns - 1 and before.last == _told(turn)
            self.stale = self.stale or not again
            return
        known = self._turns.setdefault(turn.agent, [])
        del known[turn.index :]
        known.append(turn)

    def link(self, agents: Sequence[Transcript]) -> None:
        """Which call started which of the sub-agents that there are; that may become clear late, or
        be other than it was taken to be."""
        if not agents:
            return
        self.by_call.clear()
        started: dict[str, str] = {}
        for agent in agents:
            if agent.delegated_by and (agent.agent in self._turns or agent.agent in self._folded):
                started[agent.delegated_by] = agent.agent
                turns = tuple(self._turns.get(agent.agent, ()))
                self.by_call[agent.delegated_by] = replace(agent, turns=turns)
        known = self._calls.items()
        self.stale = self.stale or any(started.get(call, "") != agent for call, agent in known)

    def folded(self, turn: Turn) -> None:
        """A turn is folded, and with it what its calls started."""
        for call in _delegating(turn):
            agent = self.by_call.get(call)
            self._calls[call] = agent.agent if agent else ""
            for own in agent.turns if agent else ():
                self.folded(own)
            if agent and agent.agent in self._turns:
                turns = self._turns.pop(agent.agent)
                self._folded[agent.agent] = _Folded(len(turns), _told(turns[-1]) if turns else "")


def delegates(turn: Turn) -> bool:
    """Whether a sub-agent is started in it."""
    return next(_delegating(turn), None) is not None


def _delegating(turn: Turn) -> Iterator[str]:
    return (call.id for call in turn.tool_calls if call.verb == "delegate")


def _told(turn: Turn) -> str:
    return content_id(turn, beside=PLACED)


# What is known of a session that grows: its facts, folded turn by turn, never read again.

OUTCOMES_KEPT = 200
"""Turns whose outcomes stay known: a later one is understood by those before it."""
HELD = 50
"""Turns that are not folded yet, from the first that started a sub-agent on: it may be at work
still, and what it does is told with the turn that started it."""


class TakenBack(Exception):
    """A turn came in the place of one that is folded already: all is to be folded anew."""


class Current:
    """The state of a session up to its last complete turn. It is put away as bytes of this
    program's own, as a `Tail` is."""

    def __init__(self, root: str = "", earlier: Summary | None = None) -> None:
        """`earlier` is what a summary tells that stands before the first turn."""
        self._handed_on = HandedOn()
        agents = self._handed_on.by_call
        setting = Setting(root=root, agents=agents, outcomes=Known(OUTCOMES_KEPT))
        self.root = root
        self._extraction = Extraction(setting)
        self._fold = Fold(earlier)
        self._next = 0
        self._planned: Turn | None = None
        """The first turn that shows a plan, without all else."""
        self._held: list[Turn] = []

    @property
    def turns(self) -> int:
        """How many were taken."""
        return self._next

    @property
    def stale(self) -> bool:
        """Of a sub-agent more is known, or something else, than when the call that started it was
        folded: all is to be folded anew for that to count."""
        return self._handed_on.stale

    def take(self, turns: Iterable[Turn], about: Transcript, clean: Clean) -> None:
        """Complete turns, those of sub-agents too, in their order."""
        for turn in self._divided(turns, about, clean):
            if turn.index < self._next:
                self._take_back(turn.index)
            self._next = turn.index + 1
            self._held.append(clean(turn))
            if len(self._held) == 1 and not delegates(turn):
                self._fold_held()

    def settle(self, turns: Iterable[Turn], about: Transcript, clean: Clean) -> None:
        """Fold what need not be held: to be called when all is known that there is now, with the
        turns that are not complete yet."""
        list(self._divided((turn for turn in turns if turn.agent), about, clean))
        while len(self._held) > HELD or (self._held and not delegates(self._held[0])):
            self._fold_held()

    def summary(self, turns: Iterable[Turn], about: Transcript, clean: Clean) -> Summary:
        """With the turns that are open still, and the words that wait. Nothing can be taken
        afterwards."""
        rest = [turn for turn in self._divided(turns, about, clean) if turn.index >= self._next]
        while self._held:
            self._fold_held()
        for turn in rest:
            self._add(clean(turn))
        if about.pending is not None:
            self._add(clean(replace(about.pending, index=max(self._next, about.pending.index))))
        last = Turn(index=max((self._next - 1, *(turn.index for turn in rest))))
        shown = (self._planned, last) if self._planned else (last,)
        for fact in session_facts(clean(about).session, shown):
            self._fold.add(fact)
        made = self._fold.summary()
        return replace(
            made, session={name: _in_order(every) for name, every in made.session.items()}
        )

    def put_away(self) -> bytes:
        return pickle.dumps(self, protocol=5)

    @classmethod
    def restored(cls, data: bytes) -> Current:
        """What was put away, to go on with. Raises `ValueError` where its shape is another."""
        found = pickle.loads(data)
        if not isinstance(found, cls) or vars(found).keys() != vars(cls()).keys():
            raise ValueError("what was put away is of another kedgeline")
        return found

    def _take_back(self, index: int) -> None:
        if not self._held or index < self._held[0].index:
            raise TakenBack
        self._held = [turn for turn in self._held if turn.index < index]

    def _fold_held(self) -> None:
        turn = self._held.pop(0)
        self._add(turn)
        self._handed_on.folded(turn)

    def _add(self, turn: Turn) -> None:
        if self._planned is None and has_plan(turn):
            self._planned = Turn(index=turn.index, notes=(Note(kind="plan", text=""),))
        if not turn.is_blank:
            for fact in self._extraction.add(turn):
                self._fold.add(fact)
        self._fold.covers(turn.index)

    def _divided(self, turns: Iterable[Turn], about: Transcript, clean: Clean) -> Sequence[Turn]:
        """The turns of the main conversation; those of sub-agents are kept for the call that
        started them, whose own turn may come later."""
        mine: list[Turn] = []
        for turn in turns:
            if turn.agent:
                self._handed_on.take(clean(turn))
            else:
                mine.append(turn)
        self._handed_on.link(about.agents)
        return mine


def _in_order(noted: tuple[SessionNoted, ...]) -> tuple[SessionNoted, ...]:
    """What the client noted comes behind all turns here; each was true from its turn on."""
    return tuple(sorted(noted, key=lambda one: one.turn))


def fresh(about: Transcript) -> Current:
    """For a session of which nothing is known yet."""
    return Current(root_of(about.session), earlier_summary(about))


# A compaction of a living session: written down only if what it was made from still stands.

TRIES = 5
"""How often a compaction begins again because what it folded was taken back meanwhile."""

Make = Callable[[Region, Budget], Step[Compaction]]
Room = Callable[[Journal], Budget]


def compacted(
    hold: Hold,
    read: Callable[[], Journal],
    keeping: Keeping,
    make: Make,
    room: Room,
    *,
    provider: str = "",
) -> Step[Compaction]:
    """Nobody waits while it is made. A compaction that fails or frees nothing is written down as an
    attempt: that decides when the next one comes."""
    for _ in range(TRIES):
        journal = read()
        head, mark = journal.head(), journal.compaction_mark()
        done = _done(journal, journal.recorded())
        budget = room(journal)
        region = _region(journal, done, keeping, budget)
        try:
            made = _with_ahead((yield from make(region, budget)), region)
        except KedgelineError as error:
            ready = _noted(journal, keeping, str(error), journal.history().failed())
            with hold() as held:
                held.writing.add(ready.entry, blobs=ready.blobs)
            raise
        idle = made.count == (done.count if done else 0)
        history = History(
            freed=max(0, made.tokens_before - made.tokens_after),
            usable=budget.usable,
            held_up=(made.plan.reason or NOTHING_GAINED) if idle else made.plan.held_up,
        )
        if idle:
            ready = _noted(journal, keeping, made.plan.reason, history)
        else:
            masked = masked_entries(journal, made, head.number)
            ready = _recorded(journal, keeping, made, region, history, provider, masked)
        with hold() as held:
            if _stands(held.journal, mark, made, head.number):
                held.writing.add(ready.entry, blobs=ready.blobs)
                return made
    raise StoreFailed(
        "session",
        f"turns were taken back {TRIES} times while they were compacted",
        next_step="nothing was changed; try again when the session rests",
    )


def rehearsal(journal: Journal, keeping: Keeping, make: Make, room: Room) -> Step[Compaction]:
    """The same, and nothing is written down."""
    budget = room(journal)
    region = _region(journal, _done(journal, journal.recorded()), keeping, budget)
    return (yield from make(region, budget))


def _region(journal: Journal, done: Compaction | None, keeping: Keeping, budget: Budget) -> Region:
    region = for_compaction(journal, done, window=budget.usable, clean=keeping.cleaned)
    return region._replace(context=context_tokens(journal, keeping))


def _done(journal: Journal, standing: Standing | None) -> Compaction | None:
    return as_it_stands(journal, standing.record).compaction if standing else None


def room(
    journal: Journal,
    keeping: Keeping,
    window: int,
    *,
    overhead: int,
    max_output: int | None,
    policy: Policy,
) -> Budget:
    """The room of a window, without what is pinned: that stays whatever is folded. `overhead` is
    what somebody says that the session does not show; else it is what providers reported."""
    hidden = context_tokens(journal, keeping).within(window).hidden
    budget = budget_for(
        journal.about(),
        window,
        counter=keeping.counter,
        overhead=overhead or hidden,
        max_output=max_output,
        policy=policy,
    )
    every = pinned_texts(journal, journal.count())
    pinned = sum(map(keeping.counter.count, every))
    return replace(
        budget,
        usable=max(0, budget.usable - pinned),
        target=max(0, budget.target - pinned),
    )


def _stands(journal: Journal, before: Entry | None, made: Compaction, head: int) -> bool:
    """Whether what was folded is what was read, and no other compaction came between. A kept turn
    may have changed: what was masked in it is then left out of the view."""
    now = journal.compaction_mark()
    if (now and now.number) != (before and before.number):
        return False
    cut = made.plan.cut
    place = journal.place(cut - 1) if cut else None
    return not cut or (place is not None and place.number <= head)


def _recorded(
    journal: Journal,
    keeping: Keeping,
    made: Compaction,
    region: Region,
    history: History,
    provider: str,
    masked: tuple[tuple[int, int], ...],
) -> Ready:
    last = journal.place(made.plan.cut - 1) if made.plan.cut else None
    leads = lead(region.transcript, made)
    recorded = Recorded(
        compaction=made,
        history=history,
        turns=journal.count(),
        tokens=journal.tokens(),
        leads=sum(_tokens(turn, keeping) for turn in leads),
        folded=last.number if last else 0,
        chain=journal.chain(last.number) if last else "",
        provider=provider,
        masked=masked,
    )
    return ready_value("compaction", recorded, keeping, index=made.plan.cut)


def _noted(journal: Journal, keeping: Keeping, why: str, history: History) -> Ready:
    """That nothing was changed."""
    attempt = Attempt(
        why=keeping.clean(why), history=history, turns=journal.count(), tokens=journal.tokens()
    )
    return ready_value("attempt", attempt, keeping)


def _with_ahead(made: Compaction, region: Region) -> Compaction:
    """The record with what was folded while it was read."""
    span = region.ahead
    if span is None:
        return made
    if made.count == (region.previous.count if region.previous else 0):
        return made  # nothing came of it, so what was folded ahead is still there
    plan = made.plan
    return replace(
        made,
        plan=replace(
            plan,
            folded=(span, *plan.folded),
            tokens_before=plan.tokens_before + span.tokens,
        ),
        span_tokens=made.span_tokens + span.tokens,
    )


def _tokens(turn: Turn, keeping: Keeping) -> int:
    return turn.tokens or tokens_of(turn, keeping.counter).total


# One compaction of a living session, as a step.


class CompactOptions(TypedDict, total=False):
    """What a compaction of a session takes by name."""

    window: int | None
    """The model's context window in tokens, where it is not the session's."""
    provider: str
    """Where the context will be sent: its rules say where it may be cut."""
    style: Style
    masking: bool
    """Mask old outputs even where the budget is kept."""
    overhead: int
    """Tokens of system prompt and tools that the session does not show."""
    max_output: int | None
    """Longest answer of the model, in tokens."""


def compacting_session(
    name: str,
    hold: Hold,
    read: Callable[[], Journal],
    keeping: Keeping,
    policy: Policy,
    usual: int,
    writer: Writer | None,
    *,
    window: int | None = None,
    trigger: str = "",
    rehearsed: bool = False,
    provider: str = "",
    style: Style = "anchored",
    masking: bool = False,
    overhead: int = 0,
    max_output: int | None = None,
) -> Step[Compaction]:
    """What is there is compacted, and the record written down. `usual` is the session's own
    window, `trigger` what made it begin; where it is only `rehearsed`, nothing is written."""

    keeping, size = fitted(read(), keeping), usual if window is None else window

    def make(region: Region, budget: Budget) -> Step[Compaction]:
        return compacting(
            region.transcript,
            budget,
            provider=provider,
            previous=region.previous,
            counter=keeping.counter,
            masking=masking,
            style=style,
            redactor=None,  # the region is clean
            at=datetime.fromtimestamp(keeping.clock() / 1_000_000, UTC),
            name=name,
            context=region.context.within(size) if region.context else None,
            writer=writer,
        )

    def budget(journal: Journal) -> Budget:
        return room(
            journal,
            keeping,
            size,
            overhead=overhead,
            max_output=max_output,
            policy=policy,
        )

    if rehearsed:
        return (yield from rehearsal(read(), keeping, make, budget))
    with compaction_span(name, provider=provider, trigger=trigger) as told:
        made = yield from compacted(hold, read, keeping, make, budget, provider=provider)
        return told(made)
