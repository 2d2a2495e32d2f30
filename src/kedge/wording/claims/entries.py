"""What is taken of a reply, as entries of a summary: each at its matter and its turns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kedge.model import AnyFact, Decided, FileChanged, Worded
from kedge.sentences import one_line
from kedge.wording.claims.units import About, Unit
from kedge.wording.shape import Packet


def entries_of(taken: Sequence[Unit], packet: Packet, facts: Sequence[AnyFact]) -> Iterable[Worded]:
    """Sentences of one text become one entry: a newer one takes its place as a whole."""
    abouts: tuple[About, ...] = ("intent", "change", "rationale", "state", "next step", "question")
    for about in abouts:
        units = [unit for unit in taken if unit.about == about]
        texts = [one_line(unit.text) for unit in units]
        if about in ("intent", "state"):
            texts = [" ".join(texts)] if texts else []
        for unit, text in zip(units, texts, strict=False):
            key, first, turn = _matter(unit, packet, facts)
            yield Worded(turn=turn, about=about, text=text, key=key, first=first)


def _matter(unit: Unit, packet: Packet, facts: Sequence[AnyFact]) -> tuple[str, int, int]:
    """The file or decision a unit is about, and the first and the last turn with a fact about it;
    of all else the turns of the packet."""
    turns: list[int] = []
    key = ""
    if unit.about == "change":
        key = packet.files[unit.number - 1]
        turns = [f.turn for f in facts if isinstance(f, FileChanged) and f.path == key]
    elif unit.about == "rationale":
        decision = packet.decisions[unit.number - 1]
        key = decision.key
        turns = [f.turn for f in facts if isinstance(f, Decided) and f.key == key]
        turns.append(decision.turn)
    within = [turn for turn in turns if packet.first <= turn <= packet.last]
    return key, min(within, default=packet.first), max(within, default=packet.last)
