"""kedge as a method of the replay: everything before the cut is folded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from msgspec.structs import replace

from kedge.bench.replay.rendering import turn_text
from kedge.compaction import compact
from kedge.flow import flow_of
from kedge.model import (
    Budget,
    Compaction,
    ConversationFlow,
    Message,
    Note,
    Text,
    Transcript,
    Turn,
)
from kedge.viewing import view

Made = TypeVar("Made")


class Latest(Generic[Made]):
    """What was made of the session that was asked for last: a session is compacted to several
    sizes in turn."""

    def __init__(self, make: Callable[[Transcript], Made]) -> None:
        self._make = make
        self._of: tuple[Transcript, Made] | None = None

    def of(self, session: Transcript) -> Made:
        if self._of is None or self._of[0] is not session:
            self._of = (session, self._make(session))
        return self._of[1]


class Kedge:
    """A compaction that folds everything before the cut."""

    def __init__(self) -> None:
        self._going_on = Latest(_going_on)
        self._made: tuple[Transcript, int, Compaction] | None = None

    def summary(self, session: Transcript, tokens: int) -> str:
        """The summary alone, within the tokens."""
        return self._compacted(session, tokens).summary

    def rebuilt(self, session: Transcript, tokens: int) -> str:
        """The whole rebuilt context: with the rules and the request that are said again, and with
        the turns that would not be shorter if they were folded. These come on top of the tokens."""
        made = self._compacted(session, tokens)
        turns = view(self._going_on.of(session)[0], made).turns[:-1]
        leads = 1 if made.summary else 0
        texts = (*map(_heard, turns[:leads]), *map(turn_text, turns[leads:]))
        return "\n\n".join(texts)

    def _compacted(self, session: Transcript, tokens: int) -> Compaction:
        known = self._made
        if known is None or known[0] is not session or known[1] != tokens:
            self._made = known = (session, tokens, self._compact(session, tokens))
        return known[2]

    def _compact(self, session: Transcript, tokens: int) -> Compaction:
        """What is said again is not to take the summary's room: the first plan tells its size."""
        whole_session, flow = self._going_on.of(session)
        budget = Budget(usable=tokens, target=tokens, recent_turns=1, summary=tokens)
        first = compact(whole_session, budget, flow=flow)
        again = sum(one.tokens for one in first.plan.repeated)
        if not again:
            return first
        return compact(whole_session, replace(budget, target=tokens + again), flow=flow)


def _heard(turn: Turn) -> str:
    """The words of a turn that nobody has answered."""
    parts = (part for message in turn.messages for part in message.parts)
    return "\n\n".join(part.text for part in parts if isinstance(part, (Text, Note)))


def _going_on(session: Transcript) -> tuple[Transcript, ConversationFlow]:
    """The session with the turn in which the agent goes on, still empty: all before it can be
    folded, and the request it works on is under way."""
    last = session.turns[-1]
    empty = Turn(
        index=last.index + 1,
        exchange=last.exchange,
        messages=(Message(role="user"),),
    )
    turns = (*session.turns, empty)
    going_on = replace(session, turns=turns)
    return going_on, flow_of(turns, root=session.session.latest("root"))
