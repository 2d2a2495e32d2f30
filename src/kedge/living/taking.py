"""What a session is given to append, told apart: messages, turns, or a transcript."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kedge.errors import UserError
from kedge.living.adding import Keeping
from kedge.living.appending import Appended, Hold
from kedge.living.following import follow
from kedge.model import Transcript, Turn

Appendable = Mapping[str, object] | Turn | Transcript | Sequence[object]
"""A message or several in a provider's shape, a turn or several, or a whole transcript."""


def take(
    hold: Hold, given: Appendable, keeping: Keeping, *, format: str | None, key: str
) -> Appended:
    """Put what is given behind the end, or follow it where it is a transcript."""
    if isinstance(given, Transcript):
        if key:
            raise UserError("a transcript takes no key: it may be appended again at any time")
        return follow(hold, given, keeping)
    several = [given] if isinstance(given, (Turn, Mapping)) else _listed(given)
    with hold() as held:
        if turns := [one for one in several if isinstance(one, Turn)]:
            if len(turns) < len(several):
                raise UserError("turns and messages are in one list; append them one by one")
            return held.turns(turns, key=key)
        return held.messages(several, format=format, key=key)


def _listed(given: object) -> list[object]:
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes)):
        return list(given)
    raise UserError(
        f"{type(given).__name__} cannot be appended; give a message, a turn, or a list of them"
    )
