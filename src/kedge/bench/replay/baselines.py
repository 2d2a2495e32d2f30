"""Ways to compact that need no model, and kedge: each gives the text an agent would go on from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from msgspec.structs import replace

from kedge.bench.replay.names import Finder, roots_of, strings_in
from kedge.bench.replay.rendering import EXACT, head, masked, newest, oldest, turn_text, whole
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

Method = Callable[[Transcript, int], str]
"""What a session before a cut becomes within so many tokens."""

RECORDED = "recorded summary"
"""The other system's own, at its own length."""
HEAD_SHARE = 0.5
"""Head and tail: neither end is favoured."""
HALF_LIFE = 50
"""Turns after which a mention of a name counts half."""
SAID, SHOWN = 4.0, 1.0
"""What a mention counts: in the words of the user or the agent, and in an output."""

Made = TypeVar("Made")


def methods() -> dict[str, Method]:
    """Every method by name, in the order of the tables."""
    kedge = Kedge()
    return {
        "last turns": lambda session, tokens: newest(session.turns, tokens),
        "head and tail": head_and_tail,
        "masking": lambda session, tokens: newest(session.turns, tokens, masked),
        "names only": NamesOnly(),
        "kedge": kedge.summary,
        "kedge, rebuilt": kedge.rebuilt,
    }


def head_and_tail(session: Transcript, tokens: int) -> str:
    first = oldest(session.turns, int(tokens * HEAD_SHARE))
    return first + newest(session.turns, tokens - EXACT.count(first))


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


class NamesOnly:
    """A bare list of the names mentioned most and last: what a text can score that says nothing."""

    def __init__(self) -> None:
        self._ranked = Latest(ranked_names)

    def __call__(self, session: Transcript, tokens: int) -> str:
        return head("\n".join(self._ranked.of(session)), tokens)


def ranked_names(session: Transcript) -> list[str]:
    finder = Finder(roots_of(session))
    worth: defaultdict[str, float] = defaultdict(float)
    for age, turn in enumerate(reversed(session.turns)):
        fresh = 0.5 ** (age / HALF_LIFE)
        for text, weight in _mentions(turn):
            for name in finder.names_in(text):
                worth[name] += weight * fresh
    return sorted(worth, key=lambda name: (-worth[name], name))


def _mentions(turn: Turn) -> Iterator[tuple[str, float]]:
    said = [text for call in turn.tool_calls for text in strings_in(call.parameters)]
    yield "\n".join((*turn.user_words(), turn.assistant_response, *said)), SAID
    yield "\n".join(map(whole, turn.tool_results)), SHOWN


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
