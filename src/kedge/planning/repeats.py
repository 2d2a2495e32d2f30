"""What of the folded turns is said again verbatim: standing rules, surroundings, the request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kedge.model import SUMMARY_TAG, Media, Note, NoteKind, Part, Repeat, Repeated, Text, Turn
from kedge.tokens import media_tokens

ASKING: tuple[NoteKind, ...] = ("command", "plan")
"""Notes that ask for something in the user's place: a slash command, a plan they approved."""


class Repeats:
    """What must be said again when the turns before a position are folded; found in one pass."""

    def __init__(
        self, turns: Sequence[Turn], count: Callable[[str], int], *, asked: bool = False
    ) -> None:
        """`asked` tells that newer words wait for an answer: the request before them is history."""
        self._turns, self._count = turns, count
        self._sizes: dict[tuple[int, Repeated], int] = {}
        self._given = [n for n, turn in enumerate(turns) if _has(turn, "instructions")]
        self._placed = [n for n, turn in enumerate(turns) if _has(turn, "environment")]
        self._asked = [] if asked else list(_request(turns))

    def before(self, cut: int) -> tuple[Repeat, ...]:
        if cut >= len(self._turns):
            return ()
        found: list[tuple[int, Repeated]] = [(n, "instructions") for n in self._rules(cut)]
        found += [(n, "environment") for n in self._placed if n < cut][-1:]
        found += [(0, "summary")] if cut and parts_of(self._turns[0], "summary") else []
        found += [(n, "request") for n in self._asked if n < cut]
        return tuple(self._repeat(position, what) for position, what in found)

    def _rules(self, cut: int) -> list[int]:
        """Turns with the rules files the agent was given; of one given twice, the newest."""
        newest: dict[str, int] = {}
        for position in self._given:
            if position >= cut:
                break
            for note in self._turns[position].notes:
                if note.kind == "instructions":
                    newest[note.text.partition("\n")[0]] = position
        return sorted(set(newest.values()))

    def _repeat(self, position: int, what: Repeated) -> Repeat:
        turn = self._turns[position]
        if (position, what) not in self._sizes:
            self._sizes[position, what] = _size(parts_of(turn, what), self._count)
        return Repeat(turn=turn.index, what=what, tokens=self._sizes[position, what])


def parts_of(turn: Turn, what: Repeated) -> tuple[Part, ...]:
    """The parts of a turn that are said again, in their order."""
    return tuple(part for part in _heard(turn) if _is(part, what))


def _request(turns: Sequence[Turn]) -> Iterator[int]:
    """Where the user spoke in the exchange that is under way."""
    first = len(turns)
    while first and turns[first - 1].exchange == turns[-1].exchange:
        first -= 1
    for position in range(first, len(turns)):
        if parts_of(turns[position], "request"):
            yield position


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


def _size(parts: Sequence[Part], count: Callable[[str], int]) -> int:
    texts = sum(count(part.text) for part in parts if isinstance(part, (Text, Note)))
    return texts + sum(media_tokens(part) for part in parts if isinstance(part, Media))
