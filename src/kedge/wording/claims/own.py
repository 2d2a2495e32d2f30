"""Whether words about one file, or one decision, are about another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kedge.model import AnyFact, Decided, FileChanged, FileRead
from kedge.wording.claims.words import raw_words, stems
from kedge.wording.shape import Packet, Sources

LEAST = 0.5
"""Share of the words of a sentence in the turns of what it is about: then it is held there."""
NEARER = 0.5
"""By so much more of it the turns of something else hold it, where it is about that."""
STRANGE = 3
"""And by so many words, where its own hold any of it."""


class Own:
    """The words of the turns that have to do with each file and each decision of a packet."""

    def __init__(
        self, packet: Packet, sources: Sources, facts: Sequence[AnyFact], asked: frozenset[str]
    ) -> None:
        self._texts = dict(sources.turns)
        self._asked = asked
        self._read: dict[int, frozenset[str]] = {}
        self._turns: dict[str, Mapping[str, set[int]]] = {
            "change": {path: set() for path in packet.files},
            "rationale": {one.key: {one.turn} for one in packet.decisions},
        }
        for fact in facts:
            if isinstance(fact, FileChanged | FileRead):
                self._turns["change"].get(fact.path, set()).add(fact.turn)
            elif isinstance(fact, Decided):
                self._turns["rationale"].get(fact.key, set()).update((fact.turn, fact.offered))

    def is_others(self, about: str, key: str, matter: frozenset[str]) -> bool:
        """Whether the turns of another file, or decision, hold words much better than its own."""
        turns = self._turns.get(about, {})
        mine = turns.get(key, set())
        if not matter or not self._texts.keys() & mine:
            return False
        held = self._held(mine, matter)
        if held >= LEAST * len(matter):
            return False
        least = max(held + NEARER * len(matter), held + STRANGE if held else 0)
        others = (its - mine for name, its in turns.items() if name != key)
        return any(self._held(its, matter) >= least for its in others)

    def _held(self, turns: Iterable[int], matter: frozenset[str]) -> int:
        there = frozenset[str]().union(*map(self._stems, turns))
        return len(matter & there)

    def _stems(self, turn: int) -> frozenset[str]:
        """Those that are asked for."""
        if turn not in self._read:
            words = set(raw_words(self._texts.get(turn, "")))
            self._read[turn] = self._asked.intersection(one for w in words for one in stems(w))
        return self._read[turn]
