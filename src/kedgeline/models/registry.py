"""Models by name: `command:PROGRAM`, and what packages register under `kedgeline.models`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, cast

from kedgeline.errors import BrokenPlugin, ModelFailed, UnknownName
from kedgeline.model import Ask, Reply
from kedgeline.model.ask import reported_name
from kedgeline.models.command import repeatable
from kedgeline.models.driving import Model
from kedgeline.plugins import FAULTS, load, names

GROUP = "kedgeline.models"
USUAL = ("anthropic", "openai", "google", "command")
"""Named first where nothing is near to what was typed: there are dozens."""


class Kind(Protocol):
    """What is registered under the word before the colon."""

    def named(self, text: str, /) -> Model:
        """The model that the whole name stands for, `command:ollama run llama` for example."""


def model_named(text: str) -> Model:
    kind = text.partition(":")[0]
    if kind not in names(GROUP):
        raise _unknown(text)
    found = cast(Kind, load(GROUP, "model", kind, needs=("named",)))
    try:
        return found.named(text)
    except FAULTS as error:
        why = repeatable(str(error)) or type(error).__name__
        raise BrokenPlugin(kind, reported_name(text), why=why) from error


def _unknown(text: str) -> UnknownName:
    """It names the likeliest. Of what was typed only the kind is shown: the rest may hold a key."""
    from difflib import get_close_matches

    kind, colon, _ = text.partition(":")
    known = names(GROUP)
    meant = kind.lower()
    near = [name for name in known if name == meant] or get_close_matches(meant, known)
    shown = near or [name for name in USUAL if name in known]
    forms = tuple(f"{name}:…" for name in shown)
    typed = f"{kind}:…" if colon else kind
    return UnknownName("model", typed, known=forms, more=len(known) - len(shown))


# A model whose replies are written beforehand.

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
