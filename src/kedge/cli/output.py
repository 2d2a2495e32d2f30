"""What commands share: where output goes, and how long work shows itself."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

if TYPE_CHECKING:
    from rich.console import Console

    from kedge.model import Turn
    from kedge.reading import Reading

SHOW_AFTER = 1.0
"""Seconds after which a job shows its progress; shorter ones would only flicker."""
LOOK_EVERY = 64
"""Turns between two looks at the clock."""

_SHOWN_CONTROLS = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"},
    **dict.fromkeys((0x7F, *range(0x80, 0xA0)), 0xFFFD),
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD),
}
"""Control characters as their pictures: ESC becomes ␛. Those that have none, and those that turn
the direction of writing and so could show other words than are there, become �."""

Json = Annotated[
    bool, typer.Option("--json", help="Write JSON, one object a line, instead of text.")
]
Vocabulary = Annotated[
    str | None,
    typer.Option(help="Count with o200k, cl100k or estimate instead of what settings say."),
]
FormatName = Annotated[
    str | None,
    typer.Option("--format", help="Read as this format instead of recognising it by content."),
]


def console(*, stderr: bool = False) -> Console:
    """Stdout for people, or stderr. What a session says between colons stays as it is said."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=False, emoji=False)


def harmless(text: str) -> str:
    """Text from a session without the control characters that could steer a terminal."""
    return text.translate(_SHOWN_CONTROLS)


def write_json(value: Any) -> None:
    """One line of JSON on stdout: UTF-8, whatever the encoding for people is."""
    try:
        data = msgspec.json.encode(value)
    except UnicodeEncodeError:  # the name of a file that is not UTF-8
        from json import dumps

        data = dumps(msgspec.to_builtins(value), ensure_ascii=False).encode(errors="replace")
    sys.stdout.buffer.write(data + b"\n")


def shown(reading: Reading) -> Iterator[Turn]:
    """The turns, with a progress bar on stderr once it takes long and a person is watching."""
    if not sys.stderr.isatty():
        yield from reading
        return
    begun = time.monotonic()
    turns = iter(reading)
    for number, turn in enumerate(turns):
        yield turn
        if number % LOOK_EVERY == 0 and time.monotonic() - begun > SHOW_AFTER:
            yield from _with_bar(reading, turns)
            return


def _with_bar(reading: Reading, turns: Iterator[Turn]) -> Iterator[Turn]:
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as progress:
        task = progress.add_task(harmless(reading.name), total=reading.size)
        for number, turn in enumerate(turns):
            yield turn
            if number % LOOK_EVERY == 0:
                progress.update(task, completed=reading.bytes_read)
