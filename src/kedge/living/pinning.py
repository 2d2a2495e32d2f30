"""What is pinned, as it stands in a view."""

from __future__ import annotations

import re

from kedge.errors import NoSuchTurn
from kedge.foreign import neutral
from kedge.living.journal import Journal
from kedge.living.values import Pin
from kedge.model import Turn

_MARK = re.compile(r"\[?t(\d{1,9})\]?")


def pin_of(journal: Journal, session: str, what: str | int) -> Pin:
    """A pin for a turn (12, t12) or for words."""
    mark = _MARK.fullmatch(what.strip()) if isinstance(what, str) else None
    index = int(mark[1]) if mark else what
    if isinstance(index, str):
        return Pin(text=index)
    count = journal.count()
    if not 0 <= index < count:
        raise NoSuchTurn(session, f"turn t{index}", turns=count)
    return Pin(turn=index)


def pin_named(journal: Journal, session: str, what: str | int) -> Pin:
    """The pin that stands for a turn, for these words, or under this number."""
    wanted = pin_of(journal, session, what) if isinstance(what, str) else Pin(number=what)
    for pin in reversed(journal.pins()):
        same = (pin.turn, pin.text) == (wanted.turn, wanted.text)
        if same if isinstance(what, str) else pin.number == what:
            return pin
    raise NoSuchTurn(session, f"pin {what!r}", turns=journal.count())


def pinned_texts(journal: Journal, cut: int) -> list[str]:
    """What a view says word for word: pinned words, and pinned turns that are folded."""
    texts: list[str] = []
    for pin in journal.pins():
        if pin.turn < 0:
            texts.append(pin.text)
        elif pin.turn < cut and (place := journal.place(pin.turn)) is not None:
            texts.append(_told(journal.turn(place)))
    return texts


def _told(turn: Turn) -> str:
    """A turn by what was said in it, each with who said it."""
    said = (("The user", words) for words in turn.user_words())
    answer = neutral(turn.assistant_response)  # the agent's words close no tag of ours
    answered = (("The agent", answer),) if answer else ()
    told = (f"{who} in t{turn.index}:\n{text}" for who, text in (*said, *answered))
    return "\n\n".join(told)
