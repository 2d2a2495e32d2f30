"""Models by name: `command:PROGRAM`, and what packages register under `kedge.models`."""

from __future__ import annotations

from typing import Protocol, cast

from kedge.errors import BrokenPlugin, UnknownName
from kedge.model.rates import reported_name
from kedge.models.driving import Model
from kedge.models.phrasing import repeatable
from kedge.plugins import FAULTS, load, names

GROUP = "kedge.models"
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
