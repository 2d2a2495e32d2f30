"""What a compaction saved and what it cost, from what was reported around it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kedge.economy.threads import Thread
from kedge.model import Usage, Value

UNDONE = "undone"


class Made(NamedTuple):
    """A compaction as its record has it."""

    turn: int
    """Index of the first turn after it."""
    by: str
    before: int | None
    """Tokens of the context before and after."""
    after: int | None
    summary: int = 0
    """Tokens of its summary."""
    usage: Usage | None = None
    """Of the message that is the summary, where it was reported."""
    by_model: bool = True
    """Whether a model wrote the summary, which was sent the context for that."""
    undone: bool = False


class Saving(Value, frozen=True):
    session: str
    """In which its first message counts; of a copy that is the session it was copied from."""
    turn: int
    """Index of the first turn after it."""
    by: str
    before: int | None
    """Tokens of the context: as recorded, or else as reported for the turn before."""
    after: int | None
    """As recorded, or else as reported for the turn after."""
    turns: int
    """That were taken since, up to the next compaction."""
    saved: int | None
    """Tokens these turns did not carry; none where a size is not known."""
    cache_write: int | None
    """Measured: what the first turn after it wrote into the cache again."""
    summary: Usage | None
    """What the summary took: reported, or the context sent and the summary counted."""
    summary_estimated: bool = False
    remark: str = ""
    """Why nothing was saved, where something should have been."""


def saving_of(made: Made, thread: Thread, *, session: str, until: int) -> Saving:
    """`until` is the index of the first turn that no longer profits."""
    reported_before, reported_after = thread.context(made.turn - 1), thread.context(made.turn)
    before = made.before if made.before is not None else reported_before
    after = made.after if made.after is not None else reported_after
    turns = max(0, until - made.turn)
    remark = _remark(made, reported_before, reported_after)
    saved = None if before is None or after is None else max(0, before - after) * turns
    usage, estimated = made.usage, False
    if usage is None and made.by_model and before is not None:
        usage, estimated = Usage(input=before, output=made.summary), True
    return Saving(
        session=session,
        turn=made.turn,
        by=made.by,
        before=before,
        after=after,
        turns=turns,
        saved=0 if remark else saved,
        cache_write=thread.cache_write(made.turn),
        summary=usage,
        summary_estimated=estimated,
        remark=remark,
    )


def distinct(savings: Iterable[Saving]) -> tuple[Saving, ...]:
    """Every compaction once, however many copies of its session were read: the one that most turns
    follow."""
    found: dict[tuple[object, ...], Saving] = {}
    for one in savings:
        key = (one.session, one.turn, one.by, one.before, one.remark == UNDONE)
        if key not in found or one.turns > found[key].turns:
            found[key] = one
    return tuple(found.values())


def _remark(made: Made, before: int | None, after: int | None) -> str:
    if made.undone:
        return UNDONE
    if before is not None and after is not None and after >= before:
        return f"the reported context did not shrink ({before:,} to {after:,})"
    return ""
