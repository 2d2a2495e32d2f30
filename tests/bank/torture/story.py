"""The same crowd with real entries: through the class that agents use, into files of the bank's own
shapes, with its archives, its index and the chain of its decisions."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from kedge.bank import Bank, Limits, NewEntry
from kedge.errors import BankChanged, BankMalformed, NothingToUndo
from tests.bank.torture.crowd import Crowd, checked
from tests.torture.outcome import Outcome

DECIDES = 4
"""Every so many writers, one writes decisions."""
FEW = Limits(entries=12, references=3, index_after=20)
"""So few that there is something to compact all the time."""

_MARK = re.compile(rb"^it is entry (\d+/\d+) of the crowd$", re.MULTILINE)


def check(
    place: str, seed: int, writers: int, each: int, kills: int = 8, plant: str = ""
) -> Outcome:
    return checked(Story(Path(place), each, plant), seed, writers, kills)


class Story(Crowd):
    ordered = False

    def __init__(self, place: Path, each: int, plant: str) -> None:
        super().__init__(place, each, plant)
        self._story = Bank(self._bank, limits=FEW, owner="compactor")
        self._story.begin()
        warm = Bank(place / "warm", limits=FEW)  # loads what is loaded with the first use
        warm.begin()
        warm.add("activeContext", _entry(0, 0))
        warm.compact("compactor")

    def _add(self, writer: int, number: int, *, again: bool) -> float:
        began = time.monotonic()
        marks = _marks(self._bank) if again else []
        if f"{writer}/{number}" not in marks:
            name = "activeContext" if writer % DECIDES else "decisionLog"
            self._story.add(name, _entry(writer, number))
        return time.monotonic() - began

    def _compact_once(self, *, undoes: bool) -> None:
        if not undoes:
            self._story.compact("compactor")
            return
        with suppress(NothingToUndo, BankChanged):  # entries came where others would come back
            self._story.undo("compactor")

    def _look(self) -> list[str]:
        try:
            self._story.contents()
        except BankMalformed as error:
            return [f"half a file: {error}"]
        return []

    def _found(self) -> tuple[list[str], list[str]]:
        found = self._story.verify(git=False)
        wrong = [] if found.sound else [f"verify: {each}" for each in found.found]
        return wrong, _marks(self._bank)


def _entry(writer: int, number: int) -> NewEntry:
    text = f"The parser was changed.\n\nit is entry {writer}/{number} of the crowd\n"
    return NewEntry(
        agent=f"writer-{writer}", at=datetime.now(UTC), title="a step of the work", text=text
    )


def _marks(bank: Path) -> list[str]:
    names = ("activeContext.archive.md", "activeContext.md", "decisionLog.md")
    texts = [(bank / name).read_bytes() for name in names if (bank / name).exists()]
    return [mark.decode() for text in texts for mark in _MARK.findall(text)]
