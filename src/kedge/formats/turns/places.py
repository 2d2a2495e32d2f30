"""Where a conversation stood at each record, for users who go back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from kedge.formats.intake.lines import Line
from kedge.formats.intake.log import Log
from kedge.formats.turns.assembly import Assembler
from kedge.formats.turns.draft import Piece
from kedge.formats.turns.memory import remember

WORDS_KEPT = 64
"""Places whose unanswered words are remembered; one rarely goes back to any but the last few."""


class _Words(NamedTuple):
    line: Line
    pieces: Sequence[Piece]
    time: datetime | None


class _Place(NamedTuple):
    turn: int = 0
    exchange: int = -1
    compactions: int = 0


class Places:
    """Hands the user's side to the assembler, and can take it back to where it stood."""

    def __init__(self, log: Log, assembler: Assembler) -> None:
        self._log, self._assembler = log, assembler
        self._places: dict[str, _Place] = {}
        self._words: dict[str, list[_Words]] = {}
        """Words that stood unanswered at a place; going back to it, they still do."""
        self._unanswered: list[_Words] = []
        self._asked_at = (0, -1)
        """Turn and exchange before the unanswered words."""

    def user(self, line: Line, pieces: Sequence[Piece], *, time: datetime | None = None) -> None:
        if not self._unanswered:
            self._asked_at = (self._assembler.next_turn, self._assembler.exchange)
        self._unanswered.append(_Words(line, pieces, time))
        self._assembler.user(line, pieces, time=time)

    def answered(self) -> None:
        self._unanswered = []

    def seen(self, key: str) -> bool:
        return key in self._places

    def remember(self, key: str) -> None:
        """The conversation as it stands now, under a key."""
        now = (self._assembler.next_turn, self._assembler.exchange)
        turn, exchange = self._asked_at if self._unanswered else now
        remember(self._places, key, _Place(turn, exchange, len(self._log.compactions)))
        if self._unanswered:
            remember(self._words, key, list(self._unanswered), most=WORDS_KEPT)

    def go_back(self, key: str | None) -> bool:
        """To where the conversation stood under a key, or to its beginning; False when the key is
        not known, and then nothing happens."""
        place = _Place() if key is None else self._places.get(key)
        if place is None:
            return False
        self._assembler.rewind(place.turn, place.exchange)
        del self._log.compactions[place.compactions :]
        self._unanswered = []
        for words in self._words.get(key, ()) if key is not None else ():
            self.user(words.line, words.pieces, time=words.time)
        return True
