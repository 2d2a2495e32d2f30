"""What is known of a session that grows: its facts, folded turn by turn, never read again."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from kedge.earlier import earlier_summary
from kedge.facts import Extraction
from kedge.facts.extractor import Setting
from kedge.facts.files.paths import root_of
from kedge.facts.session.session import has_plan, session_facts
from kedge.living.handed_on import HandedOn, delegates
from kedge.living.region import Clean
from kedge.model import Note, SessionNoted, Summary, Transcript, Turn
from kedge.outcomes import Known
from kedge.summary import Fold

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
            raise ValueError("what was put away is of another kedge")
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
