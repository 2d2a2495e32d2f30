"""The methods that are compared: one entry each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Literal, NamedTuple

from kedge.bench.replay.baselines import (
    RECENT,
    NamesOnly,
    head_and_tail,
    last_turns,
    masking,
    masking_older,
    recent_turns,
)
from kedge.bench.replay.compacted import Kedge
from kedge.bench.replay.langchain_trimming import PACKAGE, LangChainTrimming
from kedge.errors import MissingExtra, UnknownName
from kedge.model import Transcript

Room = Literal["none", "recorded", "budget"]
"""What a method may fill: as much as it takes, the length of the other system's own summary, or
every budget in turn."""

EVERYTHING = None
"""In the place of a text: all turns as they were."""
RECORDED = "recorded summary"
"""The other system's own, at its own length."""


class Given(NamedTuple):
    """What a method has to go by; nothing of it comes from after the cut."""

    session: Transcript
    tokens: int = 0
    """The most its text may have, where it has a budget."""
    recorded: str = ""
    """The other system's own summary, at a boundary."""


class Method(NamedTuple):
    name: str
    """As the tables and the command line call it."""
    room: Room
    text: Callable[[Given], str | None]
    """What the agent would go on from; None where everything stays."""
    package: str = ""
    """What it needs beyond kedge itself, and the extra that brings it."""
    extra: str = ""

    def missing(self) -> MissingExtra | None:
        """The error that says what to install, where something is missing."""
        if not self.package or find_spec(self.package) is not None:
            return None
        return MissingExtra(self.name, self.extra)


def methods() -> tuple[Method, ...]:
    """Every method, in the order of the tables; made anew, as some remember the last session."""
    kedge, names, langchain = Kedge(), NamesOnly(), LangChainTrimming()

    def budgeted(
        name: str, make: Callable[[Transcript, int], str], package: str = "", extra: str = ""
    ) -> Method:
        return Method(name, "budget", lambda of: make(of.session, of.tokens), package, extra)

    return (
        Method("no compaction", "none", lambda of: EVERYTHING),
        Method(f"last {RECENT} turns", "none", lambda of: recent_turns(of.session)),
        Method(f"masking before the last {RECENT}", "none", lambda of: masking_older(of.session)),
        Method(RECORDED, "recorded", lambda of: of.recorded),
        budgeted("last turns", last_turns),
        budgeted("head and tail", head_and_tail),
        budgeted("masking", masking),
        budgeted("LangChain trimming", langchain, PACKAGE, "langchain"),
        budgeted("names only", names),
        budgeted("kedge", kedge.summary),
        budgeted("kedge, rebuilt", kedge.rebuilt),
    )


def chosen(names: Sequence[str]) -> tuple[Method, ...]:
    """The methods of these names; what was asked for by name must be there."""
    every = {method.name: method for method in methods()}
    for name in names:
        if name not in every:
            raise UnknownName("method", name, known=tuple(every))
        if missing := every[name].missing():
            raise missing
    return tuple(method for name, method in every.items() if name in names)
