"""Probes made of facts, in a form that is short to write down."""

from __future__ import annotations

from typing import Any

from kedgeline.model import AnyFact, CommandRun, FileChanged, Matter, Probe, ProbeType, SectionName
from kedgeline.probes import probes_of
from kedgeline.summary import build
from tests.probes.facts import NO_LIMIT

Told = tuple[object, ...]
"""All of a probe but how the question is put."""


def made(*found: AnyFact, room: int = NO_LIMIT, current: bool = True) -> list[Probe]:
    return list(probes_of(build(found), room, current=current))


def of(matter: Matter, *found: AnyFact, **options: Any) -> list[Probe]:
    return [probe for probe in made(*found, **options) if probe.matter == matter]


def only(*found: AnyFact, **options: Any) -> Probe:
    """The one probe there is."""
    (probe,) = made(*found, **options)
    return probe


def told(probe: Probe) -> Told:
    marks = (probe.critical, probe.lasting)
    return (probe.type, probe.matter, probe.section, probe.turn, probe.expected, marks)


def asks(
    type_: ProbeType,
    matter: Matter,
    section: SectionName,
    turn: int,
    *expected: str,
    critical: bool = False,
    lasting: bool = False,
) -> Told:
    return (type_, matter, section, turn, expected, (critical, lasting))


def change(turn: int, path: str, action: Any, **fields: Any) -> FileChanged:
    return FileChanged(turn=turn, path=path, action=action, **fields)


def run(turn: int, purpose: str = "test", command: str = "make test", **fields: Any) -> CommandRun:
    return CommandRun(turn=turn, command=command, key=command, purpose=purpose, **fields)
