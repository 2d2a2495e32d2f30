"""Probes made of facts, in a form that is short to write down."""

from __future__ import annotations

from typing import Any

from kedgeline.model import AnyFact, CommandRun, FileChanged, Probe
from kedgeline.probes import probes_of
from kedgeline.summary import build
from tests.probes.facts import NO_LIMIT


def made(*found: AnyFact, room: int = NO_LIMIT, current: bool = True) -> list[Probe]:
    return list(probes_of(build(found), room, current=current))


def change(turn: int, path: str, action: Any, **fields: Any) -> FileChanged:
    return FileChanged(turn=turn, path=path, action=action, **fields)


def run(turn: int, purpose: str = "test", command: str = "make test", **fields: Any) -> CommandRun:
    return CommandRun(turn=turn, command=command, key=command, purpose=purpose, **fields)
