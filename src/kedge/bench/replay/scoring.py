"""Scores of one text at one cut, and their means over cuts with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kedge.bench import intervals
from kedge.bench.intervals import Mean
from kedge.bench.replay.names import KINDS
from kedge.bench.replay.needed import Needed, bare
from kedge.bench.replay.rendering import EXACT
from kedge.bench.replay.standing import ENDS_LOOSELY, Standing
from kedge.bench.replay.task import task_scores

MEASURES = (
    "tokens",
    "names",
    "names_by_base_name",
    "names_with_parameters",
    *(f"names_{kind}" for kind in KINDS),
    "pairs",
    "commands",
    "commands_bare",
    "request",
    "prompts",
    "prompts_under_way",
    "files",
    "files_f1",
    "actions_right",
    "index_share",
    "task_tokens",
    "task_ratio",
    "task_tokens_staying",
    "task_ratio_staying",
    "fetched_tokens",
    "lost_without_source",
)
BEGINNING = 8
"""Words of a prompt: by then nearly all prompts of a session differ."""

Scores = dict[str, float]
"""By measure; one that has nothing to measure at a cut is not there."""


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
    _share(found, "prompts", (standing.has_words(beginning(one)) for one in needed.prompts))
    under_way = map(beginning, needed.under_way)
    _share(found, "prompts_under_way", map(standing.has_words, under_way))
    found.update(_files(standing, needed))
    if index := standing.index():
        found["index_share"] = EXACT.count(index) / standing.tokens
    lost = (name for name in names if not has(name))
    return {**found, **task_scores(needed.task, standing.tokens, lost)}


def beginning(prompt: str) -> str:
    return " ".join(prompt.split()[:BEGINNING])


def means(rows: Sequence[tuple[str, Scores]]) -> dict[str, Mean]:
    """The mean of each measure over cuts, each given with its session."""
    return intervals.means(rows, MEASURES)


def _share(found: Scores, measure: str, kept: Iterable[bool]) -> None:
    marks = list(kept)
    if marks:
        found[measure] = sum(marks) / len(marks)


def _is_right(path: str, action: str, needed: Needed) -> bool:
    """Whether a file became that. One that file tools only modified may have been created by a
    command that names it: then nobody can tell."""
    became = needed.files.changed.get(path)
    made = became == "modified" and action == "created" and path in needed.by_command
    return became == action or made


def _files(standing: Standing, needed: Needed) -> Scores:
    """Changed files that stand in the text, and what it says became of them.

    A file that no file tool touched is left out, and so is one that was only read but stands in a
    command: the command may have changed it."""
    changed, only_read = needed.files
    if not changed:
        return {}
    judged = changed.keys() | (only_read - needed.by_command)
    said = standing.actions(judged)
    right = sum(_is_right(path, action, needed) for path, action in said.items())
    found = {
        "files": sum(map(standing.has_file, changed)) / len(changed),
        "files_f1": 2 * right / (len(said) + len(changed)),
    }
    return {**found, "actions_right": right / len(said)} if said else found
