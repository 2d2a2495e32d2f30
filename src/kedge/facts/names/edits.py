"""The pieces of text that an edit puts into files or takes out of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from kedge.facts.names.words import words
from kedge.model import ToolCall
from kedge.model.catalogue import patch_in

MOST_PIECES = 80
"""Pieces of one call that are looked at."""
PATCH_WITHIN = 200_000
"""Characters of a patch that are taken apart."""

_OLD = re.compile(r"old|search|find", re.IGNORECASE)
"""How parameters begin that hold what is replaced."""
_NO_TEXT = words(
    "file_path path filePath filename notebook_path target_file absolute_path cell_id command "
    "instruction description workdir"
)
_HEADER = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.{1,400}?)\s*$", re.MULTILINE)


class Piece(NamedTuple):
    path: str
    """As the call names it; empty where it names none or several."""
    text: str
    is_old: bool


def pieces_of(call: ToolCall) -> Iterator[Piece]:
    if patch := patch_in(call.parameters):
        yield from _patched(patch[:PATCH_WITHIN])
        return
    paths = call.paths()
    path = paths[0] if len(paths) == 1 else ""
    for key, text in islice(_given(call.parameters), MOST_PIECES):
        yield Piece(path, text, _OLD.match(key) is not None)


def _given(parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in parameters.items():
        if isinstance(value, str) and key not in _NO_TEXT:
            yield key, value
        elif isinstance(value, (list, tuple)):
            for item in value:
                if isinstance(item, Mapping):
                    yield from ((k, v) for k, v in item.items() if isinstance(v, str))


def _patched(patch: str) -> Iterator[Piece]:
    headers = [*islice(_HEADER.finditer(patch), MOST_PIECES)]
    for place, header in enumerate(headers):
        end = headers[place + 1].start() if place + 1 < len(headers) else len(patch)
        lines = patch[header.end() : end].splitlines()
        for sign, is_old in (("+", False), ("-", True)):
            if text := "\n".join(line[1:] for line in lines if line.startswith(sign)):
                yield Piece(header[1], text, is_old)
