"""Where the request begins that is under way: not all that the user says asks for something new."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kedge.model import NoteKind, Turn

ASKING: tuple[NoteKind, ...] = ("command", "plan")
"""Notes that ask for something in the user's place: a slash command, a plan they approved."""
AGREEING = frozenset(
    " ".join(
        (
            # English
            "continue proceed resume go on ahead carry keep going next more now then please",
            "yes y yep yeah yup ok okay k sure right correct agreed exactly fine good great",
            "perfect nice cool lgtm thanks thank you do it that try again retry",
            # German, French, Spanish
            "weiter ja gut bitte danke oui merci continuez si sí sigue continúa gracias",
            # Chinese, Japanese, Russian
            "继续 好 好的 是 谢谢 はい 続けて да продолжай дальше спасибо",
        )
    ).split()
)
"""Words of which an agreement consists, and nothing that is asked for."""
LONGEST_AGREEMENT = 60
"""Characters. Who writes more asks for something, whatever the words are."""

_WORD = re.compile(r"\w+")


def request_from(turns: Sequence[Turn], pending: Turn | None = None) -> int:
    """Position of the first turn of the exchange in which the user last asked for something; behind
    all turns where that is what waits for an answer.

    An exchange that "go on" opens belongs to the request before it, and so does one that an image
    without a word opens: it is a screenshot behind a result, or shows what was spoken of. `pending`
    are words that wait; queued ones are a part of the exchange that is under way."""
    end = len(turns)
    if pending is not None and _opens(turns, pending) and _asks(pending):
        return end
    while end:
        first = end - 1
        while first and turns[first - 1].exchange == turns[end - 1].exchange:
            first -= 1
        if _asks(turns[first]):
            return first
        end = first
    return 0


def asked_at(turns: Sequence[Turn], first: int) -> Iterator[int]:
    """Positions from `first` on where the user said or showed something; an image without a word
    behind results comes from a tool."""
    for position in range(first, len(turns)):
        turn = turns[position]
        shown = position > 0 and bool(turns[position - 1].tool_results)
        if _says(turn) or (turn.media and not shown):
            yield position


def agrees(words: str) -> bool:
    """Whether words only let the agent go on: they agree, thank, or choose by a number."""
    if len(words) > LONGEST_AGREEMENT:
        return False
    return all(word in AGREEING or word.isdecimal() for word in _WORD.findall(words.lower()))


def _opens(turns: Sequence[Turn], pending: Turn) -> bool:
    return not turns or pending.exchange != turns[-1].exchange


def _asks(opening: Turn) -> bool:
    """Whether a turn that opens an exchange asks for something."""
    if any(note.kind in ASKING for note in opening.notes):
        return True
    if not opening.user_message.strip():
        return not opening.media
    return bool(opening.media) or not agrees(opening.user_message)


def _says(turn: Turn) -> bool:
    return bool(turn.user_message.strip()) or any(note.kind in ASKING for note in turn.notes)
