"""What an extractor of facts is, and what several of them share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from kedgeline.model import AnyFact, ToolCall, Transcript, Turn
from kedgeline.shell import Outcome, OutcomesOf, outcomes_of
from kedgeline.text.prose import one_line

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


class Setting(NamedTuple):
    """What is known of a session beside its turns."""

    root: str = ""
    """The session's folder; paths below it are given from there."""
    began: str = ""
    """The folder in which it began, where that is another one."""
    checkouts: Mapping[str, str] = {}
    """Other checkouts of a repository, each with the one by which its files are named."""
    agents: Mapping[str, Transcript] = {}
    """Sub-agents' conversations by the id of the call that started them."""
    outcomes: OutcomesOf = outcomes_of
    """What the calls of a turn came to; where it is known already, whoever knows it."""


class Extractor(Protocol):
    """Sees the turns of one conversation in order and gives their facts. Made with a `Setting`;
    what it remembers must not grow with the number of turns."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterable[AnyFact]: ...


DEEPEST = 3
"""Sub-agents of sub-agents that are followed; clients allow one level, some two."""
AGENT_TURNS = 500
"""Turns of a sub-agent that are looked at; the longest seen have a hundred."""


def agent_turns(
    setting: Setting, outcome: Outcome, depth: int = 0
) -> Iterator[tuple[Turn, tuple[Outcome, ...]]]:
    """The turns of the sub-agent that a call started, those of its own sub-agents among them."""
    transcript = setting.agents.get(outcome.call.id)
    if transcript is None or depth >= DEEPEST:
        return
    for turn in transcript.turns[:AGENT_TURNS]:
        outcomes = setting.outcomes(turn)
        yield turn, outcomes
        for inner in outcomes:
            yield from agent_turns(setting, inner, depth + 1)


_Found = TypeVar("_Found")


def of_turn(find: Callable[[Turn], _Found]) -> Callable[[Turn], _Found]:
    """Found once for a turn, at which several extractors look one after the other."""
    last: tuple[Turn, _Found] | None = None

    def found(turn: Turn) -> _Found:
        nonlocal last
        known = last
        if known is None or known[0] is not turn:
            last = known = (turn, find(turn))
        return known[1]

    return found


# Tools that several extractors ask for by name, and texts as keys.

ENTER_PLAN = frozenset({"enterplanmode", "planenter"})
EXIT_PLAN = frozenset({"exitplanmode", "planexit"})

NAME_WITHIN = 200
"""Characters of a tool's name that are looked at."""
KEY = 120
"""Characters of a text that tell it from others."""

_FOLDED = str.maketrans("", "", "_- ")
_MARKS = re.compile(r"[*`\"“”]{1,80}")


def plain_name(call: ToolCall) -> str:
    """The name of a client's own tool without case, dashes and underscores; that of a server's tool
    as it is, so that it is none of these: what it gives back the client did not word, and no user
    may have seen it."""
    return _plain(call.tool[:NAME_WITHIN])


@lru_cache(maxsize=256)
def _plain(tool: str) -> str:
    return tool if "__" in tool else tool.translate(_FOLDED).casefold()


def text_key(text: str) -> str:
    """The same for the same words: on one line, without case, emphasis and closing marks."""
    return _key(text[: KEY * 4])


@lru_cache(maxsize=512)
def _key(text: str) -> str:
    return _MARKS.sub("", one_line(text)).casefold().strip(" .:;,!?…")[:KEY]


def first_given(given: Mapping[str, Any], names: Iterable[str]) -> str:
    """The first of some parameters that is a text and not blank."""
    values = (given.get(name) for name in names)
    return next((value for value in values if isinstance(value, str) and value.strip()), "")


def object_in(text: str) -> dict[str, Any]:
    """A JSON object; empty where a text is none."""
    try:
        read = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}
