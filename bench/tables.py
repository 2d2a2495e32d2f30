"""Tables: what a measurement comes to, and their places in Markdown files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.corpus import Mean, Origin
from kedgeline.errors import BadSettings

NOTHING = "–"
"""In the place of a mean over nothing."""


class Table(NamedTuple):
    """One table: the name of its place in Markdown files, its columns and its rows."""

    name: str
    header: Sequence[str]
    rows: Iterable[Sequence[str]]
    origin: str | None = None
    """What stands below it, where that is not what stands below all."""


def with_interval(mean: Mean | None, form: str = ".2f") -> str:
    """A mean as a cell of a table: 0.82 (0.70–0.93)."""
    if mean is None:
        return NOTHING
    return f"{mean.mean:{form}} ({mean.low:{form}}–{mean.high:{form}})"


def origin_line(origin: Origin, *, intervals: bool = True) -> str:
    """The sentences below a table: what it was measured with and on, so that others can do it
    again."""
    if origin.sessions is None:
        held = f"{origin.files:,} files"
    else:
        held = f"{origin.sessions:,} sessions in {origin.files:,} files"
    if origin.seed is None or not intervals:
        drawn = "Nothing is drawn at random: there is no seed."
    else:
        drawn = (
            f"In brackets 95 % intervals: {origin.resamples:,} resamples of whole sessions, "
            f"seed {origin.seed}."
        )
    return f"kedgeline {origin.version}, {held}. {drawn} Corpus: sha256 `{origin.fingerprint}`."


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column is read and whose others are compared."""
    marks = ["---", *("--:" for _ in header[1:])]
    lines = [f"| {' | '.join(cells)} |" for cells in (header, marks, *rows)]
    return "\n".join(lines)


def has_block(path: Path, name: str) -> bool:
    return f"<!-- bench:{name} -->" in path.read_text("utf-8")


def write_block(path: Path, name: str, text: str) -> None:
    """Replace what stands between `<!-- bench:NAME -->` and `<!-- /bench:NAME -->` in a file."""
    begin, end = f"<!-- bench:{name} -->", f"<!-- /bench:{name} -->"
    whole = path.read_text("utf-8")
    block = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if not block.search(whole):
        raise BadSettings(str(path), f"has no block {begin} … {end} to write the table into")
    replacement = f"{begin}\n{text}\n{end}"
    path.write_text(block.sub(lambda _: replacement, whole), "utf-8")
