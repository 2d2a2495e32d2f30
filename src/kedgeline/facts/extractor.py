"""What an extractor of facts is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from kedgeline.model import AnyFact, Transcript, Turn
from kedgeline.outcomes import Outcome, OutcomesOf, outcomes_of


class Setting(NamedTuple):
    """What is known of a session beside its turns."""

    root: str = ""
    """The session's folder; paths below it are given from there."""
    agents: Mapping[str, Transcript] = {}
    """Sub-agents' conversations by the id of the call that started them."""
    outcomes: OutcomesOf = outcomes_of
    """What the calls of a turn came to; where it is known already, whoever knows it."""


class Extractor(Protocol):
    """Sees the turns of one conversation in order and gives their facts. Made with a `Setting`;
    what it remembers must not grow with the number of turns."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterable[AnyFact]: ...
