"""What is pinned: written down, taken back, and as it stands in a view."""

from __future__ import annotations

import re

from msgspec.structs import replace

from kedge.errors import NoSuchTurn, NothingToPin
from kedge.foreign import neutral
from kedge.living.adding import Keeping, add_mark, add_value
from kedge.living.appending import Hold
from kedge.living.growing import grown, written
from kedge.living.journal import Journal
from kedge.living.values import Pin
from kedge.model import Turn

_MARK = re.compile(r"\[?t([0-9]{1,9})\]?")
_NUMBER = re.compile(r"#([0-9]{1,9})")


def add_pin(hold: Hold, session: str, what: str | int, keeping: Keeping) -> Pin:
    """Write a pin down for a turn (12, t12) or for words."""
    with hold() as held:
        pin = keeping.kept(pin_of(held.journal, session, what))
        entry = add_value(held.writing, "pin", pin, keeping)
    return replace(pin, number=entry.number)


def take_pin_back(hold: Hold, session: str, what: str | int, keeping: Keeping) -> Pin:
    """Write down that a pin no longer stands."""
    with hold() as held:
        pin = pin_named(held.journal, session, what)
        add_mark(held.writing, "unpin", keeping, index=pin.number)
    return pin


def pin_of(journal: Journal, session: str, what: str | int) -> Pin:
    """A pin for a turn (12, t12) or for words."""
    index = _turn(what)
    if isinstance(index, str):
        if not index.strip():
            raise NothingToPin(session)
        return Pin(text=index)
    place = journal.place(index) if index >= 0 else None
    if place is None:
        raise NoSuchTurn(session, f"turn t{index}", turns=journal.count())
    return Pin(turn=index, entry=place.number)


def pin_named(journal: Journal, session: str, what: str | int) -> Pin:
    """The newest pin that stands for a turn (12, t12) or for these words, or the one of a number
    (#7)."""
    pins = journal.pins()
    number = _NUMBER.fullmatch(what.strip()) if isinstance(what, str) else None
    for pin in pins if number else ():
        if number and pin.number == int(number[1]):
            return pin
    wanted = _turn(what)
    for pin in reversed(pins):
        if wanted == (pin.text if pin.turn < 0 else pin.turn):
            return pin
    named = f"t{wanted}" if isinstance(wanted, int) else repr(what)
    raise NoSuchTurn(session, f"pin {named}", turns=journal.count())


def pinned_texts(journal: Journal, cut: int) -> list[str]:
    """What a view says word for word: pinned words, and pinned turns that are folded or were taken
    back."""
    return [text for pin in journal.pins() if (text := _text(journal, pin, cut))]


def _text(journal: Journal, pin: Pin, cut: int) -> str:
    if pin.turn < 0:
        return pin.text
    place = journal.place(pin.turn)
    if not pin.entry or (place is not None and place.number == pin.entry):
        return _told(journal.turn(place)) if place is not None and pin.turn < cut else ""
    meant = written(journal, pin.turn, pin.entry)
    now = journal.turn(place) if place is not None else None
    if now is None or not grown(meant, now):
        return _told(meant, since=", which was taken back since")
    return _told(now) if pin.turn < cut else ""


def _turn(what: str | int) -> str | int:
    """The index of a turn that is meant, or words."""
    mark = _MARK.fullmatch(what.strip()) if isinstance(what, str) else None
    return int(mark[1]) if mark else what


def _told(turn: Turn, since: str = "") -> str:
    """A turn by what was said in it, each with who said it. The agent's words are quoted, line by
    line, so that none of them reads as if the user had said it."""
    said = [("The user", words) for words in turn.user_words()]
    answer = neutral(turn.assistant_response)  # the agent's words close no tag of ours
    if answer:
        said.append(("The agent", "\n".join(f"> {line}" for line in answer.splitlines())))
    return "\n\n".join(f"{who} in t{turn.index}{since}:\n{text}" for who, text in said)
