"""Scores of one text at one cut, and their means over cuts with intervals."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from kedge.bench.replay.names import KINDS
from kedge.bench.replay.needed import Needed, bare
from kedge.bench.replay.rendering import EXACT
from kedge.bench.replay.standing import ENDS_LOOSELY, Standing
from kedge.model import Value

MEASURES = (
    "names",
    "names_by_base_name",
    "names_with_parameters",
    *(f"names_{kind}" for kind in KINDS),
    "pairs",
    "commands",
    "commands_bare",
    "request",
    "files",
    "files_f1",
    "actions_right",
    "index_share",
)
RESAMPLES = 1_000
SEED = 1
"""Any number: the same one gives the same intervals."""
OUTSIDE = 0.025
"""Share of the resampled means beyond either end of an interval."""

Scores = dict[str, float]
"""By measure; one that has nothing to measure at a cut is not there."""


class Mean(Value, frozen=True):
    mean: float
    low: float
    high: float
    """Ends of the 95 % interval."""
    cuts: int
    """Over how many cuts."""


def scores_of(standing: Standing, needed: Needed) -> Scores:
    """How much of what was needed stands in a text."""
    found: Scores = {}
    kinds, has = needed.names, standing.has
    names = [name for name, kind in kinds.items() if kind != "parameter"]
    _share(found, "names", map(has, names))
    _share(found, "names_by_base_name", map(standing.has_base_name, names))
    _share(found, "names_with_parameters", map(has, kinds))
    for kind in KINDS:
        _share(found, f"names_{kind}", (has(name) for name, of in kinds.items() if of == kind))
    _share(
        found,
        "pairs",
        (any(standing.near(name, path) for path in of) for name, of in needed.pairs.items()),
    )
    _share(found, "commands", map(standing.has_command, needed.commands))
    shaped = map(bare, needed.commands)
    _share(found, "commands_bare", (standing.has_command(one, ENDS_LOOSELY) for one in shaped))
    if needed.request:
        found["request"] = float(standing.has_words(needed.request))
    found.update(_files(standing, needed))
    if index := standing.index():
        found["index_share"] = EXACT.count(index) / EXACT.count(standing.text)
    return found


def means(
    rows: Sequence[tuple[str, Scores]], *, seed: int = SEED, resamples: int = RESAMPLES
) -> dict[str, Mean]:
    """The mean of each measure over cuts, each given with its session.

    Cuts of one session are not independent: whole sessions are resampled."""
    sessions = sorted({session for session, _ in rows})
    drawn = _drawn(len(sessions), seed, resamples)
    return {
        measure: made
        for measure in MEASURES
        if (made := _mean(_sums(rows, measure, sessions), drawn)) is not None
    }


def _share(found: Scores, measure: str, kept: Iterable[bool]) -> None:
    marks = list(kept)
    if marks:
        found[measure] = sum(marks) / len(marks)


def _files(standing: Standing, needed: Needed) -> Scores:
    """Changed files that stand in the text, and what it says became of them.

    A file that no file tool touched is left out, and so is one that was only read but stands in a
    command: the command may have changed it."""
    changed, only_read = needed.files
    if not changed:
        return {}
    judged = changed.keys() | (only_read - needed.by_command)
    said = standing.actions(judged)
    right = sum(changed.get(path) == action for path, action in said.items())
    found = {
        "files": sum(map(standing.has_file, changed)) / len(changed),
        "files_f1": 2 * right / (len(said) + len(changed)),
    }
    return {**found, "actions_right": right / len(said)} if said else found


def _drawn(sessions: int, seed: int, resamples: int) -> list[Mapping[int, int]]:
    """How often each session is in each resample."""
    chance = random.Random(seed)
    every = range(sessions)
    return [Counter(chance.choices(every, k=sessions)) for _ in range(resamples if sessions else 0)]


def _sums(
    rows: Sequence[tuple[str, Scores]], measure: str, sessions: Sequence[str]
) -> list[tuple[float, int]]:
    """Per session the sum of its scores, and over how many cuts."""
    values: defaultdict[str, list[float]] = defaultdict(list)
    for session, scores in rows:
        if measure in scores:
            values[session].append(scores[measure])
    return [(sum(values[one]), len(values[one])) for one in sessions]


def _mean(sums: Sequence[tuple[float, int]], drawn: Sequence[Mapping[int, int]]) -> Mean | None:
    total, cuts = sum(value for value, _ in sums), sum(count for _, count in sums)
    if not cuts:
        return None
    found = []
    for draw in drawn:
        value = count = 0.0
        for place, times in draw.items():
            value += times * sums[place][0]
            count += times * sums[place][1]
        if count:
            found.append(value / count)
    found = sorted(found) or [total / cuts]
    edge = int(len(found) * OUTSIDE)
    return Mean(mean=total / cuts, low=found[edge], high=found[-1 - edge], cuts=cuts)
