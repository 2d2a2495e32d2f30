"""The table of `kedgeline bench replay`."""

from __future__ import annotations

from bench.corpus import Mean
from bench.replay.measuring import OWN, UNLIMITED, Group, MethodMeans, Replay
from bench.replay.names import KINDS, Where
from bench.throughput import markdown_table

COLUMNS = {
    "names": "needed names",
    "names_by_base_name": "paths by base name too",
    "names_with_parameters": "with plain numbers",
    "pairs": "file and name together",
    "commands": "commands run again",
    "commands_bare": "the same without 2>&1, tail …",
    "request": "last request",
    "prompts_under_way": "prompts under way",
    "prompts": "all prompts",
    "files": "changed files",
    "files_f1": "file and action, F1",
    "index_share": "share in an index",
    "task_tokens": "tokens per task",
    "task_ratio": "of no compaction",
    "fetched_tokens": "fetched again",
    "task_tokens_staying": "tokens per task, fetches stay",
    "task_ratio_staying": "of no compaction, fetches stay",
    "lost_without_source": "lost, in no result",
}
"""Measures in the table and what they are called there."""
HEADER = ("method", "cuts, budget", "tokens", *COLUMNS.values())
NARROW = (*HEADER[:3], "names", "pairs", "commands", "request", "files", "F1", "task")
"""For a terminal: means alone, of the measures that fit."""
SHOWN = ("names", "pairs", "commands", "request", "files", "files_f1", "task_tokens")
KINDS_HEADER = (*HEADER[:2], *KINDS)
COUNTED = frozenset({"tokens", "task_tokens", "task_tokens_staying", "fetched_tokens"})
"""Measures in tokens."""
DIGITS = {"task_ratio": 3, "task_ratio_staying": 3, "lost_without_source": 1}
"""Behind the point, where it is not two."""
PLACES: dict[Where, str] = {"boundary": "real", "fair": "fair"}
ROOMS = {OWN: "own length", UNLIMITED: "no budget"}
NOTHING = "–"


def replay_rows(found: Replay) -> list[tuple[str, ...]]:
    """Every measure of the table with its interval."""
    rows = [
        (
            *_what(group, one)[:2],
            *(_cell(measure, one.means.get(measure)) for measure in ("tokens", *COLUMNS)),
        )
        for group in found.groups
        for one in group.methods
    ]
    return rows + _left_out(found, len(HEADER))


def narrow_rows(found: Replay) -> list[tuple[str, ...]]:
    rows = [
        (*_what(group, one), *(_plain(measure, one.means.get(measure)) for measure in SHOWN))
        for group in found.groups
        for one in group.methods
    ]
    return rows + _left_out(found, len(NARROW))


def kind_rows(found: Replay) -> list[tuple[str, ...]]:
    """Needed names kept, by kind; a method that keeps everything has no row."""
    measures = [f"names_{kind}" for kind in KINDS]
    return [
        (*_what(group, one)[:2], *(_cell(name, one.means.get(name)) for name in measures))
        for group in found.groups
        for one in group.methods
        if "names" in one.means
    ]


def origin(found: Replay) -> str:
    """What the numbers were measured on."""
    counted = "; ".join(
        f"{_place(group)}: {group.cuts} cuts of {group.sessions} sessions" for group in found.groups
    )
    return (
        f"{found.sessions:,} sessions in {found.files:,} files. {counted}. "
        f"Means over cuts; in brackets 95 % intervals, {found.resamples:,} resamples of whole "
        f"sessions, seed {found.seed}. Corpus: sha256 `{found.fingerprint}`."
    )


def replay_markdown(found: Replay) -> str:
    return f"{markdown_table(HEADER, replay_rows(found))}\n\n{origin(found)}"


def kinds_markdown(found: Replay) -> str:
    return f"{markdown_table(KINDS_HEADER, kind_rows(found))}\n\n{_needed(found)}"


def _needed(found: Replay) -> str:
    """How many things of each kind were needed."""
    told = []
    for where in ("boundary", "fair"):
        counts = [cut.needed for cut in found.cuts if cut.where == where]
        listed = (f"{kind} {sum(one.get(kind, 0) for one in counts):,}" for kind in KINDS)
        if counts:
            told.append(f"{len(counts)} {PLACES[where]} cuts: {', '.join(listed)}")
    return f"Needed at {'; at '.join(told)}. Corpus: sha256 `{found.fingerprint}`."


def _left_out(found: Replay, width: int) -> list[tuple[str, ...]]:
    return [
        (one.method, f"not measured: {one.why}", *(NOTHING for _ in range(width - 2)))
        for one in found.left_out
    ]


def _what(group: Group, one: MethodMeans) -> tuple[str, str, str]:
    return (one.method, _place(group), f"{one.tokens:,.0f}")


def _place(group: Group) -> str:
    room = ROOMS.get(group.budget, f"{group.budget:,}")
    return f"{PLACES[group.where]}, {room}"


def _cell(measure: str, mean: Mean | None) -> str:
    if mean is None:
        return NOTHING
    low, high = (_number(measure, end) for end in (mean.low, mean.high))
    return f"{_number(measure, mean.mean)} ({low}–{high})"


def _plain(measure: str, mean: Mean | None) -> str:
    return NOTHING if mean is None else _number(measure, mean.mean)


def _number(measure: str, value: float) -> str:
    return f"{value:,.0f}" if measure in COUNTED else f"{value:.{DIGITS.get(measure, 2)}f}"
