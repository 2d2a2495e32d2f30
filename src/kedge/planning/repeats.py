"""What of the folded turns is said again verbatim: standing rules, surroundings, the request."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from kedge.model import SUMMARY_TAG, Media, Note, NoteKind, Part, Repeat, Repeated, Text, Turn
from kedge.planning.requests import ASKING, asked_at, request_from
from kedge.tokens import media_tokens

HEADING = 200
"""Characters of a heading at the most: a rules file may be a single line."""


class _Given(NamedTuple):
    """A rules file that the agent was given."""

    position: int
    heading: str


class Repeats:
    """What must be said again when the turns before a position are folded.

    Found in one pass: how large it is for one cut takes no walk over the turns."""

    def __init__(
        self, turns: Sequence[Turn], count: Callable[[str], int], *, pending: Turn | None = None
    ) -> None:
        """`pending` are words that wait for an answer: where they ask for something new, the
        request before them is history."""
        self._turns, self._count = turns, count
        self._sizes: dict[tuple[int, Repeated, str], int] = {}
        self._given = list(_given(turns))
        self._placed = [n for n, turn in enumerate(turns) if _has(turn, "environment")]
        self._asked = list(asked_at(turns, request_from(turns, pending)))
        self._given_at = [one.position for one in self._given]
        self._given_sums = [0, *accumulate(self._growth())]
        asked = (self._size(position, "request") for position in self._asked)
        self._asked_sums = [0, *accumulate(asked)]

    def tokens(self, cut: int) -> int:
        """Of all that is said again."""
        if cut >= len(self._turns):
            return 0
        tokens = self._given_sums[bisect_left(self._given_at, cut)]
        tokens += sum(self._size(n, "environment") for n in self._place(cut))
        tokens += self._size(0, "summary") if cut else 0
        return tokens + self._asked_sums[bisect_left(self._asked, cut)]

    def before(self, cut: int) -> tuple[Repeat, ...]:
        if cut >= len(self._turns):
            return ()
        found = [self._repeat(one.position, "instructions", one.heading) for one in self._new(cut)]
        found += [self._repeat(n, "environment") for n in self._place(cut)]
        if cut and parts_of(self._turns[0], "summary"):
            found.append(self._repeat(0, "summary"))
        asked = self._asked[: bisect_left(self._asked, cut)]
        return (*found, *(self._repeat(n, "request") for n in asked))

    def _new(self, cut: int) -> list[_Given]:
        """The rules files the agent was given before a cut; of one given twice, the newest."""
        given = self._given[: bisect_left(self._given_at, cut)]
        newest = {one.heading: one.position for one in given}
        return [one for one in given if newest[one.heading] == one.position]

    def _growth(self) -> Iterator[int]:
        """What each rules file adds to what is said again: it takes the place of its older self."""
        known: dict[str, int] = {}
        for position, heading in self._given:
            size = self._size(position, "instructions", heading)
            yield size - known.get(heading, 0)
            known[heading] = size

    def _place(self, cut: int) -> list[int]:
        behind = bisect_left(self._placed, cut)
        return self._placed[max(0, behind - 1) : behind]

    def _repeat(self, position: int, what: Repeated, heading: str = "") -> Repeat:
        tokens = self._size(position, what, heading)
        return Repeat(turn=self._turns[position].index, what=what, tokens=tokens, heading=heading)

    def _size(self, position: int, what: Repeated, heading: str = "") -> int:
        key = (position, what, heading)
        if key not in self._sizes:
            parts = parts_of(self._turns[position], what, heading)
            self._sizes[key] = _tokens(parts, self._count)
        return self._sizes[key]


def parts_of(turn: Turn, what: Repeated, heading: str = "") -> tuple[Part, ...]:
    """The parts of a turn that are said again, in their order; with a heading, the notes only that
    begin with it."""
    found = (part for part in _heard(turn) if _is(part, what))
    if not heading:
        return tuple(found)
    return tuple(part for part in found if isinstance(part, Note) and _heading(part) == heading)


def _given(turns: Sequence[Turn]) -> Iterator[_Given]:
    """The rules files in order, each once a turn."""
    for position, turn in enumerate(turns):
        notes = (note for note in turn.notes if note.kind == "instructions")
        for heading in dict.fromkeys(_heading(note) for note in notes):
            if heading:
                yield _Given(position, heading)


def _heading(note: Note) -> str:
    """The first line that says something: it names the file."""
    return note.text.lstrip()[:HEADING].partition("\n")[0].rstrip()


def _has(turn: Turn, kind: NoteKind) -> bool:
    return any(note.kind == kind for note in turn.notes)


def _heard(turn: Turn) -> Iterator[Part]:
    """The user's side of a turn; for one without a layout, its fields in the order of writing."""
    if turn.messages:
        for message in turn.messages:
            if message.role == "user":
                yield from message.parts
        return
    yield from turn.notes
    if turn.user_message:
        yield Text(text=turn.user_message)
    yield from turn.media


def _is(part: Part, what: Repeated) -> bool:
    if what == "request":
        return isinstance(part, (Text, Media)) or (isinstance(part, Note) and part.kind in ASKING)
    if what == "summary" and isinstance(part, Note) and part.text.startswith(f"<{SUMMARY_TAG}>"):
        return False  # our own is merged
    return isinstance(part, Note) and part.kind == what


def _tokens(parts: Sequence[Part], count: Callable[[str], int]) -> int:
    texts = sum(count(part.text) for part in parts if isinstance(part, (Text, Note)))
    return texts + sum(media_tokens(part) for part in parts if isinstance(part, Media))
