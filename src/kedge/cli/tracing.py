"""Spans of what a command does, where settings ask for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer


@contextmanager
def traced() -> Iterator[None]:
    """Compactions and requests to models within it are told to a collector. One that cannot be
    reached is said on stderr and changes nothing else."""
    from kedge.settings import load_settings

    if not load_settings().telemetry:
        yield
        return
    from kedge.telemetry.exporting import start

    sending = start()
    try:
        yield
    finally:
        if lost := sending.finish():
            typer.echo(f"warning: {lost}", err=True)
