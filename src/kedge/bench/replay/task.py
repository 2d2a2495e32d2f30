"""What a task costs in tokens: what is carried at every step, and what is fetched again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from kedge.bench.replay.names import TELLING, Kind, Names, implied
from kedge.model import ToolResult
from kedge.model.catalogue import Verb

NOT_REPEATED: frozenset[Verb] = frozenset({"write", "edit", "delete", "move", "todo", "ask"})
"""Calls that nobody makes again to be shown something."""


class Source(NamedTuple):
    """The tool result that shows a name again at the least price."""

    turn: int
    number: int
    """Which of the turn's."""
    tokens: int


class Looked(NamedTuple):
    """The names in one result of a call that can be made again."""

    turn: int
    number: int
    """Which of the turn's."""
    result: ToolResult
    names: Names


class Task(NamedTuple):
    steps: int
    """Turns after the cut that are looked at: at each of them a model reads what is carried."""
    history: int
    """Tokens of all turns before the cut."""
    needed_at: dict[str, int]
    """Needed names to the step that needs them first, counted from 0."""
    sources: dict[str, Source]
    """By needed name; one that no result held is not there."""


def sources_of(
    names: Iterable[str],
    known: Mapping[str, Kind],
    results: Iterable[Looked],
    tokens: Callable[[Looked], int],
) -> dict[str, Source]:
    """For each name the smallest result that held it, the newest of equal ones.

    It is the same one whatever else is lost: to lose more never costs less."""
    tells = _tells(frozenset(names), known)
    found: dict[str, Source] = {}
    for one in results:
        held = {name for written in one.names.keys() & tells.keys() for name in tells[written]}
        if not held:
            continue
        source = Source(one.turn, one.number, tokens(one))
        for name in held:
            if name not in found or source.tokens <= found[name].tokens:
                found[name] = source
    return found


def task_scores(task: Task, carried: int, lost: Iterable[str]) -> dict[str, float]:
    """What a task costs from a text of so many tokens, in which these needed names do not stand.

    What comes in after the cut is carried too; it is the same for all methods and left out."""
    fetched: dict[Source, int] = {}
    unheld = 0
    for name in lost:
        if source := task.sources.get(name):
            step = task.needed_at[name]
            fetched[source] = min(step, fetched.get(source, step))
        else:
            unheld += 1
    kept = carried * task.steps
    once = sum(source.tokens for source in fetched)
    staying = sum(source.tokens * (task.steps - step) for source, step in fetched.items())
    found: dict[str, float] = {
        "task_tokens": kept + once,
        "task_tokens_staying": kept + staying,
        "fetched_tokens": once,
        "lost_without_source": unheld,
    }
    if whole := task.history * task.steps:
        found["task_ratio"] = (kept + once) / whole
        found["task_ratio_staying"] = (kept + staying) / whole
    return found


def _tells(names: frozenset[str], known: Mapping[str, Kind]) -> Mapping[str, set[str]]:
    """A name as it is written to the needed names it tells: itself, and what a path implies."""
    tells: defaultdict[str, set[str]] = defaultdict(set)
    for written, kind in known.items():
        if kind in TELLING:
            tells[written] |= names & implied({written: kind}).keys()
        elif written in names:
            tells[written].add(written)
    return tells
