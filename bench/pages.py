"""Reports as pages of their own: tables, and pictures beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from bench.pictures import Picture, write_pictures
from bench.plots.replay import replay_pictures
from bench.replay.measuring import Replay
from bench.replay.report import HEADER, NOTHING, kinds_markdown, origin, replay_rows
from bench.throughput import markdown_table
from kedgeline.errors import MissingExtra

PAGE = "replay.md"
PICTURES = "pictures"
"""Folder beside the page."""
INTRODUCTION = """# Replay

Written by `kedgeline bench replay CORPUS --report FOLDER`, never by hand.

Real sessions are cut, what is before the cut is compacted by several methods, and what the agent
really did in the turns after it shows what was needed. Nobody judges, and what comes after a cut is
used for scoring only. Real cuts are compactions that another system made, and *own length* is the
length of its summary there; at fair cuts the agent had its whole history."""


class Written(NamedTuple):
    page: Path
    missing: MissingExtra | None
    """Why there are no pictures, and what to install."""


def write_replay(found: Replay, folder: Path) -> Written:
    """The page `replay.md` in a folder, and its pictures; without them where nothing can draw."""
    pictures = replay_pictures(found)
    missing = write_drawn(pictures, folder / PICTURES)
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / PAGE
    page.write_text(replay_page(found, [] if missing else pictures, missing), "utf-8")
    return Written(page, missing)


def write_drawn(pictures: Sequence[Picture], folder: Path) -> MissingExtra | None:
    """Draw pictures into a folder; or what to install, where nothing can draw."""
    try:
        write_pictures(pictures, folder)
    except MissingExtra as error:
        return error
    return None


def replay_page(
    found: Replay, pictures: Sequence[Picture], missing: MissingExtra | None = None
) -> str:
    """The same for the same values: no date, no machine."""
    parts = [INTRODUCTION, f"kedgeline {version('kedgeline')}. {origin(found)}"]
    parts += (f"Not measured: {one.method}; {one.why} brings it." for one in found.left_out)
    if missing:
        parts.append(f"There are no pictures: {missing}.")
    parts += (f"![{one.description}]({PICTURES}/{one.file})" for one in pictures)
    for place, table in _tables(found):
        parts += (f"## {place[:1].upper()}{place[1:]}", table)
    parts += ("## Needed names by kind", kinds_markdown(found))
    return "\n\n".join(parts) + "\n"


def _tables(found: Replay) -> Iterator[tuple[str, str]]:
    """One table for every sort of cut and budget, without columns in which nothing stands."""
    measured = sum(len(group.methods) for group in found.groups)
    for place, grouped in groupby(replay_rows(found)[:measured], key=lambda row: row[1]):
        rows = [(row[0], *row[2:]) for row in grouped]
        names = (HEADER[0], *HEADER[2:])
        kept = [at for at in range(len(names)) if any(row[at] != NOTHING for row in rows)]
        table = markdown_table(
            [names[at] for at in kept], [[row[at] for at in kept] for row in rows]
        )
        yield place, table
