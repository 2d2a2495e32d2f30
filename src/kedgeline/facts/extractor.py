"""What an extractor of facts is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from kedgeline.model import AnyFact, Transcript, Turn
from kedgeline.outcomes import Outcome, OutcomesOf, outcomes_of

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Recent(dict[_Key, _Value]):
    """Entries in the order in which they were last put; beyond `most` the oldest goes."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def put(self, key: _Key, value: _Value) -> None:
        self.pop(key, None)
        self[key] = value
        if len(self) > self._most:
            del self[next(iter(self))]


def first_text(given: Mapping[str, Any], names: Iterable[str]) -> str:
    """The first of some parameters that is a text and not blank."""
    values = (given.get(name) for name in names)
    return next((value for value in values if isinstance(value, str) and value.strip()), "")


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
