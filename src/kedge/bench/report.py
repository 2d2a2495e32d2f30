"""Tables in Markdown files, written by the command that measured them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from kedge.bench.throughput import Throughput
from kedge.errors import BadSettings

THROUGHPUT = ("measure", "value", "goal")


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
