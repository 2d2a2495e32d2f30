"""The table of `kedgeline bench replay`."""

from __future__ import annotations

from bench.corpus import Mean
from bench.replay.measuring import OWN, UNLIMITED, Group, Replay
from bench.replay.names import Where
from bench.tables import Table, with_interval

COLUMNS = {
    "tokens": ("tokens", ",.0f"),
    "names": ("needed names", ".2f"),
    "commands": ("commands run again", ".2f"),
    "request": ("last request", ".2f"),
    "prompts": ("all prompts", ".2f"),
    "files": ("changed files", ".2f"),
    "files_f1": ("file and action, F1", ".2f"),
    "fetched_tokens": ("fetched again", ",.0f"),
    "task_tokens": ("tokens per task", ",.0f"),
    "task_ratio": ("of no compaction", ".3f"),
}
"""Measures in the table: what they are called there, and how they are written."""
HEADER = ("method", "cuts, budget", *(title for title, _ in COLUMNS.values()))
PLACES: dict[Where, str] = {"boundary": "real", "fair": "fair"}
ROOMS = {OWN: "own length", UNLIMITED: "no budget"}


def tables(found: Replay) -> list[Table]:
    rows = [
        (one.method, _place(group), *(_cell(name, one.means.get(name)) for name in COLUMNS))
        for group in found.groups
        for one in group.methods
    ]
    return [Table("replay", HEADER, rows)]


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


def _place(group: Group) -> str:
    room = ROOMS.get(group.budget, f"{group.budget:,}")
    return f"{PLACES[group.where]}, {room}"


def _cell(measure: str, mean: Mean | None) -> str:
    return with_interval(mean, COLUMNS[measure][1])
