"""Which messages a session has, by their content ids. Entries are never changed, so an entry that
takes turns back says itself up to which one ids still count."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kedge.store import Kind, Reading

MARK = "!"
"""Stands among the ids of an entry that takes something back, and before the number of the last
entry whose ids still count."""
KINDS: tuple[Kind, ...] = ("turn", "words", "cut", "about")
"""Entries that have ids."""


class SaidBefore:
    def __init__(self, reading: Reading, session: str) -> None:
        self._reading, self._session = reading, session

    def last(self, many: int) -> Sequence[str]:
        """The ids of so many newest messages, oldest first."""
        found = self._reading.said(self._session, many)
        return self._standing()[-many:] if any(map(_is_mark, found)) else found

    def known(self, ids: Collection[str]) -> frozenset[str]:
        """Those of the ids that a message has which was not taken back."""
        found = self._reading.known(self._session, ids) if ids else frozenset()
        if found and self._reading.known(self._session, {MARK}):
            return found & frozenset(self._standing())
        return found

    def forgetting(self, number: int) -> tuple[str, ...]:
        """What an entry says that takes back all behind another; nothing where no message has an
        id."""
        if not self._reading.said(self._session, 1):
            return ()
        return (MARK, f"{MARK}{number}")

    def _standing(self) -> list[str]:
        """All ids that count. It takes a walk over the session, which few ever need."""
        found: list[tuple[int, str]] = []
        for entry in self._reading.entries(self._session, kinds=KINDS):
            for id in entry.said:
                if not _is_mark(id):
                    found.append((entry.number, id))
                elif id != MARK:
                    last = int(id.removeprefix(MARK))
                    found = [one for one in found if one[0] <= last]
        return [id for _, id in found]


def _is_mark(id: str) -> bool:
    return id.startswith(MARK)
