"""The table of `kedge bench replay`."""

from __future__ import annotations

from kedge.bench.replay.measuring import OWN, Group, MethodMeans, Replay
from kedge.bench.replay.scoring import Mean
from kedge.bench.report import markdown_table

COLUMNS = {
    "names": "needed names",
    "names_by_base_name": "paths by base name too",
    "names_with_parameters": "with plain numbers",
    "pairs": "file and name together",
    "commands": "commands run again",
    "commands_bare": "the same without 2>&1, tail …",
    "request": "last request",
    "files": "changed files",
    "files_f1": "file and action, F1",
    "index_share": "share in an index",
}
"""Measures in the table and what they are called there."""
HEADER = ("method", "cuts, budget", "tokens", *COLUMNS.values())
NARROW = (*HEADER[:3], "names", "pairs", "commands", "request", "files", "F1")
"""For a terminal: means alone, of the measures that fit."""
SHOWN = ("names", "pairs", "commands", "request", "files", "files_f1")
NOTHING = "–"


def replay_rows(found: Replay) -> list[tuple[str, ...]]:
    """Every measure of the table with its interval."""
    return [
        (*_what(group, one), *(_cell(one.means.get(measure)) for measure in COLUMNS))
        for group in found.groups
        for one in group.methods
    ]


def narrow_rows(found: Replay) -> list[tuple[str, ...]]:
    return [
        (*_what(group, one), *(_plain(one.means.get(measure)) for measure in SHOWN))
        for group in found.groups
        for one in group.methods
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


def _what(group: Group, one: MethodMeans) -> tuple[str, str, str]:
    return (one.method, _place(group), f"{one.tokens:,.0f}")


def _place(group: Group) -> str:
    where = "real" if group.where == "boundary" else "fair"
    return f"{where}, {'own length' if group.budget == OWN else f'{group.budget:,}'}"


def _cell(mean: Mean | None) -> str:
    if mean is None:
        return NOTHING
    return f"{mean.mean:.2f} ({mean.low:.2f}–{mean.high:.2f})"


def _plain(mean: Mean | None) -> str:
    return NOTHING if mean is None else f"{mean.mean:.2f}"
