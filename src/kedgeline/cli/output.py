"""Where output goes and what it looks like: pages of text and tables, JSON lines, progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from shlex import quote
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec
import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from kedgeline.model import Turn
    from kedgeline.pipeline.read import Reading

    Cell = str | Text
    Block = str | Text | Table | None

SHOW_AFTER = 1.0
"""Seconds after which a job shows its progress; shorter ones would only flicker."""
SECONDS_BETWEEN, SECONDS_BETWEEN_LINES = 0.1, 5.0
"""Seconds between two looks at what is done, on a screen and in a file."""
LEAST_WIDTH, LARGEST_SCREEN = 14, 10_000
"""Columns of a text in a table: where there are not so many, it becomes a list. And more columns
than any screen has, to ask how many a table needs."""
UNITS = ("B", "kB", "MB", "GB", "TB")

_SHOWN_CONTROLS = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"},
    **dict.fromkeys((0x7F, *range(0x80, 0xA0)), 0xFFFD),
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD),
}
"""Control characters as their pictures: ESC becomes ␛. Those that have none, and those that turn
the direction of writing and so could show other words than are there, become �."""


# For programs.


def write_json(value: Any) -> None:
    """One line of JSON on stdout: UTF-8, whatever the encoding for people is."""
    try:
        data = msgspec.json.encode(value)
    except UnicodeEncodeError:  # the name of a file that is not UTF-8
        from json import dumps

        data = dumps(msgspec.to_builtins(value), ensure_ascii=False).encode(errors="replace")
    sys.stdout.buffer.write(data + b"\n")


def write_lines(values: Iterable[Any]) -> None:
    """One line of JSON for each value."""
    for value in values:
        write_json(value)


def fields(value: object, names: str, **renamed: str) -> dict[str, Any]:
    """Attributes of a value as JSON: those named, then those with another name in JSON."""
    keys = {name: name for name in names.split()} | renamed
    return {key: getattr(value, name) for key, name in keys.items()}


# For people.


def console(*, stderr: bool = False) -> Console:
    """Stdout for people, or stderr. Brackets and colons in a session stay as they are."""
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # whoever runs the command knows what that means

    return Piped(stderr=stderr, highlight=False, soft_wrap=False, emoji=False, markup=False)


def say(text: str) -> None:
    """One line on stderr."""
    typer.echo(harmless(text), err=True)


def say_done(values: Any, said: str, *, json: bool) -> None:
    """What a command did: one object as JSON, or a line on stderr."""
    if json:
        write_json(values)
    else:
        say(said)


def show(*blocks: Block, stderr: bool = False) -> None:
    """Lines and tables, one under the other; None is left out, an empty text is an empty line.
    On a screen lines are broken between words, never within: commands and paths stay whole."""
    out = console(stderr=stderr)
    for block in blocks:
        if isinstance(block, str):
            lines = _wrapped(harmless(block), out.width) if out.is_terminal else harmless(block)
            out.print(lines, soft_wrap=True)
        elif block is not None:
            out.print(_fitting(block, out))


def _fitting(block: Text | Table, out: Console) -> Any:
    """A table that the screen has no room for as a list: each row under its first cell."""
    from rich.table import Table

    needs = out.measure(block, options=out.options.update(width=LARGEST_SCREEN)).minimum
    if not isinstance(block, Table) or needs <= out.width:
        return block
    first, *others = block.columns
    rows = zip(first.cells, *(column.cells for column in others), strict=True)
    lines = []
    for name, *cells in rows:
        pairs = zip(others, cells, strict=True)
        said = dotted(*(f"{one.header!s} {cell}".strip() for one, cell in pairs if str(cell)))
        lines += [str(name), f"  {said}"]
    return _wrapped("\n".join(lines), out.width)


def _wrapped(text: str, width: int) -> str:
    """Each line broken between words, indented as it began."""
    from textwrap import fill

    return "\n".join(
        fill(
            line,
            width,
            subsequent_indent=line[: len(line) - len(line.lstrip())],
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in text.split("\n")
    )


def table(*columns: str, rows: Iterable[Sequence[Any]], total: Sequence[Any] = ()) -> Table:
    """A table without lines. `>` before a column's name aligns it to the right; `*` gives it the
    width that is left, and cuts what is longer. Without any name there is no heading."""
    from rich.table import Table

    made = Table(
        box=None,
        pad_edge=False,
        header_style="bold",
        show_header=any(name.strip(">*") for name in columns),
        expand=any(name.startswith("*") for name in columns),
    )
    for name in columns:
        if name.startswith("*"):
            made.add_column(name[1:], ratio=1, no_wrap=True, overflow="ellipsis")
        else:
            right = name.startswith(">")
            made.add_column(
                name.removeprefix(">"),
                justify="right" if right else "left",
                no_wrap=right,
                overflow="fold",
            )
    for row in rows:
        made.add_row(*map(_cell, row))
    if total:
        made.add_section()
        made.add_row(*map(_cell, total), style="bold")
    for column in made.columns:  # a name that is folded every few letters cannot be read
        longest = max((len(str(cell)) for cell in (column.header, *column.cells)), default=0)
        if column.ratio is None:
            column.min_width = longest if column.no_wrap else min(longest, LEAST_WIDTH)
    return made


def _cell(value: Any) -> Text:
    cell = cell_of(value)
    return styled(harmless(cell)) if isinstance(cell, str) else cell


Column = str | Callable[[Any], Any]
"""The key or attribute of what stands in it, or what makes it of a row."""


def show_rows(
    rows: Sequence[Mapping[str, Any]],
    columns: Mapping[str, Column],
    *,
    json: bool = False,
    empty: str | None = None,
) -> None:
    """Rows as JSON, a line each; or for people as a table of these columns, or what it means that
    there is none."""
    if json:
        write_lines(rows)
    elif rows:
        show(rows_table(rows, columns))
    elif empty is not None:
        show(empty)


def rows_table(rows: Iterable[Any], columns: Mapping[str, Column]) -> Table:
    def cell(row: Any, column: Column) -> Any:
        if not isinstance(column, str):
            return column(row)
        return row[column] if isinstance(row, Mapping) else getattr(row, column)

    return table(*columns, rows=([cell(row, one) for one in columns.values()] for row in rows))


def cell_of(value: Any) -> Cell:
    """A value of JSON in a cell."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    cell: Cell = value
    return cell


def styled(text: str = "", style: str = "") -> Text:
    from rich.text import Text

    return Text(text, style=style)


def harmless(text: str) -> str:
    """Text from a session without the control characters that could steer a terminal."""
    return text.translate(_SHOWN_CONTROLS)


def shorten(text: str, most: int) -> str:
    """Words of a session on one line, cut where they are long."""
    line = harmless(" ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def shown_end(text: str, width: int) -> str:
    """A name with its end where it is long: that tells files apart."""
    return text if len(text) <= width else f"…{text[1 - width :]}"


def dotted(*parts: str) -> str:
    """Parts of a line, those that are empty left out."""
    return " · ".join(part for part in parts if part)


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def bytes_told(number: float) -> str:
    for unit in UNITS:
        if number < 1_000 or unit == UNITS[-1]:
            break
        number /= 1_000
    return f"{number:,.0f} {unit}" if unit == UNITS[0] else f"{number:,.1f} {unit}"


def time_at(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC)


def mark(turn: int) -> Text:
    """A turn as people write it; a dash where none is known."""
    return styled(f"t{turn}" if turn >= 0 else "–", "bold cyan")


# Progress, on stderr, once it takes long.


class Tell(Protocol):
    def __call__(self, what: str, done: int = 0, total: int = 0) -> None: ...


@contextmanager
def progress(what: str) -> Iterator[Tell]:
    """Shows what is being done, how much of it and for how long: on a terminal in one line that
    changes, in a file as a line now and then. Call what it yields to say what is next."""
    told, stop, begun = [what, ""], Event(), time.monotonic()

    def tell(what: str, done: int = 0, total: int = 0) -> None:
        told[:] = what, f"{done / total:.0%}" if total else f"{done:,}" * bool(done)

    def text() -> str:
        return harmless(dotted(*told, f"{time.monotonic() - begun:.0f} s"))

    def show_it() -> None:
        if not sys.stderr.isatty():
            while not stop.wait(SECONDS_BETWEEN_LINES):
                typer.echo(text(), err=True)
        elif not stop.wait(SHOW_AFTER):
            with console(stderr=True).status(styled(text())) as status:
                while not stop.wait(SECONDS_BETWEEN):
                    status.update(styled(text()))

    thread = Thread(target=show_it, daemon=True)
    thread.start()
    try:
        yield tell
    finally:
        stop.set()
        thread.join()


def watch_turns(reading: Reading) -> Iterator[Turn]:
    with progress(reading.name) as tell:
        for turn in reading:
            tell(reading.name, reading.bytes_read, reading.size or 0)
            yield turn


# What to type next.


class Hints(NamedTuple):
    """Commands that show what a report on a session only names."""

    file: str
    session: int | None = None
    format: str | None = None
    first: int = 0
    """Number of the file's first turn: a list that an earlier summary leads goes on counting."""

    def shown(self, turns: Iterable[int]) -> str:
        """How to show the first of these turns that is in this file; empty where none is."""
        place = next((turn - self.first for turn in turns if turn >= self.first), None)
        if place is None:
            return ""
        number = f" (it is t{place + self.first}: this list begins with t{self.first})"
        return f"{self._command('show', f't{place}')}{number if self.first else ''}"

    @property
    def older(self) -> str:
        """Where turns are that an earlier compaction folded before the list was written."""
        if not self.first:
            return ""
        return f"what is older than t{self.first} is in the session before this list"

    def facts(self, kind: str) -> str:
        return self._command("facts", "--kind", kind)

    def _command(self, name: str, *more: str) -> str:
        words = [self.file if self.file != "-" else "FILE", *more]
        words += ["--session", str(self.session)] if self.session is not None else []
        words += ["--format", self.format] if self.format else []
        return harmless(f"kedgeline {name} {' '.join(map(quote, words))}")
