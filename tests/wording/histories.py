"""Ten sessions of our own writing, kept as a session is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from kedgeline.formats.registry import load_provider
from kedgeline.model import Transcript, Turn
from kedgeline.session.session import Session
from kedgeline.tokens import Estimate
from tests.living.sessions import folder, memory
from tests.wording.history import History
from tests.wording.scenes import (
    apiary,
    bulletin,
    choir,
    ferry,
    kiln,
    lantern,
    library,
    observatory,
    teahouse,
    vault,
)

WINDOW = 8_000
"""Tokens: small, so that a few turns are worth folding."""
COUNTER = Estimate()
MADE = (lantern, kiln, observatory, ferry, library, apiary, teahouse, bulletin, vault, choir)
NAMES = tuple(one.__name__ for one in MADE)


@cache
def histories() -> dict[str, History]:
    return {one.name: one for one in (make() for make in MADE)}


@contextmanager
def living(history: History, place: Path) -> Iterator[Session]:
    """The session as it is before the compaction that is looked at."""
    opening = memory() if history.kept == "memory" else folder(place)
    with closing(opening("")) as store:
        session = Session(history.name, store, window=WINDOW, counter=COUNTER)
        first, then = said(history.name)
        if first:
            append(session, history, first)
            assert session.compact().count == 1
        append(session, history, then)
        for pin in history.pins:
            session.pin(pin)
        yield session


def append(session: Session, history: History, given: list[Any]) -> None:
    session.append(given, format=None if history.shape == "turns" else history.shape)


@cache
def said(name: str) -> tuple[list[Any], list[Any]]:
    """What is appended to a session before and behind its first compaction, in its shape."""
    history = histories()[name]
    turns, middle = history.turns, history.compacted_after
    if history.shape == "turns":
        return list(turns[:middle]), list(turns[middle:])
    first, then = (messages(history, part) for part in (turns[:middle], turns[middle:]))
    if history.waiting:
        call = {"type": "tool_use", "id": "toolu_way", "name": "Bash"}
        call |= {"input": {"command": history.waiting}}
        then.append({"role": "assistant", "content": [call]})
    return first, then


def messages(history: History, turns: tuple[Turn, ...]) -> list[Any]:
    transcript = Transcript(format="test", turns=turns)
    written: list[Any] = load_provider(history.shape).write(transcript).messages if turns else []
    return written
