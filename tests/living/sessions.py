"""Sessions, histories and small compactions for tests of the living session."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from kedgeline.model import Budget, Compaction, Plan, Source, Span, Step, Summary, Transcript, Turn
from kedgeline.pipeline.job import alone
from kedgeline.planning import POLICY
from kedgeline.session.compacting import SessionCompaction
from kedgeline.session.session import Session
from kedgeline.store import Store
from kedgeline.store.protocol import open_store
from kedgeline.store.sqlite import open_memory
from tests.turns import bash, edit, turn

Record = dict[str, Any]
Opening = Callable[[str], Store]
"""A store for an owner; the same store each time."""

WINDOW = 3_000
"""Tokens: small, so that a few dozen turns fill it."""

_fresh = count()


def memory() -> Opening:
    """A store in memory of its own."""
    place = f"memory:living-{next(_fresh)}"
    return lambda owner="": open_memory(place, owner=owner)


def folder(path: Path) -> Opening:
    return lambda owner="": open_store(path, owner=owner, durability="fast")


def server(address: str) -> Opening:
    return lambda owner="": open_store(address, owner=owner, durability="fast")


def session(opening: Opening | None = None, name: str = "s", *, window: int = WINDOW) -> Session:
    """A session without a redactor: what is tested is not what it finds."""
    return Session(name, (opening or memory())(""), window=window, redactor=None)


@contextmanager
def opened(opening: Opening, name: str = "s", *, window: int = WINDOW) -> Iterator[Session]:
    found = session(opening, name, window=window)
    with closing(found.store):
        yield found


def steps(number: int, *, first: int = 0, words: str = "", tokens: int = 100) -> list[Turn]:
    """Turns with files, commands and what was said; each different."""
    made = []
    for index in range(first, first + number):
        path = f"src/lamp{index % 7}.py"
        did = edit(path) if index % 3 else bash(f"make lamp{index}", f"lamp {index} is lit")
        asked = f"light lamp {index}{words}" if index % 4 == 0 else ""
        says = f"lamp {index} is done"
        made.append(turn(index, did, user=asked, says=says, tokens=tokens))
    return made


def bare(one: Turn | None) -> Turn | None:
    """A turn without where it was read, and with ids of its own for calls that had none."""
    if one is None:
        return None
    ids = {each.id: f"made-{n}" for n, each in enumerate(one.tool_calls) if _made(each)}
    ids |= {each.call_id: ids.get(each.call_id, "made") for each in one.tool_results if _made(each)}
    return replace(
        one,
        source=Source(),
        tool_calls=tuple(replace(each, id=ids.get(each.id, each.id)) for each in one.tool_calls),
        tool_results=tuple(
            replace(each, call_id=ids.get(each.call_id, each.call_id)) for each in one.tool_results
        ),
    )


def _made(one: Any) -> bool:
    return bool(one.wire and one.wire.get("made_id"))


def digest(value: object) -> str:
    """SHA-256 of the JSON of a message list."""
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def originals(given: Session) -> list[str]:
    """What was ever written to a session, entry by entry."""
    return [entry.chain for entry in given.store.entries(given.name)]


def divided(chance: random.Random, items: Sequence[Any], *, most: int = 5) -> list[list[Any]]:
    """The items in chunks."""
    rest, chunks = list(items), []
    while rest:
        size = chance.randint(1, most)
        chunks.append(rest[:size])
        rest = rest[size:]
    return chunks


def folding(region: Transcript, previous: Compaction | None, *, keep: int = 3) -> Compaction:
    """A cheap compaction: all turns but the last few are folded."""
    count_before = previous.count if previous else 0
    done = previous.plan.cut if previous else 0
    cut = max(done, len(region.turns) - keep)
    plan = Plan(cut=cut, reason="a test")
    if cut == done:
        return Compaction(plan=plan, count=count_before)
    before = sum(each.tokens for each in region.turns[done:])
    after = sum(each.tokens for each in region.turns[cut:]) + 10
    span = Span(first=done, last=cut - 1, tokens=before - after, reason="a test")
    return Compaction(
        plan=replace(plan, folded=(span,)),
        state=Summary(),
        summary=f"{cut} turns were folded",
        count=count_before + 1,
        tokens_before=before,
        tokens_after=after,
    )


def stubbed(region: Any, budget: Budget) -> Compaction:
    return folding(region.transcript, region.previous)


def cheaply(found: Session, make: Callable[[Any, Budget], Compaction] = stubbed) -> Compaction:
    """A compaction as the session commits it, made by what is given."""

    class Cheap(SessionCompaction):
        def make(self, region: Any, budget: Budget, context: Any) -> Step[Compaction]:
            return make(region, budget)
            yield  # it asks nobody

        def room(self, journal: Any, context: Any) -> Budget:
            return POLICY.budget(usual)

    usual = found.window or WINDOW
    given = found.name, found._held, found._journal, found.keeping, POLICY
    return alone(Cheap(*given, usual=usual).run())
