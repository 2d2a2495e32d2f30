"""A model whose replies are written beforehand."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kedge.errors import ModelFailed
from kedge.model import Ask, Reply

Line = str | Reply | ModelFailed
"""What a script says: a reply, or the failure to be raised in its place."""


class Scripted:
    """Replies in the order of a script, or by a rule; remembers what it was asked.

    A model for tests and for trying things out: it gives the same replies every time."""

    def __init__(self, script: Iterable[Line] | Callable[[Ask], Line], *, name: str = "scripted"):
        self.name = name
        self.asks: list[Ask] = []
        self._rule = script if callable(script) else None
        self._lines = () if callable(script) else tuple(script)

    def __call__(self, ask: Ask, /) -> Reply:
        self.asks.append(ask)
        line = self._rule(ask) if self._rule else self._line()
        if isinstance(line, ModelFailed):
            raise line
        return line if isinstance(line, Reply) else Reply(text=line, model=self.name)

    def _line(self) -> Line:
        if len(self.asks) > len(self._lines):
            why = f"its script has {len(self._lines)} replies, and this is request {len(self.asks)}"
            raise ModelFailed(self.name, why, next_step="write a longer script")
        return self._lines[len(self.asks) - 1]
