"""File facts of turns built by hand."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kedgeline.facts.extractor import Setting
from kedgeline.facts.files import FileExtractor
from kedgeline.model import FileChanged
from tests.facts.speaking import told_by
from tests.turns import Step, called, turn

ROOT = "/srv/shop"
THREE = "total = price * amount\ndiscount = total * rate\nreturn total - discount\n"
"""Lines that an edit puts in and that are found again."""


def seen(*turns: Any, setting: Setting | None = None) -> list[FileChanged]:
    """Facts of turns, each a turn or the steps of one."""
    made = [
        turn(index, *one) if isinstance(one, (list, tuple)) else one
        for index, one in enumerate(turns)
    ]
    found = told_by(FileExtractor(setting or Setting(root=ROOT)), *made)
    return [fact for fact in found if isinstance(fact, FileChanged)]


def pairs(*turns: Any) -> list[tuple[str, str]]:
    return [(fact.action, fact.path) for fact in seen(*turns)]


def write(path: str, content: str = "x = 1\n", **fields: Any) -> Step:
    call, result = called("write", "written", file_path=path, content=content)
    return call, replace(result, **fields)


def edit(path: str, old: str = "a", new: str = "b", **fields: Any) -> Step:
    call, result = called("Edit", "done", file_path=path, old_string=old, new_string=new)
    return call, replace(result, **fields)


def read(path: str, output: str = "text", **given: Any) -> Step:
    return called("Read", output, file_path=path, **given)
