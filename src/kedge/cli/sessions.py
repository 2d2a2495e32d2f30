"""`kedge sessions`: the sessions that are kept."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kedge.cli.kept import StoreOption, opened_store
from kedge.cli.output import Json, console, harmless, write_json

if TYPE_CHECKING:
    from kedge.store import SessionInfo

UNITS = ("B", "kB", "MB", "GB", "TB")


def sessions(json: Json = False, store: StoreOption = None) -> None:
    """List the sessions that are kept, the one written to last first."""
    kept = opened_store(store)
    found = kept.sessions()
    if json:
        for info in found:
            write_json(as_json(info))
        return
    out = console()
    if not found:
        out.print("no sessions yet; keep one with: kedge add NAME FILE", markup=False)
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("session", "turns", "tokens", "compactions", "size", "last written"):
        table.add_column(name, justify="left" if name in ("session", "last written") else "right")
    for info in found:
        table.add_row(
            harmless(info.name),
            f"{info.turns:,}",
            f"{info.tokens:,}",
            f"{info.compactions:,}",
            size(info.bytes),
            time_of(info.last).strftime("%Y-%m-%d %H:%M"),
        )
    out.print(table)


def as_json(info: SessionInfo) -> dict[str, Any]:
    return {
        "name": info.name,
        "turns": info.turns,
        "tokens": info.tokens,
        "compactions": info.compactions,
        "entries": info.entries,
        "bytes": info.bytes,
        "first": time_of(info.first).isoformat(),
        "last": time_of(info.last).isoformat(),
    }


def time_of(microseconds: int) -> datetime:
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC)


def size(number: float) -> str:
    """A number of bytes as people write it."""
    for unit in UNITS:
        if number < 1_000 or unit == UNITS[-1]:
            break
        number /= 1_000
    return f"{number:,.0f} {unit}" if unit == UNITS[0] else f"{number:,.1f} {unit}"
