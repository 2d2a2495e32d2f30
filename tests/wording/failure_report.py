"""Writes into a Markdown file how each kind of a model's failure ended: every variant of each, with
every history, over both shapes, streamed and whole."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

from bench.throughput import write_block
from tests.wording.histories import histories
from tests.wording.history import History
from tests.wording.kinds import KINDS, Kind
from tests.wording.trial import WAYS, Trial, Way, tried

BLOCK = "failures"
TAKEN = "words taken"
"""What is said of cases without a fallback."""


class Row(NamedTuple):
    """How all cases of one kind ended."""

    kind: str
    cases: int
    ended: Counter[str]
    dropped: Counter[str]
    """Reasons for which words were not taken, by the cases in which they were."""
    violations: int


def rows(
    kinds: Iterable[Kind] = KINDS,
    given: Iterable[History] | None = None,
    ways: Iterable[Way] = WAYS,
) -> Iterator[Row]:
    found = tuple(histories().values() if given is None else given)
    for kind in kinds:
        cases = product(found, kind.variants, tuple(ways))
        yield row(kind.name, [tried(history, kind, *case) for history, *case in cases])


def row(kind: str, trials: list[Trial]) -> Row:
    wordings = [one.done.wording for one in trials if one.done.wording is not None]
    return Row(
        kind,
        len(trials),
        Counter(one.fallback or TAKEN for one in wordings),
        Counter(why for one in wordings for why in {each.why for each in one.dropped}),
        sum(bool(one.problems) for one in trials),
    )


def table(found: Iterable[Row]) -> str:
    lines = [
        "| what the model did | cases | how it ended | words not taken for | violations |",
        "|---|--:|---|---|--:|",
    ]
    every = list(found)
    lines += [
        f"| {one.kind} | {one.cases:,} | {listed(one.ended)} | {listed(one.dropped)} "
        f"| {one.violations:,} |"
        for one in every
    ]
    cases, wrong = sum(one.cases for one in every), sum(one.violations for one in every)
    return "\n".join([*lines, f"| all | {cases:,} | | | {wrong:,} |"])


def listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} ({count:,})" for name, count in counts.most_common())


if __name__ == "__main__":
    write_block(Path(sys.argv[1]), BLOCK, table(rows()))
