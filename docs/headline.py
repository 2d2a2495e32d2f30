"""The few numbers that the front page shows, taken out of the tables of docs/measurements.md; and
the picture drawn from them. Nothing here is measured, and nothing is typed by hand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

MEASUREMENTS = Path(__file__).with_name("measurements.md")
METHODS = ("recorded summary", "last turns", "kedgeline")
"""Rows of the replay at real cuts, all of the same length."""
TITLES = ("host's own summary", "truncation", "kedgeline")
REPLAYED = (
    ("all prompts", "what the user said, verbatim"),
    ("commands run again", "commands that are run again, verbatim"),
    ("file and action, F1", "files, and what was done to each"),
    ("needed names", "names that the agent uses later"),
)
"""Columns of the replay, and what they are called for those who have not read how it is done."""
ASKED = (("Score", "questions about the session"), ("Instruction", "questions about the rules"))
"""Columns of the readers, and what they are called."""
TOLD = (ASKED[0][1], ASKED[1][1], REPLAYED[1][1])
"""What the table tells; the picture tells what was replayed."""
NONE = "not measured"


class Share(NamedTuple):
    """One measure for the three methods."""

    name: str
    values: tuple[float | None, ...]


class Headline(NamedTuple):
    shares: tuple[Share, ...]
    before: str
    """Tokens of the context, mean."""
    after: tuple[str, ...]
    """Tokens of what each method makes of it."""
    larger: str
    """What readers answer from kedgeline's text in 10,000 tokens."""
    together: str
    """What they answer from the host's summary with what our hooks put back."""
    seconds: str


def headline(page: str | None = None) -> Headline:
    """The numbers as the page of measurements has them now."""
    page = page or MEASUREMENTS.read_text("utf-8")
    readers = _rows(page.partition("## What a successor can answer")[2])
    hosts, ours = (_row(readers, text) for text in ("the host's own summary", "kedgeline at the"))
    replay = [row for row in _rows(_block(page, "replay")) if "real, own" in row["cuts, budget"]]
    methods = [_row(replay, name, whole=True) for name in METHODS]
    whole = _row(_rows(_block(page, "replay")), "no compaction")
    asked = [
        Share(said, (float(hosts[column]), None, float(ours[column]))) for column, said in ASKED
    ]
    kept = [
        Share(said, tuple(float(_mean(row[column])) for row in methods))
        for column, said in REPLAYED
    ]
    hook = [row for row in _rows(_block(page, "hook")) if row["event"] == "PreCompact"]
    return Headline(
        shares=(*asked, *kept),
        before=_mean(whole["tokens"]),
        after=tuple(_mean(row["tokens"]) for row in methods),
        larger=_row(readers, "kedgeline, 10,000 tokens")["Score"],
        together=_row(readers, "the host's summary, and what the hooks")["Score"],
        seconds=f"{int(hook[-1]['usual'].split()[0]) / 1000:.1f}",
    )


def headline_table(found: Headline) -> str:
    """What the front page shows between its marks."""
    rows = [
        f"| {found.before} tokens compacted to about {found.after[-1]} | {' | '.join(TITLES)} |",
        "| --- | --: | --: | --: |",
        *(_shown(one, readers=one in found.shares[:2]) for one in found.shares if one.name in TOLD),
        f"| seconds, for a session of 100 MB | as long as a model writes | 0 | {found.seconds} |",
        f"| tokens a model reads + writes for it | {found.before} + {found.after[0]} | 0 | 0 |",
    ]
    return "\n".join(rows) + (
        f"\n\nWith 10,000 tokens for kedgeline's summary, readers answer "
        f"{_percent(float(found.larger))}; from the host's summary plus what our hooks add, "
        f"{_percent(float(found.together))}. Readers are language models that see nothing else. "
        "The commands are those that recorded sessions ran again after their host compacted them."
    )


def _shown(share: Share, *, readers: bool) -> str:
    best = max(value for value in share.values if value is not None)
    cells = [
        f"**{_percent(value)}**" if value == best else _percent(value) for value in share.values
    ]
    name = f"{share.name} that fresh readers answer" if readers else share.name
    return f"| {name} | {' | '.join(cells)} |"


def _percent(value: float | None) -> str:
    return NONE if value is None else f"{value:.0%}".replace("%", " %")


Row = dict[str, str]


def _rows(text: str) -> list[Row]:
    """Those of the first table in a text, by the names of its columns."""
    found = re.search(r"(?:^\|.*\n?)+", text, re.MULTILINE)
    lines = found[0].splitlines() if found else []
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [dict(zip(cells[0], row, strict=True)) for row in cells[2:]]


def _block(page: str, name: str) -> str:
    return page.partition(f"<!-- bench:{name} -->")[2].partition(f"<!-- /bench:{name} -->")[0]


def _row(rows: list[Row], name: str, *, whole: bool = False) -> Row:
    for row in rows:
        first = next(iter(row.values()))
        if first == name or (not whole and name in first):
            return row
    raise SystemExit(
        f"docs/measurements.md has no row {name!r} any more: docs/headline.py reads it"
    )


def _mean(cell: str) -> str:
    """A value without its interval."""
    return cell.partition(" (")[0]


WIDTH, NARROW, LINE = 840, 400, 23
STYLE = """
text { font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328 }
.title { font-weight: 600 } .faint { fill: #59636e } .paper { fill: #ffffff }
.whole { fill: #b9c0c8 } .room { fill: #e6e9ed }
.m0 { fill: #8b6fc0 } .m1 { fill: #b98a45 } .m2 { fill: #1a7f5a }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .faint { fill: #9198a1 } .paper { fill: #0d1117 }
  .whole { fill: #545d68 } .room { fill: #262c34 }
  .m0 { fill: #a78bdb } .m1 { fill: #d3a55f } .m2 { fill: #3fb68b }
}
"""


def window_picture(found: Headline) -> str:
    """A window before and after, with what each method keeps: SVG that needs nothing else."""
    kept = found.shares[len(ASKED) :]
    parts = [_text(16, 28, "before", "title"), _box(150, 15, 560, 18, "whole")]
    parts.append(_text(720, 28, f"{found.before} tokens", "faint"))
    sliver = max(3, round(560 * _tokens(found.after[-1]) / _tokens(found.before)))
    parts += [_text(16, 56, "after", "title"), _box(150, 43, 560, 18, "room")]
    parts += [_box(150, 43, sliver, 18, "m2")]
    parts.append(_text(720, 56, f"about {found.after[-1]}", "faint"))
    parts.append(
        _text(150 + sliver + 10, 56, "which holds, of what the agent needs next:", "faint")
    )
    for column, title in enumerate(TITLES):
        parts.append(_text(330 + column * 170, 94, title, "title"))
    for row, share in enumerate(kept):
        y = 120 + row * LINE
        parts.append(_text(16, y, share.name))
        for column, value in enumerate(share.values):
            x = 330 + column * 170
            parts += [_box(x, y - 11, 100, 13, "room")]
            parts += [_box(x, y - 11, max(1, round(100 * (value or 0))), 13, f"m{column}")]
            parts.append(_text(x + 108, y, _percent(value)))
    return _svg(found, WIDTH, 124 + len(kept) * LINE, parts)


def narrow_window_picture(found: Headline) -> str:
    """The same for a phone: one measure below the other, a line for each method."""
    sliver = max(3, round(220 * _tokens(found.after[-1]) / _tokens(found.before)))
    parts = [_text(8, 24, "before", "title"), _box(66, 11, 220, 18, "whole")]
    parts.append(_text(294, 24, f"{found.before} tokens", "faint"))
    parts += [_text(8, 50, "after", "title"), _box(66, 37, 220, 18, "room")]
    parts += [_box(66, 37, sliver, 18, "m2"), _text(294, 50, f"about {found.after[-1]}", "faint")]
    parts.append(_text(8, 78, "which holds, of what the agent needs next:", "faint"))
    y = 104
    for share in found.shares[len(ASKED) :]:
        parts.append(_text(8, y, share.name, "title"))
        for column, (title, value) in enumerate(zip(TITLES, share.values, strict=True)):
            y += LINE - 3
            parts += [_text(8, y, title), _box(150, y - 11, 180, 13, "room")]
            parts.append(_box(150, y - 11, max(1, round(180 * (value or 0))), 13, f"m{column}"))
            parts.append(_text(340, y, _percent(value)))
        y += LINE + 5
    return _svg(found, NARROW, y - LINE + 8, parts)


def _svg(found: Headline, width: int, height: int, parts: list[str]) -> str:
    told = "; ".join(
        f"{share.name}: "
        + ", ".join(f"{name} {_percent(v)}" for name, v in zip(TITLES, share.values, strict=True))
        for share in found.shares[len(ASKED) :]
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">'
        f"<title>A context window before and after a compaction</title><desc>{escape(told)}</desc>"
        f"<style>{STYLE}</style>{_box(0, 0, width, height, 'paper')}{''.join(parts)}</svg>\n"
    )


def _tokens(shown: str) -> int:
    return int(shown.replace(",", ""))


def _box(x: int, y: int, width: int, height: int, kind: str) -> str:
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="2"/>'


def _text(x: int, y: int, words: str, kind: str = "") -> str:
    marked = f' class="{kind}"' if kind else ""
    return f'<text x="{x}" y="{y}"{marked}>{escape(words)}</text>'
