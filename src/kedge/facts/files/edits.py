"""The text before and behind an edit, out of the parameters of every agent's tools."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kedge.model import ToolCall
from kedge.model.catalogue import patch_in

MOST_PIECES = 100
"""Pieces looked at in one call; agents send a handful."""

PAIRS = (
    ("old_string", "new_string"),
    ("oldString", "newString"),
    ("oldText", "newText"),
    ("old_text", "new_text"),
    ("old_str", "new_str"),
    ("search", "replace"),
    ("find", "replace"),
)
LISTS = ("edits", "replacements", "changes")
WHOLE = ("content", "file_text", "contents", "text", "code", "body")
"""Parameters that hold all of a file that is written."""
ONLY_NEW = ("replacement_text", "new_str", "insert_text", "text", "new_source", "code_edit", "code")
"""Parameters that hold what an edit puts in where it does not say what it takes out."""
_BLOCK = re.compile(
    r"^<{5,9} ?(?:SEARCH|ORIGINAL)[^\n]*\n(.*?)^={5,9}[ ]*\n(.*?)^>{5,9} ?(?:REPLACE|UPDATED)",
    re.MULTILINE | re.DOTALL,
)
_PATCH_FILE = re.compile(
    r"^\*\*\* (?P<kind>Add File|Update File|Delete File): (?P<path>.+?)\s*$", re.MULTILINE
)
_MOVED = "*** Move to: "


class Piece(NamedTuple):
    old: str
    new: str
    whole: bool = False
    """The new text is all of the file; what was there before is not known."""
    blind: bool = False
    """What was taken out is not known."""


def pieces_of(call: ToolCall, path: str) -> list[Piece]:
    """What one call changes in the file it names so."""
    patch = patch_in(call.parameters)
    found = _in_patch(patch, path) if patch else _in_parameters(call.parameters, call.verb)
    return [piece for piece, _ in zip(found, range(MOST_PIECES), strict=False)]


def _in_parameters(given: Mapping[str, Any], verb: str) -> Iterator[Piece]:
    if verb == "write":
        yield from (Piece("", text, whole=True) for text in _first(given, WHOLE))
        return
    pairs = list(_pairs(given))
    for name in LISTS:
        if isinstance(items := given.get(name), (list, tuple)):
            pairs += [pair for item in items if isinstance(item, dict) for pair in _pairs(item)]
    if not pairs and isinstance(diff := given.get("diff"), str):
        pairs = [Piece(*found) for found in _BLOCK.findall(diff)]
    if not pairs:
        pairs = [Piece("", text, blind=True) for text in _first(given, ONLY_NEW)]
    yield from pairs


def _pairs(given: Mapping[str, Any]) -> Iterator[Piece]:
    for before, behind in PAIRS:
        old, new = given.get(before), given.get(behind)
        if isinstance(old, str) and isinstance(new, str):
            yield Piece(old, new)
            return


def _first(given: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        if isinstance(text := given.get(name), str):
            yield text
            return


def _in_patch(patch: str, path: str) -> Iterator[Piece]:
    """The hunks of one file in an `apply_patch` text."""
    headers = list(_PATCH_FILE.finditer(patch))
    for place, header in enumerate(headers):
        end = headers[place + 1].start() if place + 1 < len(headers) else len(patch)
        lines = patch[header.end() : end].split("\n")
        moved = next((line for line in lines[:3] if line.startswith(_MOVED)), "")
        named = moved.removeprefix(_MOVED).strip() or header["path"]
        if path != named and not path.endswith(f"/{named}"):
            continue
        new = "\n".join(line[1:] for line in lines if line[:1] in ("+", " "))
        if header["kind"] == "Add File":
            yield Piece("", new, whole=True)
        elif header["kind"] == "Update File":
            yield Piece("\n".join(line[1:] for line in lines if line[:1] in ("-", " ")), new)
