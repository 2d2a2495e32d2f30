"""What an agent may pin: only what the user wrote, and nothing that means less than was written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

from kedge.errors import NothingToPin, UserError
from kedge.living.journal import Journal
from kedge.living.pinning import pin_of
from kedge.matching import plain
from kedge.sentences import LOOKED_AT, sentences, visible

CLOSING = ".。"
"""Ends a sentence; whoever quotes one may leave it out. Not so a mark that makes it a question."""

_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")


def pinnable(journal: Journal, session: str, what: str) -> str:
    """The mark of a turn in which the user spoke, or whole sentences of a message of the user's:
    `push to main` out of `Never push to main` would say the contrary. All else is refused. What is
    pinned is said to be the user's from then on, and a page may ask an agent to pin anything."""
    pin = pin_of(journal, session, what)
    if pin.turn >= 0:
        place = journal.place(pin.turn)
        if place is None or not journal.turn(place).user_words():
            raise UserError(f"the user said nothing in t{pin.turn}; {_themself(session)}")
        return what
    words = visible(what)
    if not (wanted := plain(words)):
        raise NothingToPin(session)
    if not any(says(message, wanted) for message in _messages(journal)):
        raise UserError(
            "these are no whole sentences of a message of the user's in this session; give them "
            f"as they stand there, or the mark of the turn; {_themself(session)}"
        )
    return words


def says(message: str, wanted: str) -> bool:
    """Whether words, which are plain already, are whole sentences of a message, one behind the
    other."""
    wanted = wanted.rstrip(CLOSING)
    pieces = list(_pieces(message))
    text = " ".join(pieces)
    if not wanted or wanted not in text:
        return False
    starts = list(accumulate((len(piece) + 1 for piece in pieces), initial=0))
    ends = {
        start + len(piece.rstrip(CLOSING)) for start, piece in zip(starts, pieces, strict=False)
    }
    return any(
        start + len(wanted) in ends and text.startswith(wanted, start)
        for start, before in zip(starts, ("", *pieces), strict=True)
        if not before.endswith(":")  # what follows is understood only together with it
    )


def _themself(session: str) -> str:
    return f"other words are pinned by the user: `kedge pin {session} WORDS`"


def _messages(journal: Journal) -> Iterator[str]:
    """What the user wrote, the newest first: that is what is pinned most of the time."""
    waiting = journal.pending()
    if waiting is not None:
        yield from waiting.user_words()
    for place in reversed(journal.places()):
        yield from journal.turn(place).user_words()


def _pieces(message: str) -> Iterator[str]:
    """Sentences, each in plain form. Items of a list belong to what stands before them, and a
    paragraph too long to be looked at, a heading or a piece of code stays whole."""
    for paragraph in _BLANK_LINE.split(message):
        line = plain(paragraph)
        found = list(sentences(line)) if len(line) <= LOOKED_AT else []
        yield from found if " ".join(found) == line else [line] if line else []
