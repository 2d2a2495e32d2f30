"""The objects of a list inside a JSON document, each with its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kedge.formats.intake.lines import Line, Record
from kedge.formats.intake.log import Log


def numbered_items(value: Any, log: Log) -> Iterator[tuple[Line, Record]]:
    """Items with their number; what is not an object is reported and passed over."""
    for number, item in enumerate(value if isinstance(value, list) else ()):
        if isinstance(item, dict):
            yield Line(number), item
        else:
            log.broken("shape", Line(number), f"a {type(item).__name__}, not an object")
