"""What every adapter shows with its real framework: a played model makes sixty calls whose outputs
are large, and every request that reaches it is looked at."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from math import ceil
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, ClassVar

from kedgeline.adapters.runs import AgentRun, Runs
from kedgeline.pipeline.lists import digest
from kedgeline.pipeline.read import read
from kedgeline.planning import POLICY
from kedgeline.tokens import EXACT

CALLS = 60
WINDOW = 16_000
TASK = "Go through all parts one by one and tell which of them has the wrong total."
SYSTEM = "You are a careful auditor. Never skip a part."
BIG = "Give back one part of the ledger, by its number."


RECORDED = os.environ.get("KEDGELINE_LOOP")
"""A session whose outputs the tool gives back, in the place of invented ones."""
MOST_OUTPUT = 8_000
"""Characters of one; hosts cut longer ones too."""


@cache
def recorded(path: str) -> tuple[str, ...]:
    results = (result for turn in read(Path(path)).turns for result in turn.tool_results)
    outputs = tuple(result.output[:MOST_OUTPUT] for result in results if result.output)
    assert len(outputs) >= CALLS, f"{path} has {len(outputs)} outputs"
    return outputs


def output(number: int) -> str:
    """What the tool gives back: its number first, so that a model knows where it is."""
    if RECORDED:
        return f"{number} \n{recorded(RECORDED)[number % CALLS]}"
    rows = (
        f"row {row} of part {number}: {(row * 7919 + number) % 9973} units" for row in range(70)
    )
    return f"{number} \n" + "\n".join(rows)


def number_in(text: str) -> int:
    return int(text.split()[0])


@dataclass
class Seen:
    """The requests of one run, as the model got them."""

    every: ClassVar[list[Seen]] = []
    """Those of the test that runs."""
    window: int = WINDOW
    prompted: bool = True
    """Whether each request must have the system prompt."""
    sizes: list[int] = field(default_factory=list)
    lists: list[list[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        Seen.every.append(self)

    def request(self, messages: Iterable[Any], asked: Iterable[Any], told: Iterable[Any]) -> None:
        """`asked` are the ids of the calls in the request, `told` those of the results."""
        messages, asked, told = list(messages), list(asked), list(told)
        assert messages
        assert asked == told, (asked, told)
        assert len(set(asked)) == len(asked) or None in asked, asked
        self.lists.append([digest(message) for message in messages])
        self.sizes.append(EXACT.count(json.dumps(messages, default=_text, ensure_ascii=False)))
        assert self.sizes[-1] <= self.window, self.sizes

    @property
    def breaks(self) -> int:
        """Requests that do not begin as the one before: there a provider's cache breaks."""
        pairs = zip(self.lists, self.lists[1:], strict=False)
        return sum(one != other[: len(one)] for one, other in pairs)

    def holds(self, owner: Any, *, window: int = 0) -> None:
        """`owner` is an adapter, its runs, or one run; `window` the one it is to have found."""
        run = owner if isinstance(owner, AgentRun) else getattr(owner, "_runs", owner).newest
        assert len(self.sizes) == CALLS + 1, len(self.sizes)
        assert run.compactions >= 3
        assert self.breaks == run.compactions, (self.breaks, run.compactions)
        assert window in (0, run.last.window.tokens)


def together(running: Iterable[Awaitable[Any]]) -> None:
    """Runs at the same time, in one loop of events."""

    async def all_of_them() -> None:
        await asyncio.gather(*running)

    asyncio.run(all_of_them())


@dataclass
class Grown:
    """One run as it asked us: how much came, and how often that asks for a compaction."""

    every: ClassVar[dict[int, Grown]] = {}
    run: AgentRun
    tokens: int = 0
    left: int = 0
    given: list[Any] = field(default_factory=list)
    anew: int = 0
    """Messages at the beginning that the framework makes anew for each request."""
    listed: bool = False
    """Whether it is known by its list alone."""
    told: bool = False
    """Whether somebody else decides when."""

    @classmethod
    def of(cls, run: AgentRun) -> Grown:
        return cls.every.setdefault(id(run), cls(run))

    def step(self, given: list[Any], sent: list[Any], known: Mapping[str, Any]) -> list[Any]:
        last = self.run.last
        if last is not None:
            self.tokens += max(0, last.tokens_before - self.left)
            self.left = last.tokens_after
        pairs = zip(given, self.given, strict=False)
        self.anew = max((n + 1 for n, (one, old) in enumerate(pairs) if one is not old), default=0)
        self.given, self.told = given, self.told or bool(known.get("now"))
        return sent

    @property
    def most(self) -> int:
        """Compactions that the growth asks for, and one; 0 where somebody else decides when."""
        if self.run.last is None or self.told:
            return 0
        usable = POLICY.usable(self.run.last.window.tokens)
        begin, span = self.run.at * usable, (self.run.at - self.run.target) * usable
        return ceil(max(0, self.tokens - begin) / span) + 1

    def holds(self) -> None:
        assert not self.most or self.run.compactions <= self.most, (self.run, self.most)


TURNS = (10, 100, 1_000)
STEPS = 15
"""Requests of which the middle one counts."""


def milliseconds(grown: Grown) -> list[float]:
    """Of the processor, of one request where nothing is to do: messages of a run, over and over,
    and a turn behind the last ones each time."""
    first, turn = grown.given[:1], grown.given[-2:]
    taken = []
    for turns in TURNS:
        runs, listed = Runs(type(grown.run), window=10**8), [*first]
        times = []
        for number in range(turns + STEPS):
            listed = [*listed, *deepcopy(turn)]
            if number < turns - 1:
                continue
            anew = grown.anew if grown.anew < len(grown.given) / 2 else len(listed)
            given = [*deepcopy(listed[:anew]), *listed[anew:]]
            start = process_time()
            sent = runs.step_list(given) if grown.listed else runs.of("run").step(given)
            assert sent is given
            times.append(1_000 * (process_time() - start))
        taken.append(median(times[1:]))  # the first counts every text there is
    return taken


NEVER_SENT = frozenset(
    {"timestamp", "usage", "run_id", "conversation_id", "model_name", "metadata"}
)
"""Fields of objects that only the framework reads."""


def _text(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "model_dump"):
        return value.model_dump(exclude_none=True)
    fields = getattr(value, "__dict__", None) or {}
    sent = {name: one for name, one in fields.items() if one and name not in NEVER_SENT}
    return sent or str(value)


Planted = Callable[[], bool]
"""Whether the error that was planted in us was met."""
