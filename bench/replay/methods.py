"""Ways to compact that need no model, as far as they are not kedgeline's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, Literal, NamedTuple, TypeVar

from msgspec.structs import replace

from bench.replay.names import (
    EXACT,
    Finder,
    head,
    masked,
    newest,
    oldest,
    roots_of,
    strings_in,
    turn_text,
    whole,
)
from kedgeline.errors import UnknownName
from kedgeline.model import (
    Budget,
    Compaction,
    Message,
    Note,
    Text,
    Transcript,
    Turn,
)
from kedgeline.pipeline.compact import compact
from kedgeline.pipeline.job import ConversationFlow, flow_of
from kedgeline.pipeline.view import view

# kedgeline as a method of the replay: everything before the cut is folded.

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


class Kedgeline:
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
        """What is said again is not to take the summary's room: a plan tells its size, and with
        more room a long request may be said at more length."""
        whole_session, flow = self._going_on.of(session)
        budget = Budget(usable=tokens, target=tokens, recent_turns=1, summary=tokens)
        again = 0
        while True:
            made = compact(whole_session, replace(budget, target=tokens + again), flow=flow)
            said = sum(one.tokens for one in made.plan.repeated)
            if said <= again:
                return made
            again = said


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


HEAD_SHARE = 0.5
"""Head and tail: neither end is favoured."""
RECENT = 10
"""Turns that are kept by count: the window that masked best in the study which found masking as
good as summaries by a model (Lindenbauer and others 2025, arXiv 2508.21433)."""
HALF_LIFE = 50
"""Turns after which a mention of a name counts half."""
SAID, SHOWN = 4.0, 1.0
"""What a mention counts: in the words of the user or the agent, and in an output."""


def last_turns(session: Transcript, tokens: int) -> str:
    return newest(session.turns, tokens)


def head_and_tail(session: Transcript, tokens: int) -> str:
    first = oldest(session.turns, int(tokens * HEAD_SHARE))
    return first + newest(session.turns, tokens - EXACT.count(first))


def masking(session: Transcript, tokens: int) -> str:
    """The newest turns that fit, all outputs masked."""
    return newest(session.turns, tokens, masked)


def recent_turns(session: Transcript) -> str:
    """So many turns, however long they are."""
    return "".join(map(turn_text, session.turns[-RECENT:]))


def masking_older(session: Transcript) -> str:
    """Every turn, with the outputs of all but the newest ones masked."""
    older = (turn_text(turn, masked) for turn in session.turns[:-RECENT])
    return "".join((*older, recent_turns(session)))


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


# The methods that are compared: one entry each.

Room = Literal["none", "recorded", "budget"]
"""What a method may fill: as much as it takes, the length of the other system's own summary, or
every budget in turn."""

EVERYTHING = None
"""In the place of a text: all turns as they were."""
RECORDED = "recorded summary"
"""The other system's own, at its own length."""


class Given(NamedTuple):
    """What a method has to go by; nothing of it comes from after the cut."""

    session: Transcript
    tokens: int = 0
    """The most its text may have, where it has a budget."""
    recorded: str = ""
    """The other system's own summary, at a boundary."""


class Method(NamedTuple):
    name: str
    """As the tables and the command line call it."""
    room: Room
    text: Callable[[Given], str | None]
    """What the agent would go on from; None where everything stays."""


def methods() -> tuple[Method, ...]:
    """Every method, in the order of the tables; made anew, as some remember the last session."""
    kedgeline, names = Kedgeline(), NamesOnly()

    def budgeted(name: str, make: Callable[[Transcript, int], str]) -> Method:
        return Method(name, "budget", lambda of: make(of.session, of.tokens))

    return (
        Method("no compaction", "none", lambda of: EVERYTHING),
        Method(f"last {RECENT} turns", "none", lambda of: recent_turns(of.session)),
        Method(f"masking before the last {RECENT}", "none", lambda of: masking_older(of.session)),
        Method(RECORDED, "recorded", lambda of: of.recorded),
        budgeted("last turns", last_turns),
        budgeted("head and tail", head_and_tail),
        budgeted("masking", masking),
        budgeted("names only", names),
        budgeted("kedgeline", kedgeline.summary),
        budgeted("kedgeline, rebuilt", kedgeline.rebuilt),
    )


def chosen(names: Sequence[str]) -> tuple[Method, ...]:
    every = {method.name: method for method in methods()}
    for name in names:
        if name not in every:
            raise UnknownName("method", name, known=tuple(every))
    return tuple(method for name, method in every.items() if name in names)
