"""Models by name: `command:PROGRAM`, and what packages register under `kedge.models`."""

from __future__ import annotations

from typing import Protocol, cast

from kedge.errors import BrokenPlugin, UnknownName
from kedge.models.driving import Model
from kedge.plugins import FAULTS, load, names

GROUP = "kedge.models"


class Kind(Protocol):
    """What is registered under the word before the colon."""

    def named(self, text: str, /) -> Model:
        """The model that the whole name stands for, `command:ollama run llama` for example."""


def model_named(text: str) -> Model:
    kind = text.partition(":")[0]
    known = names(GROUP)
    if kind not in known:
        raise UnknownName("model", text, known=tuple(f"{name}:…" for name in known))
    found = cast(Kind, load(GROUP, "model", kind, needs=("named",)))
    try:
        return found.named(text)
    except FAULTS as error:
        raise BrokenPlugin(kind, text, why=str(error) or type(error).__name__) from error
