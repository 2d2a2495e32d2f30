"""Ways to compact that need no model, as far as they are not kedge's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from kedge.bench.replay.compacted import Latest
from kedge.bench.replay.names import Finder, roots_of, strings_in
from kedge.bench.replay.rendering import EXACT, head, masked, newest, oldest, turn_text, whole
from kedge.model import Transcript, Turn

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
