"""Tables in Markdown files, written by the command that measured them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from kedge.bench.corpus import Origin
from kedge.bench.intervals import Mean
from kedge.bench.throughput import Throughput
from kedge.errors import BadSettings

THROUGHPUT = ("measure", "value", "goal")
NOTHING = "–"
"""In the place of a mean over nothing."""


def throughput_rows(found: Throughput) -> list[tuple[str, str, str]]:
    """Measure, value, goal."""
    return [
        ("sessions", f"{found.files} files, {found.megabytes:,.1f} MB, {found.turns:,} turns", ""),
        ("msgspec decoding of every line, alone", f"{found.decode:,.0f} MB/s", ""),
        ("raw file into turns", f"{found.read:,.0f} MB/s", ""),
        ("decoding alone is faster by", f"{found.ratio:.2f} ×", "≤ 3"),
        ("raw file into turns with exact tokens", f"{found.read_with_tokens:,.0f} MB/s", ""),
        ("peak memory of reading all of them", f"{found.peak_memory:,.0f} MB", ""),
        (
            f"`kedge stats` on one session of {found.large_megabytes:,.0f} MB "
            f"({found.large_turns:,} turns): peak memory",
            f"{found.large_memory:,.0f} MB",
            "≤ 256 MB",
        ),
        ("the same: speed, tokens counted", f"{found.large_speed:,.0f} MB/s", ""),
    ]


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
    return f"kedge {origin.version}, {held}. {drawn} Corpus: sha256 `{origin.fingerprint}`."


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
