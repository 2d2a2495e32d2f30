"""A session that begins as another one is."""

from __future__ import annotations

from kedge.archive import passages_of, readable
from kedge.errors import NoSuchSession, NoSuchTurn, SessionExists
from kedge.living.adding import Keeping, add_value
from kedge.living.appending import Appending, Hold
from kedge.living.growing import Growing
from kedge.living.journal import Journal
from kedge.living.values import Forked
from kedge.model import Turn
from kedge.store import Passage


def copy_session(
    hold: Hold, source: str, name: str, keeping: Keeping, *, through: int | None = None
) -> None:
    """Take over all entries of another session, numbers and chains included; originals are kept
    once. `hold` and `name` are those of the copy, `through` is the last turn that stands in it."""
    with hold() as held:
        if held.writing.head(name).number:
            raise SessionExists(name)
        _copy(held, source, keeping, through)


def _copy(held: Appending, source: str, keeping: Keeping, through: int | None) -> None:
    if not held.writing.head(source).number:
        raise NoSuchSession(source)
    count = Journal(held.writing, source).count()
    if through is not None and not 0 <= through < count:
        raise NoSuchTurn(source, f"turn t{through}", turns=count)
    number, growing = 0, Growing()
    for entry in held.writing.entries(source):
        passages: tuple[Passage, ...] = ()
        before = growing.instead_of(entry)
        if entry.kind in ("turn", "words"):
            turn = readable(entry.data, Turn, held.writing.blob)
            passages = tuple(passages_of(turn, keeping.clean))
        number = held.writing.add(entry, passages=passages, instead_of=before).number
    origin = Forked(session=source, number=number, turns=count)
    add_value(held.writing, "fork", origin, keeping)
    if through is not None and through + 1 < count:
        held.cut(through + 1)
