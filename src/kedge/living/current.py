"""What is known of a session that grows: its facts, folded turn by turn, never read again."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from kedge.earlier import earlier_summary
from kedge.facts import Extraction
from kedge.facts.extractor import Setting
from kedge.facts.files.paths import root_of
from kedge.facts.session.session import session_facts
from kedge.living.region import Clean
from kedge.model import SessionNoted, Summary, Transcript, Turn
from kedge.outcomes import Known
from kedge.summary import Fold

OUTCOMES_KEPT = 200
"""Turns whose outcomes stay known: a later one is understood by those before it."""


class TakenBack(Exception):
    """A turn came in the place of one that is folded already: all is to be folded anew."""


class Current:
    """The state of a session up to its last complete turn. It is put away as bytes of this
    program's own, as a `Tail` is."""

    def __init__(self, root: str = "", earlier: Summary | None = None) -> None:
        """`earlier` is what a summary tells that stands before the first turn."""
        self._agents: dict[str, Transcript] = {}
        self._turns: dict[str, list[Turn]] = {}
        setting = Setting(root=root, agents=self._agents, outcomes=Known(OUTCOMES_KEPT))
        self.root = root
        self._extraction = Extraction(setting)
        self._fold = Fold(earlier)
        self._next = 0
        self._delegated: dict[str, int] = {}
        """Calls that are folded and started a sub-agent, with as many of its turns as were known
        then."""
        self.stale = False
        """More of a sub-agent is known than when the call that started it was folded: all is to be
        folded anew for that to count."""

    @property
    def turns(self) -> int:
        """How many are folded."""
        return self._next

    def take(self, turns: Iterable[Turn], about: Transcript, clean: Clean) -> None:
        """Complete turns, those of sub-agents too, in their order."""
        mine = self._divided(turns, about, clean)
        for turn in mine:
            if turn.index < self._next:
                raise TakenBack
            self._next = turn.index + 1
            self._add(clean(turn))

    def summary(self, turns: Iterable[Turn], about: Transcript, clean: Clean) -> Summary:
        """With the turns that are open still, and the words that wait. Nothing can be taken
        afterwards."""
        rest = [turn for turn in self._divided(turns, about, clean) if turn.index >= self._next]
        for turn in rest:
            self._add(clean(turn))
        if about.pending is not None:
            self._add(clean(replace(about.pending, index=max(self._next, about.pending.index))))
        last = Turn(index=max((self._next - 1, *(turn.index for turn in rest))))
        for fact in session_facts(clean(about).session, (last,)):
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

    def _add(self, turn: Turn) -> None:
        for call in turn.tool_calls:
            if call.verb == "delegate":
                told = self._agents.get(call.id)
                self._delegated[call.id] = len(told.turns) if told else 0
        if not turn.is_blank:
            for fact in self._extraction.add(turn):
                self._fold.add(fact)
        self._fold.covers(turn.index)

    def _divided(self, turns: Iterable[Turn], about: Transcript, clean: Clean) -> Sequence[Turn]:
        """The turns of the main conversation; those of sub-agents are kept for the call that
        started them, whose own turn may come later."""
        mine: list[Turn] = []
        for turn in turns:
            if not turn.agent:
                mine.append(turn)
                continue
            known = self._turns.setdefault(turn.agent, [])
            del known[turn.index :]
            known.append(clean(turn))
        for agent in about.agents:
            if agent.delegated_by and agent.agent in self._turns:
                call, told = agent.delegated_by, tuple(self._turns[agent.agent])
                self._agents[call] = replace(agent, turns=told)
                self.stale = self.stale or len(told) > self._delegated.get(call, len(told))
        return mine


def _in_order(noted: tuple[SessionNoted, ...]) -> tuple[SessionNoted, ...]:
    """What the client noted comes behind all turns here; each was true from its turn on."""
    return tuple(sorted(noted, key=lambda one: one.turn))


def fresh(about: Transcript) -> Current:
    """For a session of which nothing is known yet."""
    return Current(root_of(about.session), earlier_summary(about))
