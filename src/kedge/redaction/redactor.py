"""The redactor: secrets out of texts, turns and transcripts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from time import monotonic
from typing import Any

from kedge.model import Transcript, Turn, Value
from kedge.redaction.expressions import compiled
from kedge.redaction.known import LEAST, Known
from kedge.redaction.patterns import RULES, searchers
from kedge.redaction.spans import Span, character, joined, outside
from kedge.redaction.walking import Walk

SECONDS = 10.0
"""For one text. A hundred megabytes take about a second; what takes so long was made to."""
NAME = 60
"""Characters of a name in a mark."""
UNSEARCHED = "not searched in time"
_OPENING = b"[secret: "
_MARK = rb"\[secret: ([A-Za-z0-9 ._-]{1,80})\]"
_CODES = ("utf-8", "surrogatepass")
_OWN_KINDS = frozenset(
    {rule.kind for rule in RULES}
    | {f"{rule.kind} in base64" for rule in RULES}
    | {"password", "token", "key", "secret"}
)


class Secret(Value, frozen=True):
    """Where a secret stands in a text. What it is, is not kept."""

    kind: str
    start: int
    end: int


class Redactor:
    """Finds secrets by their values and by patterns, and puts a mark in their place.

    - What was marked is not marked again: cleaning twice is cleaning once.
    - A text that cannot be searched within its seconds is withheld from there on.
    - No text makes it raise, and it takes time in proportion to the text.
    """

    def __init__(
        self,
        values: Iterable[tuple[str, str]] = (),
        *,
        seconds: float = SECONDS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`values`: names with the values that must not get out, as `secrets_in` gives them."""
        self._known = Known((_shown(name), value) for name, value in values)
        self._seconds, self._clock = seconds, clock

    @property
    def ignored(self) -> tuple[str, ...]:
        """Names whose values are not looked for: too short, or a common word, number or path."""
        return tuple(self._known.ignored)

    def clean(self, text: str) -> str:
        """The text with a mark in the place of every secret; itself where there is none."""
        if len(text) < LEAST:
            return text
        data, over = text.encode(*_CODES), self._deadline()
        while True:  # a mark may set free what stood next to a secret
            spans, reached = self._search(data, over)
            if reached < len(data):
                left = len(data[reached:].decode(*_CODES))
                return _marked(data[:reached], spans).decode(*_CODES) + _withheld(left)
            if not spans:
                return text
            data = _marked(data, spans)
            text = data.decode(*_CODES)

    def found(self, text: str) -> list[Secret]:
        """Where secrets stand, in order. What was not searched in time counts as one."""
        data = text.encode(*_CODES)
        spans, reached = self._search(data, self._deadline())
        if reached < len(data):
            spans.append(Span(reached, len(data), UNSEARCHED, 0))
        secrets, characters, position = [], 0, 0
        for span in spans:
            start = characters + len(data[position : span.start].decode(*_CODES))
            end = start + len(data[span.start : span.end].decode(*_CODES))
            secrets.append(Secret(kind=span.kind, start=start, end=end))
            characters, position = end, span.end
        return secrets

    def turn(self, turn: Turn) -> Turn:
        """The turn with all its texts cleaned; itself where there is nothing to clean.

        Media stay as they are. Equal ids stay equal and different ones different. Thinking that
        was changed loses its seal: a provider takes it as it was or not at all."""
        return Walk(self.clean).turn(turn)

    def transcript(self, transcript: Transcript) -> Transcript:
        """The same for all turns, and for what stands beside them."""
        return Walk(self.clean).transcript(transcript)

    def _deadline(self) -> Callable[[], bool]:
        end = self._clock() + self._seconds
        return lambda: self._clock() > end

    def _search(self, data: bytes, over: Callable[[], bool]) -> tuple[list[Span], int]:
        """Secrets in order, and where the part begins that was not searched in time."""
        always = (self._known,) if self._known else ()
        spans, reached = searchers().find(data, over, always)
        if not spans and reached == len(data):
            return spans, reached
        reached = character(data, reached)
        spans = joined((span for span in spans if span.start < reached), data)
        if _OPENING in data:
            spans = list(outside(spans, self._marks(data)))
        return spans, max([reached, *(span.end for span in spans[-1:])])

    def _marks(self, data: bytes) -> list[tuple[int, int]]:
        """Marks that stand in a text already. One with a name that we do not give is none: whoever
        writes brackets around a secret does not hide it."""
        own = _OWN_KINDS | self._known.names
        found = _mark().finditer(data)
        return [match.span() for match in found if match.group(1).decode() in own]


@cache
def _mark() -> Any:
    return compiled(_MARK)


def _marked(data: bytes, spans: list[Span]) -> bytes:
    pieces: list[bytes] = []
    position = 0
    for span in spans:
        pieces += (data[position : span.start], _OPENING, span.kind.encode(), b"]")
        position = span.end
    return b"".join((*pieces, data[position:]))


def _withheld(characters: int) -> str:
    return f"[withheld: {characters:,} characters could not be searched for secrets in time]"


def _shown(name: str) -> str:
    """A name as it may stand in a mark."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in name)
    return plain[:NAME] or "value"


REDACTOR = Redactor()
"""Knows no values, only patterns."""
