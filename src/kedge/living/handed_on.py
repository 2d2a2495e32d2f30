"""What sub-agents did, for the call that started them: kept until that is folded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kedge.archive import content_id
from kedge.living.adding import PLACED
from kedge.model import Transcript, Turn


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
